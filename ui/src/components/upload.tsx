/** Adding documents: files that are dropped or chosen, or a pasted text. */

import { useRef, useState } from "preact/hooks";
import { indexPath, type Problem, postJson, upload } from "../api";
import { asProblem } from "../server";
import { count } from "../text";
import type { Job } from "../types";
import { Icon } from "./icon";
import { Failure } from "./states";

interface Sending {
  names: string[];
  share: number;
}

export function Upload({ index, onJob }: { index: string; onJob: (job: Job) => void }) {
  const [sending, setSending] = useState<Sending | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const send = async (files: File[]): Promise<void> => {
    if (!files.length || sending) return;
    const names = files.map(({ name }) => name);
    const form = new FormData();
    for (const file of files) form.append("files", file, file.webkitRelativePath || file.name);
    setProblem(null);
    setSending({ names, share: 0 });
    try {
      const { job } = await upload<{ job: Job }>(indexPath(index, "documents"), form, (share) =>
        setSending({ names, share }),
      );
      onJob(job);
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setSending(null);
      if (input.current) input.current.value = "";
    }
  };
  return (
    <>
      <div
        class={over ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void send([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        <Icon name="upload" />
        <div class="drop-text">
          <p>
            <strong>Add documents</strong>
          </p>
          <p class="soft">
            Drop files here: text, Markdown, HTML, CSV, JSON, or a zip or tar of them. A document of the same name is
            replaced.
          </p>
        </div>
        <label class="button primary">
          Choose files
          <input
            ref={input}
            class="unseen"
            type="file"
            multiple
            disabled={sending !== null}
            onChange={(event) => void send([...(event.currentTarget.files ?? [])])}
          />
        </label>
      </div>
      {sending && (
        <div class="job running" role="status">
          <div class="job-head">
            <span>
              Uploading{" "}
              {sending.names.length === 1 ? <bdi>{sending.names[0]}</bdi> : count(sending.names.length, "file")}
            </span>
            <span class="soft">{Math.round(sending.share * 100)} %</span>
          </div>
          <progress value={sending.share} max={1} aria-label="Upload" />
        </div>
      )}
      {problem && <Failure problem={problem} />}
      <AddText index={index} onJob={onJob} onProblem={setProblem} />
    </>
  );
}

function AddText({
  index,
  onJob,
  onProblem,
}: {
  index: string;
  onJob: (job: Job) => void;
  onProblem: (problem: Problem | null) => void;
}) {
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    onProblem(null);
    const document = { text, ...(title.trim() ? { title: title.trim(), id: title.trim() } : {}) };
    try {
      const { job } = await postJson<{ job: Job }>(indexPath(index, "documents"), { documents: [document] });
      onJob(job);
      setTitle("");
      setText("");
    } catch (error) {
      onProblem(asProblem(error));
    }
  };
  return (
    <details class="add-text">
      <summary>Or paste a text</summary>
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Title
          <input
            type="text"
            dir="auto"
            maxLength={1000}
            value={title}
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        </label>
        <label>
          Text
          <textarea dir="auto" rows={6} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary">
          Add this text
        </button>
      </form>
    </details>
  );
}
