/** The best connected entities; the neighbours of one: a drawing around it, and on demand more of them. */

import { useRef, useState } from "preact/hooks";
import { getJson, indexPath, withQuery } from "../api";
import { href } from "../router";
import { capitalised, shortened } from "../text";
import type { Entities, EntityFacts, EntityRef, EntityRow, Neighbour } from "../types";
import { useLoaded } from "./loading";
import { Loading } from "./states";
import { useWidth } from "./width";

/** Return the node of an entity by its name, null where the graph has none. */
export async function entityNamed(index: string, name: string, signal?: AbortSignal): Promise<EntityRow | null> {
  const path = withQuery(indexPath(index, "entities"), { q: name, limit: 10 });
  const { entities } = await getJson<{ entities: EntityRow[] }>(path, signal);
  return entities.find((entity) => entity.name === name) ?? null;
}

const PAGE = 50;

/** Load an entity by its number or name, with statements and passages from `offset` on. */
export function loadEntity(
  index: string,
  node: number | string,
  offset: number,
  signal?: AbortSignal,
): Promise<EntityFacts> {
  return getJson(withQuery(indexPath(index, "entities", String(node)), { offset, limit: PAGE }), signal);
}

/** Return what names an entity in an address: its name, which outlives a change of the index. A number names a node. */
export function nodeKey({ node, name }: EntityRef): string {
  return /^\d+$/.test(name) ? String(node) : name;
}

/** A button that loads and draws the neighbours of an entity. */
export function EntityNeighbours({ index, name }: { index: string; name: string }) {
  const [open, setOpen] = useState<string | null>(null);
  const shown = open === name;
  const { data, problem, loading } = useLoaded<EntityFacts | null>(
    shown
      ? async (signal) => {
          const entity = await entityNamed(index, name, signal);
          return entity && loadEntity(index, entity.node, 0, signal);
        }
      : null,
    [index, name, shown],
  );
  if (!shown) {
    return (
      <p class="chosen-actions">
        <button type="button" class="button" onClick={() => setOpen(name)}>
          Show neighbours
        </button>
        <a class="button quiet" href={href("graph", { index, q: name })}>
          Open in the graph
        </a>
      </p>
    );
  }
  if (loading) return <Loading>Loading neighbours…</Loading>;
  if (problem) return <p class="note">{problem.detail || problem.title}</p>;
  if (!data) return <p class="note">The graph has no entity of exactly this name.</p>;
  return <Neighbourhood index={index} entity={data} />;
}

const CO_OCCURS = "co-occurs with";
const MAX = 14;
const WIDTH = 680;
const BOX = 190;
const CENTRE = 184;
const ROW = 52;

interface Point {
  x: number;
  y: number;
}

interface Place extends Point {
  neighbour: Neighbour;
}

/** Return places beside the middle: left what points at the entity, right what it points at, the rest to balance. */
function beside(neighbours: readonly Neighbour[]): Place[] {
  const isUndirected = ({ relation }: Neighbour): boolean => relation === CO_OCCURS;
  const sides = [true, false].map((left) =>
    neighbours.filter((neighbour) => !isUndirected(neighbour) && (neighbour.direction === "in") === left),
  );
  const [left = [], right = []] = sides;
  for (const neighbour of neighbours.filter(isUndirected)) (left.length < right.length ? left : right).push(neighbour);
  const most = Math.max(left.length, right.length);
  const placed = (side: Neighbour[], x: number): Place[] =>
    side.map((neighbour, at) => ({ neighbour, x, y: (at + (most - side.length) / 2 + 0.5) * ROW }));
  return [...placed(left, BOX / 2 + 1), ...placed(right, WIDTH - BOX / 2 - 1)];
}

/** Return the neighbours without repeats: of several statements with one, the first. */
function distinctNeighbours(neighbours: readonly Neighbour[]): Neighbour[] {
  const first = new Map<number, Neighbour>();
  for (const neighbour of neighbours) if (!first.has(neighbour.node)) first.set(neighbour.node, neighbour);
  return [...first.values()];
}

/** Return a relation with an arrow that says which way it points; co-occurrence has no direction. */
function directed({ relation, direction }: Neighbour): string {
  const name = shortened(relation, 24);
  if (relation === CO_OCCURS) return name;
  return direction === "in" ? `← ${name}` : `${name} →`;
}

/** An entity's neighbours, each a link to its own place in the graph: drawn around it, or listed in a narrow place. */
export function Neighbourhood({ index, entity }: { index: string; entity: EntityFacts }) {
  const frame = useRef<HTMLElement>(null);
  const width = useWidth(frame);
  const distinct = distinctNeighbours(entity.neighbours);
  const shown = distinct.slice(0, MAX);
  return (
    <figure class="neighbourhood" ref={frame}>
      {!distinct.length && <p class="soft">It has no neighbours.</p>}
      {width >= WIDTH && distinct.length > 0 && <Around index={index} entity={entity} neighbours={shown} />}
      {width > 0 && width < WIDTH && <List index={index} neighbours={shown} />}
      {entity.degree > shown.length && (
        <figcaption class="soft">
          The first {shown.length} of {entity.degree} neighbours.
        </figcaption>
      )}
    </figure>
  );
}

interface PartProps {
  index: string;
  neighbours: Neighbour[];
}

