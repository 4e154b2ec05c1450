/** Places of the nodes of an evidence graph: in columns where there is room, else in rows. */

import type { EvidenceGraph, EvidenceNode } from "./model";

export interface Placed {
  node: EvidenceNode;
  lines: string[];
  x: number;
  y: number;
  width: number;
  height: number;
  /** Where its row is not the first of its layer: the top of the layer, from where lines come down beside the rows. */
  top?: number;
  /** Where its row is not the last of its layer: the end of the layer, to which lines go down beside the rows. */
  bottom?: number;
}

/** Where a line that skips a layer passes through it. */
export interface Way {
  from: Point;
  to: Point;
}

export interface Point {
  x: number;
  y: number;
}

export interface Drawing {
  width: number;
  height: number;
  across: boolean;
  placed: Map<string, Placed>;
  /** By edge (`from`, line feed, `to`): its ways through the layers between. */
  routes: Map<string, Way[]>;
  layers: { kind: EvidenceNode["kind"]; x: number; y: number }[];
}

/** A node in its layer, or the place that a line takes there. */
interface Item {
  id: string;
  node: EvidenceNode | null;
  edge: string;
}

const LINE = 17;
const PADDING = 10;
const GAP = 14;
const HEAD = 26;
const COLUMN_GAP = 44;
const ROW_GAP = 34;
const WAY = 6; // height of the place that a line takes in a column
const MARGIN = 18;
export const LANE = 7; // from a node to the lines that pass beside it
const MIN_COLUMN = 118;
const MAX_COLUMN = 210;
const MAX_LINES = { question: 7, entity: 3, relation: 3, passage: 3, sentence: 5 } as const;

/** Lay out a graph in `width` pixels; `measure` gives the width of a text. */
export function layOut(graph: EvidenceGraph, width: number, measure: (text: string) => number): Drawing {
  const layers = orderedLayers(graph);
  const column = Math.min(MAX_COLUMN, (width - COLUMN_GAP * (layers.length - 1)) / layers.length);
  return column >= MIN_COLUMN || width >= 640
    ? inColumns(layers, Math.max(column, MIN_COLUMN), measure)
    : inRows(layers, width, measure);
}

/** Return the layers, each ordered by the mean place of what leads to its items, which keeps lines from crossing. */
function orderedLayers(graph: EvidenceGraph): Item[][] {
  const { layers, links } = itemsOf(graph);
  const place = new Map<string, number>();
  const settle = (layer: Item[]): void => layer.forEach(({ id }, at) => place.set(id, at / layer.length));
  layers.forEach(settle);
  for (const forward of [true, false, true]) {
    for (const layer of forward ? layers.slice(1) : layers.slice(0, -1).reverse()) {
      const mean = new Map(layer.map(({ id }) => [id, meanPlace(links, id, forward, place)]));
      layer.sort((one, two) => (mean.get(one.id) ?? 0) - (mean.get(two.id) ?? 0));
      settle(layer);
    }
  }
  return layers;
}

/** Return the layers with a place for each line that skips one, and the links between neighbouring layers. */
function itemsOf(graph: EvidenceGraph): { layers: Item[][]; links: [string, string][] } {
  const ranks = [...new Set(graph.nodes.map(({ layer }) => layer))].sort((one, two) => one - two);
  const rank = new Map(graph.nodes.map(({ id, layer }) => [id, ranks.indexOf(layer)]));
  const layers: Item[][] = ranks.map(() => []);
  const links: [string, string][] = [];
  for (const node of graph.nodes) layers[rank.get(node.id) ?? 0]?.push({ id: node.id, node, edge: "" });
  for (const { from, to } of graph.edges) {
    let last = from;
    for (let at = (rank.get(from) ?? 0) + 1; at < (rank.get(to) ?? 0); at += 1) {
      const edge = `${from}\n${to}`;
      const id = `${edge}\n${at}`;
      layers[at]?.push({ id, node: null, edge });
      links.push([last, id]);
      last = id;
    }
    links.push([last, to]);
  }
  return { layers, links };
}

function meanPlace(links: [string, string][], id: string, forward: boolean, place: Map<string, number>): number {
  const near = links
    .filter(([from, to]) => (forward ? to : from) === id)
    .map(([from, to]) => place.get(forward ? from : to) ?? 0);
  return near.length ? near.reduce((sum, value) => sum + value, 0) / near.length : (place.get(id) ?? 0);
}

function box(node: EvidenceNode, width: number, measure: (text: string) => number): Placed {
  const lines = wrapped(node.label, width - 2 * PADDING, MAX_LINES[node.kind], measure);
  return { node, lines, x: 0, y: 0, width, height: lines.length * LINE + 2 * PADDING - 2 };
}

