"""Walks and relation paths of a graph, and their texts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, item_text
from graphwright.graph.graph import CO_OCCURS, Graph
from graphwright.kernels.csr import group, readonly
from graphwright.kernels.walks import Front, Labelled, leading, walks_by

Row = tuple[int, int, int, int]  # relation, head, tail, edge
Hop = dict[int, list[int]]
"""One hop of a bundle of walks: each node that it leaves, with the nodes that it reaches."""
Parsed = tuple[list[Hop], list[tuple[int, bool]]]


class Bundle(NamedTuple):
    """Walks from one node by the same relations, hop by hop, and each hop's relation and direction.

    `inward`: the walks are written in reverse, so that they end in that node.
    """

    root: int
    hops: list[Hop]
    relations: list[tuple[int, bool]]
    inward: bool

    def levels(self) -> list[list[int]]:
        """Return the nodes of the walks after no hop, one hop, and so on."""
        return [[self.root], *(list(dict.fromkeys(u for far in hop.values() for u in far)) for hop in self.hops)]

    def walk_to(self, end: int) -> list[int]:
        """Return the nodes of the first walk from the root to an end, preferring walks that do not go straight back."""
        walk, after = [end], (-1, False)
        for hop, (relation, forward) in zip(reversed(self.hops), reversed(self.relations), strict=True):
            near = [source for source, far in hop.items() if walk[-1] in far]
            reversing = after == (relation, not forward)
            walk.append(next((source for source in near if not reversing or source != walk[-2]), near[0]))
            after = relation, forward
        return walk[::-1]


def bundle_of(graph: Graph, nodes: Ints, edges: Ints) -> Bundle | None:
    """Parse an item as a bundle of walks from its first node or to its last; None where it is not a bundle.

    A bundle is a path, or walks of equal length from (or to) one node by the same relations in the same directions:
    first that node, then the nodes and the edges of each hop, each node once and each edge once a hop (or all in
    reverse).
    """
    c = graph.columns
    columns = (column[edges].tolist() for column in (c.relation, c.heads, c.tails))
    rows = list(zip(*columns, edges.tolist(), strict=True))
    if len(nodes) < 2 or not rows:
        return None
    listed = nodes.tolist()
    return _bundle(listed, rows, False) or _bundle(listed[::-1], rows[::-1], True)


def _bundle(nodes: list[int], rows: list[Row], inward: bool) -> Bundle | None:
    parsed = _path(nodes, rows) or _hops(nodes[0], rows)
    bundle = None if parsed is None else Bundle(nodes[0], *parsed, inward)
    # A bundle whose walks list the nodes in another order would be written in a wrong order.
    if bundle is None or list(dict.fromkeys(itertools.chain(*bundle.levels()))) != list(dict.fromkeys(nodes)):
        return None
    return bundle


def _path(nodes: list[int], rows: list[Row]) -> Parsed | None:
    """Parse the edges as one walk from node to node."""
    ends = list(itertools.pairwise(nodes))
    if len(ends) != len(rows) or any(e not in (row[1:3], row[2:0:-1]) for e, row in zip(ends, rows, strict=True)):
        return None
    return [{a: [b]} for a, b in ends], [(row[0], row[1:3] == e) for e, row in zip(ends, rows, strict=True)]


def _hops(root: int, rows: list[Row]) -> Parsed | None:
    """Split the edges into hops, each by one relation in one direction."""
    hops: list[Hop] = []
    ways: list[tuple[int, bool]] = []
    reached, at = {root}, 0
    while at < len(rows):
        forward, backward = (_hop(reached, rows, at, way) for way in (True, False))
        hop = forward if sum(map(len, forward.values())) >= sum(map(len, backward.values())) else backward
        # All walks are of one length.
        if len(hop) < len(reached):
            return None
        ways.append((rows[at][0], hop is forward))
        at += sum(map(len, hop.values()))
        hops.append(hop)
        reached = {far for group in hop.values() for far in group}
    return hops, ways


def _hop(reached: set[int], rows: list[Row], at: int, forward: bool) -> Hop:
    """Return the longest run of edges from row `at` on that leave these nodes by one relation, all one way."""
    hop: Hop = {}
    taken: set[int] = set()
    for relation, head, tail, edge in itertools.islice(rows, at, None):
        source, far = (head, tail) if forward else (tail, head)
        if relation != rows[at][0] or source not in reached or edge in taken:
            break
        hop.setdefault(source, []).append(far)
        taken.add(edge)
    return hop


def relation_label(graph: Graph, relation: int, forward: bool) -> str:
    """Return a relation's name, followed by ⁻¹ where it is walked from tail to head; co-occurrence has no direction."""
    name = graph.columns.relations[relation]
    return name if forward or name == CO_OCCURS else f"{name}⁻¹"


def edge_label(graph: Graph, edge: int, forward: bool) -> str:
    """Return the relation of an edge as `relation_label` does; of a co-occurrence edge the sentence that states it."""
    if graph.co_occurs(edge):
        return graph.edge_text(edge)
    return relation_label(graph, int(graph.columns.relation[edge]), forward)


