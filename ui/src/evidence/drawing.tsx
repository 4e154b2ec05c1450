/** The evidence of an answer as a layered drawing, in SVG: every node can be focused and chosen. */

import { useMemo, useRef, useState } from "preact/hooks";
import { useWidth } from "../components/width";
import { connected, type EvidenceEdge, type EvidenceGraph, type EvidenceNode } from "./model";
import { type Drawing, LANE, layOut, type Placed, type Point, type Way } from "./layout";

const HEADS = {
  question: "Question",
  entity: "Entities",
  relation: "Relations",
  passage: "Passages",
  sentence: "Sentences",
} as const;
export const KINDS = {
  question: "Question",
  entity: "Entity",
  relation: "Relation",
  passage: "Passage",
  sentence: "Cited sentence",
} as const;
const FONT = 13;
const MIN_WIDTH = 200; // less is a frame that is not laid out yet

let context: CanvasRenderingContext2D | null = null;

/** Return the width of a text in pixels. */
function textWidth(text: string): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * FONT * 0.56;
  context.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
  return context.measureText(text).width * 1.02;
}

interface Props {
  graph: EvidenceGraph;
  chosen: string | null;
  onChoose: (node: EvidenceNode) => void;
}

export function EvidenceDrawing({ graph, chosen, onChoose }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [hovered, setHovered] = useState<string | null>(null);
  const drawing = useMemo(() => (width > MIN_WIDTH ? layOut(graph, width, textWidth) : null), [graph, width]);
  const active = hovered ?? chosen;
  const lit = useMemo(() => (active ? connected(graph, active) : null), [graph, active]);
  const onKey = (event: KeyboardEvent, placed: Placed): void => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onChoose(placed.node);
      return;
    }
    const next = drawing && neighbourOf(drawing, placed, event.key);
    if (!next) return;
    event.preventDefault();
    frame.current?.parentElement?.querySelector<SVGGElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <div class="drawing">
      <div ref={frame} />
      {drawing && (
        <svg
          width={drawing.width}
          height={drawing.height}
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          role="group"
          aria-label="Evidence of the answer, from the question to the cited sentences"
        >
          {drawing.layers.map(({ kind, x, y }, at) => (
            <text key={at} class="layer-head" x={x} y={y} aria-hidden="true">
              {HEADS[kind]}
            </text>
          ))}
          <g aria-hidden="true">
            {graph.edges.map((edge) => (
              <Edge key={`${edge.from}\n${edge.to}`} edge={edge} drawing={drawing} lit={lit} />
            ))}
          </g>
          {[...drawing.placed.values()].map((placed) => (
            <Node
              key={placed.node.id}
              placed={placed}
              chosen={placed.node.id === chosen}
              dim={lit !== null && !lit.has(placed.node.id)}
              onChoose={onChoose}
              onHover={setHovered}
              onKey={onKey}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

/** Return the node that an arrow key leads to: the nearest one in that direction. */
function neighbourOf(drawing: Drawing, from: Placed, key: string): string | null {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
  if (!dx && !dy) return null;
  let best: string | null = null;
  let least = Infinity;
  for (const placed of drawing.placed.values()) {
    const x = placed.x + placed.width / 2 - from.x - from.width / 2;
    const y = placed.y + placed.height / 2 - from.y - from.height / 2;
    const along = x * (dx ?? 0) + y * (dy ?? 0);
    const aside = Math.abs(x * (dy ?? 0)) + Math.abs(y * (dx ?? 0));
    if (placed.node.id === from.node.id || along <= 4) continue;
    if (along + 2 * aside < least) [best, least] = [placed.node.id, along + 2 * aside];
  }
  return best;
}

function Edge({ edge, drawing, lit }: { edge: EvidenceEdge; drawing: Drawing; lit: ReadonlySet<string> | null }) {
  const from = drawing.placed.get(edge.from);
  const to = drawing.placed.get(edge.to);
  if (!from || !to) return null;
  const on = lit?.has(edge.from) && lit.has(edge.to);
  const kind = `edge${edge.byText ? " by-text" : ""}${lit ? (on ? " lit" : " dim") : ""}`;
  const ways = drawing.routes.get(`${edge.from}\n${edge.to}`) ?? [];
  return <path class={kind} d={pathOf(from, to, ways, drawing.across)} />;
}

/** Return the line from a node to another, through its ways between. */
function pathOf(from: Placed, to: Placed, ways: readonly Way[], across: boolean): string {
  const start = across ? { x: from.x + from.width, y: middle(from).y } : { x: middle(from).x, y: from.y + from.height };
  const end = across ? { x: to.x, y: middle(to).y } : { x: middle(to).x, y: to.y };
  let path = `M${start.x} ${start.y}`;
  let at = start;
  if (from.bottom !== undefined) {
    at = { x: from.x - LANE, y: from.bottom };
    path = `M${from.x} ${middle(from).y}h${-LANE}V${at.y}`;
  }
  for (const way of ways) {
    path += `${curve(at, way.from, across)}L${way.to.x} ${way.to.y}`;
    at = way.to;
  }
  if (to.top === undefined) return path + curve(at, end, across);
  const lane = { x: to.x - LANE, y: to.top };
  return `${path}${curve(at, lane, across)}V${end.y + to.height / 2}h${LANE}`;
}

function middle({ x, y, width, height }: Placed): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

function curve(from: Point, to: Point, across: boolean): string {
  if (across) {
    const bend = (to.x - from.x) / 2;
    return `C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
  }
  const bend = Math.max(14, (to.y - from.y) / 2);
  return `C${from.x} ${from.y + bend} ${to.x} ${to.y - bend} ${to.x} ${to.y}`;
}

interface NodeProps {
  placed: Placed;
  chosen: boolean;
  dim: boolean;
  onChoose: (node: EvidenceNode) => void;
  onHover: (id: string | null) => void;
  onKey: (event: KeyboardEvent, placed: Placed) => void;
}

function Node({ placed, chosen, dim, onChoose, onHover, onKey }: NodeProps) {
  const { node, lines, x, y, width, height } = placed;
  const round = node.kind === "relation" ? height / 2 : node.kind === "entity" ? 10 : 4;
  const rightToLeft = isRightToLeft(node.label);
  return (
    <g
      class={`node ${node.kind}${chosen ? " chosen" : ""}${dim ? " dim" : ""}`}
      data-node={node.id}
      role="button"
      tabindex={0}
      aria-pressed={chosen}
      aria-label={`${KINDS[node.kind]}: ${node.number ?? ""} ${lines.join(" ")}`}
      onClick={() => onChoose(node)}
      onKeyDown={(event) => onKey(event, placed)}
      onMouseEnter={() => onHover(node.id)}
      onMouseLeave={() => onHover(null)}
      onFocus={() => onHover(node.id)}
      onBlur={() => onHover(null)}
    >
      <rect x={x} y={y} width={width} height={height} rx={round} />
      {node.number && (
        <>
          <circle cx={x + 12} cy={y} r={9} />
          <text class="node-number" x={x + 12} y={y + 4} text-anchor="middle">
            {`${node.number} `}
          </text>
        </>
      )}
      {lines.map((line, at) => (
        <text
          key={at}
          x={rightToLeft ? x + width - 10 : x + 10}
          y={y + 21 + at * 17}
          direction={rightToLeft ? "rtl" : "ltr"}
        >
          {`${line} `}
        </text>
      ))}
    </g>
  );
}

/** Whether the first letter of a text is of a script that is written from right to left. */
function isRightToLeft(text: string): boolean {
  const letter = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u.test(letter);
}
