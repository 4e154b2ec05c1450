/** Folders and other sources that the server keeps an index in step with: when each was synced, and how that ended. */

import { useEffect, useState } from "preact/hooks";
import { getJson, indexPath, type Problem, postJson } from "../api";
import { isOpen } from "../jobs";
import { asProblem } from "../server";
import { ago, lengthOf } from "../text";
import type { Job, SyncSource } from "../types";
import { useLoaded } from "./loading";
import { Failure } from "./states";

const POLL = 10_000; // milliseconds, as the server begins syncs itself

interface Props {
  index: string;
  jobs: Job[];
  writable: boolean;
  onJob: (job: Job) => void;
}

export function Sources({ index, jobs, writable, onJob }: Props) {
  const syncs = jobs.filter(({ kind }) => kind === "sync");
  const { data, reload } = useLoaded<{ sources: SyncSource[] }>(
    (signal) => getJson(indexPath(index, "sources"), signal),
    [index, syncs.map(({ id, state }) => id + state).join(" ")],
  );
  const sources = data?.sources ?? [];
  useEffect(() => {
    if (!sources.length) return;
    const timer = setInterval(reload, POLL);
    return () => clearInterval(timer);
  }, [index, sources.length]);
  useEffect(() => {
    for (const { last } of sources) {
      if (last && isOpen(last) && !jobs.some(({ id }) => id === last.id)) onJob(last);
    }
  }, [data]);
  if (!sources.length) return null;
  return (
    <section aria-labelledby="sources-title" class="jobs">
      <h2 id="sources-title">Sources</h2>
      <ul>
        {sources.map((source) => (
          <li key={source.name}>
            <Source {...{ index, source, writable, onJob }} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface SourceProps {
  index: string;
  source: SyncSource;
  writable: boolean;
  onJob: (job: Job) => void;
}

function Source({ index, source, writable, onJob }: SourceProps) {
  const { name, kind, last } = source;
  const [problem, setProblem] = useState<Problem | null>(null);
  const sync = async (): Promise<void> => {
    setProblem(null);
    try {
      onJob((await postJson<{ job: Job }>(indexPath(index, "documents", "sync"), { folder: name })).job);
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <article class={`job ${last?.state ?? ""}`}>
      <div class="job-head">
        <span>
          <bdi>{name}</bdi> <span class="soft">{kind}</span>{" "}
          {last?.state === "failed" && <span class="state failed">failed</span>}
        </span>
        <span class="soft when">{lastSync(last)}</span>
      </div>
      <p class="soft">{plan(source)}</p>
      {last?.state === "failed" && (
        <p class="job-message" dir="auto">
          {last.message}
        </p>
      )}
      {problem && <Failure problem={problem} />}
      {writable && !(last && isOpen(last)) && (
        <p class="job-actions">
          <button type="button" class="button quiet" onClick={() => void sync()} aria-label={`Sync ${name} now`}>
            Sync now
          </button>
        </p>
      )}
    </article>
  );
}

function lastSync(last: Job | null): string {
  if (!last) return "not synced in the last week";
  return last.finished ? ago(Date.parse(last.finished)) : "being synced";
}

/** When a source is synced. */
function plan({ watched, every, due }: SyncSource): string {
  const parts = [watched && "when a file changes", every && `every ${lengthOf(every)}`].filter(Boolean);
  const next = due === null ? "" : `, next in ${lengthOf((Date.parse(due) - Date.now()) / 1000)}`;
  return `Synced ${parts.join(" and ") || "on request"}${next}`;
}
