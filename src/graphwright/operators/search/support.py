"""Search by three signals of passages: cosine, BM25, and topics that the question names; mentions and statements."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import ABOUT, ALIAS, Graph, Kind
from graphwright.index.inverted_index import WordIndex
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.csr import Csr
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.words import words

__all__ = ["Statements", "Support", "SupportSearch", "frequency", "positions_in", "rarity", "reach"]

_INFERRED = 0.5  # weight of a topic that no title confirms
_FEW = 5  # passages that may mention a topic, however few passages there are


@dataclass(frozen=True)
class Support:
    """Three signals for p passages (`nodes`), each at most about 1.

    `near: float32[p]` is the cosine with the question over the best cosine. `terms: float32[p, t]` has the BM25 of each
    word of the question, over the best BM25 of the whole question; words are left out that only name a passage by its
    title, since `named` covers them. `named: float32[p, a]` is 1 if the passage is about anchor a, and 0.5 if no title
    confirms it; an anchor that more than √N of all N passages mention, and more than five, is not a topic.
    """

    nodes: Ints
    near: Floats
    terms: Floats
    named: Floats

    @classmethod
    def of(cls, state: State, run: Run, vectors: VectorIndex, index: WordIndex) -> Support:
        """Compute the signals of every passage of the graph."""
        graph = state.graph
        inside = np.ones(len(index.nodes), bool) if graph.whole else graph.holds(index.nodes)
        nodes = index.nodes[inside]
        near = np.zeros(len(nodes), np.float32)  # in an imported graph nodes may have no vector
        near[vectors.has(nodes)] = vectors.scores_of(nodes, vectors.encode(state.question.text, run))[1]
        # Without a positive cosine, nearness has no weight; and no negative value exceeds the best in size.
        near = near / np.abs(near).max() if near.max(initial=0.0) > 0 else np.zeros_like(near)
        named, remaining = _named(state, index.nodes)
        terms = _terms(index, list(dict.fromkeys(words(state.question.text))), remaining)
        return cls(nodes, near, terms[inside], named[inside])

    def take(self, positions: Ints) -> Support:
        """Return the signals of the passages at some positions."""
        return Support(self.nodes[positions], self.near[positions], self.terms[positions], self.named[positions])

    @property
    def topics(self) -> Scores:
        """The best of the anchors that each passage is about, 0 if none: float64[p]."""
        best: Scores = self.named.max(axis=1, initial=0.0).astype(np.float64)
        return best

    def coverage(self) -> Floats:
        """Return the signals of words and of anchors together: float32[p, t + a]."""
        return np.concatenate((self.terms, self.named), axis=1)

    def total(self) -> Scores:
        """Return the sum of the signals: float64[p]."""
        total: Scores = self.near.astype(np.float64) + self.terms.sum(1) + self.named.sum(1)
        return total


def _terms(index: WordIndex, question: list[str], selected: list[str]) -> Floats:
    """Return the BM25 of the selected words, over the best of all words of the question: float32[passages, words]."""
    postings = {word: index.postings(word) for word in question}
    totals = np.zeros(len(index.nodes), np.float32)
    for rows, scores in postings.values():
        totals[rows] += scores
    terms = np.zeros((len(index.nodes), len(selected)), np.float32)
    for column, word in enumerate(selected):
        rows, scores = postings[word]
        terms[rows, column] = scores / totals.max(initial=1e-9)
    return terms


def _named(state: State, nodes: Ints) -> tuple[Floats, list[str]]:
    """Return which passages (rows: `nodes`) are about each anchor, and the question's words besides those anchors."""
    graph, text, columns = state.graph, state.question.text, []
    most = max(_FEW, math.sqrt(0 if graph.passages is None else len(graph.passages)))
    for anchor in state.anchors or ():
        seeds = anchor.seeds(graph)
        about = np.unique(graph.columns.by_relation(ABOUT).rows(seeds))
        if len(about) and frequency(graph, seeds).max(initial=0.0) <= most:
            titled = any(graph.title_of(chunk) for chunk in about.tolist())
            columns.append(np.isin(nodes, about, assume_unique=True) * np.float32(1 if titled else _INFERRED))
            # An inferred topic is not a title, so that its words still count as words.
            if titled:
                text = re.sub(rf"(?<!\w){re.escape(anchor.text)}(?!\w)", " ", text, count=1)
    named = np.stack(columns, 1) if columns else np.zeros((len(nodes), 0), np.float32)
    known = set(words(state.question.text))
    return named, [word for word in dict.fromkeys(words(text)) if word in known]


