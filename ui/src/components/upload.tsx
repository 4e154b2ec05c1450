/** Adding documents: files that are dropped or chosen, or a pasted text; where a language model reads, after its cost. */

import { useEffect, useRef, useState } from "preact/hooks";
import { indexPath, type Problem, postJson, upload } from "../api";
import { asProblem } from "../server";
import { count } from "../text";
import { createStore } from "../store";
import type { Estimate, IndexFacts, Job } from "../types";
import { Icon } from "./icon";
import { Price } from "./price";
import { Failure } from "./states";

/** What is to be added: sends it to a path below the documents of an index, and tells the share that was sent. */
interface Addition {
  what: string;
  send: <T>(path: string, onSent: (share: number) => void) => Promise<T>;
  /** What is added one after another, so that the first can be asked about while the others are read. */
  parts?: Addition[];
}

/** Files that were chosen with a new index: its screen of documents adds them. */
export const chosenFiles = createStore<File[]>([]);

interface Sending {
  what: string;
  share: number;
}

interface Offer {
  addition: Addition;
  estimate: Estimate;
}

export function Upload({ index, onJob }: { index: IndexFacts; onJob: (job: Job) => void }) {
  const [sending, setSending] = useState<Sending | null>(null);
  const [offer, setOffer] = useState<Offer | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const documents = indexPath(index.name, "documents");
  const send = async <T,>(addition: Addition, path: string): Promise<T | null> => {
    setProblem(null);
    setOffer(null);
    setSending({ what: addition.what, share: 0 });
    try {
      return await addition.send<T>(path, (share) => setSending({ what: addition.what, share }));
    } catch (error) {
      setProblem(asProblem(error));
      return null;
    } finally {
      setSending(null);
    }
  };
  const add = async (addition: Addition): Promise<void> => {
    for (const part of addition.parts ?? [addition]) {
      const reply = await send<{ job: Job }>(part, documents);
      if (!reply) return;
      onJob(reply.job);
    }
  };
  const begin = async (addition: Addition): Promise<void> => {
    if (sending) return;
    if (!index.reader) return add(addition);
    const estimate = await send<Estimate>(addition, `${documents}/estimate`);
    if (estimate?.chunks) setOffer({ addition, estimate });
    else if (estimate) await add(addition);
  };
  useEffect(() => {
    const files = chosenFiles.get();
    chosenFiles.set([]);
    if (files.length) void begin(ofFiles(files));
  }, []);
  return (
    <>
      <Drop busy={sending !== null} onFiles={(files) => void begin(ofFiles(files))} />
      {sending && <Progress sending={sending} />}
      {offer && (
        <Price
          estimate={offer.estimate}
          what={offer.addition.what}
          label="Add documents"
          onAccept={() => void add(offer.addition)}
          onDecline={() => setOffer(null)}
        />
      )}
      {problem && <Failure problem={problem} />}
      <AddText onAdd={(addition) => void begin(addition)} />
    </>
  );
}

const MAX_PARTS = 20;
const MIN_FILES = 4; // of a part

function ofFiles(files: File[]): Addition {
  const size = Math.max(MIN_FILES, Math.ceil(files.length / MAX_PARTS));
  const starts = Array.from({ length: Math.ceil(files.length / size) }, (_, at) => at * size);
  return {
    ...(starts.length > 1 && { parts: starts.map((start) => ofFiles(files.slice(start, start + size))) }),
    what: files.length === 1 ? (files[0]?.name ?? "") : count(files.length, "file"),
    send: (path, onSent) => {
      const form = new FormData();
      for (const file of files) form.append("files", file, file.webkitRelativePath || file.name);
      return upload(path, form, onSent);
    },
  };
}

function ofText(title: string, text: string): Addition {
  const document = { text, ...(title ? { title, id: title } : {}) };
  return { what: title || "The text", send: (path) => postJson(path, { documents: [document] }) };
}

export function Drop({ busy, onFiles }: { busy: boolean; onFiles: (files: File[]) => void }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: FileList | null | undefined): void => {
    if (files?.length) onFiles([...files]);
    if (input.current) input.current.value = "";
  };
  return (
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
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="upload" />
      <div class="drop-text">
        <p>
          <strong>Add documents</strong>
        </p>
        <p class="soft">
          Drop files here: PDF, Word, text, Markdown, HTML, tables, e-books, e-mail, or a zip or tar of them. A document
          of the same name is replaced.
        </p>
      </div>
      <label class="button primary">
        Choose files
        <input
          ref={input}
          class="unseen"
          type="file"
          multiple
          disabled={busy}
          onChange={(event) => take(event.currentTarget.files)}
        />
      </label>
    </div>
  );
}

function Progress({ sending: { what, share } }: { sending: Sending }) {
  return (
    <div class="job running" role="status">
      <div class="job-head">
        <span>
          {share < 1 ? "Uploading" : "Checking"} <bdi>{what}</bdi>
        </span>
        <span class="soft when">{Math.round(share * 100)} %</span>
      </div>
      <progress {...(share < 1 ? { value: share, max: 1 } : {})} aria-label="Upload" />
    </div>
  );
}

function AddText({ onAdd }: { onAdd: (addition: Addition) => void }) {
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    onAdd(ofText(title.trim(), text));
    setTitle("");
    setText("");
  };
  return (
    <details class="add-text">
      <summary>Or paste a text</summary>
      <form onSubmit={submit}>
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
