"""Walks as texts, bundles of walks by the same relations, and relation paths: where they lead, and their walks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Piece, item_text
from graphwright.graph.graph import ABOUT, CO_OCCURS, MENTIONS, REFERS, SYNONYM, Graph
from graphwright.graph.items import Ints, Item, ItemKind, Step, ends_of
from graphwright.kernels.walks import Front, leading, walks_by

Ways = tuple[int, ...]  # directed relations: 2 · relation + 1 from head to tail, 2 · relation from tail to head


class Bundle(NamedTuple):
    """Walks of equal length from one node by the same directed relations; a path is a bundle of one walk.

    `levels`: the nodes after no step, one step, and so on. `ways`: of each step, several where parallel edges were
    merged. `inward`: the walks are written in reverse, so that they end in that node.
    """

    levels: list[list[int]]
    ways: list[Ways]
    inward: bool


def bundle_of(graph: Graph, item: Item) -> Bundle | None:
    """Return the walks of an item as a bundle, None where it lists no bundle's nodes hop by hop (or in reverse)."""
    if item.kind in (ItemKind.NODE, ItemKind.TRIPLE) or not item.steps:
        return None
    if item.kind == ItemKind.PATH:
        return Bundle([[node] for node in item.nodes], [(way,) for way in ways_of(graph, item.steps)], False)
    parts = list(parallel_steps(graph, item.steps))
    ends = list(ends_of(graph, [part[0] for part in parts]))
    ways = [ways_of(graph, part) for part in parts]
    hops = _hops(ends, ways, [part[0][0] for part in parts])
    if hops is None:
        return None
    levels = [[ends[0][0]], *(list(dict.fromkeys(far for _, far in hop)) for _, hop in hops)]
    listed = list(dict.fromkeys(chain(*levels)))
    for inward in (False, True):
        # With nodes in any other order the text would be in a wrong order.
        if listed == list(dict.fromkeys(item.nodes[:: -1 if inward else 1])):
            return Bundle(levels, [way for way, _ in hops], inward)
    return None


