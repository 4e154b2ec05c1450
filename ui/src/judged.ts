/** Questions that a person judged, kept in this browser, and written as a questions file for `evaluate`. */

import { createStore, forget, keep, stored } from "./store";

export interface Judged {
  index: string;
  question: string;
  /** Accepted answers, alternatives of each other. */
  answers: string[];
  /** Documents that hold the evidence. */
  gold: string[];
  /** The method whose result is better, "both", "neither", or "" where nothing was said. */
  better: string;
  methods: string[];
}

export const judged = createStore<Judged[]>(stored<Judged[]>("judged", []));

export function judgement(index: string, question: string): Judged {
  const known = judged.get().find((entry) => entry.index === index && entry.question === question);
  return known ?? { index, question, answers: [], gold: [], better: "", methods: [] };
}

/** Keep a judgement; one that says nothing is removed. */
export function judge(entry: Judged): void {
  const others = judged.get().filter((other) => other.index !== entry.index || other.question !== entry.question);
  const says = entry.answers.length > 0 || entry.gold.length > 0 || entry.better !== "";
  const entries = says ? [...others, entry] : others;
  keep("judged", entries);
  judged.set(entries);
}

export function clearJudged(): void {
  forget("judged");
  judged.set([]);
}

/** Return the questions as JSON lines that `graphwright evaluate` reads. */
export function questionsFile(entries: readonly Judged[]): string {
  return entries
    .map(({ question, answers, gold, better, methods, index }, at) =>
      JSON.stringify({
        id: `${index}-${at + 1}`,
        question,
        answers,
        gold_ids: gold,
        ...(better ? { better, methods } : {}),
      }),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Offer a text as a file to save. */
export function save(name: string, text: string, type = "application/x-ndjson"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
