/** The text of a document around a span, with the span and the entities marked. Offsets count code points. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, indexPath, isAbort, type Problem, withQuery } from "../api";
import { href } from "../router";
import { asProblem } from "../server";
import { codePoints, occurrences, type Range, utf16Positions, wraps } from "../text";
import type { DocumentFacts, EntityRef, TextSpan } from "../types";
import { nodeKey } from "./neighbours";
import { Failure, Loading } from "./states";

const BEFORE = 2000;
const AFTER = 4000;
const PAGE = 8000;

export interface Span {
  start: number;
  end: number;
}

interface Props {
  index: string;
  id: string;
  span: Span | null;
  facts: DocumentFacts | null;
  showEntities: boolean;
}

interface Part {
  start: number;
  text: string;
}

/** Load a part of a text, and more of it on demand. */
function useText(index: string, id: string, span: Span | null) {
  const [part, setPart] = useState<Part | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [complete, setComplete] = useState(false);
  const load = async (start: number, end: number, signal?: AbortSignal): Promise<TextSpan> =>
    getJson<TextSpan>(withQuery(indexPath(index, "documents", id, "text"), { start, end }), signal);
  useEffect(() => {
    const control = new AbortController();
    const start = Math.max(0, (span?.start ?? 0) - BEFORE);
    const end = (span?.end ?? PAGE - AFTER) + AFTER;
    setPart(null);
    setProblem(null);
    load(start, end, control.signal).then(
      (read) => {
        setPart({ start: read.start, text: read.text });
        setComplete(read.end < end);
      },
      (error: unknown) => !isAbort(error) && setProblem(asProblem(error)),
    );
    return () => control.abort();
  }, [index, id, span?.start, span?.end]);
  const earlier = async (): Promise<void> => {
    if (!part) return;
    const read = await load(Math.max(0, part.start - PAGE), part.start);
    setPart({ start: read.start, text: read.text + part.text });
  };
  const later = async (): Promise<void> => {
    if (!part) return;
    const from = part.start + codePoints(part.text);
    const read = await load(from, from + PAGE);
    setPart({ start: part.start, text: part.text + read.text });
    setComplete(read.end < from + PAGE);
  };
  return { part, problem, complete, earlier, later };
}

export function DocumentText({ index, id, span, facts, showEntities }: Props) {
  const { part, problem, complete, earlier, later } = useText(index, id, span);
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "center" });
  }, [part === null, span?.start, span?.end]);
  const entities = useMemo(() => entityRanges(part, showEntities ? facts : null), [part, facts, showEntities]);
  if (problem) return <Failure problem={problem} />;
  if (!part) return <Loading>Loading the text…</Loading>;
  return (
    <div class="document-text">
      {part.start > 0 && (
        <button type="button" class="button quiet" onClick={() => void earlier()}>
          Show earlier text
        </button>
      )}
      <div class="text" dir="auto">
        <Marked part={part} span={span} entities={entities} index={index} markRef={mark} />
      </div>
      {part.text === "" && <p class="soft">This document has no text.</p>}
      {!complete && (
        <button type="button" class="button quiet" onClick={() => void later()}>
          Show later text
        </button>
      )}
    </div>
  );
}

/** Return where the names of the entities of each passage stand in a part of the text. */
function entityRanges(part: Part | null, facts: DocumentFacts | null): Range<EntityRef>[] {
  if (!part || !facts) return [];
  const ranges: Range<EntityRef>[] = [];
  let last = 0;
  for (const chunk of facts.chunks) {
    const from = Math.max(0, chunk.start - part.start);
    const to = chunk.end - part.start;
    if (to <= 0) continue;
    const [start = 0, end = 0] = utf16Positions(part.text, [from, to]);
    if (start >= part.text.length) break;
    const names = chunk.entities.map((entity) => ({ name: entity.name, value: entity }));
    for (const range of occurrences(part.text.slice(start, end), names)) {
      if (range.start + start < last) continue; // passages may overlap
      last = range.end + start;
      ranges.push({ start: range.start + start, end: range.end + start, value: range.value });
    }
  }
  return ranges;
}

interface MarkedProps {
  part: Part;
  span: Span | null;
  entities: Range<EntityRef>[];
  index: string;
  markRef: { current: HTMLElement | null };
}

function Marked({ part, span, entities, index, markRef }: MarkedProps) {
  const breaks = useMemo(() => wraps(part.text), [part.text]);
  const whole = (start: number, end: number): ComponentChildren =>
    linked({ text: part.text, breaks }, start, end, entities, index);
  if (!span || span.end <= span.start) return <>{whole(0, part.text.length)}</>;
  const [start = 0, end = 0] = utf16Positions(part.text, [span.start - part.start, span.end - part.start]);
  return (
    <>
      {whole(0, start)}
      <mark ref={markRef} id="cited">
        {whole(start, end)}
      </mark>
      {whole(end, part.text.length)}
    </>
  );
}

interface Wrapped {
  text: string;
  breaks: { start: number; end: number }[];
}

/** Return the characters from `start` to `end`; where lines were only wrapped, the window wraps them anew. */
function flowing({ text, breaks }: Wrapped, start: number, end: number): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let at = start;
  for (const wrap of breaks) {
    const [from, to] = [Math.max(wrap.start, at), Math.min(wrap.end, end)];
    if (from >= to) continue;
    parts.push(text.slice(at, from), <span class="wrap">{text.slice(from, to)}</span>);
    at = to;
  }
  parts.push(text.slice(at, end));
  return parts;
}

/** Return the characters from `start` to `end` with links to the entities that stand wholly in them. */
function linked(
  wrapped: Wrapped,
  start: number,
  end: number,
  entities: Range<EntityRef>[],
  index: string,
): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let at = start;
  for (const { start: from, end: to, value } of entities) {
    if (from < at || to > end) continue;
    parts.push(flowing(wrapped, at, from));
    parts.push(
      <a class="entity" href={href("graph", { index, node: nodeKey(value) })}>
        {flowing(wrapped, from, to)}
      </a>,
    );
    at = to;
  }
  parts.push(flowing(wrapped, at, end));
  return parts;
}
