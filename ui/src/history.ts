/** Questions that were asked in this browser, with their answers, newest first. */

import { createStore, forget, keep, stored } from "./store";
import type { Answer, Filter } from "./types";

export interface Asked {
  index: string;
  question: string;
  method?: string;
  top_k?: number;
  filter?: Filter;
  offline?: boolean;
}

export interface HistoryEntry {
  asked: Asked;
  time: number;
  seconds: number;
  answer: Answer;
}

const LIMIT = 30;

export const history = createStore<HistoryEntry[]>(stored<HistoryEntry[]>("history", []));

/** Return a text that is the same for the same question. */
export function keyOf(asked: Asked): string {
  const { index, question, method = "", top_k = 0, filter = {}, offline = false } = asked;
  return JSON.stringify([index, question, method, top_k, filter, offline]);
}

export function remembered(asked: Asked): HistoryEntry | undefined {
  return history.get().find((entry) => keyOf(entry.asked) === keyOf(asked));
}

/** Keep an answer; the oldest ones give way where the storage is full. */
export function remember(entry: HistoryEntry): void {
  const others = history.get().filter((other) => keyOf(other.asked) !== keyOf(entry.asked));
  let entries = [entry, ...others].slice(0, LIMIT);
  history.set(entries);
  while (entries.length && !keep("history", entries)) entries = entries.slice(0, -1);
}

export function clearHistory(): void {
  forget("history");
  history.set([]);
}
