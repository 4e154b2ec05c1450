"""Routes: all walks from a node by the same relations in the same directions, and which of them a graph holds.

A walk never returns to where it began, and never goes straight back by the relation that it came by; by another one it
may (see `kernels.relation_paths`). So it may pass a node twice: who directed X, another film of theirs, who wrote that.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Csr, Graph
from graphwright.kernels.compiled import readonly
from graphwright.kernels.csr import group
from graphwright.kernels.relation_paths import Front, Labelled, leading, walks_by

__all__ = [
    "MOST",
    "Found",
    "Route",
    "Routes",
    "begun",
    "cost_on",
    "labelled",
    "led_on",
    "route",
    "routes",
    "spoken",
    "walks",
    "ways_of",
]

MOST = 5_000_000  # edges looked at from one node

Ways = tuple[int, ...]
"""Relations with directions: 2 · relation + 1 from head to tail, 2 · relation from tail to head."""

_APART = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class Route(NamedTuple):
    """A relation path from one node, with all that it leads to: one front for every step, the first that node alone.

    `ends` are the nodes that walks of the route end at, each once; as local positions, like the nodes of fronts.
    """

    ways: Ways
    fronts: tuple[Front, ...]

    @property
    def ends(self) -> NDArray[np.int32]:
        """The nodes that the route leads to."""
        return self.fronts[-1].nodes

    def walks(self, at: Ints | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return a walk to each end (to those at some positions): a row of nodes, one of edges."""
        place = np.arange(len(self.ends)) if at is None else at
        count, steps = len(place), len(self.ways)
        nodes, edges = np.empty((count, steps + 1), np.int32), np.empty((count, steps), np.int32)
        nodes[:, steps] = self.ends[place]
        for step in range(steps, 0, -1):
            front, before = self.fronts[step], self.fronts[step - 1].nodes
            back = np.zeros(count, bool)
            if step < steps and self.ways[step] == self.ways[step - 1] ^ 1:
                back = before[front.parents[place]] == nodes[:, step + 1]
            edges[:, step - 1] = np.where(back, front.other_edges[place], front.edges[place])
            place = np.where(back, front.others[place], front.parents[place])
            nodes[:, step - 1] = before[place]
        return nodes, edges


class Found(NamedTuple):
    """The routes from a node, shorter ones first, and how many were not made longer for the work it would be."""

    routes: list[Route]
    shortened: int


def labelled(graph: Graph) -> Labelled:
    """Return the edges of a graph by their ends, with their relations; nodes and edges by local position."""
    c = graph.columns
    heads, tails, relation, out, into = c.heads, c.tails, c.relation, c.out, c.into
    if not graph.whole:
        edges = graph.edges
        heads, tails = (graph.local(ends[edges]).astype(np.int32) for ends in (heads, tails))
        order, relation = np.arange(len(edges), dtype=np.int32), relation[edges]
        out, into = (Csr(*group(len(graph), ends, order)) for ends in (heads, tails))
    ids = [readonly(part, np.int32) for part in (out.values, into.values, heads, tails, relation)]
    return Labelled(readonly(out.indptr, np.int64), ids[0], readonly(into.indptr, np.int64), *ids[1:])


def routes(
    graph: Graph,
    node: int,
    length: int,
    most: int = MOST,
    edges: Labelled | None = None,
    k: int | None = None,
) -> Found:
    """Return all routes of at most `length` relations from a node of the graph, with what each leads to.

    Breadth first over fronts: each route's nodes, all at once, are led on by every relation in either direction; so the
    work is that of edges at fronts, and not of walks, of which a hub has millions. `most`: edges looked at; the routes
    that lead to the fewest are made longer first, and where that is too much the others are not. `edges`:
    `labelled(graph)`, where it is known. Ordered by length, then by ways; the first `k` cost no more than they take.

    >>> graph = Graph.from_triples([("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "stars", "Smith")])
    >>> [(way.ways, graph.names.take(way.ends)) for way in routes(graph, graph.id("Heat"), 3).routes]
    [((1,), ['Mann']), ((1, 0), ['Ali']), ((1, 0, 3), ['Smith'])]
    """
    known = labelled(graph) if edges is None else edges
    found: list[Route] = []
    level, left, shortened = [begun(graph, node)], most, 0
    for _ in range(length):
        if k is not None and len(found) >= k:
            break
        onward = []
        for cost, at in sorted((cost_on(known, one), i) for i, one in enumerate(level)):
            if cost > left:
                shortened += 1
                continue
            left -= cost
            onward.append(at)
        before, level = level, []
        for at in sorted(onward):  # a level is in the order of its ways, and so is what it leads to
            if k is not None and len(found) + len(level) >= k:
                break
            level += led_on(graph, before[at], known)
        found += level
    return Found(found[:k], shortened)


