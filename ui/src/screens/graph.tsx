/** Graph: search an entity; its neighbours, statements and passages; paths to another one. */

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJson, indexPath, withQuery } from "../api";
import { sourceHref } from "../components/answer";
import { Edits, EntityForm } from "../components/edits";
import { Icon } from "../components/icon";
import { Jobs } from "../components/jobs";
import { useLoaded } from "../components/loading";
import { loadEntity, Neighbourhood, nodeKey, Overview } from "../components/neighbours";
import { AddDocuments, Empty, Failure, Loading } from "../components/states";
import type { ExplorerProps } from "../explorer/explorer";
import { isOpen, useJobs } from "../jobs";
import { go, href, type Route } from "../router";
import { mayWrite } from "../server";
import { count, digits, shortened } from "../text";
import type {
  Entities,
  EntityFacts,
  EntityRow,
  IndexFacts,
  Job,
  NamingPassage,
  PathPart,
  Session,
  Statement,
  TypeCount,
} from "../types";

interface Props {
  route: Route;
  index: IndexFacts;
  session: Session | null;
}

export function GraphScreen({ route, index, session }: Props) {
  const query = route.query.get("q") ?? "";
  const node = route.query.get("node");
  const type = route.query.get("type");
  const found = useLoaded<Entities>(
    (signal) => getJson(withQuery(indexPath(index.name, "entities"), { q: query, type, limit: 24 }), signal),
    [index.name, query, type],
  );
  const [version, setVersion] = useState(0); // of the graph, after edits
  const types = useLoaded<{ types: TypeCount[] }>(
    (signal) => getJson(indexPath(index.name, "types"), signal),
    [index.name],
  );
  const { jobs, put } = useJobs(index.name, () => {
    setVersion((before) => before + 1);
    found.reload();
    types.reload();
  });
  const writable = mayWrite(session) && index.takes_documents;
  const latest = jobs.filter(isEdit).slice(0, 1);
  const edited = latest.filter((job) => isOpen(job) || job.state === "failed");
  const exact = query && node === null ? found.data?.entities.find(({ name }) => name === query) : undefined;
  const shown = node ?? (exact ? nodeKey(exact) : null);
  return (
    <div class="column wide graph">
      <h1 tabIndex={-1}>Graph</h1>
      <Jobs jobs={edited} writable={writable} onJob={put} />
      <SearchBox key={query} query={query} onSearch={(q) => go(href("graph", { index: index.name, q, type }))} />
      {shown === null && (
        <TypeChoice
          types={types.data?.types ?? []}
          type={type}
          onType={(chosen) => go(href("graph", { index: index.name, q: query, type: chosen }))}
        />
      )}
      {shown !== null ? (
        <>
          <a class="back" href={href("graph", { index: index.name, q: exact ? null : query, type })}>
            <Icon name="back" />
            {query && !exact ? "Results" : "Entities"}
          </a>
          <Entity key={shown} route={route} index={index.name} node={shown} version={version}>
            {(name) => writable && <EntityForm key={name} index={index.name} name={name} onJob={put} />}
          </Entity>
        </>
      ) : (
        <section aria-label="Entities">
          {found.data?.entities.length !== 0 && (
            <p class="soft">
              {query
                ? `Names like “${query}”`
                : `The best connected names${type ? ` of the type ${type}` : ""}, with the number of their neighbours; lines join neighbours`}
            </p>
          )}
          {found.problem && <Failure problem={found.problem} onRetry={found.reload} />}
          {found.loading && !found.data && <Loading />}
          {found.data && !query && <Overview index={index.name} {...found.data} />}
          {found.data && (query || !found.data.entities.length) && (
            <EntityList index={index.name} query={query} type={type} entities={found.data.entities} />
          )}
          {found.data && !query && <Edits index={index.name} onJob={put} {...{ writable, version }} />}
        </section>
      )}
    </div>
  );
}

function SearchBox({ query, onSearch }: { query: string; onSearch: (query: string) => void }) {
  const [text, setText] = useState(query);
  const submit = (event: Event): void => {
    event.preventDefault();
    onSearch(text.trim());
  };
  return (
    <form class="search-form" role="search" onSubmit={submit}>
      <label class="grow">
        <span class="unseen">Name of an entity</span>
        <input
          type="search"
          dir="auto"
          value={text}
          placeholder="Name of an entity"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button primary">
        Search
      </button>
    </form>
  );
}

