/** Changes of an index: their progress, what they read and could not read. */

import { useState } from "preact/hooks";
import { type Problem, postJson } from "../api";
import { isOpen } from "../jobs";
import { asProblem } from "../server";
import { ago, capitalised, count, digits } from "../text";
import type { Job, JobChanges } from "../types";
import { Failure } from "./states";

const RECENT = 4;

/** The changes of an index, newest first. */
export function Jobs({ jobs, writable, onJob }: { jobs: Job[]; writable: boolean; onJob: (job: Job) => void }) {
  const [all, setAll] = useState(false);
  const shown = all ? jobs : jobs.filter((job, at) => isOpen(job) || at < RECENT);
  if (!jobs.length) return null;
  return (
    <section aria-labelledby="jobs-title" class="jobs">
      <h2 id="jobs-title">Changes</h2>
      <ul>
        {shown.map((job) => (
          <li key={job.id}>
            <JobCard job={job} writable={writable} onJob={onJob} />
          </li>
        ))}
      </ul>
      {jobs.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>
          Show all {jobs.length}
        </button>
      )}
    </section>
  );
}

const KINDS = {
  add: "Adding documents",
  remove: "Removing documents",
  sync: "Reading a source",
  reextract: "Reading the documents again",
  rebuild: "Rebuilding the index",
  edit: "Editing the graph",
  undo: "Undoing an edit",
  refit: "Refitting the ranking",
} as const;
const STARTS = {
  add: "Reading the files",
  remove: "Removing",
  sync: "Reading the source",
  reextract: "Reading the texts",
  rebuild: "Reading the texts",
  edit: "Editing",
  undo: "Undoing",
  refit: "Ranking",
} as const;
const STATES = {
  queued: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
} as const;

function JobCard({ job, writable, onJob }: { job: Job; writable: boolean; onJob: (job: Job) => void }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const act = async (what: "cancel" | "retry"): Promise<void> => {
    setProblem(null);
    try {
      const reply = await postJson<Job | { job: Job }>(`v1/jobs/${encodeURIComponent(job.id)}/${what}`, {});
      onJob("job" in reply ? reply.job : reply);
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  const retriable =
    job.state === "failed" || job.state === "cancelled" || (!isOpen(job) && (job.changes?.pending ?? 0) > 0);
  return (
    <article class={`job ${job.state}`} data-job={job.id}>
      <div class="job-head">
        <span>
          {KINDS[job.kind]}{" "}
          <span class={`state ${job.state}`}>{job.cancelling ? "being cancelled" : STATES[job.state]}</span>
        </span>
        <span class="soft when">{ago(Date.parse(job.finished ?? job.created))}</span>
      </div>
      <JobProgress job={job} />
      {job.message && !isOpen(job) && !(job.changes && hasFindings(job.changes)) && (
        <p class="job-message" dir="auto">
          {job.message}
        </p>
      )}
      {job.changes && <JobFindings job={job} />}
      {problem && <Failure problem={problem} />}
      {writable && (
        <p class="job-actions">
          {isOpen(job) && !job.cancelling && (
            <button type="button" class="button quiet" onClick={() => void act("cancel")}>
              Cancel
            </button>
          )}
          {retriable && (
            <button type="button" class="button quiet" onClick={() => void act("retry")}>
              Try again
            </button>
          )}
        </p>
      )}
    </article>
  );
}

function JobProgress({ job }: { job: Job }) {
  if (!isOpen(job)) return null;
  const { progress } = job;
  const known = progress && progress.total > 0;
  return (
    <>
      <progress {...(known ? { value: progress.done, max: progress.total } : {})} aria-label={KINDS[job.kind]} />
      <p class="soft">
        {job.state === "queued" ? "Waiting for its turn" : capitalised(job.message) || STARTS[job.kind]}
        {known && ` · ${digits(progress.done)} of ${digits(progress.total)} ${progress.unit}`}
      </p>
    </>
  );
}

const COUNTS = ["added", "replaced", "removed", "unchanged"] as const;

function hasFindings(changes: JobChanges): boolean {
  const counts = [...COUNTS, "extracted", "off_schema", "pending"] as const;
  return changes.failed.length > 0 || counts.some((name) => changes[name] > 0);
}

/** What a job read, and what it could not read. */
function JobFindings({ job }: { job: Job }) {
  const changes = job.changes;
  if (!changes) return null;
  const files = changes.failed.filter(({ chunk }) => chunk === null).length;
  const chunks = changes.failed.length - files;
  const parts = COUNTS.filter((name) => changes[name] > 0);
  return (
    <>
      <p class="job-changes">
        {parts.map((name) => (
          <span key={name}>
            <strong>{digits(changes[name])}</strong> {name}
          </span>
        ))}
        {job.kind === "reextract" && changes.extracted > 0 && (
          <span>
            <strong>{digits(changes.extracted)}</strong> {changes.extracted === 1 ? "passage" : "passages"} read again
          </span>
        )}
        {changes.off_schema > 0 && (
          <span>
            <strong>{digits(changes.off_schema)}</strong> found outside the types
          </span>
        )}
        {changes.pending > 0 && (
          <span>
            <strong>{digits(changes.pending)}</strong> passages not read by the language model
          </span>
        )}
      </p>
      {changes.failed.length > 0 && (
        <details class="failed">
          <summary>
            {[files && count(files, "file"), chunks && count(chunks, "passage")].filter(Boolean).join(" and ")} not read
          </summary>
          <ul>
            {changes.failed.map(({ document, chunk, reason }, at) => (
              <li key={at}>
                <bdi>{document}</bdi>
                {chunk !== null && `, passage ${chunk + 1}`}: <span dir="auto">{reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
