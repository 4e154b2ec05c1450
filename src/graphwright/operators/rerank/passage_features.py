"""Features of passages, alone and in connected pairs, that the passage scorer weighs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import positions_in
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats, NamedEncoder
from graphwright.operators.rerank.passage_match import PassageMatch, QuestionMatch, connected_pairs
from graphwright.operators.run import Run
from graphwright.operators.search.mentions import rarity
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex

ALONE = (
    "cosine", "cosine_of_best", "bm25", "bm25_unnamed_words", "word_share", "topic", "topics", "anchor_share",
    "pagerank", "statement", "feedback", "cosine_no_topic", "bm25_no_topic", "word_share_no_topic", "exact",
)  # fmt: skip
"""Names of the features of a passage alone."""

_MIN_PAGERANK = 1e-5  # relative to the largest
_ZERO_LENGTH = 1e-6  # squared length of a mean that is a rounding error
_FEEDBACK = 3  # passages of pseudo-relevance feedback


@dataclass(frozen=True)
class PassageFeatures:
    """Features of p passages (`nodes`, ascending), and of their c connected pairs.

    `alone: float32[p, len(ALONE)]`:

    - cosine with the question; cosine over the best of all passages; BM25 over the best; BM25 of the words that do not
      only name a topic, over the best BM25 of all words; the share of the question's distinct words, by idf;
    - topic, topics: the best and the sum over anchors of 1 if by its title the passage is about the anchor, 0.5 if by
      its first name; anchor_share: the share of the anchors that it mentions, by rarity;
    - pagerank: logarithm of the score in the evidence over the largest; statement: the best cosine of its statements;
      feedback: cosine with the mean of the first three passages, without the passage;
    - three of these again if the question names no topic, else 0; exact: the share of the identifiers that the passage
      has in the idf of all words of the question.

    `source, target: int64[c]`: positions in `nodes`. Passages are connected if they share an entity that is not common,
    if one mentions the topic of the other, or if the question names the topics of both. `pair: float32[c, len(PAIR)]`
    (see `connected_pairs`): whether the source mentions the topic of the target; whether the target mentions that of
    the source; rarity of the topic; rarity of the rarest entity shared; whether both topics are named; the best cosine
    of a statement of the source on the topic of the target, at least 0; cosine of the two; of the question with their
    mean; share of the question's words in either; BM25 of either, word by word; topics of either; cosine of the target
    with the question's vector less its projection on the source.

    `words: float32[p, w]` is the idf share of each word of the question that a passage has; `question: float32[384]`
    the question's vector by the scorer's encoder; `names_topic`: whether the question names the topic of a passage.
    """

    nodes: Ints
    alone: Floats
    source: Ints
    target: Ints
    pair: Floats
    words: Floats
    question: Floats
    names_topic: bool

    @classmethod
    def of(
        cls,
        state: State,
        run: Run,
        passages: VectorIndex,
        index: WordIndex,
        encoder: NamedEncoder,
        triples: VectorIndex | None,
        pool: int,
    ) -> PassageFeatures:
        """Compute the features of the passages of the evidence and of the `pool` best by cosine and BM25.

        `encoder`: computes the question's vector, unless `passages` have the same encoder.
        """
        question = QuestionMatch(state, run, passages, index)
        given = state.items
        singles = np.diff(given.node_ptr) == 1
        scores = np.zeros(len(given)) if given.scores is None else given.scores
        positions = positions_in(question.nodes, given.nodes[given.node_ptr[:-1][singles]])
        pagerank = np.zeros(len(question.nodes))
        np.maximum.at(pagerank, positions[positions >= 0], scores[singles][positions >= 0])
        at = np.union1d(positions[positions >= 0], top(question.hybrid, min(pool, len(question.nodes))))
        part = PassageMatch(state.graph, question, at, passages, triples)
        vector = question.vector
        if getattr(passages.encoder, "id", None) != encoder.id:  # a cache has the id of its encoder
            vector = run.encode(encoder, [state.question.text])[0]
        alone, pairs = _alone(part, pagerank), connected_pairs(part)
        return cls(question.nodes[at], alone, *pairs, part.words, vector, part.named.shape[1] > 0)

    def best_pair(self, values: Scores) -> Scores:
        """Return the largest value of the pairs that lead to each passage, at least 0: float64[p]."""
        best = np.zeros(len(self.nodes))
        np.maximum.at(best, self.target, values)
        return best

    def best_source(self, values: Scores, order: Ints) -> Ints:
        """Return for each passage the earlier passage whose pair with it has the largest value above 0, else -1.

        `order`: passages by position, best first; the result is in the same order.
        """
        rank, best = np.full(len(self.nodes), len(self.nodes)), np.full(len(self.nodes), -1)
        rank[order] = np.arange(len(order))
        onward = np.flatnonzero((values > 0) & (rank[self.source] < rank[self.target]))
        onward = onward[np.argsort(values[onward], kind="stable")]
        best[self.target[onward]] = self.source[onward]
        return best[order]


def _alone(part: PassageMatch, pagerank: Scores) -> Floats:
    """Return the features of each passage alone; `pagerank`: of all passages of the graph."""
    question, at = part.question, part.at
    mass = np.log(np.maximum(pagerank[at] / max(float(pagerank.max(initial=0.0)), 1e-12), _MIN_PAGERANK))
    statement = part.cosine.copy()
    np.maximum.at(statement, part.stated, part.statements)
    near, bm25, share = question.near[at], question.bm25[at], part.words.sum(1)
    topic = part.named.max(1, initial=0.0)
    untitled = 1.0 - float(topic.max(initial=0.0))
    return np.stack(
        (
            part.cosine, near, bm25, part.terms.sum(1), share, topic, part.named.sum(1), _anchor_share(part), mass,
            statement, _feedback(part), near * untitled, bm25 * untitled, share * untitled,
            part.words[:, question.exact].sum(1),
        ),
        axis=1,
    ).astype(np.float32)  # fmt: skip


def _anchor_share(part: PassageMatch) -> Scores:
    """Return the share of the anchors that each passage mentions, by the rarity of their entities."""
    share, total = np.zeros(len(part.at)), 0.0
    for seeds, df in zip(part.question.seeds, part.question.df, strict=True):
        if len(seeds):
            weight = float(rarity(part.graph, df).max())
            asked = np.zeros(len(part.entities), np.bool_)
            place = positions_in(part.entities, seeds)
            asked[place[place >= 0]] = True
            hit = np.zeros(len(part.at), np.bool_)
            hit[part.owner[asked[part.mentions.values]]] = True
            share += weight * hit
            total += weight
    return share / total if total else share


def _feedback(part: PassageMatch) -> Scores:
    """Return the cosine of each passage with the mean of the other best passages by cosine and BM25."""
    hybrid = part.question.hybrid[part.at].astype(np.float64)
    best = top(hybrid, min(_FEEDBACK, len(hybrid)))
    weights = np.zeros(len(hybrid))
    weights[best] = np.maximum(hybrid[best], 0)
    vectors = part.vectors.astype(np.float64)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    mean = weights @ vectors
    products = vectors @ mean
    lengths = mean @ mean - 2 * weights * products + weights**2 * squares
    cosines: Scores = (products - weights * squares) / np.sqrt(np.maximum(lengths * squares, 1e-9))
    return np.where(lengths > _ZERO_LENGTH, cosines, 0.0)  # else the others cancel out, or have no weight