interface ChoiceProps {
  types: TypeCount[];
  type: string | null;
  onType: (type: string) => void;
}

/** The choice of a type of entities. */
function TypeChoice({ types, type, onType }: ChoiceProps) {
  if (!types.length && !type) return null;
  const known = types.some(({ name }) => name === type);
  return (
    <label class="type-choice">
      Type
      <select value={type ?? ""} onChange={(event) => onType(event.currentTarget.value)}>
        <option value="">All</option>
        {type && !known && <option value={type}>{type} (0)</option>}
        {types.map(({ name, count }) => (
          <option key={name} value={name}>
            {name} ({digits(count)})
          </option>
        ))}
      </select>
    </label>
  );
}

interface ListProps {
  index: string;
  query: string;
  type: string | null;
  entities: EntityRow[];
}

function EntityList({ index, query, type, entities }: ListProps) {
  if (!entities.length) {
    const of = type ? ` of the type ${type}` : "";
    return (
      <Empty icon="graph" title={query || type ? "No such entity" : "The graph is empty"}>
        {query && `No name${of} is like “${query}”. Try a shorter one.`}
        {!query && type && `Nothing is${of}.`}
        {!query && !type && <AddDocuments index={index} />}
      </Empty>
    );
  }
  return (
    <ul class="entity-list">
      {entities.map((entity) => (
        <li key={entity.node}>
          <a href={href("graph", { index, node: nodeKey(entity) })}>
            <bdi class="entity-name">{entity.name}</bdi>
            <span class="soft">
              {isTelling(entity.type) && `${entity.type} · `}
              {count(entity.degree, "neighbour")} · {count(entity.passages, "passage")}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

interface EntityProps {
  route: Route;
  index: string;
  node: string;
  version: number;
  /** What stands below the facts of the entity of a name. */
  children: (name: string) => ComponentChildren;
}

function Entity({ route, index, node, version, children }: EntityProps) {
  const {
    data: first,
    problem,
    loading,
    reload,
  } = useLoaded<EntityFacts>((signal) => loadEntity(index, node, 0, signal), [index, node, version]);
  const [more, setMore] = useState<EntityFacts[]>([]);
  useEffect(() => setMore([]), [version]);
  if (problem?.status === 404) {
    return (
      <Empty icon="missing" title="There is no such entity">
        <p>
          The graph has no entity <bdi>{node}</bdi>.
        </p>
      </Empty>
    );
  }
  if (problem) return <Failure problem={problem} onRetry={reload} />;
  if (loading || !first) return <Loading />;
  const pages = [first, ...more];
  const entity = { ...first, neighbours: pages.flatMap(({ neighbours }) => neighbours) };
  const statements = pages.flatMap((page) => page.statements);
  const passages = pages.flatMap((page) => page.passages);
  const loadMore = async (): Promise<void> => {
    const next = await loadEntity(index, first.node, Math.max(statements.length, passages.length));
    setMore((before) => [...before, next]);
  };
  const complete = statements.length >= first.total_statements && passages.length >= first.total_passages;
  return (
    <article class="entity-page" aria-label={first.name}>
      <header>
        <h2 dir="auto">{first.name}</h2>
        <p class="soft">
          {isTelling(first.type) && `${first.type} · `}
          {count(first.degree, "neighbour")} · {count(first.total_statements, "statement")} ·{" "}
          {count(first.total_passages, "passage")}
        </p>
        {first.text.length > `${first.name} (${first.type})`.length && (
          <p class="entity-text" dir="auto">
            {shortened(first.text, 600)}
          </p>
        )}
      </header>
      {children(first.name)}
      <Neighbourhood index={index} entity={entity} />
      <ExplorerPart index={index} entity={first} />
      <Statements index={index} statements={statements} total={first.total_statements} />
      <Passages route={route} index={index} passages={passages} total={first.total_passages} />
      {!complete && (
        <button type="button" class="button" onClick={() => void loadMore()}>
          Show more
        </button>
      )}
      <Paths index={index} entity={first} />
    </article>
  );
}

/** The explorer in WebGL: its code is loaded when it is opened. */
function ExplorerPart({ index, entity }: { index: string; entity: EntityFacts }) {
  const [open, setOpen] = useState(false);
  const [Explorer, setExplorer] = useState<ComponentType<ExplorerProps> | null>(null);
  useEffect(() => {
    if (open) void import("../explorer/explorer").then((module) => setExplorer(() => module.Explorer));
  }, [open]);
  if (!entity.degree) return null;
  if (!open) {
    return (
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Explore from here
      </button>
    );
  }
  return Explorer ? <Explorer index={index} start={entity} /> : <Loading>Loading the explorer…</Loading>;
}

function isEdit({ kind }: Job): boolean {
  return kind === "edit" || kind === "undo";
}

/** Whether the type of an entity tells something. */
function isTelling(type: string): boolean {
  return type !== "" && type !== "other";
}

/** Return the statements without repeats, with the passages of all that say the same. */
function distinct(statements: Statement[]): Statement[] {
  const first = new Map<string, Statement>();
  for (const statement of statements) {
    const key = [statement.head, statement.relation, statement.tail].join("\n");
    const before = first.get(key)?.passages ?? [];
    first.set(key, { ...statement, passages: [...new Set([...before, ...statement.passages])] });
  }
  return [...first.values()];
}

function Statements({ index, statements, total }: { index: string; statements: Statement[]; total: number }) {
  if (!total) return null;
  return (
    <section aria-labelledby="statements-title">
      <h3 id="statements-title">{count(total, "statement")}</h3>
      <ul class="statements">
        {distinct(statements).map(({ head, relation, tail, passages }, at) => (
          <li key={at}>
            <a href={href("graph", { index, q: head })} dir="auto">
              {head}
            </a>
            <span class="walk-relation" dir="auto">
              {relation}
            </span>
            <a href={href("graph", { index, q: tail })} dir="auto">
              {tail}
            </a>
            {passages.length > 1 && <span class="soft">in {count(passages.length, "passage")}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Passages({
  route,
  index,
  passages,
  total,
}: {
  route: Route;
  index: string;
  passages: NamingPassage[];
  total: number;
}) {
  const placed = passages.flatMap(({ id, document, title, start, end }) =>
    document !== null && start !== null && end !== null ? [{ id, document, title: title || document, start, end }] : [],
  );
  if (!placed.length) return null;
  return (
    <section aria-labelledby="passages-title">
      <h3 id="passages-title">Named in {count(total, "passage")}</h3>
      <ul class="naming">
        {placed.map((passage) => (
          <li key={passage.id}>
            <a href={sourceHref(route, index, passage)}>
              <bdi>{passage.title}</bdi>
            </a>
            <span class="soft">
              characters {passage.start}–{passage.end}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Paths({ index, entity }: { index: string; entity: EntityFacts }) {
  const [text, setText] = useState("");
  const [target, setTarget] = useState("");
  const { data, problem, loading } = useLoaded<{ paths: PathPart[][] }>(
    target
      ? (signal) => getJson(withQuery(indexPath(index, "paths"), { from: entity.node, to: target, limit: 5 }), signal)
      : null,
    [index, entity.node, target],
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    setTarget(text.trim());
  };
  return (
    <section aria-labelledby="paths-title">
      <h3 id="paths-title">Paths to another entity</h3>
      <form class="search-form" onSubmit={submit}>
        <label class="grow">
          <span class="unseen">Name of the other entity</span>
          <input
            type="text"
            dir="auto"
            value={text}
            placeholder="Name of the other entity"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button">
          Find paths
        </button>
      </form>
      {loading && <Loading>Searching paths…</Loading>}
      {problem && <p class="note">{problem.detail || problem.title}</p>}
      {data && !data.paths.length && <p class="soft">No path of up to six statements leads there.</p>}
      <ol class="walks">
        {data?.paths.map((path, at) => (
          <li key={at}>
            <PathLine index={index} path={path} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function PathLine({ index, path }: { index: string; path: PathPart[] }) {
  return (
    <>
      {path.map((part, at) =>
        "node" in part ? (
          <a key={at} href={href("graph", { index, node: nodeKey(part) })} dir="auto">
            {part.name}
          </a>
        ) : (
          <span key={at} class="walk-relation">
            {part.forward ? ` ${part.relation} → ` : ` ← ${part.relation} `}
          </span>
        ),
      )}
    </>
  );
}