@dataclass(frozen=True, repr=False)
class SupportSearch(Ranker):
    """Rank passages by the sum of cosine, BM25, and whether the question names their topics (see `Support`).

    `passages`: vectors of the passages; `words`: their word index. Uses the anchors if there are any.
    """

    passages: VectorIndex
    words: WordIndex
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the passages of the graph."""
        support = Support.of(state, run, self.passages, self.words)
        scores = support.total()
        best = top(scores, len(scores) if k is None else k)
        return state.with_(evidence=Evidence.of_nodes(support.nodes[best], scores[best]))


def reach(graph: Graph, nodes: Ints) -> tuple[Ints, Csr]:
    """Return the entities that the passages mention or name by an alias, ascending, and which of them each does.

    The rows hold positions in the entities, ascending.
    """
    owner, mentioned = graph.columns.adjacency.expand(nodes)
    entity = graph.columns.kinds[mentioned] == Kind.ENTITY  # not a passage that another refers to
    owner, mentioned = owner[entity], mentioned[entity]
    row, aliases = graph.columns.by_relation(ALIAS).expand(mentioned)
    owner = np.concatenate((owner, owner[row]))
    entities, position = np.unique(np.concatenate((mentioned, aliases)), return_inverse=True)
    # One number per (passage, entity): distinct, and ascending as the rows must be.
    keys = np.unique(owner * len(entities) + position)
    indptr = np.searchsorted(keys, np.arange(len(nodes) + 1) * len(entities))
    return entities, Csr(indptr, (keys % max(len(entities), 1)).astype(np.int32))


def frequency(graph: Graph, entities: Ints) -> Scores:
    """Return the number of passages that mention each entity or one of its aliases."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.zeros(len(entities))
    owner, aliases = graph.columns.by_relation(ALIAS).expand(entities)
    counts = np.diff(chunks.indptr)
    total: Scores = counts[entities] + np.bincount(owner, counts[aliases], len(entities))
    return total


def rarity(graph: Graph, entities: Ints, common: float) -> Scores:
    """Return log(N/df)/log(N) of each entity, 0 for one in a single passage or in too many.

    Too many are more than the share `common` of all N passages, and more than five. Of few passages, df may exceed N
    (see `frequency`): then it is 0.
    """
    count = max(len(graph.passages) if graph.passages is not None else 0, 2)
    df = frequency(graph, entities)
    rare = np.log(np.maximum(count / np.maximum(df, 1), 1)) / np.log(count)
    return np.where((df > 1) & (df <= max(5, common * count)), rare, 0.0)


def positions_in(ascending: Ints, nodes: Ints) -> Ints:
    """Return the position of each node in an ascending array, -1 where it is absent."""
    at = np.minimum(np.searchsorted(ascending, nodes), len(ascending) - 1)
    return np.where(ascending[at] == nodes, at, -1)


class Statements:
    """Scores of the statements of passages on entities: the share of the question's words that the best one contains.

    Words count by idf. Scores are divided by the largest in the first passages, and multiplied by `weight`.
    """

    def __init__(self, weight: float, state: State, index: WordIndex) -> None:
        """Weigh the words of the question."""
        self.weight, self.graph = weight, state.graph
        n = len(index.nodes)
        frequencies = {word: len(index.postings(word)[0]) for word in words(state.question.text)}
        self.idf = {word: math.log1p((n - df + 0.5) / (df + 0.5)) for word, df in frequencies.items() if df}
        self.shares: dict[int, float] = {}
        self.largest = 0.0

    def scores(self, nodes: Ints, entities: Ints) -> Scores:
        """Return the score of each passage on each of the entities, ascending: float64[p, e]."""
        columns = self.graph.columns
        best = np.zeros((len(nodes), len(entities)))
        owner, edges = columns.stated.expand(nodes)
        if not len(edges) or not len(entities):
            return best
        shares = self._shares(edges)
        self.largest = self.largest or float(shares.max())
        owner, shares, ends = np.repeat(owner, 2), np.repeat(shares, 2), self.graph.ends(edges)
        row, aliases = columns.by_relation(ALIAS).expand(ends)
        rows, ends = np.append(np.arange(len(ends)), row), np.append(ends, aliases)
        place = positions_in(entities, ends)
        rows, place = rows[place >= 0], place[place >= 0]
        np.maximum.at(best, (owner[rows], place), shares[rows])
        scores: Scores = self.weight * np.minimum(best / (self.largest or 1.0), 1.0)
        return scores

    def _shares(self, edges: Ints) -> Scores:
        """Return the share of the question's words in each statement; the text of several edges is read once."""
        columns, total = self.graph.columns, sum(self.idf.values()) or 1.0
        texts = np.full(len(edges), -1) if columns.edge_text is None else columns.edge_text[edges]
        keys = np.where(texts < 0, -1 - edges, texts).tolist()
        for key, edge in zip(keys, edges.tolist(), strict=True):
            if key not in self.shares:
                matches = self.idf.keys() & set(words(self.graph.edge_text(edge)))
                self.shares[key] = sum(self.idf[word] for word in matches) / total
        return np.array([self.shares[key] for key in keys])
