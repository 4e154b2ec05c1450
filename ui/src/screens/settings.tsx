/** The settings of an index: its name, what reads its documents and answers, a copy of it, and its end. */

import { useState } from "preact/hooks";
import { addressOf, getJson, indexPath, type Problem, postJson, remove, withQuery } from "../api";
import { NameField, Reading } from "../components/choices";
import { GivenFeedback } from "../components/feedback";
import { Icon } from "../components/icon";
import { Jobs } from "../components/jobs";
import { useLoaded } from "../components/loading";
import { Price } from "../components/price";
import { ReadAgain } from "../components/schema";
import { Empty, Failure } from "../components/states";
import { isOpen, useJobs } from "../jobs";
import { go, href } from "../router";
import { asProblem, chooseIndex, mayManage, refreshIndexes } from "../server";
import { count } from "../text";
import type { Choices, Estimate, IndexFacts, Job, Rebuildable, Session } from "../types";

interface Props {
  index: IndexFacts;
  session: Session | null;
  choices: Choices | null;
}

export function SettingsScreen({ index, session, choices }: Props) {
  const [version, setVersion] = useState(0);
  const { jobs, put } = useJobs(index.name, () => setVersion((before) => before + 1));
  if (!mayManage(session)) {
    return (
      <Empty icon="key" title="Settings are for an admin" whole>
        <p>Your key may not change this index. Ask the person who runs the server for one with the scope admin.</p>
      </Empty>
    );
  }
  return (
    <div class="column settings">
      <a class="back" href={href("documents", { index: index.name })}>
        <Icon name="back" />
        Documents
      </a>
      <h1 tabIndex={-1}>
        Settings of <bdi>{index.name}</bdi>
      </h1>
      {index.own ? (
        <Values index={index} choices={choices ?? { languages: [], models: index.llm ? [index.llm] : [] }} />
      ) : (
        <p class="note">
          This index was given to the server when it was started. Its name and its model are changed there.
        </p>
      )}
      <ReadAgain index={index} busy={jobs.some(isOpen)} version={version} onJob={put} />
      <Rebuild index={index} busy={jobs.some(isOpen)} onJob={put} />
      <Jobs
        jobs={jobs.filter(({ kind }) => kind === "reextract" || kind === "rebuild" || kind === "refit")}
        writable
        onJob={put}
      />
      <GivenFeedback index={index} busy={jobs.some(isOpen)} onJob={put} />
      <section aria-labelledby="export-title">
        <h2 id="export-title">A copy</h2>
        <p class="soft">The folder can be served or asked elsewhere; the texts are what was read from the documents.</p>
        {jobs.some(isOpen) ? (
          <p role="status">The index is being changed. It can be downloaded afterwards.</p>
        ) : (
          <p class="actions">
            <Copy index={index.name} what="index" label="Download the index folder" />
            <Copy index={index.name} what="documents" label="Download the texts" />
          </p>
        )}
      </section>
      {index.own && <Delete index={index} />}
    </div>
  );
}

function Copy({ index, what, label }: { index: string; what: string; label: string }) {
  return (
    <a class="button" href={addressOf(withQuery(indexPath(index, "export"), { what }))} download={`${index}.zip`}>
      {label}
    </a>
  );
}

function Values({ index, choices }: { index: IndexFacts; choices: Choices }) {
  const [name, setName] = useState(index.name);
  const [reading, setReading] = useState({ extraction: index.extraction, model: index.llm });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [saved, setSaved] = useState(false);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    setProblem(null);
    try {
      const values = { ...reading, ...(name.trim() !== index.name && { name: name.trim() }) };
      const changed = await postJson<IndexFacts>(indexPath(index.name), values, undefined, "PATCH");
      await refreshIndexes();
      setSaved(true);
      if (changed.name !== index.name) {
        chooseIndex(changed.name);
        go(href("settings", { index: changed.name }), true);
      }
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <form class="new-index" onSubmit={(event) => void save(event)} onInput={() => setSaved(false)}>
      <NameField name={name} onName={setName} />
      <Reading {...{ choices, ...reading }} onChange={(extraction, model) => setReading({ extraction, model })} />
      {problem && <Failure problem={problem} />}
      <button type="submit" class="button primary">
        Save
      </button>
      <p role="status">
        {saved && "Saved. Documents that were read before stay as they are until they are read again."}
      </p>
    </form>
  );
}

