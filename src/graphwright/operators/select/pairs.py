"""Passages judged two by two: what one leaves open, a passage that it is connected with may close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import ABOUT, Csr, Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.overlap import heaviest_common
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.search.connected import rarity, reach
from graphwright.operators.search.support import Support
from graphwright.operators.state import State

__all__ = ["Pairs"]

Table = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Pairs(Operator):
    """Rerank passages by the best pair that each makes with a passage that it is connected with.

    Two passages of the evidence are connected when they share an entity (one alias edge allowed), when one is
    about what the other mentions, or when the question names what both are about. A pair s, t is read as if
    it were one text:

        F(s, t) = cos(q, s + t)/best + Σ_w max(B_s(w), B_t(w)) + anchors that s or t is about + strength(s, t)
                  - unnamed · (1 - named(s, t))

    where cos(q, s + t) = (q·s + q·t)/|s + t| needs no encoding, B is BM25 by word, and strength is `about`
    where one is about what the other mentions, and at least `shared` times the idf of the rarest entity shared (one
    in more than `common` of all passages, and in more than five, connects nothing). named is 1 where one of them is
    about an anchor (half where that was inferred, see `Support`), else 0: two passages that the question names nothing
    of, as on one topic there are many, are worth less. With h the sum of the signals
    for a passage alone,

        score(t) = max(h(t), max_s F(s, t)) + own · h(t).

    Ours. On the multihop sets it is where most of the recall beyond the hybrid search comes from.
    """

    passages: VectorIndex
    words: WordIndex
    about: float = 0.8
    shared: float = 0.3
    own: float = 0.5
    unnamed: float = 1.0
    common: float = 0.02
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Score each passage of the evidence; other nodes are left out."""
        if state.evidence is None:
            return state
        every = Support.of(state, run, self.passages, self.words)
        pool = every.take(np.flatnonzero(np.isin(every.nodes, state.evidence.nodes)))
        if not len(pool.nodes):
            return state.with_(evidence=Evidence.of_nodes([]))
        alone = pool.total()
        together = self._together(pool) + self._strength(state.graph, pool)
        best = np.maximum(alone, together.max(axis=1))
        return state.with_(evidence=Evidence.of_nodes(pool.nodes, best + self.own * alone))

    def _together(self, pool: Support) -> Table:
        """Return F without the strength for all pairs: float64[p, p]."""
        vectors = self.passages.of(pool.nodes)
        inner = vectors @ vectors.T
        length = np.sqrt(np.maximum(inner.diagonal()[:, None] + inner.diagonal()[None] + 2 * inner, 1e-9))
        near = (pool.near[:, None] + pool.near[None]) / length
        signals = np.concatenate((pool.terms, pool.named), axis=1)
        covered: Table = near.astype(np.float64)
        for signal in signals.T:
            covered += np.maximum(signal[:, None], signal[None])
        return covered

    def _strength(self, graph: Graph, pool: Support) -> Table:
        """Return the strength of each pair that is connected, minus infinity for the others: float64[p, p]."""
        nodes = pool.nodes
        entities, mentions = reach(graph, nodes)
        rare = rarity(graph, entities, self.common)
        shared = heaviest_common(mentions.indptr, mentions.values, rare)
        subject = _is_about(graph, nodes, entities, mentions)
        strength = np.maximum(self.shared * shared, np.where(subject, self.about, 0.0))
        # The question itself connects two passages that are both about what it names.
        named = pool.asked
        asked = named > 0
        unconnected = np.where(asked[:, None] & asked[None], 0.0, -np.inf)
        strength = np.where(subject | (shared > 0), strength, unconnected)
        np.fill_diagonal(strength, -np.inf)
        strength -= self.unnamed * (1 - np.maximum(named[:, None], named[None]))
        return strength


def _is_about(graph: Graph, nodes: Ints, entities: Ints, mentions: Csr) -> NDArray[np.bool_]:
    """Return for each pair whether one is about an entity that the other reaches: bool[p, p]."""
    topics = graph.columns.by_relation(ABOUT)
    holds = np.zeros((len(nodes), len(entities)), bool)
    holds[np.repeat(np.arange(len(nodes)), np.diff(mentions.indptr)), mentions.values] = True
    found = np.zeros((len(nodes), len(nodes)), bool)
    for at, node in enumerate(nodes.tolist()):
        for topic in np.searchsorted(entities, topics.row(node)):
            found[:, at] |= holds[:, topic]
    return found | found.T
