"""Texts of walks: `Q → [r] → a → [s⁻¹] → x; y`, one line for all walks by the same relations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

from graphwright.graph.evidence import Ints, item_text
from graphwright.graph.graph import Graph

__all__ = ["Bundle", "bundle_of", "relation_label", "walk_text", "write_walk"]

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
            near = [here for here, far in hop.items() if walk[-1] in far]
            reversing = after == (relation, not forward)
            walk.append(next((here for here in near if not reversing or here != walk[-2]), near[0]))
            after = relation, forward
        return walk[::-1]


def bundle_of(graph: Graph, nodes: Ints, edges: Ints) -> Bundle | None:
    """Parse an item as a bundle of walks from its first node or to its last; None where it is no bundle.

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
        here, far = (head, tail) if forward else (tail, head)
        if relation != rows[at][0] or here not in reached or edge in taken:
            break
        hop.setdefault(here, []).append(far)
        taken.add(edge)
    return hop


def relation_label(graph: Graph, relation: int, forward: bool) -> str:
    """Return a relation's name, followed by ⁻¹ where it is walked from tail to head."""
    return graph.columns.relations[relation] + ("" if forward else "⁻¹")


def write_walk(graph: Graph, nodes: Ints, edges: Ints, write: Callable[[str], str] = str) -> str:
    """Return a bundle of walks as one line, with "; " between nodes of the same hop; "" where the item is no bundle.

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
    for (relation, forward), group in zip(ways, groups[1:], strict=True):
        parts += [f"[{write(relation_label(graph, relation, forward))}]", group]
    return " → ".join(parts)


def walk_text(graph: Graph, nodes: Ints, edges: Ints) -> str:
    """Return the text of an item that is a walk or a bundle (see `write_walk`), else the texts of its edges.

    >>> from graphwright import Evidence
    >>> Evidence.of_pieces([([1, 0], [0])], render=walk_text).texts(Graph.from_triples([("a", "r", "b")]))
    ['b → [r⁻¹] → a']
    """
    return write_walk(graph, nodes, edges) or item_text(graph, nodes, edges)
