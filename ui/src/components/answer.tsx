/** The text of an answer with its citations, and the list of its sources. */

import { useState } from "preact/hooks";
import { answerParts, shortened } from "../text";
import { hrefWith, type Route } from "../router";
import type { Citation, Passage } from "../types";

/** Return the address that opens a span beside the current screen. */
export function sourceHref(
  route: Route,
  index: string,
  span: { document: string; start: number; end: number },
): string {
  return hrefWith(route, { source: span.document, from: span.start, to: span.end, index });
}

interface Props {
  route: Route;
  index: string;
  text: string;
  citations: Citation[];
  titles: ReadonlyMap<string, string>;
  writing?: boolean;
}

/** The titles of documents by their ids, as passages have them. */
export function titlesOf(passages: readonly Passage[]): ReadonlyMap<string, string> {
  return new Map(passages.map(({ document, title }) => [document, title || document]));
}

/** An answer whose markers are links to their sources. */
export function AnswerText({ route, index, text, citations, titles, writing = false }: Props) {
  return (
    <div class={writing ? "answer writing" : "answer"}>
      {text.split(/\n+/).map((paragraph, at) => (
        <p key={at} dir="auto">
          {answerParts(paragraph, citations.length).map((part, key) => {
            if ("text" in part) return <span key={key}>{part.text}</span>;
            if ("unsupported" in part) {
              return (
                <span key={key} class="unsupported">
                  no source
                </span>
              );
            }
            return part.cites.map((number) => (
              <Marker key={`${key}.${number}`} {...{ route, index, number, titles }} citation={citations[number - 1]} />
            ));
          })}
        </p>
      ))}
    </div>
  );
}

interface MarkerProps {
  route: Route;
  index: string;
  number: number;
  citation: Citation | undefined;
  titles: ReadonlyMap<string, string>;
}

function Marker({ route, index, number, citation, titles }: MarkerProps) {
  if (!citation) return null;
  const title = titles.get(citation.document) ?? citation.document;
  return (
    <a
      class="marker"
      href={sourceHref(route, index, citation)}
      data-citation={number}
      aria-label={`Citation ${number}, ${title}: ${shortened(citation.text, 120)}`}
      title={shortened(citation.text, 240)}
    >
      {number}
    </a>
  );
}

interface SourcesProps {
  route: Route;
  index: string;
  citations: Citation[];
  titles: ReadonlyMap<string, string>;
}

const FIRST = 6;

/** The sources of an answer, each a link to its characters. */
export function Sources({ route, index, citations, titles }: SourcesProps) {
  const [all, setAll] = useState(false);
  const shown = all ? citations : citations.slice(0, FIRST);
  return (
    <section class="sources" aria-label="Sources">
      <h2>{citations.length === 1 ? "Source" : "Sources"}</h2>
      <ol>
        {shown.map((citation, at) => (
          <li key={at}>
            <a class="source" href={sourceHref(route, index, citation)} data-source={at + 1}>
              <span class="source-number" aria-hidden="true">
                {at + 1}
              </span>
              <span class="source-body">
                <bdi class="source-title">{titles.get(citation.document) ?? citation.document}</bdi>
                <q class="source-quote" dir="auto">
                  {citation.text}
                </q>
                {citation.path.length > 0 && <WalkLine path={citation.path} chunk={citation.chunk} />}
              </span>
            </a>
          </li>
        ))}
      </ol>
      {citations.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>
          Show all {citations.length}
        </button>
      )}
    </section>
  );
}

/** The walk from the question to a passage: names and relations in turn. */
export function WalkLine({ path, chunk }: { path: string[]; chunk: string }) {
  const ends = path.at(-1) === chunk ? path.slice(0, -2) : path;
  if (ends.length < 2) return null;
  return (
    <span class="walk">
      {ends.map((part, at) => (
        <bdi key={at} class={at % 2 ? "walk-relation" : "walk-entity"}>
          {part}
        </bdi>
      ))}
    </span>
  );
}
