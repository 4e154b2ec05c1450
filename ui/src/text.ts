/** Text: code points, markers of citations, and pieces that are marked. */

import type { Citation } from "./types";

/** Return the UTF-16 positions of code point offsets (ascending) of a text. */
export function utf16Positions(text: string, offsets: readonly number[]): number[] {
  const positions: number[] = [];
  let points = 0;
  let at = 0;
  for (const offset of offsets) {
    while (points < offset && at < text.length) {
      const code = text.codePointAt(at) ?? 0;
      at += code > 0xffff ? 2 : 1;
      points += 1;
    }
    positions.push(at);
  }
  return positions;
}

/** Return the number of code points. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** A part of an answer: text, the numbers of citations, or the note that a sentence has no source. */
export type AnswerPart = { text: string } | { cites: number[] } | { unsupported: true };

/** Return the parts of an answer; a marker counts if every number has a citation, and none of these quotes holds it. */
export function answerParts(answer: string, quotes: readonly string[]): AnswerPart[] {
  const parts: AnswerPart[] = [];
  const quoted = [...new Set(quotes.map(spacedOnce))]
    .filter((quote) => quote.includes("["))
    .flatMap((quote) => places(answer, quote));
  let last = 0;
  for (const match of answer.matchAll(/\s*\[(unsupported|\d+(?:\s*,\s*\d+)*)\]/g)) {
    const marker = match[1] ?? "";
    const cites = marker.split(",").map(Number);
    if (marker !== "unsupported" && cites.some((number) => number < 1 || number > quotes.length)) continue;
    const end = match.index + match[0].length;
    if (quoted.some((place) => place.start <= match.index && end <= place.end)) continue;
    if (match.index > last) parts.push({ text: answer.slice(last, match.index) });
    parts.push(marker === "unsupported" ? { unsupported: true } : { cites });
    last = end;
  }
  if (last < answer.length) parts.push({ text: answer.slice(last) });
  return parts;
}

/** Return where a text holds another one. */
function places(text: string, part: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    found.push({ start: at, end: at + part.length });
  }
  return found;
}

/** A part of an answer: a paragraph, or a table; `head` is null where no rule of dashes follows the first row. */
export type Block = { paragraph: string } | { head: string[] | null; rows: string[][] };

const ROW = /^\s*\|.*\|\s*(?:\[[\d, ]+\])?\s*$/; // a marker may follow the last cell
const RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** Return the paragraphs of a text, one a line, and its Markdown tables. */
export function blocksOf(text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    const rule = lines[at + 1] ?? "";
    const hasRule = line.includes("|") && rule.includes("|") && RULE.test(rule);
    const isRow = (row: string): boolean => (hasRule ? row.includes("|") : ROW.test(row));
    let end = at;
    while (end < lines.length && isRow(lines[end] ?? "")) end += 1;
    if (end > at) {
      const rows = lines.slice(hasRule ? at + 2 : at, end).map(cellsOf);
      blocks.push({ head: hasRule ? cellsOf(line) : null, rows });
    } else if (line.trim()) {
      blocks.push({ paragraph: line });
    }
    at = Math.max(end, at + 1);
  }
  return blocks;
}

/** Return a text with the cells of its rows of tables between dots. */
export function withoutPipes(text: string): string {
  return text.replace(/^\s*\|.*\|\s*$/gm, (row) => cellsOf(row).join(" · "));
}

/** Return the cells of a row; a pipe after a backslash is text, and what follows the last pipe ends the last cell. */
function cellsOf(line: string): string[] {
  const row = line.trim().replace(/^\|/, "");
  const [, inner = row, after = ""] = /^(.*[^\\])\|\s*(\[[\d, ]+\])?$/.exec(row) ?? [];
  const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  return after ? [...cells.slice(0, -1), `${cells.at(-1)} ${after}`] : cells;
}

/** A quotation as the answer shows it, with its citation and number. */
export interface Quoted {
  text: string;
  citation: Citation;
  number: number;
}

/** Return the quotations of an answer of quotes alone, each with its number at the end; null for any other answer. */
export function quotedLines(answer: string, citations: readonly Citation[]): Quoted[] | null {
  const quoted: Quoted[] = [];
  for (const part of answer.trim().split(/(?<=\[\d+\])\n+/)) {
    const [, text = "", marker] = /^([^]*?)\s*\[(\d+)\]$/.exec(part.trim()) ?? [];
    const citation = citations[Number(marker) - 1];
    if (!citation) return null;
    quoted.push({ text, citation, number: Number(marker) });
  }
  return quoted.length ? quoted : null;
}