/** Another encoder or chunks of another size, after the cost where a language model has to read chunks again. */
function Rebuild({ index, busy, onJob }: { index: IndexFacts; busy: boolean; onJob: (job: Job) => void }) {
  const { data: now, problem: failed } = useLoaded<Rebuildable>(
    (signal) => getJson(indexPath(index.name, "rebuild"), signal),
    [index.name, index.snapshot],
  );
  const [encoder, setEncoder] = useState("");
  const [sizes, setSizes] = useState<{ chunk_tokens?: number; overlap?: number }>({});
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const values = { ...(encoder && { encoder }), ...sizes };
  const post = async <T,>(path: string, more: { yes?: boolean } = {}): Promise<T | null> => {
    setProblem(null);
    setEstimate(null);
    try {
      return await postJson<T>(indexPath(index.name, path), { ...values, ...more });
    } catch (error) {
      setProblem(asProblem(error));
      return null;
    }
  };
  const begin = async (yes: boolean): Promise<void> => {
    const reply = await post<{ job: Job }>("rebuild", { yes });
    if (reply) onJob(reply.job);
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const expected = await post<Estimate>("rebuild/estimate");
    if (expected?.chunks) setEstimate(expected);
    else if (expected) await begin(false);
  };
  const size = (name: "chunk_tokens" | "overlap", label: string, min: number, about: string) => (
    <label>
      {label}
      <input
        type="number"
        min={min}
        required
        value={sizes[name] ?? now?.[name]}
        onInput={({ currentTarget: input }) => setSizes({ ...sizes, [name]: input.valueAsNumber })}
      />
      <small>{about}</small>
    </label>
  );
  return (
    <section aria-labelledby="rebuild-title">
      <h2 id="rebuild-title">Rebuild</h2>
      <p class="soft">
        The index is built again from the stored texts. Questions are answered as before until the new one is complete.
      </p>
      {failed && <Failure problem={failed} />}
      {now && (
        <form class="new-index" onSubmit={(event) => void submit(event)} onInput={() => setEstimate(null)}>
          <label>
            Encoder
            <select value={encoder} onChange={(event) => setEncoder(event.currentTarget.value)}>
              <option value="">as it is ({now.encoder.split(":")[0]})</option>
              {now.encoders.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            <small>It turns texts into the vectors that are compared with a question.</small>
          </label>
          {size("chunk_tokens", "Tokens of a passage", 16, "The most that a passage may have.")}
          {size("overlap", "Overlap", 0, "The tokens that neighbouring passages share.")}
          <button type="submit" class="button" disabled={busy}>
            Rebuild the index
          </button>
        </form>
      )}
      {estimate && (
        <Price
          estimate={estimate}
          what="the passages that change"
          label="Rebuild, and read them again"
          onAccept={() => void begin(true)}
          onDecline={() => setEstimate(null)}
        />
      )}
      {problem && <Failure problem={problem} />}
    </section>
  );
}

/** The end of an index: its name is typed, so that it is not deleted by mistake. */
function Delete({ index }: { index: IndexFacts }) {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const drop = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (typed.trim() !== index.name) return;
    try {
      await remove(indexPath(index.name));
      await refreshIndexes();
      go(href("documents"));
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <section aria-labelledby="delete-title">
      <h2 id="delete-title">Delete</h2>
      <p class="soft">
        The index and its {count(index.documents, "document")} are deleted, and cannot be brought back. Type{" "}
        <bdi>
          <strong>{index.name}</strong>
        </bdi>{" "}
        to confirm.
      </p>
      <form class="new-index" onSubmit={(event) => void drop(event)}>
        <label>
          Name of the index
          <input
            type="text"
            dir="auto"
            autocomplete="off"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        {problem && <Failure problem={problem} />}
        <button type="submit" class="button danger" disabled={typed.trim() !== index.name}>
          Delete this index
        </button>
      </form>
    </section>
  );
}
