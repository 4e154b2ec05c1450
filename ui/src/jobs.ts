/** Jobs of an index: their list, and their progress as it happens. */

import { useEffect, useState } from "preact/hooks";
import { getJson, isAbort, problemFrom, streamEvents, withQuery } from "./api";
import { asProblem, refreshIndexes } from "./server";
import type { Job } from "./types";

export const isOpen = ({ state }: Job): boolean => state === "queued" || state === "running";

/** The jobs of an index, newest first, each followed until it ends. `onEnd`: called when one has ended. */
export function useJobs(index: string, onEnd: () => void) {
  const [jobs, setJobs] = useState<Job[]>([]);
  const put = (job: Job): void =>
    setJobs((before) => [job, ...before.filter(({ id }) => id !== job.id)].sort(newestFirst));
  useEffect(() => {
    const control = new AbortController();
    setJobs([]);
    getJson<{ jobs: Job[] }>(withQuery("v1/jobs", { index }), control.signal).then(
      ({ jobs: listed }) =>
        setJobs((before) => {
          const known = new Set(before.map(({ id }) => id)); // those that began while the list was loaded
          return [...before, ...listed.filter(({ id }) => !known.has(id))].sort(newestFirst);
        }),
      () => undefined, // the list of documents says what is wrong with the server
    );
    return () => control.abort();
  }, [index]);
  const open = jobs
    .filter(isOpen)
    .map(({ id }) => id)
    .join(" ");
  useEffect(() => {
    const control = new AbortController();
    for (const id of open.split(" ").filter(Boolean)) {
      void follow(id, put, control.signal).then((ended) => {
        if (!ended) return;
        onEnd();
        void refreshIndexes().catch(() => undefined);
      });
    }
    return () => control.abort();
  }, [open]);
  return { jobs, put };
}

function newestFirst(one: Job, two: Job): number {
  return Date.parse(two.created) - Date.parse(one.created) || two.id.localeCompare(one.id);
}

/** Follow a job; return whether it ended. */
async function follow(id: string, put: (job: Job) => void, signal: AbortSignal): Promise<boolean> {
  const path = `v1/jobs/${encodeURIComponent(id)}`;
  try {
    for await (const { kind, data } of streamEvents(`${path}/events`, null, signal)) {
      if (kind === "error") throw problemFrom(data);
      if (kind === "done") break;
      const job = await getJson<Job>(path, signal);
      if (!isOpen(job)) break; // put below: to put it here would end this before it returns
      put(job);
    }
  } catch (error) {
    if (isAbort(error) || signal.aborted) return false;
    console.warn(asProblem(error).message);
  }
  const job = await getJson<Job>(path, signal).catch(() => null);
  if (job) put(job);
  return job !== null && !isOpen(job);
}
