/** Documents: the list, with uploads and the changes that they make. */

import { useEffect, useRef, useState } from "preact/hooks";
import { getJson, indexPath, type Problem, remove, withQuery } from "../api";
import { Icon } from "../components/icon";
import { Jobs } from "../components/jobs";
import { useLoaded } from "../components/loading";
import { Sources } from "../components/sources";
import { Empty, Failure, Loading } from "../components/states";
import { Upload } from "../components/upload";
import { isOpen, useJobs } from "../jobs";
import { go, href, hrefWith, numberOf, type Route } from "../router";
import { asProblem, mayManage, mayWrite } from "../server";
import { count, digits } from "../text";
import type { Choices, DocumentRow, IndexFacts, Job, Session } from "../types";

const PAGE = 50;
const ORDERS = [
  ["name", "By name"],
  ["date", "Latest"],
  ["size", "Longest"],
] as const;

interface Props {
  route: Route;
  index: IndexFacts;
  session: Session | null;
  choices: Choices | null;
}

export function DocumentsScreen({ route, index, session, choices }: Props) {
  const query = route.query.get("find") ?? "";
  const sort = route.query.get("sort") ?? "name";
  const offset = numberOf(route.query, "offset") ?? 0;
  const list = useLoaded<{ documents: DocumentRow[]; total: number }>(
    (signal) => getJson(withQuery(indexPath(index.name, "documents"), { q: query, offset, limit: PAGE, sort }), signal),
    [index.name, query, offset, sort],
  );
  const { jobs, put } = useJobs(index.name, list.reload);
  const writable = mayWrite(session) && index.takes_documents;
  return (
    <div class="column wide documents">
      <div class="section-head">
        <h1 tabIndex={-1}>Documents</h1>
        <nav class="page-links" aria-label="Indexes">
          {choices && (
            <a class="button quiet" href={href("new")}>
              <Icon name="plus" />
              New index
            </a>
          )}
          {mayManage(session) && (
            <a class="button quiet" href={href("settings", { index: index.name })}>
              <Icon name="settings" />
              Settings
            </a>
          )}
        </nav>
      </div>
      {writable ? <Upload index={index} onJob={put} /> : <ReadOnly index={index} />}
      <Searchable index={index} reading={jobs.filter((job) => isOpen(job) && job.kind === "add").length} />
      <Sources index={index.name} jobs={jobs} writable={mayWrite(session)} onJob={put} />
      <Jobs jobs={jobs} writable={writable} onJob={put} />
      <section aria-labelledby="list-title">
        <div class="section-head">
          <h2 id="list-title" tabIndex={-1}>
            {list.data ? count(list.data.total, "document") : "Documents"}
            {query && " found"}
          </h2>
          <div class="list-tools">
            <nav class="orders" aria-label="Order of the documents">
              {ORDERS.map(([value, label]) => (
                <a
                  key={value}
                  href={hrefWith(route, { sort: value === "name" ? null : value, offset: null })}
                  aria-current={value === sort ? "true" : undefined}
                >
                  {label}
                </a>
              ))}
            </nav>
            <Search key={query} query={query} onSearch={(find) => go(hrefWith(route, { find, offset: null }), true)} />
          </div>
        </div>
        {list.problem && <Failure problem={list.problem} onRetry={list.reload} />}
        {!list.data && list.loading && <Loading />}
        {list.data && (
          <Table
            {...{ route, offset, query, writable }}
            index={index.name}
            busy={jobs.some(isOpen)}
            {...list.data}
            onJob={put}
          />
        )}
      </section>
    </div>
  );
}

/** What can be asked about, also while more is read. */
function Searchable({ index, reading }: { index: IndexFacts; reading: number }) {
  const { documents, name } = index;
  if (!documents && !reading) return null;
  return (
    <div class="searchable">
      <p role="status">
        {documents
          ? `${count(documents, "document")} can be asked about now`
          : "The first documents are being read; they can be asked about in a moment"}
        {documents && reading ? `; ${count(reading, "more upload")} ${reading === 1 ? "is" : "are"} being read.` : "."}
      </p>
      {documents > 0 && (
        <a class="button primary" href={href("ask", { index: name })}>
          Ask about these
        </a>
      )}
    </div>
  );
}

function ReadOnly({ index }: { index: IndexFacts }) {
  return (
    <p class="note">
      {index.takes_documents
        ? "Your key may read these documents, not change them."
        : index.imported
          ? "This imported graph is too large for documents beside it. Index them into a folder of their own."
          : "This index follows object storage, and is changed where it is pushed from."}
    </p>
  );
}

