/** The question that is being answered: its events as they come, and the answer at the end. */

import { indexPath, Problem, problemFrom, streamEvents } from "./api";
import { type Asked, keyOf, remember, remembered } from "./history";
import { asProblem } from "./server";
import { createStore } from "./store";
import type { Answer, Citation, Found, Step } from "./types";

export interface Asking {
  asked: Asked;
  phase: "searching" | "writing" | "done" | "failed" | "stopped";
  steps: Step[];
  found: Found | null;
  text: string;
  citations: Citation[];
  dropped: string[];
  answer: Answer | null;
  problem: Problem | null;
  seconds: number;
  /** When the answer was given, if it was not now. */
  time: number | null;
}

export const asking = createStore<Asking | null>(null);

let running: AbortController | null = null;

/** Show the answer to a question: the one that is there, the remembered one, or a new one. */
export function show(asked: Asked): void {
  const current = asking.get();
  if (current && keyOf(current.asked) === keyOf(asked)) return;
  const entry = remembered(asked);
  if (!entry) {
    void ask(asked);
    return;
  }
  stop();
  const { answer, seconds, time } = entry;
  asking.set({
    ...started(asked),
    phase: "done",
    steps: answer.trace,
    found: answer,
    text: answer.answer ?? "",
    citations: answer.citations,
    dropped: answer.dropped ?? [],
    answer,
    seconds,
    time,
  });
}

function started(asked: Asked): Asking {
  return {
    asked,
    phase: "searching",
    steps: [],
    found: null,
    text: "",
    citations: [],
    dropped: [],
    answer: null,
    problem: null,
    seconds: 0,
    time: null,
  };
}

/** Cancel the question that is being answered; what came so far stays. */
export function stop(): void {
  running?.abort();
  running = null;
  asking.update((state) => (state && !state.answer && !state.problem ? { ...state, phase: "stopped" } : state));
}

/** Ask, and follow the events of the answer. */
export async function ask(asked: Asked): Promise<void> {
  stop();
  const control = new AbortController();
  running = control;
  const began = performance.now();
  const { index, ...body } = asked;
  const change = (part: Partial<Asking>): void => {
    if (running !== control) return;
    asking.update((state) => state && { ...state, ...part, seconds: (performance.now() - began) / 1000 });
  };
  asking.set(started(asked));
  try {
    for await (const { kind, data } of streamEvents(
      indexPath(index, "ask"),
      { ...body, stream: true },
      control.signal,
    )) {
      if (running !== control) return;
      if (kind === "error") throw problemFrom(data);
      const state = asking.get();
      if (state) change(changeBy(kind, data, state));
    }
    finish(asked, control);
  } catch (error) {
    change({ phase: "failed", problem: asProblem(error) });
  } finally {
    if (running === control) running = null;
  }
}

function changeBy(kind: string, data: unknown, state: Asking): Partial<Asking> {
  switch (kind) {
    case "trace":
      return { steps: [...state.steps, data as Step] };
    case "evidence":
      return { found: data as Found };
    case "token":
      return { phase: "writing", text: state.text + (data as { text: string }).text };
    case "citation":
      return { citations: [...state.citations, data as Citation] };
    case "dropped":
      return { dropped: [...state.dropped, (data as { quote: string }).quote] };
    case "done":
      return doneWith(data as Answer, state);
    default:
      return {};
  }
}

function doneWith(answer: Answer, state: Asking): Partial<Asking> {
  return {
    phase: "done",
    answer,
    found: answer,
    steps: answer.trace,
    text: answer.answer ?? "",
    citations: answer.citations,
    dropped: answer.dropped ?? state.dropped,
  };
}

function finish(asked: Asked, control: AbortController): void {
  const state = asking.get();
  if (running !== control || !state) return;
  if (!state.answer)
    throw new Problem(0, "The answer broke off", "The connection ended before the answer was complete. Ask again.");
  remember({ asked, time: Date.now(), seconds: state.seconds, answer: state.answer });
}
