/** A document as its file shows it: the pages of a PDF with the cited text marked, or its text; and its download. */

import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, getJson, indexPath, withQuery } from "../api";
import type { DocumentFacts, PageMark } from "../types";
import { DocumentText, type Span } from "./document";
import { useLoaded } from "./loading";
import { Failure, Loading } from "./states";

interface Props {
  index: string;
  facts: DocumentFacts | null;
  span: Span | null;
  showEntities: boolean;
}

export function DocumentBody({ index, facts, span, showEntities }: Props) {
  const [asText, setAsText] = useState(false);
  if (!facts) return <Loading>Loading the document…</Loading>;
  const { id, original } = facts;
  const pages = original?.pages ?? 0;
  return (
    <>
      {original && (
        <p class="views">
          {pages > 0 &&
            ["Pages", "Text"].map((name, at) => (
              <button
                type="button"
                class="button quiet"
                key={name}
                aria-pressed={asText === Boolean(at)}
                onClick={() => setAsText(Boolean(at))}
              >
                {name}
              </button>
            ))}
          <a class="button quiet" href={addressOf(indexPath(index, "documents", id, "original"))} download>
            Download <bdi>{original.name}</bdi>
          </a>
        </p>
      )}
      {pages > 0 && !asText ? (
        <Pages {...{ index, id, span, pages }} />
      ) : (
        <DocumentText {...{ index, id, span, facts, showEntities }} />
      )}
    </>
  );
}

/** One page at a time, at first that of the cited text; arrow keys turn it. */
function Pages({ index, id, span, pages }: { index: string; id: string; span: Span | null; pages: number }) {
  const path = (...parts: string[]): string => indexPath(index, "documents", id, ...parts);
  const [turned, setTurned] = useState<number | null>(null);
  const cited = useRef<HTMLElement>(null);
  const { data: marks, problem } = useLoaded<PageMark[]>(
    (signal) => getJson(withQuery(path("marks"), { start: span?.start, end: span?.end }), signal),
    [index, id, span?.start, span?.end],
  );
  useEffect(() => setTurned(null), [index, id, span?.start, span?.end]);
  if (problem) return <Failure problem={problem} />;
  if (!marks) return <Loading>Loading the pages…</Loading>;
  const page = turned ?? marks[0]?.page ?? 1;
  const shown = marks.filter((mark) => mark.page === page);
  const turn = (by: number): void => setTurned(Math.min(pages, Math.max(1, page + by)));
  const onKey = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (!by) return;
    event.preventDefault();
    turn(by);
  };
  return (
    <div class="pages" role="group" aria-label="Pages" tabIndex={0} onKeyDown={onKey}>
      <p class="turn-pages">
        <button type="button" class="button quiet" disabled={page === 1} onClick={() => turn(-1)}>
          Previous
        </button>
        <span aria-live="polite">
          Page {page} of {pages}
        </span>
        <button type="button" class="button quiet" disabled={page === pages} onClick={() => turn(1)}>
          Next
        </button>
      </p>
      <div class="page">
        <img
          src={addressOf(path("pages", String(page)))}
          alt={`Page ${page} of ${id}${shown.length ? ", with the cited text marked" : ""}`}
          onLoad={() => cited.current?.scrollIntoView({ block: "center" })}
        />
        {shown.map(({ left, top, right, bottom }, at) => (
          <mark
            key={at}
            ref={at ? null : cited}
            style={{
              left: `${left / 100}%`,
              top: `${top / 100}%`,
              width: `${(right - left) / 100}%`,
              height: `${(bottom - top) / 100}%`,
            }}
          />
        ))}
      </div>
    </div>
  );
}
