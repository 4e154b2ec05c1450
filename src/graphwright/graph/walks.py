"""The texts of walks, and of bundles of walks by the same relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from graphwright.graph.evidence import item_text
from graphwright.graph.graph import ABOUT, CO_OCCURS, MENTIONS, REFERS, SYNONYM, Graph
from graphwright.graph.items import Item, ItemKind, Step, ends_of

Way = tuple[int, bool]
"""A relation, and whether it is walked from head to tail."""
Ways = tuple[Way, ...]
"""The relations of one step: several if it takes parallel edges."""


class Bundle(NamedTuple):
    """Walks of equal length from one node by the same directed relations; a path is a bundle of one walk.

    `levels`: the nodes after no step, one step, and so on. `ways`: the relation of each step. `inward`: the walks are
    written in reverse, so that they end in that node. A step has several relations where parallel edges were merged.
    """

    levels: list[list[int]]
    ways: list[Ways]
    inward: bool


def bundle_of(graph: Graph, item: Item) -> Bundle | None:
    """Return the walks of an item as a bundle, None where they are not a bundle.

    The item must list the nodes of the bundle hop by hop, each once; in reverse if its walks lead to the root.
    """
    if item.kind in (ItemKind.NODE, ItemKind.TRIPLE) or not item.steps:
        return None
    if item.kind == ItemKind.PATH:
        return Bundle([[node] for node in item.nodes], [(way,) for way in _ways_of(graph, item.steps)], False)
    parts = list(parallel_steps(graph, item.steps))
    ends = list(ends_of(graph, [part[0] for part in parts]))
    ways = [_ways_of(graph, part) for part in parts]
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
    """Yield the steps of an item, those in a row that take parallel edges of several relations as one.

    >>> graph = Graph.from_triples([("Q", "r", "a"), ("a", "s", "b"), ("a", "t", "b")])
    >>> list(parallel_steps(graph, ((0, True), (1, True), (2, True))))
    [((0, True),), ((1, True), (2, True))]
    """
    part: list[Step] = []
    before = (-1, -1)
    for ends, step in zip(ends_of(graph, steps), steps, strict=True):
        parallel = ends == before and ends[0] != ends[1]
        if part and not (parallel and _ways_of(graph, [step])[0] not in _ways_of(graph, part)):
            yield tuple(part)
            part = []
        part.append(step)
        before = ends
    if part:
        yield tuple(part)


def _ways_of(graph: Graph, steps: Sequence[Step]) -> Ways:
    return tuple((int(graph.columns.relation[edge]), forward) for edge, forward in steps)


Hop = list[tuple[int, int]]
"""The start and the end of each step of a hop."""


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


def relation_label(graph: Graph, relation: int, forward: bool) -> str:
    """Return a relation's name, followed by ⁻¹ where it is walked from tail to head; co-occurrence has no direction."""
    name = graph.columns.relations[relation]
    return name if forward or relation == graph.columns.own.get(CO_OCCURS) else f"{name}⁻¹"


def edge_label(graph: Graph, edge: int, forward: bool) -> str:
    """Return the relation of an edge as `relation_label` does; of a co-occurrence edge the sentence that states it."""
    if graph.co_occurs(edge):
        return graph.edge_text(edge)
    return relation_label(graph, int(graph.columns.relation[edge]), forward)


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
        ways = [tuple((relation, not forward) for relation, forward in step) for step in reversed(ways)]
    groups = ["; ".join(write(graph.names[v]) for v in level) for level in levels]
    labels = ["; ".join(write(relation_label(graph, *way)) for way in step) for step in ways]
    if len(item.edges) == len(ways):  # a path, each of whose edges may have a text
        labels = [write(edge_label(graph, edge, way[0][1])) for edge, way in zip(item.edges, ways, strict=True)]
    parts = (part for label, group in zip(labels, groups[1:], strict=True) for part in (f"[{label}]", group))
    return " → ".join((groups[0], *parts))


def walk_text(graph: Graph, item: Item) -> str:
    """Return the text of an item that is a walk or a bundle (see `write_walk`), else the texts of its edges.

    >>> from graphwright import Evidence
    >>> graph = Graph.from_triples([("a", "r", "b")])
    >>> Evidence.of_paths(graph, [([1, 0], [0])], render=walk_text).texts(graph)
    ['b → [r⁻¹] → a']
    """
    return write_walk(graph, item) or item_text(graph, item)


def step_names(graph: Graph, steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the names and relations along steps, in turn; a relation walked against its direction ends in ⁻¹.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "s", "b")])
    >>> step_names(graph, [(0, True), (1, False)])
    ('a', 'r', 'b', 's⁻¹', 'c')
    """
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

    Mentions of names in passages, and co-occurrence in a sentence, are not stated relations.

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
    return tuple(path) if stated and _all_relations(graph, set(labels)) else ()


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


def _all_relations(graph: Graph, labels: set[str]) -> bool:
    """Return whether all labels are relations; a path may also be names only, or contain a sentence."""
    for relation in graph.columns.relations:
        labels.discard(relation)
        if not labels:
            return True
    return False
