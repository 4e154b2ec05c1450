/** The conversation that is shown: its questions, the events of the last one as they come, and the answers. */

import { indexPath, Problem, problemFrom, streamEvents } from "./api";
import { asProblem, refreshIndexes, server } from "./server";
import { createStore, forget, keep, stored } from "./store";
import {
  type Asked,
  keepThread,
  keyOf,
  nameNow,
  type Thread,
  threadOf,
  threads,
  type Turn,
  whenKeptElsewhere,
} from "./threads";
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
  /** The language model that may answer. */
  model: string | null;
}

export interface Conversation {
  id: string;
  turns: Asking[];
}

export const conversation = createStore<Conversation | null>(null);

/** How a language model is to write answers, for all questions from this browser; "" for none. */
export const instruction = createStore(stored("instruction", ""));
instruction.subscribe(() => keep("instruction", instruction.get()));

let running: AbortController | null = null;

server.subscribe(() => {
  const { phase, session } = server.get();
  if (phase === "locked" && !session && conversation.get()) leave(); // signed out
});

whenKeptElsewhere((thread) => {
  conversation.update((state) => {
    const last = state?.turns.at(-1);
    if (!state || state.id !== thread.id) return state;
    return { ...state, turns: [...thread.turns.map(answered), ...(last && !last.answer ? [last] : [])] };
  });
});

/** The question that is being answered in this tab: after a reload it is asked again. */
interface Pending {
  id: string;
  asked: Asked;
  at: number;
}

const PENDING = "pending";

/** Whether a conversation is the one with an id, or without an id the one that begins with a question. */
export function isShown({ id, turns: [first] }: Conversation, asked: Asked, wanted: string | null): boolean {
  return wanted === null ? first !== undefined && keyOf(first.asked) === keyOf(asked) : id === wanted;
}

/** Show a conversation: the one that is there, the kept one, or a new one that asks the question. */
export function show(asked: Asked, id: string | null, fresh: string): void {
  const current = conversation.get();
  if (current && isShown(current, asked, id)) return;
  const thread = threadOf(asked, id);
  if (thread) {
    const pending = stored<Pending | null>(PENDING, null, "sessionStorage");
    stop();
    conversation.set({ id: thread.id, turns: thread.turns.map(answered) });
    if (pending?.id === thread.id) void ask(pending.asked, pending.at);
  } else void begin([asked.question], asked, id ?? fresh);
}

/** Ask questions one after the other in a new conversation, with the options of `asked`, while they are answered. */
export async function begin(questions: string[], asked: Asked, id: string): Promise<void> {
  stop();
  conversation.set({ id, turns: [] });
  for (const [at, question] of questions.entries()) {
    await ask({ ...asked, question }, at);
    const state = conversation.get();
    if (state?.id !== id || state.turns.length !== at + 1 || !state.turns[at]?.answer) return;
  }
}

/** Forget the shown conversation, and cancel its question. */
export function leave(): void {
  stop();
  conversation.set(null);
}

function started(asked: Asked): Asking {
  const own = server.get().indexes.find(({ name }) => name === asked.index)?.llm ?? null;
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
    model: asked.offline ? null : (asked.model ?? own),
  };
}

function answered({ asked, answer, seconds, time, model = null }: Turn): Asking {
  return { ...started(asked), ...doneWith(answer), seconds, time, model };
}

/** Cancel the question that is being answered; what came so far stays. */
export function stop(): void {
  running?.abort();
  running = null;
  forget(PENDING, "sessionStorage");
  changeLast((turn) => (turn.answer || turn.problem ? turn : { ...turn, phase: "stopped" }));
}

function changeLast(change: (turn: Asking) => Asking): void {
  conversation.update((state) => {
    const last = state?.turns.at(-1);
    return state && last ? { ...state, turns: [...state.turns.slice(0, -1), change(last)] } : state;
  });
}

