/** The form of a question: text, method, number of passages, and filters; and its place in the address. */

import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, indexPath, withQuery } from "../api";
import { instruction } from "../asking";
import { Icon } from "../components/icon";
import { useLoaded } from "../components/loading";
import { useWidth } from "../components/width";
import { numberOf, type Route } from "../router";
import { useStore } from "../store";
import { count, digits } from "../text";
import type { Asked } from "../threads";
import type { DocumentRow, Filter, IndexFacts, Method } from "../types";

/** Return the question that an address asks, null where it asks none. */
export function askedOf(route: Route, index: string): Asked | null {
  const { query } = route;
  const question = query.get("q")?.trim();
  if (!question) return null;
  const asked: Asked = { index: query.get("index") ?? index, question };
  const method = query.get("method");
  const passages = numberOf(query, "k");
  const filter = filterOf(query);
  if (method) asked.method = method;
  if (passages) asked.top_k = passages;
  if (filter) asked.filter = filter;
  const model = query.get("model");
  if (query.get("offline") === "1") asked.offline = true;
  else if (model) asked.model = model;
  return asked;
}

function filterOf(query: URLSearchParams): Filter | undefined {
  const filter: Filter = {};
  const documents = lines(query.get("in") ?? "");
  const folder = query.get("folder");
  const metadata = parseMetadata(query.get("where") ?? "");
  if (documents.length) filter.documents = documents;
  if (folder) filter.folder = folder;
  if (Object.keys(metadata).length) filter.metadata = metadata;
  return Object.keys(filter).length ? filter : undefined;
}

/** Return the parameters that ask a question. */
export function queryOf(asked: Asked): Record<string, string | number | null> {
  const { filter } = asked;
  return {
    index: asked.index,
    q: asked.question,
    method: asked.method ?? null,
    k: asked.top_k ?? null,
    offline: asked.offline ? 1 : null,
    model: asked.model ?? null,
    in: filter?.documents?.join("\n") ?? null,
    folder: filter?.folder ?? null,
    where: writeMetadata(filter?.metadata),
  };
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

type Metadata = NonNullable<Filter["metadata"]>;

/** Return the conditions of lines such as `year = 2024`. */
function parseMetadata(text: string): Metadata {
  const conditions: Metadata = {};
  for (const line of lines(text)) {
    const at = line.indexOf("=");
    if (at > 0) conditions[line.slice(0, at).trim()] = parseValue(line.slice(at + 1).trim());
  }
  return conditions;
}

/** Return a number or a truth value where the text looks like one; in quotes it is always a text. */
function parseValue(text: string): string | number | boolean {
  const quoted = /^"(.*)"$/.exec(text);
  if (quoted) return quoted[1] ?? "";
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function writeMetadata(metadata: Metadata | undefined): string | null {
  if (!metadata) return null;
  return Object.entries(metadata)
    .map(([name, value]) => `${name} = ${parseValue(String(value)) === value ? value : `"${value}"`}`)
    .join("\n");
}

interface Props {
  /** The question to begin with, and its options. */
  asked: Asked;
  /** Whether the question follows others. */
  follows: boolean;
  /** Whether the field takes the focus when it comes. */
  focused: boolean;
  index: IndexFacts;
  methods: Method[];
  busy: boolean;
  onAsk: (asked: Asked) => void;
  onStop: () => void;
}

interface Fields {
  question: string;
  method: string;
  passages: string;
  documents: string;
  folder: string;
  metadata: string;
  /** A language model; empty: that of the index. */
  model: string;
  offline: boolean;
}

function fieldsOf(asked: Asked): Fields {
  return {
    question: asked.question,
    method: asked.method ?? "",
    passages: asked.top_k ? String(asked.top_k) : "",
    documents: asked.filter?.documents?.join("\n") ?? "",
    folder: asked.filter?.folder ?? "",
    metadata: writeMetadata(asked.filter?.metadata) ?? "",
    model: asked.model ?? "",
    offline: asked.offline ?? false,
  };
}

function askedBy(fields: Fields, index: string): Asked {
  const query = new URLSearchParams({
    index,
    q: fields.question,
    method: fields.method,
    k: fields.passages,
    in: fields.documents,
    folder: fields.folder,
    where: fields.metadata,
    model: fields.model,
    offline: fields.offline ? "1" : "",
  });
  return askedOf({ screen: "ask", rest: "", query }, index) ?? { index, question: "" };
}

export function QuestionForm({ asked, follows, focused, index, methods, busy, onAsk, onStop }: Props) {
  const [fields, setFields] = useState(() => fieldsOf(asked));
  const box = useRef<HTMLTextAreaElement>(null);
  const set = (change: Partial<Fields>): void => setFields((before) => ({ ...before, ...change }));
  const restricted = [fields.documents, fields.folder, fields.metadata].some((text) => text.trim());
  const told = useStore(instruction).trim() !== "";
  const optioned =
    restricted || fields.method !== "" || fields.passages !== "" || fields.model !== "" || fields.offline;
  const [open, setOpen] = useState(optioned && !follows);
  useEffect(() => {
    if (focused && matchMedia("(pointer: fine)").matches) box.current?.focus({ preventScroll: true });
  }, []);
  const width = useWidth(box);
  useEffect(() => {
    if (!box.current) return;
    box.current.style.height = "auto";
    box.current.style.height = `${box.current.scrollHeight + 2}px`;
  }, [fields.question, width]);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (busy) return;
    if (fields.question.trim()) {
      onAsk(askedBy(fields, index.name));
      set({ question: "" });
    }
    box.current?.focus();
  };
  return (
    <form class="question" onSubmit={submit}>
      <div class="question-box">
        <label class="unseen" for="question">
          {follows ? "Next question" : "Question"}
        </label>
        <textarea
          id="question"
          ref={box}
          dir="auto"
          rows={1}
          value={fields.question}
          placeholder={follows ? "Ask a follow-up" : `Ask about ${index.name}`}
          onInput={(event) => set({ question: event.currentTarget.value })}
          onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && submit(event)}
        />
        {busy ? (
          <button key="stop" type="button" class="send" onClick={onStop} aria-label="Stop" title="Stop">
            <Icon name="stop" />
          </button>
        ) : (
          <button key="send" type="submit" class="send" aria-label="Ask" title="Ask (Enter)">
            <Icon name="send" />
          </button>
        )}
      </div>
      <details class="options" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon name="filter" />
          Method and filters
          {(optioned || told) && <span class="badge">{restricted ? "filtered" : "changed"}</span>}
          <span class="answering">
            {fields.method || index.default_method} · <bdi>{answering(fields, index)}</bdi>
          </span>
        </summary>
        {open && <Options fields={fields} set={set} index={index} methods={methods} />}
      </details>
    </form>
  );
}