def parallel_steps(graph: Graph, steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of an item, those in a row that take parallel edges of several relations as one."""
    part: list[Step] = []
    before = (-1, -1)
    for ends, step in zip(ends_of(graph, steps), steps, strict=True):
        parallel = ends == before and ends[0] != ends[1]
        if part and not (parallel and ways_of(graph, [step])[0] not in ways_of(graph, part)):
            yield tuple(part)
            part = []
        part.append(step)
        before = ends
    if part:
        yield tuple(part)


def ways_of(graph: Graph, steps: Sequence[Step]) -> Ways:
    """Return the way of each step."""
    relation = graph.columns.relation
    return tuple(2 * int(relation[edge]) + forward for edge, forward in steps)


Hop = list[tuple[int, int]]  # the start and the end of each step of a hop


def _hops(ends: Hop, ways: Sequence[Ways], edges: Sequence[int]) -> list[tuple[Ways, Hop]] | None:
    """Group steps into hops, each by the same relations from all nodes of the hop before; else None."""
    hops: list[tuple[Ways, Hop]] = []
    reached, at = {ends[0][0]}, 0
    while at < len(ends):
        size = _hop_size(reached, ends[at:], ways[at:], edges[at:])
        hop = ends[at : at + size]
        if {start for start, _ in hop} != reached:
            return None  # some walks end before others
        hops.append((ways[at], hop))
        reached, at = {far for _, far in hop}, at + size
    return hops


def _hop_size(reached: set[int], ends: Hop, ways: Sequence[Ways], edges: Sequence[int]) -> int:
    """Return how many of the first steps leave these nodes by the first step's relations, each by another edge."""
    taken: set[int] = set()
    for (start, _), way, edge in zip(ends, ways, edges, strict=True):
        if way != ways[0] or start not in reached or edge in taken:
            break
        taken.add(edge)
    return len(taken)


def relation_label(graph: Graph, way: int) -> str:
    """Return a relation's name, followed by ⁻¹ where it is walked from tail to head; co-occurrence has no direction."""
    relation, forward = way >> 1, way & 1
    name = graph.columns.relations[relation]
    return name if forward or relation == graph.columns.own.get(CO_OCCURS) else f"{name}⁻¹"


def edge_label(graph: Graph, edge: int, forward: bool) -> str:
    """Return the relation of an edge as `relation_label` does; of a co-occurrence edge the sentence that states it."""
    if graph.co_occurs(edge):
        return graph.edge_text(edge)
    return relation_label(graph, *ways_of(graph, [(edge, forward)]))


def write_walk(graph: Graph, item: Item, write: Callable[[str], str] = str) -> str:
    """Return a bundle of walks as one line, "; " between nodes of a hop and parallel relations; "" for other items.

    `write` is applied to every name and relation.

    >>> from graphwright import Evidence, Graph
    >>> graph = Graph.from_triples([("Q", "r", "a"), ("a", "s", "x"), ("a", "s", "y"), ("z", "t", "x")])
    >>> fork = Evidence.of_trees(graph, [([0, 1, 2, 3], [0, 1, 2])]).item(0)
    >>> write_walk(graph, fork), write_walk(graph, Evidence.of_paths(graph, [([1, 2, 4], [1, 3])]).item(0))
    ('Q → [r] → a → [s] → x; y', 'a → [s] → x → [t⁻¹] → z')
    """
    bundle = bundle_of(graph, item)
    if bundle is None:
        return ""
    levels, ways = bundle.levels, bundle.ways
    if bundle.inward:
        levels = [level[::-1] for level in reversed(levels)]
        ways = [tuple(way ^ 1 for way in step) for step in reversed(ways)]
    groups = ["; ".join(write(graph.names[v]) for v in level) for level in levels]
    labels = ["; ".join(write(relation_label(graph, way)) for way in step) for step in ways]
    if len(item.edges) == len(ways):  # a path, each of whose edges may have a text
        labels = [write(edge_label(graph, edge, bool(way & 1))) for edge, (way,) in zip(item.edges, ways, strict=True)]
    parts = (part for label, group in zip(labels, groups[1:], strict=True) for part in (f"[{label}]", group))
    return " → ".join((groups[0], *parts))


def walk_text(graph: Graph, item: Item) -> str:
    """Return the text of an item that is a walk or a bundle (see `write_walk`), else the texts of its edges."""
    return write_walk(graph, item) or item_text(graph, item)


def step_names(graph: Graph, steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the names and relations along steps, in turn; a relation walked against its direction ends in ⁻¹."""
    ends = list(ends_of(graph, steps))
    names = [graph.names[ends[0][0]]] if ends else []
    for (_, end), step in zip(ends, steps, strict=True):
        names += [edge_label(graph, *step), graph.names[end]]
    return tuple(names)


_MAX_SHOWN = 3  # relations
_MENTIONED = frozenset({ABOUT, MENTIONS})
_NOT_STATED = _MENTIONED | {CO_OCCURS, REFERS, SYNONYM}


def shown_path(graph: Graph, path: Sequence[str]) -> tuple[str, ...]:
    """Return the part of a citation's path to display: at most three stated relations, else nothing.

    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Mur", "about", "rivers")])
    >>> shown_path(graph, ("Graz", "lies on", "Mur", "about", "rivers"))
    ('Graz', 'lies on', 'Mur', 'about', 'rivers')
    """
    labels = [label.removesuffix("⁻¹") for label in path[1::2]]
    own = [_is_own(graph, *step) for step in zip(path[::2], labels, path[2::2], strict=False)]
    if labels and own[-1] and labels[-1] in _MENTIONED:
        path, labels, own = path[:-2], labels[:-1], own[:-1]
    hidden = any(label in _NOT_STATED for label, is_own in zip(labels, own, strict=True) if is_own)
    stated = 0 < len(labels) <= _MAX_SHOWN and not hidden
    # A path may also be names only, or contain a sentence.
    return tuple(path) if stated and (graph.columns.relations.positions(TextColumn.of(labels)) >= 0).all() else ()


def _is_own(graph: Graph, node: str, label: str, other: str) -> bool:
    """Return whether a step between nodes of these names is a relation of the index, and none that is stated."""
    columns = graph.columns
    if label not in columns.own:
        return False
    stated = columns.stated_edges(label)
    heads, tails = graph.ids(node), graph.ids(other)
    return not any(
        (np.isin(columns.heads[stated], first) & np.isin(columns.tails[stated], last)).any()
        for first, last in ((heads, tails), (tails, heads))
    )


MAX_EDGES = 5_000_000  # default limit of the edges that are read from one node

_WORD_BREAK = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class RelationPath(NamedTuple):
    """A sequence of relations from one node; `fronts`: the nodes after no step (that node), one step, and so on."""

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


def relation_paths(
    graph: Graph, node: int, length: int, max_edges: int = MAX_EDGES, k: int | None = None, returning: bool = False
) -> tuple[list[RelationPath], int]:
    """Return all relation paths of at most `length` relations from a node, and how many cost too much to extend.

    Breadth first over fronts: all nodes of a path are extended at once by every relation in either direction, so the
    cost grows with the edges at fronts, not with the walks (a hub has millions). `max_edges`: maximum edges read in
    all; at each length the cheapest paths are extended first.
    Paths are ordered by length, then by ways; with `k` only the first k are computed. `returning`: whether walks may
    return to the node (see `graphwright.kernels.walks`).

    >>> graph = Graph.from_triples([("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "stars", "Smith")])
    >>> paths, _ = relation_paths(graph, graph.id("Heat"), 3)
    >>> [(path.ways, graph.names.take(path.ends)) for path in paths]
    [((1,), ['Mann']), ((1, 0), ['Ali']), ((1, 0, 3), ['Smith'])]
    """
    paths: list[RelationPath] = []
    level, remaining, cut = [path_from(graph, node)], max_edges, 0
    for _ in range(length):
        if k is not None and len(paths) >= k:
            break
        affordable = []
        for cost, at in sorted((extension_cost(graph, path), i) for i, path in enumerate(level)):
            if cost > remaining:
                cut += 1
                continue
            remaining -= cost
            affordable.append(at)
        before, level = level, []
        for at in sorted(affordable):  # a level is in the order of its ways, and so are its extensions
            if k is not None and len(paths) + len(level) >= k:
                break
            level += extensions(graph, before[at], returning)
        paths += level
    return paths[:k], cut


def path_from(graph: Graph, node: int) -> RelationPath:
    """Return the relation path without a step."""
    return RelationPath((), (Front.of(int(graph.local([node])[0])),))


def extension_cost(graph: Graph, path: RelationPath) -> int:
    """Return the number of edges that are read to extend a path by one step."""
    at, out, into = path.ends, graph.labelled.out_ptr, graph.labelled.into_ptr
    return int((out[at + 1] - out[at]).sum() + (into[at + 1] - into[at]).sum())


def extensions(graph: Graph, path: RelationPath, returning: bool = False) -> list[RelationPath]:
    """Return the relation paths that are one step longer, by their ways."""
    fronts = leading(graph.labelled, len(graph.columns.relations), *_last_step(path, returning))
    by_way = sorted(fronts.items(), key=itemgetter(0))
    return [RelationPath((*path.ways, way), (*path.fronts, front)) for way, front in by_way]


def relation_path(graph: Graph, node: int, ways: Ways, returning: bool = False) -> RelationPath | None:
    """Return one relation path from a node of the graph with the nodes it leads to; None where it leads nowhere."""
    path = path_from(graph, node)
    for way in ways:
        front = leading(graph.labelled, len(graph.columns.relations), *_last_step(path, returning), way).get(way)
        if front is None:
            return None
        path = RelationPath((*path.ways, way), (*path.fronts, front))
    return path


def walks_along(
    graph: Graph, node: int, ways: Ways, max_walks: int, returning: bool = False
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return every walk from a node by these ways, the first `max_walks` of them, in the form of RelationPath.walks."""
    return walks_by(graph.labelled, int(graph.local([node])[0]), ways, max_walks, returning)


def relation_words(graph: Graph, ways: Ways) -> str:
    """Return a relation path in words, with "of" where a relation is walked from tail to head."""
    names = ((_WORD_BREAK.sub(" ", graph.columns.relations[way >> 1]).strip(), way & 1) for way in ways)
    return ", ".join(name if forward else f"{name} of" for name, forward in names)


def relation_text(graph: Graph, item: Item) -> str:
    """Return the relations of an item in words: the text of a walk that represents all by its relations."""
    return relation_words(graph, ways_of(graph, item.steps))


def leading_elsewhere(walks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which walks ([walks, steps + 1], nodes) end at another node than their first; all if none does.

    A question seldom asks for what it names, so a returning walk counts only if its relation path leads nowhere else.
    """
    away: NDArray[np.bool_] = walks[:, -1] != walks[:, 0]
    return away if away.any() else ~away


def _last_step(path: RelationPath, returning: bool) -> tuple[Front, NDArray[np.int32], int, int]:
    """Return the last front, where each node was first reached from, the source (-1: returning), and the last way."""
    last, source = path.fronts[-1], -1 if returning else int(path.fronts[0].nodes[0])
    if not path.ways:
        return last, np.full(1, -1, np.int32), source, -1
    return last, path.fronts[-2].nodes[last.parents], source, path.ways[-1]