function List({ index, neighbours }: PartProps) {
  return (
    <ul class="neighbour-list">
      {neighbours.map((neighbour) => (
        <li key={neighbour.node}>
          <span class="walk-relation">{directed(neighbour)}</span>
          <a href={href("graph", { index, node: nodeKey(neighbour) })} dir="auto">
            {neighbour.name}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Return the ends of the line from the middle to a neighbour: on the sides that face each other. */
function ends(middle: Point, place: Point): [Point, Point] {
  const side = Math.sign(place.x - middle.x);
  return [
    { x: middle.x + (side * CENTRE) / 2, y: middle.y },
    { x: place.x - (side * BOX) / 2, y: place.y },
  ];
}

function curve(from: Point, to: Point): string {
  const bend = (from.x + to.x) / 2;
  return `M${from.x} ${from.y}C${bend} ${from.y} ${bend} ${to.y} ${to.x} ${to.y}`;
}

function Around({ index, entity, neighbours }: PartProps & { entity: EntityFacts }) {
  const placed = beside(neighbours);
  const height = Math.max(...placed.map(({ y }) => y)) + ROW / 2;
  const middle = { x: WIDTH / 2, y: height / 2 };
  return (
    <div class="drawing" role="group" aria-label={`Neighbours of ${entity.name}`}>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} width={WIDTH} height={height}>
        <g aria-hidden="true">
          {placed.map(({ neighbour, x, y }) => (
            <path key={neighbour.node} class="edge" d={curve(...ends(middle, { x, y }))} />
          ))}
        </g>
        {placed.map(({ neighbour, x, y }) => (
          <a key={neighbour.node} href={href("graph", { index, node: nodeKey(neighbour) })}>
            <g class="node entity" transform={`translate(${x} ${y})`}>
              <title>{neighbour.name}</title>
              <rect x={-BOX / 2} y={-21} width={BOX} height={42} rx={10} />
              <text class="neighbour-relation" y={-5} text-anchor="middle">
                {`${directed(neighbour)} `}
              </text>
              <text y={12} text-anchor="middle">
                {shortened(neighbour.name, 22)}
              </text>
            </g>
          </a>
        ))}
        <g class="node centre" transform={`translate(${middle.x} ${middle.y})`}>
          <rect x={-CENTRE / 2} y={-19} width={CENTRE} height={38} rx={19} />
          <text y={5} text-anchor="middle">
            {shortened(entity.name, 24)}
          </text>
        </g>
      </svg>
    </div>
  );
}

const LINE = 34;
const NAME = 28; // height
const NAMES = 320;
const CHARACTER = 8; // pixels
const OTHER = "Other names";

/** The best connected entities below their types, with arcs between those that are neighbours. */
export function Overview({ index, entities, links }: Entities & { index: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [active, setActive] = useState<number | null>(null);
  const typeOf = ({ type }: EntityRow): string => (type && type !== "other" ? capitalised(type) : OTHER);
  const types = [...new Set(entities.map(typeOf))].sort((one, two) => Number(one === OTHER) - Number(two === OTHER));
  const rows = types.flatMap((type) => [type, ...entities.filter((entity) => typeOf(entity) === type)]);
  const shown = types.length > 1 ? rows : rows.slice(1);
  const places = new Map(shown.map((row, at) => [typeof row === "string" ? row : row.node, (at + 0.5) * LINE]));
  const height = shown.length * LINE;
  const names = Math.min(NAMES, width * 0.6);
  const arc = (ends: [number, number]): string => {
    const [from = 0, to = 0] = ends.map((node) => places.get(node));
    const bend = names + 14 + ((width - names - 20) * 1.3 * Math.abs(to - from)) / height;
    return `M${names} ${from}C${bend} ${from} ${bend} ${to} ${names} ${to}`;
  };
  const mark = (lit: boolean): string => (active === null ? "" : lit ? "lit" : "dim");
  return (
    <div class="drawing overview" ref={frame}>
      <svg width={width} height={height} role="group" aria-label="The best connected entities">
        {links.map((ends) => (
          <path
            key={ends.join()}
            class={`edge ${mark(ends.includes(active ?? -1))}`}
            d={arc(ends)}
            aria-hidden="true"
          />
        ))}
        {shown.map((row) =>
          typeof row === "string" ? (
            <text key={row} class="layer-head" y={(places.get(row) ?? 0) + 8}>
              {row}
            </text>
          ) : (
            <a
              key={row.node}
              href={href("graph", { index, node: nodeKey(row) })}
              onMouseEnter={() => setActive(row.node)}
              onMouseLeave={() => setActive(null)}
              onFocus={() => setActive(row.node)}
              onBlur={() => setActive(null)}
            >
              <g class="node entity" transform={`translate(0 ${places.get(row.node)})`}>
                <title>{row.name}</title>
                <rect y={-NAME / 2} width={names} height={NAME} rx={8} />
                <text x={10} y={5}>
                  {`${shortened(row.name, Math.floor((names - 50) / CHARACTER))} `}
                </text>
                <text class="neighbour-relation" x={names - 10} y={4} text-anchor="end">
                  {row.degree}
                </text>
              </g>
            </a>
          ),
        )}
      </svg>
    </div>
  );
}