function kindOf(layer: Item[]): EvidenceNode["kind"] {
  return layer.find(({ node }) => node)?.node?.kind ?? "entity";
}

function addRoute(routes: Map<string, Way[]>, edge: string, way: Way): void {
  routes.set(edge, [...(routes.get(edge) ?? []), way]);
}

function inColumns(layers: Item[][], column: number, measure: (text: string) => number): Drawing {
  const boxes = layers.map((layer) =>
    layer.map((item) => ({ item, box: item.node && box(item.node, column, measure) })),
  );
  const heights = boxes.map((list) => list.reduce((sum, { box }) => sum + (box?.height ?? WAY) + GAP, -GAP));
  const height = Math.max(...heights, 0);
  const placed = new Map<string, Placed>();
  const routes = new Map<string, Way[]>();
  boxes.forEach((list, at) => {
    const x = at * (column + COLUMN_GAP);
    let y = HEAD + (height - (heights[at] ?? 0)) / 2;
    for (const { item, box } of list) {
      if (box) placed.set(item.id, { ...box, x, y });
      else addRoute(routes, item.edge, { from: { x, y: y + WAY / 2 }, to: { x: x + column, y: y + WAY / 2 } });
      y += (box?.height ?? WAY) + GAP;
    }
  });
  return {
    width: layers.length * (column + COLUMN_GAP) - COLUMN_GAP,
    height: HEAD + height + 4,
    across: true,
    placed,
    routes,
    layers: layers.map((layer, at) => ({ kind: kindOf(layer), x: at * (column + COLUMN_GAP), y: 12 })),
  };
}

/** Return the nodes of a layer in rows of one or two. */
function rowsOf(layer: Item[]): EvidenceNode[][] {
  const nodes = layer.flatMap(({ node }) => (node ? [node] : []));
  const columns = nodes.length === 1 || kindOf(layer) === "sentence" ? 1 : 2;
  return Array.from({ length: Math.ceil(nodes.length / columns) }, (_, at) =>
    nodes.slice(at * columns, (at + 1) * columns),
  );
}

/** Lay out from top to bottom; lines that skip a layer pass it on the left. */
function inRows(layers: Item[][], width: number, measure: (text: string) => number): Drawing {
  const placed = new Map<string, Placed>();
  const routes = new Map<string, Way[]>();
  const heads: Drawing["layers"] = [];
  const margin = layers.some((layer) => layer.some(({ node }) => !node) || rowsOf(layer).length > 1) ? MARGIN : 0;
  let y = 0;
  for (const layer of layers) {
    const rows = rowsOf(layer);
    const top = y;
    heads.push({ kind: kindOf(layer), x: margin, y: y + 12 });
    y += HEAD - 4;
    const first = y;
    const columns = rows[0]?.length ?? 1;
    const each = (width - margin - (columns - 1) * GAP) / columns;
    const boxes = rows.map((row) => row.map((node) => box(node, each, measure)));
    const heights = boxes.map((row) => Math.max(...row.map(({ height }) => height)) + GAP);
    const bottom = y + heights.reduce((sum, height) => sum + height, -GAP);
    boxes.forEach((row, at) => {
      const lanes = { ...(at > 0 && { top: first }), ...(at < boxes.length - 1 && { bottom }) };
      row.forEach((item, column) =>
        placed.set(item.node.id, { ...item, ...lanes, x: margin + column * (each + GAP), y }),
      );
      y += heights[at] ?? 0;
    });
    for (const { node, edge } of layer) {
      if (!node) addRoute(routes, edge, { from: { x: margin / 3, y: top }, to: { x: margin / 3, y: y - GAP } });
    }
    y += ROW_GAP - GAP;
  }
  return { width, height: y - ROW_GAP + GAP + 4, across: false, placed, routes, layers: heads };
}

/** Return a text in lines of at most `width` pixels; the last one says with an ellipsis that there is more. */
export function wrapped(text: string, width: number, limit: number, measure: (text: string) => number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).flatMap((part) => broken(part, width, measure))) {
    const longer = line ? `${line} ${word}` : word;
    if (!line || measure(longer) <= width) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = word;
    if (lines.length === limit) break;
  }
  if (lines.length < limit) return [...lines, line];
  const last = Array.from(lines[limit - 1] ?? "");
  while (last.length && measure(`${last.join("")}…`) > width) last.pop();
  return [...lines.slice(0, limit - 1), `${last.join("").trimEnd()}…`];
}

/** Return the pieces of a word that is wider than a line. */
function broken(word: string, width: number, measure: (text: string) => number): string[] {
  if (measure(word) <= width) return [word];
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (piece && measure(piece + character) > width) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  return [...pieces, piece];
}