/** Ask the question of a turn, in place of that turn and all after it, and follow the events of the answer. */
export async function ask(asked: Asked, at: number): Promise<void> {
  stop();
  const before = conversation.get();
  if (!before) return;
  const control = new AbortController();
  running = control;
  const began = performance.now();
  const turns = before.turns.slice(0, at);
  const { index, ...body } = asked;
  const change = (by: (turn: Asking) => Partial<Asking>): void => {
    if (running !== control) return;
    changeLast((turn) => ({ ...turn, ...by(turn), seconds: (performance.now() - began) / 1000 }));
  };
  conversation.set({ ...before, turns: [...turns, started(asked)] });
  keep(PENDING, { id: before.id, asked, at }, "sessionStorage");
  try {
    for await (const { kind, data } of streamEvents(
      indexPath(index, "ask"),
      {
        ...body,
        instruction: instruction.get().trim(),
        history: turns.flatMap(messagesOf).slice(-MESSAGES),
        stream: true,
      },
      control.signal,
    )) {
      if (running !== control) return;
      if (kind === "error") throw problemFrom(data);
      change((turn) => changeBy(kind, data, turn));
    }
    if (running === control) await finish();
    forget(PENDING, "sessionStorage");
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 404 && running === control) {
      await refreshIndexes().catch(() => undefined);
      const name = nameNow(server.get().indexes, index);
      if (name !== index && running === control) return await ask({ ...asked, index: name }, at);
    }
    if (problem.status && running === control) forget(PENDING, "sessionStorage"); // 0: perhaps the page is left
    change(() => ({ phase: "failed", problem }));
  } finally {
    if (running === control) running = null;
  }
}

const MESSAGES = 20; // of the turns before, the last ones
const CHARACTERS = 4000; // of each of them

/** Return what was said in a turn, for the questions after it; one that was not answered is left out. */
function messagesOf({ asked, answer }: Asking): { role: string; content: string }[] {
  if (!answer) return [];
  return [
    { role: "user", content: asked.question.slice(0, CHARACTERS) },
    { role: "assistant", content: (answer.answer ?? "").slice(0, CHARACTERS) },
  ];
}

function changeBy(kind: string, data: unknown, turn: Asking): Partial<Asking> {
  switch (kind) {
    case "trace":
      return { steps: [...turn.steps, data as Step] };
    case "evidence":
      return { found: data as Found };
    case "token":
      return { phase: "writing", text: turn.text + (data as { text: string }).text };
    case "citation":
      return { citations: [...turn.citations, data as Citation] };
    case "dropped":
      return { dropped: [...turn.dropped, (data as { quote: string }).quote] };
    case "done":
      return doneWith(data as Answer, turn.dropped);
    default:
      return {};
  }
}

function doneWith(answer: Answer, dropped: string[] = []): Partial<Asking> {
  return {
    phase: "done",
    answer,
    found: answer,
    steps: answer.trace,
    text: answer.answer ?? "",
    citations: answer.citations,
    dropped: answer.dropped ?? dropped,
  };
}

/** Keep the conversation after an answer. */
async function finish(): Promise<void> {
  const state = conversation.get();
  if (!state?.turns.at(-1)?.answer)
    throw new Problem(0, "The answer broke off", "The connection ended before the answer was complete. Ask again.");
  const thread = threadFrom(state);
  if (thread) await keepThread(thread);
}

/** Return the answered turns of a conversation as they are kept; null where there is none. */
export function threadFrom({ id, turns }: Conversation): Thread | null {
  const kept = turns.flatMap(({ asked, seconds, time, answer, model }) =>
    answer ? [{ asked, seconds, time: time ?? Date.now(), answer, model }] : [],
  );
  const index = kept[0]?.asked.index;
  const name = threads.get().find((thread) => thread.id === id)?.name ?? "";
  return index === undefined ? null : { id, name, index, time: Date.now(), turns: kept };
}
