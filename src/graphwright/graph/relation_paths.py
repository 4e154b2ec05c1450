"""Relation paths of a graph: sequences of directed relations, where they lead, and the walks by them."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Piece
from graphwright.graph.graph import Graph
from graphwright.graph.items import Ints, Item
from graphwright.kernels.csr import group, readonly
from graphwright.kernels.walks import Front, Labelled, leading, walks_by

MAX_EDGES = 5_000_000
"""Default limit of the edges that are read from one node."""

Ways = tuple[int, ...]
"""Relations with directions: 2 · relation + 1 from head to tail, 2 · relation from tail to head."""

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class RelationPath(NamedTuple):
    """A sequence of relations from one node, with the nodes that it leads to.

    `fronts`: the nodes after no step, one step, and so on; the first is that node alone.
    """

    ways: Ways
    fronts: tuple[Front, ...]

    @property
    def ends(self) -> NDArray[np.int32]:
        """The nodes that walks by these relations end at, each once, as local positions."""
        return self.fronts[-1].nodes

    @property
    def targets(self) -> NDArray[np.int32]:
        """The ends without the start node, unless it is the only end (see `leading_elsewhere`)."""
        source, ends = self.fronts[0].nodes, self.ends
        return ends[leading_elsewhere(np.stack((np.broadcast_to(source, ends.shape), ends), axis=1))]

    def example(self, graph: Graph) -> Piece:
        """Return one walk: its nodes and its edges, by snapshot id."""
        nodes, edges = self.walks(np.zeros(1, np.int64))
        return graph.at(nodes[0]), graph.edges[edges[0]]

    def walks(self, at: Ints | None = None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return a walk to each end, or to those at positions `at`: rows of nodes, and rows of edges."""
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


def labelled_edges(graph: Graph) -> Labelled:
    """Return the edges of a graph by their ends, with their relations; nodes and edges by local position."""
    c = graph.columns
    heads, tails, relation, out, into = c.heads, c.tails, c.relation, c.out, c.into
    if not graph.whole:
        edges = graph.edges
        heads, tails = (graph.local(ends[edges]).astype(np.int32) for ends in (heads, tails))
        order, relation = np.arange(len(edges), dtype=np.int32), relation[edges]
        out, into = (group(len(graph), ends, order) for ends in (heads, tails))
    ids = [readonly(part, np.int32) for part in (out.values, into.values, heads, tails, relation)]
    return Labelled(readonly(out.indptr, np.int64), ids[0], readonly(into.indptr, np.int64), *ids[1:])


def relation_paths(
    graph: Graph,
    node: int,
    length: int,
    max_edges: int = MAX_EDGES,
    edges: Labelled | None = None,
    k: int | None = None,
    returning: bool = False,
) -> tuple[list[RelationPath], int]:
    """Return all relation paths of at most `length` relations from a node, and how many cost too much to extend.

    Breadth first over fronts: all nodes of a path are extended at once by every relation in either direction, so the
    cost grows with the edges at fronts, not with the walks (a hub has millions). `max_edges`: maximum edges read in
    all; at each length the cheapest paths are extended first. `edges`: `labelled_edges(graph)`, if computed before.
    Paths are ordered by length, then by ways; with `k` only the first k are computed. `returning`: whether walks may
    return to the node (see `graphwright.kernels.walks`).

    >>> graph = Graph.from_triples([("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "stars", "Smith")])
    >>> paths, _ = relation_paths(graph, graph.id("Heat"), 3)
    >>> [(path.ways, graph.names.take(path.ends)) for path in paths]
    [((1,), ['Mann']), ((1, 0), ['Ali']), ((1, 0, 3), ['Smith'])]
    """
    labelled = labelled_edges(graph) if edges is None else edges
    paths: list[RelationPath] = []
    level, remaining, cut = [path_from(graph, node)], max_edges, 0
    for _ in range(length):
        if k is not None and len(paths) >= k:
            break
        affordable = []
        for cost, at in sorted((extension_cost(labelled, path), i) for i, path in enumerate(level)):
            if cost > remaining:
                cut += 1
                continue
            remaining -= cost
            affordable.append(at)
        before, level = level, []
        for at in sorted(affordable):  # a level is in the order of its ways, and so are its extensions
            if k is not None and len(paths) + len(level) >= k:
                break
            level += extensions(graph, before[at], labelled, returning)
        paths += level
    return paths[:k], cut


