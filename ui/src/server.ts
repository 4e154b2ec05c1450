/** What the page knows of the server: its indexes and methods, and who is signed in. */

import { getJson, Problem, postJson, remove, whenUnauthorized } from "./api";
import { createStore, keep, stored } from "./store";
import { deleteThreads, followNames, loadThreads } from "./threads";
import type { Choices, IndexFacts, Method, Session } from "./types";

export interface ServerState {
  phase: "loading" | "ready" | "locked" | "failed";
  session: Session | null;
  indexes: IndexFacts[];
  /** What a new index can be; null where this client can make none. */
  choices: Choices | null;
  methods: Method[];
  index: string;
  problem: Problem | null;
}

export const server = createStore<ServerState>({
  phase: "loading",
  session: null,
  indexes: [],
  choices: null,
  methods: [],
  index: "",
  problem: null,
});

interface Indexes {
  indexes: IndexFacts[];
  new: Choices | null;
}

whenUnauthorized(() => server.update((state) => ({ ...state, phase: "locked" })));

const threadsLoaded = loadThreads();

/** Load the indexes and methods; the state says what came of it. */
export async function loadServer(): Promise<void> {
  try {
    const session = await getJson<Session>("session").catch(missingAsOpen);
    if (!session.signed_in) {
      server.update((state) => ({ ...state, session, phase: "locked" }));
      return;
    }
    const [{ indexes, new: choices }, { methods }] = await Promise.all([
      getJson<Indexes>("v1/indexes"),
      getJson<{ methods: Method[] }>("v1/methods"),
      threadsLoaded,
    ]);
    const wanted = [server.get().index, stored("index", "")].find((name) =>
      indexes.some((index) => index.name === name),
    );
    const index = wanted ?? indexes[0]?.name ?? "";
    await followNames(indexes);
    server.set({ phase: "ready", session, indexes, choices, methods, index, problem: null });
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return; // the state is "locked" already
    server.update((state) => ({ ...state, phase: "failed", problem: asProblem(error) }));
  }
}

/** A server without sessions needs no key. */
function missingAsOpen(error: unknown): Session {
  if (error instanceof Problem && error.status === 404) return { closed: false, signed_in: true };
  throw error;
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "Something went wrong on this page", error instanceof Error ? error.message : String(error));
}

/** Load the figures of the indexes again, after they or their documents have changed. */
export async function refreshIndexes(): Promise<void> {
  const { indexes, new: choices } = await getJson<Indexes>("v1/indexes");
  await followNames(indexes);
  server.update((state) => {
    const kept = indexes.some(({ name }) => name === state.index);
    return { ...state, indexes, choices, index: kept ? state.index : (indexes[0]?.name ?? "") };
  });
}

export function chooseIndex(name: string): void {
  if (name === server.get().index || !server.get().indexes.some((index) => index.name === name)) return;
  keep("index", name);
  server.update((state) => ({ ...state, index: name }));
}

export async function signIn(key: string): Promise<void> {
  await postJson<Session>("session", { key });
  server.update((state) => ({ ...state, phase: "loading" }));
  await loadServer();
}

/** End the session, and forget the conversations that were kept in it. */
export async function signOut(): Promise<void> {
  await remove("session");
  await deleteThreads();
  server.update((state) => ({ ...state, phase: "locked", session: null, indexes: [] }));
}

/** Whether this client may change documents. */
export function mayWrite(session: Session | null): boolean {
  return !session?.closed || session.scope === "write" || session.scope === "admin";
}

/** Whether this client may change indexes as a whole. */
export function mayManage(session: Session | null): boolean {
  return !session?.closed || session.scope === "admin";
}
