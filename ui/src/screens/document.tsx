/** A document: its text, with the entities that were found in it, and a span if the address names one. */

import { useState } from "preact/hooks";
import { getJson, indexPath } from "../api";
import { Icon } from "../components/icon";
import { useLoaded } from "../components/loading";
import { nodeKey } from "../components/neighbours";
import { DocumentBody } from "../components/original";
import { Empty, Failure } from "../components/states";
import { href, numberOf, type Route } from "../router";
import { count, digits } from "../text";
import type { DocumentFacts, EntityRef, IndexFacts } from "../types";

export function DocumentScreen({ route, index }: { route: Route; index: IndexFacts }) {
  const id = route.rest;
  const [from, to] = [numberOf(route.query, "start"), numberOf(route.query, "end")];
  const span = from !== null && to !== null && to > from ? { start: from, end: to } : null;
  const [marked, setMarked] = useState(true);
  const {
    data: facts,
    problem,
    reload,
  } = useLoaded<DocumentFacts>((signal) => getJson(indexPath(index.name, "documents", id), signal), [index.name, id]);
  if (problem?.status === 404) {
    return (
      <Empty icon="missing" title="There is no such document" whole>
        <p>
          <bdi>{index.name}</bdi> has no document <bdi>{id}</bdi>. It may have been removed since this link was made.
        </p>
        <a class="button" href={href("documents", { index: index.name })}>
          All documents
        </a>
      </Empty>
    );
  }
  return (
    <div class="column reading">
      <a class="back" href={href("documents", { index: index.name })}>
        <Icon name="back" />
        Documents
      </a>
      <h1 tabIndex={-1}>
        <bdi>{facts?.title || id}</bdi>
      </h1>
      <p class="soft facts">
        <bdi class="id">{id}</bdi>
        {facts && <span>{count(facts.characters, "character")}</span>}
        {facts && <span>{count(facts.chunks.length, "passage")}</span>}
        {span && (
          <span>
            showing {digits(span.start)}–{digits(span.end)}
          </span>
        )}
      </p>
      {problem && <Failure problem={problem} onRetry={reload} />}
      <Metadata values={facts?.metadata} />
      {facts && facts.chunks.some(({ entities }) => entities.length) && (
        <label class="tick">
          <input type="checkbox" checked={marked} onChange={(event) => setMarked(event.currentTarget.checked)} />
          Mark entities
        </label>
      )}
      {!problem && <DocumentBody index={index.name} {...{ span, facts }} showEntities={marked} />}
      {facts && <Entities index={index.name} facts={facts} />}
    </div>
  );
}

function Metadata({ values }: { values: Record<string, string> | undefined }) {
  const entries = Object.entries(values ?? {});
  if (!entries.length) return null;
  return (
    <dl class="metadata">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const FIRST = 40;

/** The entities of a document, those of most passages first. */
function Entities({ index, facts }: { index: string; facts: DocumentFacts }) {
  const [all, setAll] = useState(false);
  const passages = new Map<number, { entity: EntityRef; number: number }>();
  for (const entity of facts.chunks.flatMap(({ entities }) => entities)) {
    const known = passages.get(entity.node);
    passages.set(entity.node, { entity, number: (known?.number ?? 0) + 1 });
  }
  const ordered = [...passages.values()].sort((one, two) => two.number - one.number);
  if (!ordered.length) return null;
  const shown = all ? ordered : ordered.slice(0, FIRST);
  return (
    <section aria-labelledby="entities-title">
      <h2 id="entities-title">Entities</h2>
      <ul class="chips">
        {shown.map(({ entity, number }) => (
          <li key={entity.node}>
            <a href={href("graph", { index, node: nodeKey(entity) })}>
              <bdi>{entity.name}</bdi>
              {number > 1 && <span class="soft"> {number}</span>}
            </a>
          </li>
        ))}
      </ul>
      {ordered.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>
          Show all {ordered.length}
        </button>
      )}
    </section>
  );
}
