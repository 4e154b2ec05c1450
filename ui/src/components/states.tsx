/** What a part of the page shows while it waits, when it has nothing, and when something failed. */

import type { ComponentChildren } from "preact";
import type { Problem } from "../api";
import { href } from "../router";
import type { Answer } from "../types";
import { Icon, type IconName } from "./icon";

export function Loading({ children = "Loading…" }: { children?: ComponentChildren }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      {children}
    </p>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  /** Whether it is all that the screen shows, so that its title is the screen's heading. */
  whole?: boolean;
  children?: ComponentChildren;
}

export function Empty({ icon, title, whole = false, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      {whole ? <h1 tabIndex={-1}>{title}</h1> : <h2>{title}</h2>}
      <div class="empty-text">{children}</div>
    </div>
  );
}

/** The way between the two screens for an admin. */
export function AdminTabs({ here }: { here: string }) {
  return (
    <nav class="orders" aria-label="Admin">
      {[
        ["keys", "Keys"],
        ["models", "Language models"],
      ].map(([name = "", label]) => (
        <a key={name} href={href(name)} aria-current={name === here ? "page" : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

/** The way out of an index without documents. */
export function AddDocuments({ index }: { index: string }) {
  return (
    <a class="button primary" href={href("documents", { index })}>
      Add documents
    </a>
  );
}

/** The reason why an answer was found without the language model; the server tells its details to an admin alone. */
export function Fallback({ answer }: { answer: Answer | null }) {
  if (!answer?.fallback) return null;
  return (
    <div class="note fallback" role="alert">
      <p>
        <strong>{answer.fallback}</strong> What follows was found without it. Ask again to try once more.
      </p>
      {answer.fallback_details && (
        <details>
          <summary>Details for an admin</summary>
          <p dir="auto">{answer.fallback_details}</p>
        </details>
      )}
    </div>
  );
}

export function Failure({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <p class="failure-title">{problem.title}</p>
        {problem.detail && problem.detail !== problem.title && <p dir="auto">{problem.detail}</p>}
        {problem.retryAfter && <p class="soft">The server asks to wait {problem.retryAfter} s.</p>}
        {onRetry && (
          <button type="button" class="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}
