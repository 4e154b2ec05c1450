/** Values that several screens share, and their place in the browser's storage. */

import { useEffect, useState } from "preact/hooks";
import { basePath } from "./api";

export interface Store<T> {
  get(): T;
  set(value: T): void;
  update(change: (value: T) => T): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  const set = (next: T): void => {
    value = next;
    for (const listener of [...listeners]) listener();
  };
  return {
    get: () => value,
    set,
    update: (change) => set(change(value)),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(store.get());
    return store.subscribe(() => setValue(store.get()));
  }, [store]);
  return value;
}

const storageKey = (name: string): string => `graphwright:${basePath}:${name}`;

/** Return a stored value, or `fallback` where there is none or storage is switched off. */
export function stored<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(storageKey(name));
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** Store a value; return whether there was room for it. */
export function keep(name: string, value: unknown): boolean {
  try {
    localStorage.setItem(storageKey(name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(storageKey(name));
  } catch {
    // Storage is switched off: nothing was kept.
  }
}
