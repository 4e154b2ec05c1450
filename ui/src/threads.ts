/** Conversations that are kept in this browser, and sent nowhere: each with its turns, newest first. */

import { basePath } from "./api";
import { createStore } from "./store";
import type { Answer, Filter, IndexFacts } from "./types";

export interface Asked {
  index: string;
  question: string;
  method?: string;
  top_k?: number;
  filter?: Filter;
  offline?: boolean;
  /** The language model that answers, if it is not that of the index. */
  model?: string;
}

/** A question with its answer. */
export interface Turn {
  asked: Asked;
  time: number;
  seconds: number;
  answer: Answer;
  /** The language model that could answer. */
  model?: string | null;
}

export interface Thread {
  id: string;
  /** A name that a person gave; by default the first question. */
  name: string;
  index: string;
  time: number;
  turns: Turn[];
}

export const threads = createStore<Thread[]>([]);

/** Whether this browser keeps conversations after the page is closed. */
export const isKept = createStore(true);

const LIMIT = 200;
const PATIENCE = 2000; // milliseconds that the page waits for the browser's database
const STORE = "threads";

export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return a text that is the same for the same question. */
export function keyOf(asked: Asked): string {
  const { index, question, method = "", top_k = 0, filter = {}, offline = false, model = "" } = asked;
  return JSON.stringify([index, question, method, top_k, filter, offline, model]);
}

export function nameOf({ name, turns }: Thread): string {
  return name || turns[0]?.asked.question || "";
}

/** Return the kept conversation with an id, or the last one that begins with a question and its model's answer. */
export function threadOf(asked: Asked, id: string | null): Thread | undefined {
  const all = threads.get();
  const begins = ({ turns: [first] }: Thread): boolean =>
    first !== undefined && !first.answer.fallback && keyOf(first.asked) === keyOf(asked);
  return all.find((thread) => thread.id === id) ?? (id === null ? all.find(begins) : undefined);
}

let database: Promise<IDBDatabase> | null = null;

function opened(): Promise<IDBDatabase> {
  database ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(`graphwright:${basePath}`, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return database;
}

async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const transaction = (await opened()).transaction(STORE, mode);
  const request = work(transaction.objectStore(STORE));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** Change the database; return whether it was possible. A private window and a full disk only end the keeping. */
async function write<T>(work: (store: IDBObjectStore) => IDBRequest<T>): Promise<boolean> {
  try {
    await inStore("readwrite", work);
    return true;
  } catch {
    return false;
  }
}

/** A change of what is kept, which all tabs show: these conversations are gone, or have become others. */
interface Change {
  ids: string[];
  kept: Thread[];
}

const tabs = new BroadcastChannel(`graphwright:${basePath}`);
const listeners: ((thread: Thread) => void)[] = [];

tabs.onmessage = ({ data }: MessageEvent<Change>): void => {
  apply(data);
  for (const thread of data.kept) for (const listener of listeners) listener(thread);
};

/** Call `then` with each conversation that another tab keeps. */
export function whenKeptElsewhere(then: (thread: Thread) => void): void {
  listeners.push(then);
}

function apply({ ids, kept }: Change): void {
  show([...kept, ...threads.get().filter(({ id }) => !ids.includes(id))]);
}

/** Return the name of an index now, if the server has renamed it. */
export function nameNow(indexes: IndexFacts[], name: string): string {
  if (indexes.some((index) => index.name === name)) return name;
  return indexes.find(({ former }) => former.includes(name))?.name ?? name;
}

/** Have the kept conversations with renamed indexes follow them. */
export async function followNames(indexes: IndexFacts[]): Promise<void> {
  for (const thread of threads.get()) {
    const index = nameNow(indexes, thread.index);
    const follow = (turn: Turn): Turn => ({ ...turn, asked: { ...turn.asked, index } });
    if (index !== thread.index) await keepThread({ ...thread, index, turns: thread.turns.map(follow) });
  }
}

/** Read the kept conversations. */
export async function loadThreads(): Promise<void> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error("late")), PATIENCE));
  try {
    show(await Promise.race([inStore<Thread[]>("readonly", (store) => store.getAll()), late]));
  } catch {
    isKept.set(false);
  }
}

function show(all: Thread[]): void {
  threads.set(all.sort((one, two) => two.time - one.time));
}

/** Keep a conversation; the oldest ones give way where the storage is full. */
export async function keepThread(thread: Thread): Promise<void> {
  const change = { ids: [thread.id], kept: [thread] };
  apply(change);
  for (const { id } of threads.get().slice(LIMIT)) await deleteThread(id);
  while (!(await write((store) => store.put(thread)))) {
    const oldest = threads.get().at(-1);
    const isThere = oldest && oldest.id !== thread.id && (await write((store) => store.delete(oldest.id)));
    if (!isThere) {
      isKept.set(false);
      return;
    }
    threads.update((all) => all.filter(({ id }) => id !== oldest.id));
  }
  isKept.set(true);
  tabs.postMessage(change);
}

/** Delete a conversation; it is shown until it is gone for good. */
export async function deleteThread(id: string): Promise<void> {
  await write((store) => store.delete(id));
  const change = { ids: [id], kept: [] };
  apply(change);
  tabs.postMessage(change);
}

export async function deleteThreads(): Promise<void> {
  await write((store) => store.clear());
  const change = { ids: threads.get().map(({ id }) => id), kept: [] };
  apply(change);
  tabs.postMessage(change);
}
