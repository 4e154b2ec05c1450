/** Data of a screen: loaded when what it depends on changes, without answers that come too late. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { isAbort, type Problem } from "../api";
import { asProblem } from "../server";

export interface Loaded<T> {
  data: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
}

/** Load with `load`, again whenever one of `keys` changes. With null as `load` nothing is loaded. */
export function useLoaded<T>(load: ((signal: AbortSignal) => Promise<T>) | null, keys: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({ data: null, problem: null, loading: load !== null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!load) {
      setState({ data: null, problem: null, loading: false });
      return;
    }
    const control = new AbortController();
    setState((before) => ({ data: round ? before.data : null, problem: null, loading: true }));
    load(control.signal).then(
      (data) => !control.signal.aborted && setState({ data, problem: null, loading: false }),
      (error: unknown) => !isAbort(error) && setState({ data: null, problem: asProblem(error), loading: false }),
    );
    return () => control.abort();
  }, [...keys, round, load === null]);
  const reload = useCallback(() => setRound((number) => number + 1), []);
  return { ...state, reload };
}
