/** Jobs of an index: their list, and their progress as it happens. */

import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, isAbort, withQuery } from "./api";
import { asProblem, refreshIndexes } from "./server";
import type { Job } from "./types";

export const isOpen = ({ state }: Job): boolean => state === "queued" || state === "running";

const PAUSE = 500; // milliseconds between two looks at jobs that have not ended

/**
 * The jobs of an index, newest first, until all have ended. `onEnd`: called when some have ended.
 *
 * They are asked for again and again: a browser has six connections to a server, for all its tabs, and a stream for
 * each job would take them from the questions.
 */
export function useJobs(index: string, onEnd: () => void) {
  const [jobs, setJobs] = useState<Job[]>([]);
  const shown = useRef(jobs);
  shown.current = jobs;
  const merge = (listed: Job[]): void =>
    setJobs((before) => {
      const ids = new Set(listed.map(({ id }) => id)); // a job that began meanwhile is not among them
      return [...listed, ...before.filter(({ id }) => !ids.has(id))].sort(newestFirst);
    });
  const load = async (signal: AbortSignal): Promise<void> => {
    const { jobs: listed } = await getJson<{ jobs: Job[] }>(withQuery("v1/jobs", { index }), signal);
    const open = new Set(shown.current.filter(isOpen).map(({ id }) => id));
    merge(listed);
    if (!listed.some((job) => open.has(job.id) && !isOpen(job))) return;
    onEnd();
    void refreshIndexes().catch(() => undefined);
  };
  useEffect(() => {
    const control = new AbortController();
    setJobs([]);
    load(control.signal).catch(() => undefined); // the list of documents says what is wrong with the server
    return () => control.abort();
  }, [index]);
  const isWaiting = jobs.some(isOpen);
  useEffect(() => {
    const control = new AbortController();
    if (isWaiting) void repeat(load, control.signal);
    return () => control.abort();
  }, [index, isWaiting]);
  return { jobs, put: (job: Job) => merge([job]) };
}

function newestFirst(one: Job, two: Job): number {
  return Date.parse(two.created) - Date.parse(one.created) || two.id.localeCompare(one.id);
}

/** Do the work after each pause, also while the server does not answer; not for an index that is gone. */
async function repeat(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    try {
      if (!signal.aborted) await work(signal);
    } catch (error) {
      if (isAbort(error) || asProblem(error).status === 404) return;
    }
  }
}
