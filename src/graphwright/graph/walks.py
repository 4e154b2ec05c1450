"""The texts of walks, and of bundles of walks by the same relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

from graphwright.graph.evidence import item_text
from graphwright.graph.graph import CO_OCCURS, Graph
from graphwright.graph.items import Item, ItemKind, Step, ends_of

Way = tuple[int, bool]
"""A relation, and whether it is walked from head to tail."""


class Bundle(NamedTuple):
    """Walks of equal length from one node by the same directed relations; a path is a bundle of one walk.

    `levels`: the nodes after no step, one step, and so on. `ways`: the relation of each step. `inward`: the walks are
    written in reverse, so that they end in that node.
    """

    levels: list[list[int]]
    ways: list[Way]
    inward: bool


def bundle_of(graph: Graph, item: Item) -> Bundle | None:
    """Return the walks of an item as a bundle, None where they are not a bundle.

    The item must list the nodes of the bundle hop by hop, each once; in reverse if its walks lead to the root.
    """
    if item.kind in (ItemKind.NODE, ItemKind.TRIPLE) or not item.steps:
        return None
    relation = graph.columns.relation
    ways = [(int(relation[edge]), forward) for edge, forward in item.steps]
    if item.kind == ItemKind.PATH:
        return Bundle([[node] for node in item.nodes], ways, False)
    hops = _hops(list(ends_of(graph, item.steps)), ways, [edge for edge, _ in item.steps])
    if hops is None:
        return None
    levels = [
        [next(ends_of(graph, item.steps[:1]))[0]],
        *(list(dict.fromkeys(far for _, far in hop)) for _, hop in hops),
    ]
    listed = list(dict.fromkeys(chain(*levels)))
    for inward in (False, True):
        # With nodes in any other order the text would be in a wrong order.
        if listed == list(dict.fromkeys(item.nodes[:: -1 if inward else 1])):
            return Bundle(levels, [way for way, _ in hops], inward)
    return None


Hop = list[tuple[int, int]]
"""The start and the end of each step of a hop."""


def _hops(ends: Hop, ways: Sequence[Way], edges: Sequence[int]) -> list[tuple[Way, Hop]] | None:
    """Group steps into hops, each by one relation in one direction from all nodes of the hop before; else None."""
    hops: list[tuple[Way, Hop]] = []
    reached, at = {ends[0][0]}, 0
    while at < len(ends):
        size = _hop_size(reached, ends[at:], ways[at:], edges[at:])
        hop = ends[at : at + size]
        if {start for start, _ in hop} != reached:
            return None  # some walks end before others
        hops.append((ways[at], hop))
        reached, at = {far for _, far in hop}, at + size
    return hops


def _hop_size(reached: set[int], ends: Hop, ways: Sequence[Way], edges: Sequence[int]) -> int:
    """Return how many of the first steps leave these nodes by the first step's relation, each by another edge."""
    taken: set[int] = set()
    for (start, _), way, edge in zip(ends, ways, edges, strict=True):
        if way != ways[0] or start not in reached or edge in taken:
            break
        taken.add(edge)
    return len(taken)


def relation_label(graph: Graph, relation: int, forward: bool) -> str:
    """Return a relation's name, followed by ⁻¹ where it is walked from tail to head; co-occurrence has no direction."""
    name = graph.columns.relations[relation]
    return name if forward or name == CO_OCCURS else f"{name}⁻¹"


def edge_label(graph: Graph, edge: int, forward: bool) -> str:
    """Return the relation of an edge as `relation_label` does; of a co-occurrence edge the sentence that states it."""
    if graph.co_occurs(edge):
        return graph.edge_text(edge)
    return relation_label(graph, int(graph.columns.relation[edge]), forward)


def write_walk(graph: Graph, item: Item, write: Callable[[str], str] = str) -> str:
    """Return a bundle of walks as one line, with "; " between nodes of the same hop; "" where the item is not a bundle.

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
        ways = [(relation, not forward) for relation, forward in reversed(ways)]
    groups = ["; ".join(write(graph.names[v]) for v in level) for level in levels]
    labels = [relation_label(graph, relation, forward) for relation, forward in ways]
    if len(item.edges) == len(ways):  # a path, each of whose edges may have a text
        labels = [edge_label(graph, edge, forward) for edge, (_, forward) in zip(item.edges, ways, strict=True)]
    parts = (part for label, group in zip(labels, groups[1:], strict=True) for part in (f"[{write(label)}]", group))
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
