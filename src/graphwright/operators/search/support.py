"""Support of passages for an answer, and the connections between passages."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import ABOUT, ALIAS, Csr, Graph, Kind
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.words import words

__all__ = ["Support", "SupportSearch", "expand", "frequency", "rarity", "reach"]

_INFERRED = 0.5  # what it counts that a passage is about what is asked for, where no title says so
_FEW = 5  # passages that may hold what is a topic, however few passages there are


@dataclass(frozen=True)
class Support:
    """Three signals for p passages (`nodes`), each at most about 1.

    `near: float32[p]` is the cosine with the question over the best cosine. `terms: float32[p, t]` has what each of
    the question's words adds to BM25, over the best BM25 of the whole question; words that only name a passage
    that is found by its title are left out, since the title tells it better. `named: float32[p, a]` is 1 where
    the passage is about anchor a, and half of that where no title says so; an anchor that more than √N of all N
    passages hold, and more than five, is a word of the field and no topic.
    """

    nodes: Ints
    near: Floats
    terms: Floats
    named: Floats

    @classmethod
    def of(cls, state: State, run: Run, vectors: VectorIndex, index: WordIndex) -> Support:
        """Read the signals of every passage of the graph."""
        graph = state.graph
        inside = np.ones(len(index.nodes), bool) if graph.whole else graph.holds(index.nodes)
        nodes = index.nodes[inside]
        near = np.zeros(len(nodes), np.float32)  # on a graph that was imported nodes may have no vector
        near[vectors.has(nodes)] = vectors.scores_of(nodes, vectors.encode(state.question.text, run))[1]
        columns, rest = _named(state, index.nodes)
        asked = list(dict.fromkeys(words(state.question.text)))
        postings = {word: index.postings(word) for word in asked}
        whole = np.zeros(len(index.nodes), np.float32)
        for rows, scores in postings.values():
            whole[rows] += scores
        terms = np.zeros((len(index.nodes), len(rest)), np.float32)
        for at, word in enumerate(rest):
            rows, scores = postings[word]
            terms[rows, at] = scores / whole.max(initial=1e-9)
        # Where nothing is near, nearness says nothing; and far is never farther than near is near.
        near = near / np.abs(near).max() if near.max(initial=0.0) > 0 else np.zeros_like(near)
        return cls(nodes, near, terms[inside], columns[inside])

    def take(self, at: Ints) -> Support:
        """Return the signals of some of the passages, by position."""
        return Support(self.nodes[at], self.near[at], self.terms[at], self.named[at])

    @property
    def asked(self) -> NDArray[np.float64]:
        """How far the question names what each passage is about, the most of all anchors: float64[p]."""
        most: NDArray[np.float64] = self.named.max(axis=1, initial=0.0).astype(np.float64)
        return most

    def total(self) -> NDArray[np.float64]:
        """Return the sum of the signals: float64[p]."""
        signals: NDArray[np.float64] = self.near.astype(np.float64) + self.terms.sum(1) + self.named.sum(1)
        return signals


def _named(state: State, nodes: Ints) -> tuple[Floats, list[str]]:
    """Return which passages (rows: `nodes`) are about each anchor, and the question's words beside those anchors."""
    rest, columns = state.question.text, []
    for anchor in state.anchors or ():
        seeds = anchor.seeds(state.graph)
        about = _chunks_about(state.graph, seeds)
        if len(about) and not _common(state.graph, seeds):
            titled = _titled(state.graph, about)
            columns.append(np.isin(nodes, about, assume_unique=True) * np.float32(1 if titled else _INFERRED))
            # A topic that was only inferred is no title: its words still have to be found.
            if titled:
                rest = re.sub(rf"(?<!\w){re.escape(anchor.text)}(?!\w)", " ", rest, count=1)
    table = np.stack(columns, 1) if columns else np.zeros((len(nodes), 0), np.float32)
    known = set(words(state.question.text))
    return table, [word for word in dict.fromkeys(words(rest)) if word in known]


def _common(graph: Graph, entities: Ints) -> bool:
    """Whether one of these entities is in so many passages that to name it tells nothing."""
    count = 0 if graph.passages is None else len(graph.passages)
    return bool(frequency(graph, entities).max(initial=0.0) > max(_FEW, math.sqrt(count)))


def _chunks_about(graph: Graph, entities: Ints) -> Ints:
    return np.unique(graph.columns.by_relation(ABOUT).rows(entities))


def _titled(graph: Graph, chunks: Ints) -> bool:
    return any(graph.title_of(int(chunk)) for chunk in chunks)


@dataclass(frozen=True, repr=False)
class SupportSearch(Ranker):
    """Passages by the sum of three signals: cosine, BM25, and whether the question names what they are about.

    `passages`: vectors of the passages; `words`: their word index. Takes the anchors where there are any.
    """

    passages: VectorIndex
    words: WordIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the passages of the graph."""
        support = Support.of(state, run, self.passages, self.words)
        scores = support.total()
        if k is not None and k < len(scores):
            kept = top(scores, k)
            return state.with_(evidence=Evidence.of_nodes(support.nodes[kept], scores[kept]))
        return state.with_(evidence=Evidence.of_nodes(support.nodes, scores))


def reach(graph: Graph, nodes: Ints) -> tuple[Ints, Csr]:
    """Return the entities that the passages mention or name by an alias, ascending, and which of them each does.

    The rows hold positions in the entities, ascending.
    """
    owner, mentioned = expand(graph.columns.adjacency, nodes)
    named = graph.columns.kinds[mentioned] == Kind.ENTITY  # and no passage that another refers to
    owner, mentioned = owner[named], mentioned[named]
    through, same = expand(graph.columns.by_relation(ALIAS), mentioned)
    owners = np.concatenate((owner, owner[through]))
    entities, at = np.unique(np.concatenate((mentioned, same)), return_inverse=True)
    # One number per (passage, entity): distinct, and ascending as the rows must be.
    held = np.unique(owners * len(entities) + at)
    indptr = np.searchsorted(held, np.arange(len(nodes) + 1) * len(entities))
    return entities, Csr(indptr, (held % max(len(entities), 1)).astype(np.int32))


def expand(rows: Csr, ids: Ints) -> tuple[Ints, Ints]:
    """Return all values of these rows, each with the position in `ids` of the row that holds it."""
    return np.repeat(np.arange(len(ids)), rows.indptr[ids + 1] - rows.indptr[ids]), rows.rows(ids)


def frequency(graph: Graph, entities: Ints) -> NDArray[np.float64]:
    """Return in how many passages each entity is, those of its aliases counted too."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.zeros(len(entities))
    owner, same = expand(graph.columns.by_relation(ALIAS), entities)
    held = np.diff(chunks.indptr)
    found: NDArray[np.float64] = held[entities] + np.bincount(owner, held[same], len(entities))
    return found


def rarity(graph: Graph, entities: Ints, common: float) -> NDArray[np.float64]:
    """Return log(N/df)/log(N) of each entity, 0 for one in a single passage or in too many.

    Too many are more than the share `common` of all N passages, and more than five; df may be more than N on a few
    passages (see `frequency`): then it is 0.
    """
    count = max(len(graph.passages) if graph.passages is not None else 0, 2)
    df = frequency(graph, entities)
    rare = np.log(np.maximum(count / np.maximum(df, 1), 1)) / np.log(count)
    return np.where((df > 1) & (df <= max(5, common * count)), rare, 0.0)
