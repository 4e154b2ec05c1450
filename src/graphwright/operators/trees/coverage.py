"""Ranking of items by their distance to the question and its coverage, and their union."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State

__all__ = ["Coverage", "Unite"]

_EPSILON = 1e-6
_ONE_GROUP = 1.1
_MOST = 700.0  # e^701 has no place in a float


@dataclass(frozen=True, repr=False)
class Coverage(Operator):
    """Rank pieces by the semantic cost of their nodes and by the anchors that they miss (BubbleRAG, Eq. 5 and 6).

        Score(T) = 1 / (Cost_sem(T) · e^(alpha · r_miss) + 1e-6)

    Cost_sem is the mean of 1 - cos(question, node), at least 0, over all nodes of the piece (1 for one without a
    vector), and r_miss the share of the anchors' weight that falls to those of which the piece holds no node and no
    edge. The score of a piece of two or more nodes that covers one anchor only is divided by 1.1. `alpha`: 1 is
    balanced; far above 1 all anchors are wanted (AND), near 0 any will do (OR).

    >>> from graphwright.graph.evidence import Evidence; from graphwright.graph.graph import Graph
    >>> from graphwright.operators.state import start; from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> pieces = Evidence.of_pieces([([0, 1], [0]), ([0, 1, 2], [0, 1])])
    >>> state = start("a or c?", graph, entities=["a", "c"], evidence=pieces)
    >>> (Coverage(index) % 1)(state).evidence.nodes.tolist()
    [0, 1, 2]
    """

    index: VectorIndex
    alpha: float = 1.0
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not 0 <= self.alpha <= _MOST:
            raise OptionError(f"Coverage(alpha={self.alpha!r}): a number from 0 to {_MOST:.0f}.")

    def apply(self, state: State, run: Run) -> State:
        """Score the pieces and put them in order."""
        found, anchors = state.evidence, state.anchors
        if found is None or anchors is None:
            return state
        total = sum(anchor.weight for anchor in anchors) or 1.0
        pieces = [(np.union1d(nodes, state.graph.ends(edges)), edges) for nodes, edges in found]
        scores = []
        for (nodes, edges), dissonance in zip(pieces, self._dissonances(state, run, pieces), strict=True):
            covered = [_covers(nodes, edges, anchor) for anchor in anchors]
            missed = sum(a.weight for a, held in zip(anchors, covered, strict=True) if not held) / total
            score = 1 / (dissonance * math.exp(self.alpha * missed) + _EPSILON)
            scores.append(score / _ONE_GROUP if len(nodes) > 1 and sum(covered) == 1 else score)
        return state.with_(evidence=found.take(range(len(found)), scores))

    def _dissonances(self, state: State, run: Run, pieces: list[Piece]) -> list[float]:
        """Return Cost_sem of each piece; 1 for a piece of nothing. Each vector is read once."""
        if not pieces:
            return []
        every = np.unique(np.concatenate([nodes for nodes, _ in pieces]))
        costs = np.maximum(1 - self.index.cosines(every, self.index.encode(state.question.text, run)), 0)
        return [float(costs[np.searchsorted(every, nodes)].mean()) if len(nodes) else 1.0 for nodes, _ in pieces]


def _covers(nodes: Ints, edges: Ints, anchor: Anchor) -> bool:
    """Return whether a piece holds one of the anchor's nodes or edges."""
    held = ((anchor.nodes, nodes), (anchor.edges, edges))
    return any(not set(wanted.tolist()).isdisjoint(there.tolist()) for wanted, there in held)


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
