/** A conversation as a file or a link. The file has the form that `/save` of `graphwright chat` writes. */

import { href, type Route } from "./router";
import { queryOf } from "./screens/question";
import type { Thread, Turn } from "./threads";
import type { Citation } from "./types";

/** Signs that mean something in Markdown; an underscore inside a word, or a # after the beginning, does not. */
const MARKS = /[\\`*[\]|]|(?<![\p{L}\p{N}_])_|_(?![\p{L}\p{N}_])|^#|<(?=\S)|^>/gu;

function escaped(text: string): string {
  return oneLine(text).replace(MARKS, "\\$&");
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

/** Return the conversation as Markdown: each turn, what it was taken to mean, the answer, its sources. */
export function markdown({ index, turns }: Thread): string {
  return `${[`# Conversation with ${escaped(index)}`, ...turns.flatMap(turnLines)].join("\n\n")}\n`;
}

function turnLines({ asked, answer }: Turn): string[] {
  const titles = new Map(answer.passages.map(({ id, title }) => [id, title]));
  const sources = answer.citations.map((cited, at) => {
    const line = sourceLine(cited, titles.get(cited.chunk) ?? "");
    return `- [${at + 1}] ${escaped(line)}: “${escaped(cited.text)}”`;
  });
  return [
    `## ${escaped(asked.question)}`,
    ...(answer.turn ? [`*Taken to mean: ${escaped(answer.question)}*`] : []),
    ...(answer.fallback ? [`*${escaped(answer.fallback)} What follows was found without it.*`] : []),
    ...(answer.answer === null ? [] : [answer.answer]),
    ...(sources.length ? [sources.join("\n")] : []),
  ];
}

const TITLE = 80;
const ALSO = 3;

/** Return where the text of a citation stands: document, title, place in its file, characters, copies. */
function sourceLine(
  { document, chunk, start, end, location, path, also_in: also = [] }: Citation,
  title: string,
): string {
  const name = oneLine(title);
  const cut = name.slice(0, TITLE - 1);
  const shown = name.length <= TITLE ? name : `${cut.slice(0, cut.lastIndexOf(" ")).trimEnd() || cut.slice(0, -1)} …`;
  const hasPlace = document !== "" || path.length === 0; // the name of a node at the end of a path has no span
  const more = also.length > ALSO ? ` and ${also.length - ALSO} more` : "";
  return [
    `${document || chunk} ${shown}`,
    hasPlace ? ` ${location ? `${location},` : ""} characters ${start}-${end}` : "",
    also.length ? `; also in ${also.slice(0, ALSO).join(", ")}${more}` : "",
  ].join("");
}

/** Return the address that asks the questions of a conversation again. The server is not sent what follows a #. */
export function linkTo({ turns }: Thread): string {
  const [first] = turns;
  const questions = JSON.stringify(turns.map(({ asked }) => asked.question));
  const address = new URL(location.href);
  address.hash = first ? href("ask", { ...queryOf(first.asked), q: null, questions }) : "";
  return address.href;
}

const MAX_QUESTIONS = 100;

/** Return the questions that a link asks, empty where it asks none. */
export function questionsOf({ query }: Route): string[] {
  try {
    const told: unknown = JSON.parse(query.get("questions") ?? "[]");
    const questions = Array.isArray(told) ? told.filter((one) => typeof one === "string" && one.trim() !== "") : [];
    return (questions as string[]).slice(0, MAX_QUESTIONS);
  } catch {
    return [];
  }
}
