/** The work and the cost of reading documents by the language model, before it begins. */

import { count, digits, duration, money } from "../text";
import type { Estimate } from "../types";

interface Props {
  estimate: Estimate;
  /** What it will read, in words. */
  what: string;
  /** Of the button that begins. */
  label: string;
  onAccept: () => void;
  onDecline: () => void;
}

export function Price({ estimate, what, label, onAccept, onDecline }: Props) {
  const { llm, chunks, calls, prompt_tokens, completion_tokens, schema_tokens, hours, cost, skipped } = estimate;
  return (
    <section class="job estimate" aria-label="Estimate">
      <div class="job-head">
        <span>
          <bdi>{llm ?? "A language model, when there is one,"}</bdi> will read <bdi>{what}</bdi>
        </span>
      </div>
      <dl class="figures" aria-live="polite">
        <div>
          <dt>{chunks === 1 ? "Passage" : "Passages"}</dt>
          <dd>{digits(chunks)}</dd>
        </div>
        <div>
          <dt>{calls === 1 ? "Call" : "Calls"}</dt>
          <dd>{digits(calls)}</dd>
        </div>
        <div>
          <dt>Tokens, about</dt>
          <dd>{digits(prompt_tokens + completion_tokens)}</dd>
        </div>
        {schema_tokens > 0 && (
          <div>
            <dt>Of each call for the types</dt>
            <dd>{digits(schema_tokens)}</dd>
          </div>
        )}
        {hours !== null && (
          <div>
            <dt>Time, about</dt>
            <dd>{duration(hours * 3600)}</dd>
          </div>
        )}
        <div>
          <dt>{cost === null ? "Cost: the model has no price" : "Cost, about"}</dt>
          <dd>{money(cost)}</dd>
        </div>
      </dl>
      {skipped.length > 0 && (
        <details class="failed">
          <summary>{count(skipped.length, "file")} cannot be read</summary>
          <ul>
            {skipped.map(({ document, reason }) => (
              <li key={document}>
                <bdi>{document}</bdi>: <span dir="auto">{reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <p class="job-actions">
        <button type="button" class="button primary" ref={(button) => button?.focus()} onClick={onAccept}>
          {label}
        </button>
        <button type="button" class="button quiet" onClick={onDecline}>
          Cancel
        </button>
      </p>
    </section>
  );
}