interface OptionsProps {
  fields: Fields;
  set: (change: Partial<Fields>) => void;
  index: IndexFacts;
  methods: Method[];
}

const LISTED = 1000; // documents that can be chosen, the most of one reply

function Options({ fields, set, index, methods }: OptionsProps) {
  const { data: choosable } = useLoaded<{ folders: string[]; metadata: Record<string, string[]> }>(
    (signal) => getJson(indexPath(index.name, "filters"), signal),
    [index.name, index.snapshot],
  );
  const { data: listed } = useLoaded<{ documents: DocumentRow[]; total: number }>(
    (signal) => getJson(withQuery(indexPath(index.name, "documents"), { limit: LISTED }), signal),
    [index.name, index.snapshot],
  );
  const conditions = Object.entries(choosable?.metadata ?? {}).flatMap(([name, values]) =>
    values.map((value) => `${name} = ${value.replaceAll("\n", " ")}`),
  );
  const adder = (field: "documents" | "metadata", what: string, options: string[]) => (
    <select
      aria-label={what}
      value=""
      disabled={!options.length}
      onChange={({ currentTarget: select }) => {
        set({ [field]: [...new Set([...lines(fields[field]), select.value])].join("\n") });
        select.value = "";
      }}
    >
      <option value="">{what}</option>
      {options.map((option) => (
        <option key={option}>{option}</option>
      ))}
    </select>
  );
  const about = methods.find(({ name }) => name === (fields.method || index.default_method))?.about;
  return (
    <div class="option-grid">
      <label>
        Method
        <MethodSelect
          value={fields.method}
          methods={methods}
          index={index}
          onChange={(method) => set({ method })}
          optional
        />
        <small>{about}</small>
      </label>
      <label>
        Passages
        <input
          type="number"
          min={1}
          max={200}
          value={fields.passages}
          placeholder="the method’s default"
          onInput={(event) => set({ passages: event.currentTarget.value })}
        />
      </label>
      <label>
        Folder
        <input
          type="text"
          list="folders"
          value={fields.folder}
          placeholder="reports/2024"
          onInput={(event) => set({ folder: event.currentTarget.value })}
        />
        <datalist id="folders">
          {choosable?.folders.map((folder) => (
            <option key={folder} value={folder} />
          ))}
        </datalist>
        <small>Only documents whose id is in this folder.</small>
      </label>
      <label>
        Documents
        <textarea
          rows={2}
          aria-label="Documents"
          value={fields.documents}
          placeholder="One id a line"
          onInput={(event) => set({ documents: event.currentTarget.value })}
        />
        {adder(
          "documents",
          "Choose one to add",
          (listed?.documents ?? []).map(({ id }) => id),
        )}
        {listed && listed.total > LISTED && (
          <small>
            The list has the first {digits(LISTED)} of {count(listed.total, "document")}. Write the ids of others above.
          </small>
        )}
      </label>
      <label>
        Metadata
        <textarea
          rows={2}
          aria-label="Metadata"
          value={fields.metadata}
          placeholder="year = 2024"
          onInput={(event) => set({ metadata: event.currentTarget.value })}
        />
        {adder("metadata", "Choose a condition to add", conditions)}
        <small>One condition a line. All must hold.</small>
      </label>
      <label>
        Answered by
        <ModelSelect fields={fields} set={set} index={index} />
        <small>Without a language model the answer is made of the documents’ own words.</small>
      </label>
      <InstructionField />
    </div>
  );
}