function spacedOnce(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

/** Return what an answer says below its headline, without the parentheses around its first words. */
export function belowHeadline(answer: string, headline: string): string {
  const rest = answer.slice(headline.length).trimStart();
  if (!headline || !rest.startsWith("(")) return rest;
  let depth = 0;
  const end = [...rest].findIndex((sign) => (depth += Number(sign === "(") - Number(sign === ")")) === 0);
  return end < 0 ? rest : [...rest].filter((_, at) => at !== 0 && at !== end).join("");
}

export function withoutMarkers(answer: string): string {
  return answer.replace(/\s*\[(?:unsupported|\d+(?:\s*,\s*\d+)*)\]/g, "");
}

/** A range of a text, in UTF-16 positions. */
export interface Range<T> {
  start: number;
  end: number;
  value: T;
}

/** Return where names occur in a text as whole words, longest name first, without overlaps. */
export function occurrences<T>(text: string, names: readonly { name: string; value: T }[]): Range<T>[] {
  const found: Range<T>[] = [];
  const taken = new Uint8Array(text.length);
  const ordered = names.filter(({ name }) => name.length > 1).sort((one, two) => two.name.length - one.name.length);
  for (const { name, value } of ordered) {
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
      const end = at + name.length;
      const inWord = isLetter(text[at - 1]) || isLetter(text[end]);
      if (inWord || taken[at] || taken[end - 1]) continue;
      taken.fill(1, at, end);
      found.push({ start: at, end, value });
    }
  }
  return found.sort((one, two) => one.start - two.start);
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}

/** Return a text of at most `limit` characters, cut at a space where there is one. */
export function shortened(text: string, limit: number): string {
  const points = Array.from(text);
  if (points.length <= limit) return text;
  const cut = points.slice(0, limit).join("");
  const space = cut.lastIndexOf(" ");
  return `${(space > limit * 0.6 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

const MIN_WRAPPED = 45; // characters of a line that is continued in the next one
const MAX_WRAPPED = 120;
const TOLERANCE = 0.88; // characters of a printed page differ in width

/** Marks of program text and tables, whose lines mean something. */
const CODE = /(?:^|\s)--?[a-zA-Z]|[{}]|;$|\w\([^)]*$|\w=\S|^\s*\|/m;

/** Items of lists, and rows of tables as records: "river: Mur; km: 464". */
const ITEM = /^\s*(?:[-*+•] |[^\s:;][^:;]{0,40}: [^;]*;)/;

/** Return a text without empty lines, and without the line ends at which it was only wrapped. */
export function flowing(text: string): string {
  const places = wraps(text).reverse();
  const joined = places.reduce((left, { start, end }) => `${left.slice(0, start)} ${left.slice(end)}`, text);
  return joined.replace(/\n\s+/g, "\n");
}

/**
 * Return the line breaks, with the spaces after them, at which a text was only wrapped: between lines of one
 * indentation, where the first word of the second would not have fitted into the width of their paragraph.
 */
export function wraps(text: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const paragraph of text.matchAll(/[^\n]+(?:\n[^\n]+)+/g)) {
    const lines = paragraph[0].split("\n");
    const width = Math.max(...lines.map((line) => line.trimEnd().length));
    let at = paragraph.index;
    for (const [number, line] of lines.entries()) {
      const next = lines[number + 1];
      at += line.length;
      const inLine = !number || (next !== undefined && indentOf(line) === indentOf(next)); // the first may be indented
      if (next !== undefined && width <= MAX_WRAPPED && inLine && isContinued(line, next, width)) {
        found.push({ start: at - (line.length - line.trimEnd().length), end: at + 1 + indentOf(next) });
      }
      at += 1;
    }
  }
  return found;
}

function isContinued(line: string, next: string, width: number): boolean {
  const written = line.trimEnd();
  const word = /^\s*(\S+)/.exec(next)?.[1] ?? "";
  return (
    written.length >= MIN_WRAPPED &&
    !CODE.test(written) &&
    !CODE.test(next) &&
    !ITEM.test(next) &&
    written.length + 1 + word.length > TOLERANCE * width &&
    !/\S {3,}\S/.test(written) && // a table, or a drawing
    !/\S {3,}\S/.test(next.trimEnd()) &&
    /^[\p{L}\p{N}("'“‘«<-]/u.test(word)
  );
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const plain = new Intl.NumberFormat("en");

export function count(number: number, noun: string, nouns = `${noun}s`): string {
  return `${plain.format(number)} ${number === 1 ? noun : nouns}`;
}

export function digits(number: number): string {
  return plain.format(number);
}

export function duration(seconds: number): string {
  if (seconds < 0.0995) return `${(seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 9.95 ? 2 : 1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Return an amount of money in dollars; small amounts keep two significant digits. */
export function money(amount: number | null): string {
  if (amount === null) return "unknown";
  if (amount === 0) return "$0";
  return `$${amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
}

export function ago(time: number): string {
  const seconds = (Date.now() - time) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Intl.DateTimeFormat("en", { dateStyle: "medium" }).format(time);
}

/** A length of time: "a minute", "45 min", "1.5 h". */
export function lengthOf(seconds: number): string {
  const rounded = (value: number): string => String(Number(value.toFixed(1)));
  if (seconds < 90) return "a minute";
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${rounded(seconds / 3_600)} h` : `${rounded(seconds / 86_400)} days`;
}
