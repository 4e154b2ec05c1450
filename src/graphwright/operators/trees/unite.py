"""From several pieces of evidence to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Unite"]


@dataclass(frozen=True, repr=False)
class Unite(Operator):
    """Merge the pieces into one, each node and edge where it first stands; unscored (BubbleRAG, section 3.6).

    It is connected where the pieces overlap. With `apart`, pieces that share no node, not even by way of others,
    stay apart, in the order of the first of each. A triple counts by its ends.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "e")])
    >>> state = start("?", graph, evidence=Evidence.of_pieces([([1, 0], [0]), ([3, 4], [2]), ([1, 2], [1])]))
    >>> [part.tolist() for part in Unite()(state).evidence.piece(0)]
    [[1, 0, 3, 4, 2], [0, 2, 1]]
    >>> Unite(apart=True)(state).evidence.identities()
    [((1, 0, 2), (0, 1)), ((3, 4), (2,))]
    """

    apart: bool = False
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Merge the pieces."""
        if state.evidence is None:
            return state
        pieces = [(_listed(state.graph, *piece), piece[1]) for piece in state.evidence]
        groups = _overlapping(pieces) if self.apart else [pieces] if pieces else []
        return state.with_(evidence=Evidence.of_pieces(map(_merged, groups)))


def _listed(graph: Graph, nodes: Ints, edges: Ints) -> Ints:
    """Return the nodes of a piece; those of one that lists none are its edges' ends."""
    return nodes if len(nodes) else graph.ends(edges)


def _overlapping(pieces: list[Piece]) -> list[list[Piece]]:
    """Return the pieces in groups that share nodes, each group and all of them in the order given."""
    at = list(range(len(pieces)))

    def root(i: int) -> int:
        while at[i] != i:
            at[i] = at[at[i]]
            i = at[i]
        return i

    owner: dict[int, int] = {}
    for i, (nodes, _) in enumerate(pieces):
        for v in nodes.tolist():
            a, b = root(owner.setdefault(v, i)), root(i)
            at[max(a, b)] = min(a, b)
    groups: dict[int, list[Piece]] = {}
    for i, piece in enumerate(pieces):
        groups.setdefault(root(i), []).append(piece)
    return list(groups.values())


def _merged(pieces: list[Piece]) -> tuple[list[int], list[int]]:
    nodes, edges = (np.concatenate(parts).tolist() for parts in zip(*pieces, strict=True))
    return list(dict.fromkeys(nodes)), list(dict.fromkeys(edges))
