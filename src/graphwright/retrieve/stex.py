"""STeX: the neighbours of what was retrieved, by structure and by meaning (FastInsight)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.index.vectors import VectorIndex
from graphwright.kernels.frontier import Products, frontier, structure
from graphwright.retrieve.granker import retrieved
from graphwright.retrieve.operator import Ranker
from graphwright.retrieve.state import State

__all__ = ["STeX"]


@dataclass(frozen=True, repr=False)
class STeX(Ranker):
    """New neighbours of the evidence's nodes, by structure and similarity (FastInsight, Algorithm 3).

        S(n) = v_q · v_n + β I(n),   I(n) = 1 - (r_best - 1)/(R - 1)  [if R > 1]
                                          + (|A(n)| - 1)/(C - 1)      [if C > 1],   C = min(deg(n), R)

    R is how many nodes were retrieved, A(n) those of them next to n, r_best the best rank in A(n), from 1.
    `index` has the vectors; a neighbour without one is left out. `beta` is β: 0 for similarity alone.
    Neighbours and degrees are the snapshot's, whatever part of it `state.graph` is.

    >>> from graphwright.retrieve.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c"), ("b", "r", "d")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(["", "", "", ""]), HashEncoder())
    >>> found = STeX(index)(start("?", graph, evidence=Evidence.of_nodes([0, 1]))).evidence
    >>> found.nodes.tolist(), found.scores.tolist()
    ([2, 3], [2.0, 0.0])
    """

    index: VectorIndex
    beta: float = 1.0
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.beta) and self.beta >= 0):
            raise OptionError(f"STeX(beta={self.beta!r}): a number, 0 or more.")

    @cached_property
    def _products(self) -> tuple[Products, ...]:
        """What a loop asks for again and again, for each part of the index; not of the configuration."""
        return tuple(Products() for _ in self.index.parts)

    def __reduce__(self) -> tuple[type[STeX], tuple[VectorIndex, float]]:
        return STeX, (self.index, self.beta)

    def ranked(self, state: State, k: int | None) -> State:
        """Rank the neighbours that have a vector."""
        adjacency, given = state.graph.columns.adjacency, retrieved(state)
        nodes, best, held = frontier(*adjacency, given)
        similar = self._similar(nodes.astype(np.int64), state.question.text)
        scores = similar + self.beta * structure(adjacency.indptr, nodes, best, held, len(given))
        known = ~np.isnan(similar)
        nodes, scores = nodes[known], scores[known]
        if k is not None and k < len(scores):
            # With all that tie with the last, so that ties fall by id.
            enough = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
            nodes, scores = nodes[enough], scores[enough]
        found = Evidence.of_nodes(nodes, scores)
        return state.with_(evidence=found if k is None else found.top(k))

    def _similar(self, nodes: Ints, question: str) -> Scores:
        """Return I_Sim of each node, NaN for one without a vector: float64[len(nodes)]."""
        scores = np.full(len(nodes), np.nan)
        if len(nodes):
            query = self.index.encode(question)
            # Where several parts have a vector, that of the first counts.
            for part, products in list(zip(self.index.parts, self._products, strict=True))[::-1]:
                has = part.has(nodes)
                scores[has] = products.of(part.vectors, part.rows_of(nodes)[1], query)
        return scores
