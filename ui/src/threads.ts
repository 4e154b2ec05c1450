/** Conversations that are kept in this browser, and sent nowhere: each with its turns, newest first. */

import { basePath } from "./api";
import { createStore, forget, stored } from "./store";
import type { Answer, Filter } from "./types";

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

/** Return the kept conversation with an id, or the last one that begins with a question. */
export function threadOf(asked: Asked, id: string | null): Thread | undefined {
  const all = threads.get();
  const begins = ({ turns: [first] }: Thread): boolean => first !== undefined && keyOf(first.asked) === keyOf(asked);
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

/** Read the kept conversations, and the single questions that earlier versions kept. */
export async function loadThreads(): Promise<void> {
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error("late")), PATIENCE));
  try {
    show(await Promise.race([inStore<Thread[]>("readonly", (store) => store.getAll()), late]));
  } catch {
    isKept.set(false);
  }
  for (const turn of stored<Turn[]>("history", [])) {
    await keepThread({ id: newId(), name: "", index: turn.asked.index, time: turn.time, turns: [turn] });
  }
  forget("history");
}

function show(all: Thread[]): void {
  threads.set(all.sort((one, two) => two.time - one.time));
}

/** Keep a conversation; the oldest ones give way where the storage is full. */
export async function keepThread(thread: Thread): Promise<void> {
  show([thread, ...threads.get().filter(({ id }) => id !== thread.id)]);
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
}

/** Delete a conversation; it is shown until it is gone for good. */
export async function deleteThread(id: string): Promise<void> {
  await write((store) => store.delete(id));
  threads.update((all) => all.filter((thread) => thread.id !== id));
}

export async function deleteThreads(): Promise<void> {
  forget("history");
  await write((store) => store.clear());
  threads.set([]);
}