def write_walk(graph: Graph, nodes: Ints, edges: Ints, write: Callable[[str], str] = str) -> str:
    """Return a bundle of walks as one line, with "; " between nodes of the same hop; "" where the item is not a bundle.

    `write` is applied to every name and relation.

    >>> from graphwright import Evidence, Graph
    >>> graph = Graph.from_triples([("Q", "r", "a"), ("a", "s", "x"), ("a", "s", "y"), ("z", "t", "x")])
    >>> fork, path = Evidence.of_pieces([([0, 1, 2, 3], [0, 1, 2]), ([1, 2, 4], [1, 3])])
    >>> write_walk(graph, *fork), write_walk(graph, *path)
    ('Q → [r] → a → [s] → x; y', 'a → [s] → x → [t⁻¹] → z')
    """
    bundle = bundle_of(graph, nodes, edges)
    if bundle is None:
        return ""
    levels, ways = bundle.levels(), bundle.relations
    if bundle.inward:
        levels = [level[::-1] for level in reversed(levels)]
        ways = [(relation, not forward) for relation, forward in reversed(ways)]
    groups = ["; ".join(write(graph.names[v]) for v in level) for level in levels]
    parts = groups[:1]
    labels = [relation_label(graph, relation, forward) for relation, forward in ways]
    if len(edges) == len(ways):  # a path: each of its edges has a text of its own
        labels = [edge_label(graph, int(edge), forward) for edge, (_, forward) in zip(edges, ways, strict=True)]
    for label, level_text in zip(labels, groups[1:], strict=True):
        parts += [f"[{write(label)}]", level_text]
    return " → ".join(parts)


def walk_text(graph: Graph, nodes: Ints, edges: Ints) -> str:
    """Return the text of an item that is a walk or a bundle (see `write_walk`), else the texts of its edges.

    >>> from graphwright import Evidence
    >>> Evidence.of_pieces([([1, 0], [0])], render=walk_text).texts(Graph.from_triples([("a", "r", "b")]))
    ['b → [r⁻¹] → a']
    """
    return write_walk(graph, nodes, edges) or item_text(graph, nodes, edges)


MAX_EDGES = 5_000_000
"""Default limit of edges looked at from one node."""

Ways = tuple[int, ...]
"""Relations with directions: 2 · relation + 1 from head to tail, 2 · relation from tail to head."""

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class RelationPath(NamedTuple):
    """A sequence of relations from one node, with the nodes that it leads to.

    `fronts`: one front for every step, the first that node alone.
    """

    ways: Ways
    fronts: tuple[Front, ...]

    @property
    def ends(self) -> NDArray[np.int32]:
        """The nodes that walks by these relations end at, each once, as local positions."""
        return self.fronts[-1].nodes

    @property
    def targets(self) -> NDArray[np.int32]:
        """The ends but the node that the walks began at, if there are others (see `leading_elsewhere`)."""
        source, ends = self.fronts[0].nodes, self.ends
        return ends[leading_elsewhere(np.stack((np.broadcast_to(source, ends.shape), ends), axis=1))]

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
    """Return all relation paths of at most `length` relations from a node, and how many were not extended for cost.

    Breadth first over fronts: all nodes of a path are extended at once by every relation in either direction, so the
    cost grows with the edges at fronts, not with the walks (a hub has millions). `max_edges`: edges looked at;
    the paths that lead to the fewest are extended first, and those beyond the limit are not. `edges`:
    `labelled_edges(graph)`, where it is known. Ordered by length, then by ways; with `k` the first k, at no higher cost
    than they need. `returning`: whether walks may return to the node (see `graphwright.kernels.walks`).

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
    """Return how many edges are looked at to extend a path by one step."""
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


def ways_of(graph: Graph, nodes: Ints, edges: Ints) -> Ways:
    """Return the ways of a walk; for edges without nodes, as in a triple, each from head to tail."""
    c = graph.columns
    forward = c.heads[edges] == nodes[:-1] if len(nodes) == len(edges) + 1 else np.ones(len(edges), bool)
    return tuple((2 * c.relation[edges].astype(np.int64) + forward).tolist())


def relation_words(graph: Graph, ways: Ways) -> str:
    """Return a relation path in words, with "of" where a relation is walked from tail to head.

    >>> relation_words(Graph.from_triples([("Heat", "directed_by", "Mann")]), (0, 1))
    'directed by of, directed by'
    """
    names = ((_WORD_BREAK.sub(" ", graph.columns.relations[way >> 1]).strip(), way & 1) for way in ways)
    return ", ".join(name if forward else f"{name} of" for name, forward in names)


def relation_text(graph: Graph, nodes: Ints, edges: Ints) -> str:
    """Return the relations of an item in words: the text of a walk that represents all walks by its relations."""
    return relation_words(graph, ways_of(graph, nodes, edges))


def leading_elsewhere(walks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which walks from one node end at another; all of them where none does.

    A question seldom asks for the entity that it names: a returning walk counts where its relation path leads nowhere
    else. `walks`: [walks, steps + 1], nodes.

    >>> leading_elsewhere(np.array([[0, 1, 0], [0, 1, 2]])).tolist(), leading_elsewhere(np.array([[0, 1, 0]])).tolist()
    ([False, True], [True])
    """
    away: NDArray[np.bool_] = walks[:, -1] != walks[:, 0]
    return away if away.any() else ~away


def _last_step(path: RelationPath, returning: bool) -> tuple[Front, NDArray[np.int32], int, int]:
    """Return the last front, the node that each of its nodes was first reached from, the source, and the last way.

    The source is -1 for a returning walk, which no node is.
    """
    last, source = path.fronts[-1], -1 if returning else int(path.fronts[0].nodes[0])
    if not path.ways:
        return last, np.full(1, -1, np.int32), source, -1
    return last, path.fronts[-2].nodes[last.parents], source, path.ways[-1]
