"""Expansion of the evidence by its neighbours: STeX (FastInsight) and the frontier of GAR."""

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
from graphwright.operators.operator import Ranker, Wrapper, top_of
from graphwright.operators.rerank.granker import retrieved
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Frontier", "STeX", "Unseen"]


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


@dataclass(frozen=True, repr=False)
class Frontier(Ranker):
    """New neighbours of the evidence's nodes, each with the score of the best node that it is next to.

    The frontier of graph-based adaptive reranking (MacAvaney, Tonellotto and Macdonald, 2022, Algorithm 1): whom a
    reranker liked, their neighbours it reads next. Without scores the evidence counts by 1/rank; a triple stands for
    both its ends. Inside `state.graph`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "r", "d"), ("b", "r", "c"), ("d", "r", "e")])
    >>> found = Frontier()(start("?", graph, evidence=Evidence.of_nodes([0, 3], [0.5, 0.9]))).evidence
    >>> graph.names.take(found.nodes), found.scores.tolist()
    (['c', 'e', 'b'], [0.9, 0.9, 0.5])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours."""
        found = state.evidence or Evidence.of_nodes([])
        scores = found.ranked_scores
        liked: dict[int, float] = {}
        for (nodes, edges), score in zip(found, scores.tolist(), strict=True):
            for node in (nodes if len(nodes) else state.graph.ends(edges)).tolist():
                liked[node] = max(score, liked.get(node, score))
        # Best first, so that the first node that lists a neighbour is its best.
        nodes = np.array(sorted(liked, key=lambda node: -liked[node]), np.int64)
        nodes = nodes[state.graph.holds(nodes)]
        adjacency, local = state.graph.adjacency, state.graph.local(nodes)
        near, first = np.unique(adjacency.rows(local), return_index=True)
        values = np.repeat([liked[node] for node in nodes.tolist()], np.diff(adjacency.indptr)[local])[first]
        new = ~np.isin(near, local)
        reached = Evidence.of_nodes(state.graph.at(near[new]), values[new])
        return state.with_(evidence=reached if k is None else reached.top(k))


@dataclass(frozen=True, repr=False)
class Unseen(Wrapper):
    """The pieces that a step gives and the evidence does not hold yet: `Keep() | Unseen(search) % 10` goes on in it.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.operators.subgraph.walk import KHop
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([1, 2]))
    >>> (Unseen(KHop(1)) % 1)(state).evidence.nodes.tolist()
    [0]
    """

    def execute(self, state: State, run: Run, k: int | None = None) -> State:
        """Run the step for as many more as there may be to leave out, and keep the k best of the others."""
        if state.answer is not None:
            return state
        held = set() if state.evidence is None else set(state.evidence.identities())
        after = self.step.execute(state, run, None if k is None else k + len(held))
        if after.evidence is None or not held:
            return top_of(after, self.gives, k)
        kept = [at for at, key in enumerate(after.evidence.identities()) if key not in held]
        return top_of(after.with_(evidence=after.evidence.take(kept)), self.gives, k)