/** How a language model writes answers; kept in this browser. */
function InstructionField() {
  const text = useStore(instruction);
  return (
    <label>
      How the answer is written
      <textarea
        rows={2}
        dir="auto"
        maxLength={2000}
        aria-label="How the answer is written"
        value={text}
        placeholder="for customers, in German, at most 80 words"
        onInput={(event) => instruction.set(event.currentTarget.value)}
      />
      <small>For all questions from this browser. It changes nothing where no language model answers.</small>
    </label>
  );
}

const NO_MODEL = "no language model";

/** Return what answers by the fields of a question. */
function answering({ model, offline }: Fields, index: IndexFacts): string {
  return offline ? NO_MODEL : model || (index.llm ?? NO_MODEL);
}

/** The choice of the language model, or of none. */
function ModelSelect({ fields, set, index }: Omit<OptionsProps, "methods">) {
  const { model, offline } = fields;
  const choices = new Set([...index.models, ...(model ? [model] : [])]);
  return (
    <select
      value={offline || (!model && !index.llm) ? "" : `=${model || index.llm}`}
      onChange={({ currentTarget: { value } }) => {
        const name = value.slice(1);
        set({ model: name === index.llm ? "" : name, offline: !name && index.llm !== null });
      }}
    >
      {[...choices].map((name) => (
        <option key={name} value={`=${name}`}>
          {name}
        </option>
      ))}
      <option value="">{NO_MODEL}</option>
    </select>
  );
}

interface MethodSelectProps {
  value: string;
  methods: Method[];
  index: IndexFacts;
  onChange: (method: string) => void;
  optional?: boolean;
}

/** The choice of a method, in groups; those that only ask a language model are left out where there is none. */
export function MethodSelect({ value, methods, index, onChange, optional = false }: MethodSelectProps) {
  const usable = methods.filter(({ needs_llm }) => !needs_llm || index.llm || (optional && index.models.length));
  return (
    <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {optional && <option value="">{index.default_method} (default)</option>}
      {[...new Set(usable.map(({ group }) => group))].map((group) => (
        <optgroup key={group} label={group}>
          {usable.map(
            ({ name, needs_llm, group: own }) =>
              own === group && (
                <option key={name} value={name}>
                  {needs_llm ? `${name} (needs a language model)` : name}
                </option>
              ),
          )}
        </optgroup>
      ))}
    </select>
  );
}
