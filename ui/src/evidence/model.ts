/** The graph of an answer: question, entities, relations, passages and sentences, in layers. */

import { nodeOf } from "../components/answer";
import { shortened } from "../text";
import type { Citation, Found, Passage } from "../types";

export type NodeKind = "question" | "entity" | "relation" | "passage" | "sentence";

export interface EvidenceNode {
  id: string;
  kind: NodeKind;
  label: string;
  layer: number;
  /** For a relation: its ends, head first. */
  ends?: [string, string];
  passage?: Passage;
  citation?: Citation;
  number?: number;
}

export interface EvidenceEdge {
  from: string;
  to: string;
  /** Found by its text, not by a walk in the graph. */
  byText: boolean;
}

export interface EvidenceGraph {
  nodes: EvidenceNode[];
  edges: EvidenceEdge[];
}

const INVERSE = "⁻¹";
const MAX_ANCHORS = 8;

/** Relations between an entity and its passages, which the index adds; a line says as much as a node of their own. */
const STRUCTURAL = new Set(["about", "mentions"]);

/** Build the graph of an answer. `uncited`: number of passages without a citation that are shown too. */
export function evidenceGraph(
  question: string,
  found: Found,
  citations: readonly Citation[],
  uncited: number,
): EvidenceGraph {
  const builder = new Builder(question, found.passages);
  for (const anchor of found.anchors.slice(0, MAX_ANCHORS)) {
    for (const name of anchor.nodes.slice(0, 2)) builder.anchor(name);
  }
  citations.forEach((citation, at) => builder.citation(citation, at + 1));
  const cited = new Set(citations.map(({ chunk }) => chunk));
  for (const passage of found.passages.filter(({ id }) => !cited.has(id)).slice(0, uncited)) builder.uncited(passage);
  return builder.build();
}

class Builder {
  private readonly nodes = new Map<string, EvidenceNode>();
  private readonly edges = new Map<string, EvidenceEdge>();
  private readonly passages: Map<string, Passage>;

  constructor(question: string, passages: readonly Passage[]) {
    this.passages = new Map(passages.map((passage) => [passage.id, passage]));
    this.add({ id: "q", kind: "question", label: question, layer: 0 });
  }

  private add(node: EvidenceNode): string {
    if (!this.nodes.has(node.id)) this.nodes.set(node.id, node);
    return node.id;
  }

  private link(from: string, to: string, byText = false): void {
    if (from !== to) this.edges.set(`${from}\n${to}`, { from, to, byText });
  }

  private layerOf(id: string): number {
    return this.nodes.get(id)?.layer ?? 0;
  }

  private entity(name: string, layer: number): string {
    const passage = this.passages.get(name);
    return passage && nodeOf(passage) === null
      ? this.passage(passage.id, layer)
      : this.add({ id: `e:${name}`, kind: "entity", label: name, layer });
  }

  private passage(id: string, layer: number): string {
    const passage = this.passages.get(id);
    const label = passage ? `${passage.title || passage.document}: ${shortened(passage.text.trim(), 60)}` : id;
    return this.add({ id: `p:${id}`, kind: "passage", label, layer, ...(passage ? { passage } : {}) });
  }

  anchor(name: string): void {
    this.link("q", this.entity(name, 1));
  }

  /** Add the walk of a citation: names and relations in turn, the last one the passage, or the node that is cited. */
  citation(citation: Citation, number: number): void {
    const { path, chunk } = citation;
    const isNode = nodeOf(citation) !== null;
    let at = "q";
    if (path.length) {
      at = this.entity(path[0] ?? "", 1);
      this.link("q", at);
    }
    for (let step = 1; step + 1 < path.length; step += 2) {
      const next = path[step + 1] ?? "";
      if (next === chunk && !isNode) break;
      at = this.hop(at, path[step] ?? "", next);
    }
    if (isNode) {
      const cited = this.entity(chunk, this.layerOf(at) + 1);
      this.link(at, cited, path.length === 0);
      const node = this.nodes.get(cited);
      if (node) node.number ??= number;
      return;
    }
    const passage = this.passage(chunk, this.layerOf(at) + 1);
    this.link(at, passage, path.length === 0);
    const label = shortened(citation.text, 180);
    const sentence = this.add({ id: `s:${number}`, kind: "sentence", label, layer: 0, citation, number });
    this.link(passage, sentence);
  }

  private hop(from: string, relation: string, next: string): string {
    const name = relation.endsWith(INVERSE) ? relation.slice(0, -INVERSE.length) : relation;
    const layer = this.layerOf(from);
    if (STRUCTURAL.has(name)) {
      const to = this.entity(next, layer + 1);
      this.link(from, to);
      return to;
    }
    const source = this.nodes.get(from)?.label ?? "";
    const ends: [string, string] = relation === name ? [source, next] : [next, source];
    const middle = this.add({
      id: `r:${ends[0]}\n${name}\n${ends[1]}`,
      kind: "relation",
      label: name,
      layer: layer + 1,
      ends,
    });
    this.link(from, middle);
    const to = this.entity(next, layer + 2);
    this.link(middle, to);
    return to;
  }

  uncited(passage: Passage): void {
    this.link("q", this.entity(passage.id, 1), true);
  }

  /** Put all passages in the layer behind the last entity, and the sentences behind them. */
  build(): EvidenceGraph {
    const nodes = [...this.nodes.values()];
    const between = nodes.filter(({ kind }) => kind === "entity" || kind === "relation").map(({ layer }) => layer);
    const behind = Math.max(0, ...between) + 1;
    for (const node of nodes) {
      if (node.kind === "passage") node.layer = behind;
      if (node.kind === "sentence") node.layer = behind + 1;
    }
    return { nodes, edges: [...this.edges.values()] };
  }
}

/** The ids of all nodes on a walk through a node, itself included. */
export function connected(graph: EvidenceGraph, id: string): ReadonlySet<string> {
  const reached = new Set([id]);
  const walk = (from: string, forward: boolean): void => {
    for (const edge of graph.edges) {
      const [near, far] = forward ? [edge.from, edge.to] : [edge.to, edge.from];
      if (near !== from || reached.has(far)) continue;
      reached.add(far);
      walk(far, forward);
    }
  };
  walk(id, true);
  walk(id, false);
  return reached;
}