function Search({ query, onSearch }: { query: string; onSearch: (query: string) => void }) {
  const [text, setText] = useState(query);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (text === query) return;
    const timer = setTimeout(() => onSearch(text.trim()), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="search">
      <span class="unseen">Search documents by id or title</span>
      <input
        ref={box}
        type="search"
        value={text}
        placeholder="Search by id or title"
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}

interface TableProps {
  route: Route;
  index: string;
  documents: DocumentRow[];
  total: number;
  offset: number;
  query: string;
  writable: boolean;
  /** Whether documents are being added or removed now. */
  busy: boolean;
  onJob: (job: Job) => void;
}

function Table({ route, index, documents, total, offset, query, writable, busy, onJob }: TableProps) {
  const [chosen, setChosen] = useState<string[]>([]);
  const here = documents.map(({ id }) => id).filter((id) => chosen.includes(id));
  const choose = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  if (!documents.length && busy && !query) return null;
  if (!documents.length) {
    return query ? (
      <p class="soft">No id or title contains “{query}”.</p>
    ) : (
      <Empty icon="documents" title="No documents yet">
        {writable ? "Add some above, then ask about them." : "Nobody has added one."}
      </Empty>
    );
  }
  return (
    <>
      {writable && documents.length > 1 && (
        <Chosen
          {...{ index, onJob }}
          ids={here}
          all={here.length === documents.length}
          onAll={() => setChosen(here.length === documents.length ? [] : documents.map(({ id }) => id))}
          onEnd={() => setChosen([])}
        />
      )}
      <ul class="document-list">
        {documents.map((row) => (
          <Row
            key={row.id}
            {...{ index, row, writable, onJob }}
            chosen={here.includes(row.id)}
            onChoose={documents.length > 1 ? () => choose(row.id) : null}
          />
        ))}
      </ul>
      {total > PAGE && (
        <nav class="pager" aria-label="Pages of the list">
          {offset > 0 && (
            <a class="button" href={hrefWith(route, { offset: Math.max(0, offset - PAGE) || null })}>
              Previous
            </a>
          )}
          <span class="soft">
            {digits(offset + 1)}–{digits(offset + documents.length)} of {digits(total)}
          </span>
          {offset + documents.length < total && (
            <a class="button" href={hrefWith(route, { offset: offset + PAGE })}>
              Next
            </a>
          )}
        </nav>
      )}
    </>
  );
}

interface ChosenProps {
  index: string;
  ids: string[];
  /** Whether all that the list shows are chosen. */
  all: boolean;
  onAll: () => void;
  onEnd: () => void;
  onJob: (job: Job) => void;
}

/** The removal of several documents, after a question. The server publishes these changes together. */
function Chosen({ index, ids, all, onAll, onEnd, onJob }: ChosenProps) {
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const drop = async (): Promise<void> => {
    setAsking(false);
    setProblem(null);
    document.getElementById("list-title")?.focus();
    onEnd();
    try {
      for (const id of ids) {
        const reply = await remove<{ job: Job }>(indexPath(index, "documents", id));
        if (reply) onJob(reply.job);
      }
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <div class="chosen">
      <label class="tick">
        <input type="checkbox" checked={all} onChange={onAll} />
        Choose all shown
      </label>
      {ids.length > 0 && !asking && (
        <button type="button" class="button" onClick={() => setAsking(true)}>
          Remove {count(ids.length, "document")}
        </button>
      )}
      {ids.length > 0 && asking && (
        <span class="confirm" role="group" aria-label={`Remove ${count(ids.length, "document")}?`}>
          <button type="button" class="button danger" onClick={() => void drop()} ref={(button) => button?.focus()}>
            Remove {count(ids.length, "document")}
          </button>
          <button type="button" class="button quiet" onClick={() => setAsking(false)}>
            Keep
          </button>
        </span>
      )}
      {problem && <Failure problem={problem} />}
    </div>
  );
}

interface RowProps {
  index: string;
  row: DocumentRow;
  writable: boolean;
  chosen: boolean;
  /** Null where there is nothing to choose among. */
  onChoose: (() => void) | null;
  onJob: (job: Job) => void;
}

function Row({ index, row, writable, chosen, onChoose, onJob }: RowProps) {
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const bin = useRef<HTMLButtonElement>(null);
  const title = row.title || row.id;
  const keep = (): void => {
    setAsking(false);
    requestAnimationFrame(() => bin.current?.focus());
  };
  const drop = async (): Promise<void> => {
    setAsking(false);
    document.getElementById("list-title")?.focus(); // the row will go
    try {
      const reply = await remove<{ job: Job }>(indexPath(index, "documents", row.id));
      if (reply) onJob(reply.job);
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <li class="document-row">
      {writable && onChoose && (
        <input type="checkbox" checked={chosen} onChange={onChoose} aria-label={`Choose ${title}`} />
      )}
      <div class="document-name">
        <a href={href("document", { index }, row.id)}>
          <bdi>{title}</bdi>
        </a>
        {row.title && row.title !== row.id && <bdi class="id">{row.id}</bdi>}
      </div>
      <span class="soft numbers">
        {count(row.characters, "character")} · {count(row.chunks, "passage")}
      </span>
      {writable && !asking && (
        <button
          type="button"
          class="icon-button"
          ref={bin}
          onClick={() => setAsking(true)}
          aria-label={`Remove ${title}`}
          title="Remove"
        >
          <Icon name="trash" />
        </button>
      )}
      {asking && (
        <span
          class="confirm"
          role="group"
          aria-label={`Remove ${title}?`}
          onKeyDown={(event) => event.key === "Escape" && keep()}
        >
          <button type="button" class="button danger" onClick={() => void drop()} ref={(button) => button?.focus()}>
            Remove
          </button>
          <button type="button" class="button quiet" onClick={keep}>
            Keep
          </button>
        </span>
      )}
      {problem && <Failure problem={problem} />}
    </li>
  );
}