def begun(graph: Graph, node: int) -> Route:
    """Return the route from a node that has no step yet."""
    return Route((), (Front.of(int(graph.local([node])[0])),))


def cost_on(known: Labelled, made: Route) -> int:
    """Return how many edges are looked at to lead a route on."""
    at = made.ends
    count = (known.out_ptr[at + 1] - known.out_ptr[at]).sum() + (known.into_ptr[at + 1] - known.into_ptr[at]).sum()
    return int(count)


def led_on(graph: Graph, made: Route, known: Labelled) -> list[Route]:
    """Return the routes that are one step longer, by their ways."""
    on = leading(known, len(graph.columns.relations), *_reached(made))
    return [Route((*made.ways, way), (*made.fronts, front)) for way, front in sorted(on.items(), key=itemgetter(0))]


def route(graph: Graph, node: int, ways: Ways, edges: Labelled | None = None) -> Route | None:
    """Return one route from a node of the graph with all that it leads to; None where it leads nowhere.

    >>> graph = Graph.from_triples([("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "stars", "Smith")])
    >>> route(graph, 1, (0,)).walks()[0].tolist()
    [[1, 0], [1, 2]]
    """
    known = labelled(graph) if edges is None else edges
    made = begun(graph, node)
    for way in ways:
        front = leading(known, len(graph.columns.relations), *_reached(made), way).get(way)
        if front is None:
            return None
        made = Route((*made.ways, way), (*made.fronts, front))
    return made


def walks(
    graph: Graph, node: int, ways: Ways, most: int, edges: Labelled | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return every walk from a node by these ways, the first `most` of them, in the form of Route.walks.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("b", "r", "d"), ("c", "r", "d")])
    >>> walks(graph, 0, (1, 1), 9)[0].tolist()
    [[0, 1, 3], [0, 2, 3]]
    """
    return walks_by(labelled(graph) if edges is None else edges, int(graph.local([node])[0]), ways, most)


def ways_of(graph: Graph, nodes: Ints, edges: Ints) -> Ways:
    """Return the ways of a walk; of edges without nodes, as a triple has it, each from head to tail."""
    c = graph.columns
    forward = c.heads[edges] == nodes[:-1] if len(nodes) == len(edges) + 1 else np.ones(len(edges), bool)
    return tuple((2 * c.relation[edges].astype(np.int64) + forward).tolist())


def spoken(graph: Graph, ways: Ways) -> str:
    """Return a relation path as a model should read it: words, and "of" where a relation is walked tail to head.

    >>> spoken(Graph.from_triples([("Heat", "directed_by", "Mann")]), (0, 1))
    'directed by of, directed by'
    """
    names = ((_APART.sub(" ", graph.columns.relations[way >> 1]).strip(), way & 1) for way in ways)
    return ", ".join(name if forward else f"{name} of" for name, forward in names)


class Routes(Evidence):
    """Evidence whose pieces stand for all walks by the same relations; each has the text of these alone (`spoken`).

    >>> Routes.of_pieces([([1, 0], [0])]).texts(Graph.from_triples([("Heat", "directed_by", "Mann")]))
    ['directed by of']
    """

    __slots__ = ()

    def texts(self, graph: Graph) -> list[str]:
        """Return the relations of each piece."""
        return [spoken(graph, ways_of(graph, *piece)) for piece in self]


def _reached(made: Route) -> tuple[Front, NDArray[np.int32], int, int]:
    """Return the last front, the node that each of its nodes was first reached from, the source, and the last way."""
    last, source = made.fronts[-1], int(made.fronts[0].nodes[0])
    if not made.ways:
        return last, np.full(1, -1, np.int32), source, -1
    return last, made.fronts[-2].nodes[last.parents], source, made.ways[-1]
