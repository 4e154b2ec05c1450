/** Evidence: the drawing, what is chosen in it, and the same as a list. */

import { useMemo, useState } from "preact/hooks";
import type { Asking } from "../asking";
import { named, nodeOf, Relation, sourceHref, type Titles, titlesOf } from "../components/answer";
import { EntityNeighbours } from "../components/neighbours";
import { Empty, Loading } from "../components/states";
import { go, href, type Route } from "../router";
import { shortened } from "../text";
import type { Citation, Passage } from "../types";
import { EvidenceDrawing, KINDS } from "./drawing";
import { evidenceGraph, type EvidenceNode } from "./model";

const UNCITED = 4;

export function EvidenceView({ route, state }: { route: Route; state: Asking }) {
  const { asked, found, citations, answer } = state;
  const [chosen, setChosen] = useState<EvidenceNode | null>(null);
  const [others, setOthers] = useState(false);
  const uncited = others || citations.length === 0 ? UNCITED : 0;
  const graph = useMemo(
    () => found && evidenceGraph(asked.question, found, citations, uncited),
    [asked.question, found, citations, uncited],
  );
  if (!found || !graph) return state.problem ? null : <Loading>Searching…</Loading>;
  if (graph.nodes.length === 1) {
    return (
      <Empty icon="missing" title="Nothing was found">
        No entity of this question is in the graph, and no passage is close to it.
      </Empty>
    );
  }
  const choose = (node: EvidenceNode): void => {
    setChosen(node);
    if (node.citation) go(sourceHref(route, asked.index, node.citation));
    else if (node.passage) go(sourceHref(route, asked.index, node.passage));
  };
  return (
    <section class="evidence" aria-label="Evidence">
      <div class="evidence-head">
        <p class="soft">
          {subjectOf(citations)} Dashed lines: found by the words and their meaning, not by a walk in the graph.
        </p>
        {citations.length > 0 && found.passages.length > 0 && (
          <label class="tick">
            <input type="checkbox" checked={others} onChange={(event) => setOthers(event.currentTarget.checked)} />
            Show passages without a citation
          </label>
        )}
      </div>
      <EvidenceDrawing graph={graph} chosen={chosen?.id ?? null} onChoose={choose} />
      <Chosen node={chosen} route={route} index={asked.index} />
      <details class="as-list">
        <summary>The same as a list</summary>
        {citations.length ? (
          <CitationWalks {...{ route, citations }} index={asked.index} titles={titlesOf(found.passages)} />
        ) : (
          <p>{answer ? "The answer has no citations." : "The answer is being written."}</p>
        )}
      </details>
    </section>
  );
}

function subjectOf(citations: readonly Citation[]): string {
  if (!citations.length) return "The passages that were read.";
  return citations.every((citation) => nodeOf(citation) !== null)
    ? "How each answer was reached."
    : "How each cited sentence was reached.";
}

function Chosen({ node, route, index }: { node: EvidenceNode | null; route: Route; index: string }) {
  if (!node) return <p class="hint">Choose a node to see what it stands for. Arrow keys move between nodes.</p>;
  return (
    <section class="chosen-node" aria-live="polite" aria-label="Chosen node">
      <p class="eyebrow">{KINDS[node.kind]}</p>
      <h2 dir="auto">{node.ends ? `${node.ends[0]} — ${node.label} — ${node.ends[1]}` : shortened(node.label, 300)}</h2>
      {node.kind === "entity" && <EntityNeighbours index={index} name={node.label} />}
      {node.ends && (
        <p>
          <a href={href("graph", { index, q: node.ends[0] })}>{node.ends[0]}</a> and{" "}
          <a href={href("graph", { index, q: node.ends[1] })}>{node.ends[1]}</a> in the graph
        </p>
      )}
      {node.passage && <PassageFacts passage={node.passage} route={route} index={index} />}
      {node.citation && <a href={sourceHref(route, index, node.citation)}>Open at these characters</a>}
    </section>
  );
}

function PassageFacts({ passage, route, index }: { passage: Passage; route: Route; index: string }) {
  return (
    <>
      <p class="chosen-text" dir="auto">
        {shortened(passage.text, 600)}
      </p>
      <a href={sourceHref(route, index, passage)}>Open in the document</a>
    </>
  );
}

interface WalksProps {
  route: Route;
  index: string;
  citations: Citation[];
  titles: Titles;
}

/** The walk to each citation, in words. */
function CitationWalks({ route, index, citations, titles }: WalksProps) {
  return (
    <ol class="walks">
      {citations.map((citation, at) => (
        <li key={at}>
          {citation.path.length === 0 ? (
            <span class="soft">Found by its text: </span>
          ) : (
            citation.path.slice(0, -1).map((part, step) =>
              step % 2 ? (
                <Relation key={step} name={part} />
              ) : (
                <bdi key={step} class="walk-entity">
                  {` ${named(part, titles)} `}
                </bdi>
              ),
            )
          )}{" "}
          <a href={sourceHref(route, index, citation)} dir="auto">
            {shortened(citation.text, 200)}
          </a>
        </li>
      ))}
    </ol>
  );
}
