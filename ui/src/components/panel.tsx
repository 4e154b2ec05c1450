/** The source of a citation, beside the screen that cites it; on a narrow screen above it. */

import { useEffect, useRef } from "preact/hooks";
import { getJson, indexPath } from "../api";
import { go, href, hrefWith, numberOf, type Route } from "../router";
import type { DocumentFacts } from "../types";
import { Icon } from "./icon";
import { DocumentBody } from "./original";
import { Failure } from "./states";
import { capitalised } from "../text";
import { useLoaded } from "./loading";

export function SourcePanel({ route, index }: { route: Route; index: string }) {
  const id = route.query.get("source");
  const start = numberOf(route.query, "from");
  const end = numberOf(route.query, "to");
  const place = route.query.get("place");
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef<Element | null>(null);
  const { data: facts, problem } = useLoaded<DocumentFacts>(
    id === null ? null : (signal) => getJson(indexPath(index, "documents", id), signal),
    [index, id],
  );
  const close = (): void => {
    go(hrefWith(route, { source: null, from: null, to: null, place: null }));
    if (before.current instanceof HTMLElement || before.current instanceof SVGElement) before.current.focus();
  };
  useEffect(() => {
    if (id === null) return;
    if (!heading.current?.closest("aside")?.contains(document.activeElement)) before.current = document.activeElement;
    heading.current?.focus({ preventScroll: true });
  }, [id, start, end]);
  useEffect(() => {
    if (id === null) return;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") close();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  if (id === null) return null;
  const span = start !== null && end !== null && end > start ? { start, end } : null;
  return (
    <aside class="panel" aria-labelledby="panel-title">
      <header class="panel-head">
        <div>
          <p class="eyebrow">Source</p>
          <h2 id="panel-title" ref={heading} tabIndex={-1}>
            <bdi>{facts?.title || id}</bdi>
          </h2>
          {span && (
            <p class="soft">{capitalised(`${place ? `${place} · ` : ""}characters ${span.start}–${span.end}`)}</p>
          )}
        </div>
        <div class="panel-actions">
          <a
            class="icon-button"
            href={href("document", { index, start, end }, id)}
            aria-label="Open the whole document"
            title="Open the whole document"
          >
            <Icon name="open" />
          </a>
          <button type="button" class="icon-button" onClick={close} aria-label="Close the source" title="Close (Esc)">
            <Icon name="close" />
          </button>
        </div>
      </header>
      <div class="panel-body" tabIndex={0} role="region" aria-label="Text of the source">
        {problem ? <Failure problem={problem} /> : <DocumentBody {...{ index, span, facts }} showEntities={false} />}
      </div>
    </aside>
  );
}
