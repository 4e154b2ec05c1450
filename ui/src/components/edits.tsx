/** Edits by hand: a form on an entity; the list of edits with undo; suggested duplicates to accept or refuse. */

import { useState } from "preact/hooks";
import { getJson, indexPath, Problem, postJson, remove } from "../api";
import { save } from "../judged";
import { href } from "../router";
import { asProblem } from "../server";
import { count } from "../text";
import type { Duplicate, Edit, Job } from "../types";
import { FileButton } from "./buttons";
import { type Loaded, useLoaded } from "./loading";
import { Failure } from "./states";

interface Props {
  index: string;
  onJob: (job: Job) => void;
}

/** Make or undo edits; the problem of the last try, and whether one is being sent. */
function useEditing(index: string, onJob: (job: Job) => void) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const send = async (request: () => Promise<{ job: Job } | null>): Promise<void> => {
    setProblem(null);
    setBusy(true);
    try {
      const reply = await request();
      if (reply) onJob(reply.job);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  };
  const edit = (change: object, why = ""): Promise<void> =>
    send(() => postJson(indexPath(index, "edits"), { changes: [change], why }));
  const undo = (id: string): Promise<void> => send(() => remove(indexPath(index, "edits", id)));
  const take = (text: string): Promise<void> =>
    send(async () => postJson(indexPath(index, "edits", "import"), { edits: exported(text) }));
  return { problem, busy, edit, undo, take };
}

/** Return the edits of a file that was exported, one a line. */
function exported(text: string): unknown[] {
  return text.split("\n").flatMap((line, at) => {
    try {
      return line.trim() ? [JSON.parse(line) as unknown] : [];
    } catch {
      throw new Problem(0, "Nothing was imported", `Line ${at + 1} of the file is not JSON. Choose a file of edits.`);
    }
  });
}

/** A change that a form makes: its title, the labels of its fields, and the change that their texts make. */
interface Action {
  title: string;
  fields: { label: string; optional?: boolean; lines?: boolean }[];
  change: (texts: string[]) => object;
}

type Actions = [Action, ...Action[]];

const lines = (text: string): string[] => text.split("\n").flatMap((line) => line.trim() || []);

/** What can be done with an entity. */
function actionsOn(name: string): Actions {
  return [
    { title: "Rename", fields: [{ label: "New name" }], change: ([to]) => ({ kind: "rename", name, to }) },
    {
      title: "Correct the type",
      fields: [{ label: "Type", optional: true }],
      change: ([type]) => ({ kind: "retype", name, type }),
    },
    {
      title: "Merge into another entity",
      fields: [{ label: "Name of the other entity" }],
      change: ([into]) => ({ kind: "merge", names: [name], into }),
    },
    {
      title: "Split off in some documents",
      fields: [{ label: "Its name there" }, { label: "Documents, one a line", lines: true }],
      change: ([to, documents]) => ({ kind: "split", name, documents: lines(documents ?? ""), to }),
    },
    {
      title: "Add a statement",
      fields: [{ label: "Relation" }, { label: "Name of the other entity" }],
      change: ([relation, tail]) => ({ kind: "add-statement", head: name, relation, tail }),
    },
    {
      title: "Delete a statement",
      fields: [{ label: "Relation" }, { label: "Name of the other entity" }],
      change: ([relation, tail]) => ({ kind: "delete-statement", head: name, relation, tail }),
    },
    { title: "Delete", fields: [], change: () => ({ kind: "delete", name }) },
  ];
}

const ADD: Action = {
  title: "Add an entity",
  fields: [{ label: "Name" }, { label: "Type", optional: true }, { label: "Description", optional: true }],
  change: ([name, type, description]) => ({ kind: "add", name, type, description }),
};

/** A form that corrects an entity. */
export function EntityForm({ index, name, onJob }: Props & { name: string }) {
  return <EditForm summary="Correct this entity" actions={actionsOn(name)} index={index} onJob={onJob} />;
}

