/** Explorer of large neighbourhoods in WebGL; a list where the browser has none. */

import Graph from "graphology";
import forceAtlas2 from "graphology-layout-forceatlas2";
import Sigma from "sigma";
import { useEffect, useRef, useState } from "preact/hooks";
import { loadEntity, nodeKey } from "../components/neighbours";
import { href } from "../router";
import { asProblem } from "../server";
import { count } from "../text";
import type { EntityFacts } from "../types";

export interface ExplorerProps {
  index: string;
  start: EntityFacts;
}

const MAX_NODES = 2000;
const SETTLING = 120;
const LABELLED = 25; // edges; labels of more hide each other

function hasWebGl(): boolean {
  const canvas = document.createElement("canvas");
  return Boolean(canvas.getContext("webgl2") ?? canvas.getContext("webgl"));
}

/** Return the value of a colour of the style sheet, which WebGL cannot read by itself. */
function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Add an entity and its neighbours; return how many nodes are new. New ones start near the entity. */
function expand(graph: Graph, entity: EntityFacts): number {
  const before = graph.order;
  const key = String(entity.node);
  if (!graph.hasNode(key)) graph.addNode(key, { label: entity.name, name: entity.name, x: 0, y: 0 });
  graph.mergeNodeAttributes(key, { expanded: true, color: colour("--accent") });
  const { x, y } = graph.getNodeAttributes(key) as { x: number; y: number };
  entity.neighbours.forEach((neighbour, at) => {
    const other = String(neighbour.node);
    const angle = (2 * Math.PI * at) / entity.neighbours.length;
    if (!graph.hasNode(other)) {
      if (graph.order >= MAX_NODES) return;
      graph.addNode(other, {
        label: neighbour.name,
        name: neighbour.name,
        x: x + Math.cos(angle),
        y: y + Math.sin(angle),
        color: colour("--soft"),
      });
    }
    const [head, tail] = neighbour.direction === "in" ? [other, key] : [key, other];
    if (!graph.hasEdge(head, tail)) graph.addEdge(head, tail, { label: neighbour.relation, color: colour("--faint") });
  });
  graph.forEachNode((node) => graph.setNodeAttribute(node, "size", 4 + 2 * Math.sqrt(graph.degree(node))));
  if (graph.order > 2) forceAtlas2.assign(graph, { iterations: SETTLING, settings: forceAtlas2.inferSettings(graph) });
  return graph.order - before;
}

export function Explorer({ index, start }: ExplorerProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [graph] = useState(() => new Graph({ type: "directed", multi: false }));
  const [size, setSize] = useState(0);
  const [message, setMessage] = useState("");
  const [supported] = useState(hasWebGl);
  const open = async (node: string): Promise<void> => {
    setMessage("Loading neighbours…");
    try {
      const entity = await loadEntity(index, node, 0);
      const added = expand(graph, entity);
      setMessage(
        graph.order >= MAX_NODES
          ? `Showing ${MAX_NODES} nodes, which is the limit.`
          : `${entity.name}: ${count(added, "new neighbour")}`,
      );
    } catch (error) {
      setMessage(asProblem(error).message);
    }
    setSize(graph.order);
  };
  useEffect(() => {
    expand(graph, start);
    setSize(graph.order);
    if (!supported || !frame.current) return;
    const sigma = new Sigma(graph, frame.current, {
      renderEdgeLabels: graph.size < LABELLED,
      labelColor: { color: colour("--ink") },
      edgeLabelColor: { color: colour("--soft") },
      labelFont: getComputedStyle(document.body).fontFamily,
      labelSize: 13,
      defaultEdgeType: "arrow",
      allowInvalidContainer: true,
    });
    sigma.on("clickNode", ({ node }) => void open(node));
    return () => sigma.kill();
  }, [start.node]);
  return (
    <section class="explorer" aria-label="Explorer">
      <div class="section-head">
        <h3>Explorer</h3>
        <p class="soft" role="status">
          {message || count(size, "node")}
        </p>
      </div>
      {supported ? (
        <>
          <div class="explorer-frame" ref={frame} aria-hidden="true" />
          <p class="soft">
            Choose a node to add its neighbours. Drag to move, scroll to zoom. The list below does the same with the
            keyboard.
          </p>
        </>
      ) : (
        <p class="note">This browser has no WebGL. The list shows the same nodes.</p>
      )}
      <NodeList index={index} graph={graph} size={size} open={supported} onOpen={open} />
    </section>
  );
}

interface ListProps {
  index: string;
  graph: Graph;
  size: number;
  open: boolean;
  onOpen: (node: string) => Promise<void>;
}

const LISTED = 200;

/** The nodes by number of neighbours; each can be expanded or opened on its own. */
function NodeList({ index, graph, size, open, onOpen }: ListProps) {
  const nodes = graph.nodes().sort((one, two) => graph.degree(two) - graph.degree(one));
  return (
    <details open={!open}>
      <summary>{count(size, "node")} as a list</summary>
      <ul class="explorer-list">
        {nodes.slice(0, LISTED).map((node) => {
          const { name, expanded } = graph.getNodeAttributes(node) as { name: string; expanded?: boolean };
          return (
            <li key={node}>
              <a href={href("graph", { index, node: nodeKey({ node: Number(node), name }) })} dir="auto">
                {name}
              </a>
              {!expanded && (
                <button
                  type="button"
                  class="button quiet"
                  onClick={() => void onOpen(node)}
                  aria-label={`Add neighbours of ${name}`}
                >
                  Add neighbours
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {nodes.length > LISTED && <p class="soft">The first {LISTED}.</p>}
    </details>
  );
}
