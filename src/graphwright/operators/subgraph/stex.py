"""STeX: the neighbours of what was retrieved, by structure and by meaning (FastInsight)."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Csr
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.frontier import Around, products
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.rerank.granker import retrieved
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["STeX"]


@dataclass(frozen=True, repr=False)
class STeX(Ranker):
    """New neighbours of the evidence's nodes, by structure and similarity (FastInsight, Algorithm 3).

        S(n) = v_q · v_n + β I(n),   I(n) = 1 - (r_best - 1)/(R - 1)  [if R > 1]
                                          + (|A(n)| - 1)/(C - 1)      [if C > 1],   C = min(deg(n), R)

    R is how many nodes were retrieved, A(n) those of them next to n, r_best the best rank in A(n), from 1.
    `index` has the vectors; a neighbour without one is left out. `beta` is β: 0 for similarity alone.
    Neighbours and degrees are the snapshot's, whatever part of it `state.graph` is.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
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
    def _last(self) -> _Last:
        """What the last question met, which a loop asks for again and again; not of the configuration."""
        return _Last()

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours that have a vector."""
        given = retrieved(state)
        if not len(given):
            return state.with_(evidence=Evidence.of_nodes([], []))
        last = self._last
        last.begin(state, run, self.index)
        nodes, scores = last.around.scores(given, lambda new: self._similar(new, last.query), self.beta, k)
        return state.with_(evidence=Evidence.of_nodes(nodes, scores))

    def _similar(self, nodes: Ints, query: Floats) -> Scores:
        """Return I_Sim of each node, NaN for one without a vector: float64[len(nodes)]."""
        scores = np.full(len(nodes), np.nan)
        # Where several parts have a vector, that of the first counts.
        for part in reversed(self.index.parts):
            scores[part.has(nodes)] = products(part.vectors, part.rows_of(nodes)[1], query)
        return scores


class _Last(threading.local):
    """The last question of a thread, its vector, the adjacency that it was asked of, and what was met of that."""

    question: str | None = None
    adjacency: Csr | None = None

    def __reduce__(self) -> tuple[type[_Last], tuple[()]]:
        return _Last, ()

    def begin(self, state: State, run: Run, index: VectorIndex) -> None:
        """Forget what was met if this is another question or another graph."""
        asked, adjacency = state.question.text, state.graph.columns.adjacency
        if asked == self.question and adjacency is self.adjacency:
            return
        self.question, self.query = None, index.encode(asked, run)
        if adjacency is not self.adjacency:
            self.adjacency, self.around = None, Around(*adjacency)
        self.around.forget()
        self.adjacency, self.question = adjacency, asked  # last, should this be interrupted