/** A form that makes one of some changes. */
function EditForm({ index, onJob, summary, actions }: Props & { summary: string; actions: Actions }) {
  const { problem, busy, edit } = useEditing(index, onJob);
  const [chosen, setChosen] = useState(0);
  const [texts, setTexts] = useState<string[]>([]);
  const [why, setWhy] = useState("");
  const { title, fields, change } = actions[chosen] ?? actions[0];
  const submit = (event: Event): void => {
    event.preventDefault();
    void edit(change(fields.map((_, at) => (texts[at] ?? "").trim())), why.trim());
  };
  return (
    <details class="edit-entity">
      <summary>{summary}</summary>
      <form class="edit-form" onSubmit={submit}>
        {actions.length > 1 && (
          <label>
            Change
            <select value={title} onChange={(event) => setChosen(event.currentTarget.selectedIndex)}>
              {actions.map((action) => (
                <option key={action.title}>{action.title}</option>
              ))}
            </select>
          </label>
        )}
        {fields.map(({ label, optional, lines }, at) => {
          const given = {
            dir: "auto",
            required: !optional,
            value: texts[at] ?? "",
            onInput: (event: { currentTarget: { value: string } }) =>
              setTexts(Object.assign([...texts], { [at]: event.currentTarget.value })),
          } as const;
          return (
            <label key={label}>
              {label}
              {lines ? <textarea rows={2} {...given} /> : <input type="text" {...given} />}
            </label>
          );
        })}
        <label>
          Reason
          <input type="text" dir="auto" value={why} onInput={(event) => setWhy(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary" disabled={busy}>
          Save
        </button>
      </form>
      {problem && <Failure problem={problem} />}
    </details>
  );
}

/** The edits of an index and the suggested duplicates, which a reader of the index may only see. */
export function Edits({ index, onJob, writable, version }: Props & { writable: boolean; version: number }) {
  const keys = [index, version];
  const edits = useLoaded<{ edits: Edit[] }>((signal) => getJson(indexPath(index, "edits"), signal), keys);
  const pairs = useLoaded<{ duplicates: Duplicate[] }>(
    writable ? (signal) => getJson(indexPath(index, "duplicates"), signal) : null,
    keys,
  );
  const editing = useEditing(index, onJob);
  return (
    <>
      {editing.problem && <Failure problem={editing.problem} />}
      <Suggested pairs={pairs} index={index} {...editing} />
      {writable && <EditForm summary={ADD.title} actions={[ADD]} index={index} onJob={onJob} />}
      <Made edits={edits} index={index} writable={writable} {...editing} />
    </>
  );
}

type Editing = ReturnType<typeof useEditing>;

function Suggested({
  pairs,
  index,
  busy,
  edit,
}: Editing & { pairs: Loaded<{ duplicates: Duplicate[] }>; index: string }) {
  if (!pairs.data?.duplicates.length) return null;
  return (
    <details class="edits">
      <summary>{count(pairs.data.duplicates.length, "pair")} of names that may be one</summary>
      <ul>
        {pairs.data.duplicates.map(({ first, second, reasons }) => (
          <li key={`${first}\n${second}`}>
            <span>
              <a href={href("graph", { index, q: first })} dir="auto">
                {first}
              </a>
              {" and "}
              <a href={href("graph", { index, q: second })} dir="auto">
                {second}
              </a>
              <span class="soft">{reasons.join("; ")}</span>
            </span>
            <button
              type="button"
              class="button"
              disabled={busy}
              aria-label={`Merge ${second} into ${first}`}
              onClick={() => void edit({ kind: "merge", names: [second], into: first })}
            >
              Merge
            </button>
            <button
              type="button"
              class="button quiet"
              disabled={busy}
              aria-label={`Keep ${first} and ${second} apart`}
              onClick={() => void edit({ kind: "keep-apart", first, second })}
            >
              Keep apart
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface MadeProps extends Editing {
  edits: Loaded<{ edits: Edit[] }>;
  index: string;
  writable: boolean;
}

function Made({ edits, index, writable, busy, undo, take }: MadeProps) {
  if (edits.problem) return <Failure problem={edits.problem} onRetry={edits.reload} />;
  const made = edits.data?.edits ?? [];
  const lines = made.map(({ change, time, who, why }) => `${JSON.stringify({ change, time, who, why })}\n`);
  return (
    <>
      {made.length > 0 && <Listed {...{ made, writable, busy, undo }} />}
      <p class="edit-files">
        {made.length > 0 && (
          <button type="button" class="button" onClick={() => save(`${index}-edits.jsonl`, lines.join(""))}>
            Download the edits
          </button>
        )}
        {writable && <FileButton label="Import edits" accept=".jsonl" busy={busy} onText={(text) => void take(text)} />}
      </p>
    </>
  );
}

interface ListedProps extends Pick<Editing, "busy" | "undo"> {
  made: Edit[];
  writable: boolean;
}

function Listed({ made, writable, busy, undo }: ListedProps) {
  return (
    <details class="edits">
      <summary>{count(made.length, "edit")} by hand</summary>
      <ul>
        {made.map(({ id, words, who, why, time, idle }) => (
          <li key={id}>
            <span>
              <span dir="auto">{words}</span>
              <span class="soft">
                {[who, time.slice(0, 10), why, idle && `changes nothing now: ${idle}`].filter(Boolean).join(" · ")}
              </span>
            </span>
            {writable && (
              <button
                type="button"
                class="button quiet"
                disabled={busy}
                aria-label={`Undo: ${words}`}
                onClick={() => void undo(id)}
              >
                Undo
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