def path_from(graph: Graph, node: int) -> RelationPath:
    """Return the relation path from a node that has no step yet."""
    return RelationPath((), (Front.of(int(graph.local([node])[0])),))


def extension_cost(labelled: Labelled, path: RelationPath) -> int:
    """Return the number of edges that are read to extend a path by one step."""
    at, out, into = path.ends, labelled.out_ptr, labelled.into_ptr
    return int((out[at + 1] - out[at]).sum() + (into[at + 1] - into[at]).sum())


def extensions(graph: Graph, path: RelationPath, labelled: Labelled, returning: bool = False) -> list[RelationPath]:
    """Return the relation paths that are one step longer, by their ways."""
    fronts = leading(labelled, len(graph.columns.relations), *_last_step(path, returning))
    by_way = sorted(fronts.items(), key=itemgetter(0))
    return [RelationPath((*path.ways, way), (*path.fronts, front)) for way, front in by_way]


def relation_path(
    graph: Graph, node: int, ways: Ways, edges: Labelled | None = None, returning: bool = False
) -> RelationPath | None:
    """Return one relation path from a node of the graph with the nodes it leads to; None where it leads nowhere.

    >>> graph = Graph.from_triples([("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "stars", "Smith")])
    >>> relation_path(graph, 1, (0,)).walks()[0].tolist()
    [[1, 0], [1, 2]]
    """
    labelled = labelled_edges(graph) if edges is None else edges
    path = path_from(graph, node)
    for way in ways:
        front = leading(labelled, len(graph.columns.relations), *_last_step(path, returning), way).get(way)
        if front is None:
            return None
        path = RelationPath((*path.ways, way), (*path.fronts, front))
    return path


def walks_along(
    graph: Graph, node: int, ways: Ways, max_walks: int, edges: Labelled | None = None, returning: bool = False
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return every walk from a node by these ways, the first `max_walks` of them, in the form of RelationPath.walks.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("b", "r", "d"), ("c", "r", "d")])
    >>> walks_along(graph, 0, (1, 1), 9)[0].tolist()
    [[0, 1, 3], [0, 2, 3]]
    """
    labelled = labelled_edges(graph) if edges is None else edges
    return walks_by(labelled, int(graph.local([node])[0]), ways, max_walks, returning)


def ways_of(graph: Graph, item: Item) -> Ways:
    """Return the ways of an item's steps."""
    relation = graph.columns.relation
    return tuple(2 * int(relation[edge]) + forward for edge, forward in item.steps)


def relation_words(graph: Graph, ways: Ways) -> str:
    """Return a relation path in words, with "of" where a relation is walked from tail to head.

    >>> relation_words(Graph.from_triples([("Heat", "directed_by", "Mann")]), (0, 1))
    'directed by of, directed by'
    """
    names = ((_WORD_BREAK.sub(" ", graph.columns.relations[way >> 1]).strip(), way & 1) for way in ways)
    return ", ".join(name if forward else f"{name} of" for name, forward in names)


def relation_text(graph: Graph, item: Item) -> str:
    """Return the relations of an item in words: the text of a walk that represents all walks by its relations."""
    return relation_words(graph, ways_of(graph, item))


def leading_elsewhere(walks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which walks from a node end at another node; all walks if none does.

    A question seldom asks for the entity that it names, so a returning walk counts only if its relation path leads
    nowhere else. `walks`: [walks, steps + 1], nodes.

    >>> leading_elsewhere(np.array([[0, 1, 0], [0, 1, 2]])).tolist(), leading_elsewhere(np.array([[0, 1, 0]])).tolist()
    ([False, True], [True])
    """
    away: NDArray[np.bool_] = walks[:, -1] != walks[:, 0]
    return away if away.any() else ~away


def _last_step(path: RelationPath, returning: bool) -> tuple[Front, NDArray[np.int32], int, int]:
    """Return the last front, the node that each of its nodes was first reached from, the source, and the last way.

    For returning walks the source is -1, which is no node.
    """
    last, source = path.fronts[-1], -1 if returning else int(path.fronts[0].nodes[0])
    if not path.ways:
        return last, np.full(1, -1, np.int32), source, -1
    return last, path.fronts[-2].nodes[last.parents], source, path.ways[-1]
