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

/** Where a value is kept: in the browser, or in this tab until it is closed. */
type Place = "localStorage" | "sessionStorage";

/** Return a stored value, or `fallback` where there is none or storage is switched off. */
export function stored<T>(name: string, fallback: T, place: Place = "localStorage"): T {
  try {
    const text = window[place].getItem(storageKey(name));
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** Store a value; return whether there was room for it. */
export function keep(name: string, value: unknown, place: Place = "localStorage"): boolean {
  try {
    window[place].setItem(storageKey(name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function forget(name: string, place: Place = "localStorage"): void {
  try {
    window[place].removeItem(storageKey(name));
  } catch {
    // Storage is switched off: nothing was kept.
  }
}
