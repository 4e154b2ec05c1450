/** The text of an answer with its citations, and the list of its sources. */

import { useState } from "preact/hooks";
import { answerParts, blocksOf, type Quoted, shortened } from "../text";
import { href, hrefWith, type Route } from "../router";
import type { Citation, Passage } from "../types";

/** Characters of a document, or a node of a graph without documents. */
interface Span {
  document: string;
  start: number;
  end: number;
  location?: string;
  /** Id of a passage. */
  id?: string | null;
  /** Id of the passage of a citation. */
  chunk?: string;
}

/** Return the name of the node that a span is, null where it is characters of a document. */
export function nodeOf({ document, id, chunk }: Span): string | null {
  if (chunk !== undefined) return document ? null : chunk;
  return id === document ? id : null;
}

/** Return the address that opens a span beside the current screen; that of a node is its place in the graph. */
export function sourceHref(route: Route, index: string, span: Span): string {
  const node = nodeOf(span);
  if (node !== null) return href("graph", { index, q: node });
  const place = span.location ?? null;
  return hrefWith(route, { source: span.document, from: span.start, to: span.end, place, index });
}

interface Props {
  route: Route;
  index: string;
  text: string;
  citations: Citation[];
  titles: Titles;
  writing?: boolean;
}

/** Titles of documents, and of passages with the headings that they stand below, by their ids. */
export interface Titles {
  documents: ReadonlyMap<string, string>;
  passages: ReadonlyMap<string, string>;
}

export function titlesOf(passages: readonly Passage[]): Titles {
  const documents = new Map<string, string>();
  for (const { document, title } of passages) {
    const known = documents.get(document);
    if (known === undefined || title.length < known.length) documents.set(document, title || document);
  }
  return { documents, passages: new Map(passages.map(({ id, document, title }) => [id, title || document])) };
}

function titleOf({ documents, passages }: Titles, { chunk, document }: Citation): string {
  return passages.get(chunk) ?? documents.get(document) ?? document;
}

/** An answer with its tables, whose markers are links to their sources. */
export function AnswerText({ text, writing = false, ...cited }: Props) {
  return (
    <div class={writing ? "answer writing" : "answer"}>
      {blocksOf(text).map((block, at) =>
        "paragraph" in block ? (
          <p key={at} dir="auto">
            <Cited {...cited} text={block.paragraph} />
          </p>
        ) : (
          <div key={at} class="answer-table" role="group" aria-label="Table" tabIndex={0}>
            <table>
              {block.head && (
                <thead>
                  <tr>
                    {block.head.map((cell, column) => (
                      <th key={column} scope="col" dir="auto">
                        <Cited {...cited} text={cell} />
                      </th>
                    ))}
                  </tr>
                </thead>
              )}
              <tbody>
                {block.rows.map((row, number) => (
                  <tr key={number}>
                    {row.map((cell, column) => (
                      <td key={column} dir="auto">
                        <Cited {...cited} text={cell} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ),
      )}
    </div>
  );
}

/** A part of an answer with its markers. */
function Cited({ route, index, text, citations, titles }: Props) {
  const quotes = citations.map((citation) => citation.text);
  return (
    <>
      {answerParts(text, quotes).map((part, key) => {
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
    </>
  );
}

interface QuotationsProps {
  route: Route;
  index: string;
  quoted: Quoted[];
  titles: Titles;
}

/** An answer of quotes alone: each with its source below it. */
export function Quotations({ route, index, quoted, titles }: QuotationsProps) {
  return (
    <div class="answer quotations">
      {quoted.map(({ text, citation, number }) => (
        <figure key={number} data-source={number}>
          <blockquote dir="auto">{text}</blockquote>
          <figcaption>
            <Marker {...{ route, index, number, titles, citation }} />
            <a href={sourceHref(route, index, citation)} class="source-title">
              <bdi>{titleOf(titles, citation)}</bdi>
            </a>
            {citation.location && <span class="soft">{citation.location}</span>}
            <Copies documents={citation.also_in} />
            {citation.shown_path.length > 0 && <WalkLine path={citation.shown_path} titles={titles} />}
          </figcaption>
        </figure>
      ))}
    </div>
  );
}

interface MarkerProps {
  route: Route;
  index: string;
  number: number;
  citation: Citation | undefined;
  titles: Titles;
}

function Marker({ route, index, number, citation, titles }: MarkerProps) {
  if (!citation) return null;
  const title = titleOf(titles, citation);
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
  titles: Titles;
}

const FIRST = 6;

/** The sources of an answer, each a link to its characters. */
export function Sources({ route, index, citations, titles }: SourcesProps) {
  const [all, setAll] = useState(false);
  const shown = all ? citations : citations.slice(0, FIRST);
  return (
    <div class="sources">
      <h2>{citations.length === 1 ? "Source" : "Sources"}</h2>
      <ol>
        {shown.map((citation, at) => (
          <li key={at}>
            <a class="source" href={sourceHref(route, index, citation)} data-source={at + 1}>
              <span class="source-number" aria-hidden="true">
                {at + 1}
              </span>
              <span class="source-body">
                <span class="source-head">
                  <bdi class="source-title">{titleOf(titles, citation)}</bdi>
                  {citation.location && <span class="soft"> {citation.location}</span>}
                </span>
                <q class="source-quote" dir="auto">
                  {citation.text}
                </q>
                <Copies documents={citation.also_in} />
                {citation.shown_path.length > 0 && <WalkLine path={citation.shown_path} titles={titles} />}
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
    </div>
  );
}

const NAMED = 3;

/** The documents that have a copy of the cited passage, by the first three; nothing where there are none. */
function Copies({ documents = [] }: { documents?: string[] | undefined }) {
  if (!documents.length) return null;
  const more = documents.length > NAMED ? ` and ${documents.length - NAMED} more` : "";
  return (
    <span class="soft copies" title={documents.join("\n")}>
      also in <bdi>{documents.slice(0, NAMED).join(", ")}</bdi>
      {more}
    </span>
  );
}

/** The stated relations that lead to a passage: names and relations in turn. */
function WalkLine({ path, titles }: { path: string[]; titles: Titles }) {
  return (
    <span class="walk">
      {path.map((part, at) =>
        at % 2 ? (
          <Relation key={at} name={part} />
        ) : (
          <bdi key={at} class="walk-entity">
            {named(part, titles)}
          </bdi>
        ),
      )}
    </span>
  );
}

const INVERSE = "⁻¹";

/** A relation of a walk, with an arrow that says which way it points. */
export function Relation({ name }: { name: string }) {
  const back = name.endsWith(INVERSE);
  return (
    <span class="walk-relation">
      {back ? "← " : "— "}
      <bdi>{back ? name.slice(0, -INVERSE.length) : name}</bdi>
      {back ? " —" : " →"}
    </span>
  );
}

/** Return the name of a node of a walk as people read it; a passage has an id. */
export function named(node: string, titles: Titles): string {
  const at = node.lastIndexOf("#");
  const title = titles.documents.get(node.slice(0, at));
  return at > 0 && title !== undefined && /^\d+$/.test(node.slice(at + 1))
    ? `passage ${Number(node.slice(at + 1)) + 1} of ${title}`
    : node;
}
