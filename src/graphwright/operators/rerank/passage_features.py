"""Features of passages, alone and in connected pairs, that the passage scorer weighs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import ABOUT, ALIAS, Graph, positions_in
from graphwright.kernels.csr import Csr, group
from graphwright.kernels.far import Reading, together
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats, NamedEncoder
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import frequency, rarity, reach
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex
from graphwright.text.words import identifiers, terms, words

FEW = 5  # passages that may mention a topic or a shared entity, in a graph of any size
_ROUNDING = 1e-6  # if no cosine is larger, all count as 0
_INFERRED = 0.5  # value of a topic that no title confirms


class QuestionMatch:
    """A question against all passages of the graph, `nodes`, ascending; `rows`: of the word index, which has `size`.

    `cosine`: of each passage; `near`, `bm25`: cosine and BM25 over the best; `hybrid`: the sum of both. `words`:
    distinct terms; `postings`: rows and scores of each; `share`: the share of each in the idf of all; `exact`: whether
    each is an identifier. `seeds`: the nodes of each anchor; `df`: passages that mention each.
    """

    def __init__(self, state: State, run: Run, passages: VectorIndex, index: WordIndex) -> None:
        graph, text = state.graph, state.question.text
        self.size = len(index.nodes)
        self.rows = np.arange(self.size) if graph.whole else np.flatnonzero(graph.holds(index.nodes))
        self.nodes, self.anchors = index.nodes[self.rows], state.anchors or ()
        self.seeds = [anchor.seeds(graph) for anchor in self.anchors]
        self.df = [frequency(graph, seeds) for seeds in self.seeds]
        self.vector = passages.encode(text, run)
        self.cosine = _cosine(passages, self.nodes, self.vector, run)
        best = float(self.cosine.max(initial=0.0))
        self.near = np.maximum(self.cosine / best, -1) if best > _ROUNDING else np.zeros_like(self.cosine)
        counts = Counter(terms(text))  # a word counts as often as the question has it
        self.words = list(counts)
        names = set(identifiers(text))
        self.exact = np.array([word in names for word in self.words], np.bool_)
        postings = (index.postings(word, run) for word in self.words)
        self.postings = [
            (rows, times * scores) for times, (rows, scores) in zip(counts.values(), postings, strict=True)
        ]
        totals = np.zeros(self.size, np.float32)
        for rows, scores in self.postings:
            totals[rows] += scores
        self.best = float(totals.max(initial=0.0)) or 1.0
        self.bm25 = totals[self.rows] / self.best
        self.hybrid = self.near + self.bm25
        df = np.array([len(rows) for rows, _ in self.postings], np.float64)
        idf = np.where(df > 0, np.log1p((self.size - df + 0.5) / (df + 0.5)), 0.0)
        self.share = idf / (idf.sum() or 1.0)

    def weights(self, at: Ints) -> Floats:
        """Return the part of each distinct word in the BM25 score of some passages, by position: float32[n, w]."""
        first = np.arange(len(self.words)) * self.size  # one number per (word, row), ascending
        numbers = [rows.astype(np.int64) + word for word, (rows, _) in zip(first, self.postings, strict=True)]
        place = positions_in(np.concatenate([*numbers, first[:0]]), np.add.outer(self.rows[at], first).ravel())
        scores = np.concatenate([*(scores for _, scores in self.postings), np.zeros(1, np.float32)])
        parts: Floats = scores[place].reshape(len(at), len(first))  # the last score, 0, where a passage lacks a word
        return parts


def _cosine(passages: VectorIndex, nodes: Ints, vector: Floats, run: Run) -> Floats:
    """Return the product of each passage's vector with that of the question; 0 for a node without a vector."""
    if np.array_equal(passages.ids, nodes):
        return passages.scores_of(passages.ids, vector, run)[1]
    cosine = np.zeros(len(nodes), np.float32)
    cosine[passages.has(nodes)] = passages.scores_of(nodes, vector, run)[1]
    return cosine


class PassageMatch:
    """Some passages of a question, by position (`at`) in all of them.

    `entities`, `mentions`: the entities that they mention (see `reach`); `owner`: the passage of each mention; `df`:
    passages that mention each entity. `named`: whether each passage is about each anchor. `terms`: BM25 of the words
    besides the anchors with a title; `words`: share of each. `stated`: the passage of each statement, `ends` its two
    nodes, `statements` its cosine.
    """

    def __init__(
        self, graph: Graph, question: QuestionMatch, at: Ints, passages: VectorIndex, triples: VectorIndex | None
    ) -> None:
        self.graph, self.question, self.at, self.nodes = graph, question, at, question.nodes[at]
        self.cosine = question.cosine[at].astype(np.float64)
        self.entities, self.mentions = reach(graph, self.nodes)
        self.owner = np.repeat(np.arange(len(at)), np.diff(self.mentions.indptr))
        self.df = frequency(graph, self.entities)
        self.named, unnamed = self._named()
        weights = question.weights(at)
        self.terms = weights[:, unnamed] / question.best
        self.words = ((weights > 0) * question.share).astype(np.float32)
        self.stated, edges = graph.columns.stated.expand(self.nodes)
        self.ends = graph.ends(edges)
        wanted: list[Reading[Any]] = [passages.reading(self.nodes), graph.columns.texts.reading(self.nodes)]
        if triples is not None and len(edges):
            self.vectors, _, self.statements = together(*wanted, triples.comparing(edges, question.vector))
        else:  # the passage's cosine replaces those of its statements
            self.vectors, _ = together(*wanted)
            self.statements = self.cosine[self.stated]

    def _named(self) -> tuple[Floats, list[int]]:
        """Return which passages are about each anchor, and the question's words besides the anchors with a title."""
        graph, text, columns = self.graph, f" {' '.join(self.question.words)} ", []
        max_passages = max(FEW, math.sqrt(0 if graph.passages is None else len(graph.passages)))
        for anchor, seeds, df in zip(self.question.anchors, self.question.seeds, self.question.df, strict=True):
            about = np.unique(graph.columns.by_relation(ABOUT).rows(seeds))
            if len(about) and df.max(initial=0.0) <= max_passages:
                titled = any(graph.title_of(chunk) for chunk in about.tolist())
                columns.append((positions_in(about, self.nodes) >= 0) * np.float32(1 if titled else _INFERRED))
                if titled:  # an inferred topic is not a title, so its words still count
                    text = text.replace(f" {' '.join(words(anchor.text))} ", "   ", 1)
        named = np.stack(columns, 1) if columns else np.zeros((len(self.nodes), 0), np.float32)
        remaining = set(text.split())
        return named, [i for i, word in enumerate(self.question.words) if word in remaining]


PAIR = (  # names of the features of a connected pair, from source to target
    "mentions_topic", "topic_is_mentioned", "topic_rarity", "shared_rarity", "both_named", "statement_on_topic",
    "similarity", "cosine_of_pair", "words_of_pair", "bm25_of_pair", "topics_of_pair", "cosine_uncovered",
)  # fmt: skip

_COMMON = 0.02  # share of all passages; an entity in more does not connect passages
_HASH = (1 << 14) - 1  # bits of a node's id that are compared at first
_MIN_RARITY = 1e-3  # of an entity that connects passages, so that it is above 0


def connected_pairs(part: PassageMatch) -> tuple[Ints, Ints, Floats]:
    """Return the connected pairs: positions of source and target, ascending, and their features."""
    p = len(part.at)
    topic = np.zeros(p * p)
    statement = np.zeros(p * p)
    place, rarities, statements = _topic_links(part)
    np.maximum.at(topic, place, rarities)
    np.maximum.at(statement, place, statements)
    shared = np.zeros(p * p)
    np.maximum.at(shared, *_shared(part))
    named = part.named.max(1, initial=0.0) > 0
    both = np.outer(named, named).ravel()
    links = (topic > 0).reshape(p, p)
    connected = links | links.T | (shared > 0).reshape(p, p) | both.reshape(p, p)
    np.fill_diagonal(connected, False)
    source, target = np.nonzero(connected)
    at = source * p + target
    columns = (links[source, target], links[target, source], topic[at], shared[at], both[at], statement[at])
    return source, target, np.stack((*columns, *_texts(part, source, target)), axis=1).astype(np.float32)


def _texts(part: PassageMatch, source: Ints, target: Ints) -> list[NDArray[np.floating]]:
    vectors, cosine = part.vectors, part.cosine  # no product of BLAS, whose other threads then wait at full load
    onward = source < target  # each pair has a reverse with the same values, except the last
    one, other = source[onward], target[onward]
    number = np.empty((len(part.at), len(part.at)), np.int64)
    number[one, other] = number[other, one] = np.arange(len(one))
    squares = np.einsum("ij,ij->i", vectors, vectors)
    between = np.einsum("ij,ij->i", vectors[one], vectors[other]).astype(np.float64)
    lengths = np.sqrt(np.maximum(squares[one] + squares[other] + 2 * between, 1e-9))
    table = np.concatenate((part.words, part.terms, part.named), axis=1).astype(np.float64)
    borders = np.cumsum((part.words.shape[1], part.terms.shape[1]))
    united = [each.sum(axis=1) for each in np.split(np.maximum(table[one], table[other]), borders, axis=1)]
    pair = number[source, target]
    between, mean, *united = (v[pair] for v in (between, (cosine[one] + cosine[other]) / lengths, *united))
    first, second = cosine[source], cosine[target]
    uncovered = (second - first * between) / np.sqrt(np.maximum(1 - first**2, 1e-6))
    return [between, mean, *united, uncovered]


def _topic_links(part: PassageMatch) -> tuple[Ints, Scores, Scores]:
    """Return source · p + target of each mention of a target's topic, its rarity, and the best statement on it."""
    p, topics = len(part.at), part.graph.columns.by_relation(ABOUT)
    passage, entity = topics.expand(part.nodes)
    place = positions_in(part.entities, entity)
    passage, place = passage[place >= 0], place[place >= 0]
    about = group(len(part.entities), place, passage.astype(np.int32))
    sizes = np.diff(about.indptr)
    links = np.flatnonzero(sizes[part.mentions.values])  # mentions of a topic
    row, target = about.expand(part.mentions.values[links].astype(np.int64), links)
    source, entity = part.owner[row], part.mentions.values[row].astype(np.int64)
    values = _statements_on(part, np.flatnonzero(sizes), source, entity)
    return source * p + target, np.maximum(rarity(part.graph, part.df)[entity], _MIN_RARITY), values


def _statements_on(part: PassageMatch, topics: Ints, source: Ints, entity: Ints) -> Scores:
    """Return the best cosine of a passage's statements on an entity, one of the `topics`; 0 without any."""
    alias, nodes, size = part.graph.columns.by_relation(ALIAS), part.entities[topics], len(topics)
    likely = np.zeros(_HASH + 1, np.bool_)  # few ends are topics or their aliases: most others are left out at once
    likely[np.append(nodes, alias.rows(nodes)) & _HASH] = True
    rows = np.flatnonzero(likely[part.ends & _HASH])
    row, aliases = alias.expand(part.ends[rows])
    ends, rows = np.append(part.ends[rows], aliases), np.append(rows, rows[row]) // 2
    place = positions_in(nodes, ends)
    rows, place = rows[place >= 0], place[place >= 0]
    best = np.zeros(len(part.at) * size)
    np.maximum.at(best, part.stated[rows] * size + place, part.statements[rows])
    values: Scores = best[source * size + np.searchsorted(topics, entity)]
    return values


def _shared(part: PassageMatch) -> tuple[Ints, Scores]:
    """Return source · p + target of each entity that two passages share and that is not common, and its rarity."""
    count = 0 if part.graph.passages is None else len(part.graph.passages)
    rare = (part.df > 1) & (part.df <= max(FEW, _COMMON * count))
    entity = part.mentions.values.astype(np.int64)
    owner, entity = part.owner[rare[entity]], entity[rare[entity]]
    holders: Csr = group(len(part.entities), entity, owner.astype(np.int32))
    row, other = holders.expand(entity)
    return owner[row] * len(part.at) + other, np.maximum(rarity(part.graph, part.df)[entity[row]], _MIN_RARITY)


ALONE = (  # names of the features of a passage alone
    "cosine", "cosine_of_best", "bm25", "bm25_unnamed_words", "word_share", "topic", "topics", "anchor_share",
    "pagerank", "statement", "feedback", "cosine_no_topic", "bm25_no_topic", "word_share_no_topic", "exact",
)  # fmt: skip

_MIN_PAGERANK = 1e-5  # relative to the largest
_ZERO_LENGTH = 1e-6  # squared length of a mean that is a rounding error
_FEEDBACK = 3  # passages of pseudo-relevance feedback


@dataclass(frozen=True)
class PassageFeatures:
    """Features of p passages (`nodes`, ascending), and of their c connected pairs.

    `alone: float32[p, len(ALONE)]`: cosine with the question; over the best of all; BM25 over the best; BM25 of the
    words that do not only name a topic; the idf share of the question's distinct words; the best and the sum over
    anchors of 1 if by its title the passage is about the anchor, 0.5 if by its first name; the share of the anchors
    that it mentions, by rarity; the logarithm of the score in the evidence over the largest; the best cosine of its
    statements; cosine with the mean of the first three passages, without itself; cosine, BM25 and words again if the
    question names no topic, else 0; the idf share of the identifiers that it has.

    `source, target: int64[c]`: positions in `nodes`. Passages are connected if they share an entity that is not common,
    if one mentions the topic of the other, or if the question names the topics of both. `pair: float32[c, len(PAIR)]`:
    whether the source mentions the topic of the target, and the reverse; rarity of the topic, and of the rarest entity
    shared; whether both topics are named; the best cosine of a statement of the source on the topic of the target;
    cosine of the two; of the question with their mean; words, BM25 and topics of either; cosine of the target with the
    question's vector less its projection on the source.

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
        """Compute the features of the passages of the evidence and of the `pool` best by cosine and BM25."""
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
        if not len(vector) or getattr(passages.encoder, "id", None) != encoder.id:  # a cache has the id of its encoder
            vector = run.encode(encoder, [state.question.text])[0]
        alone, pairs = _alone(part, pagerank), connected_pairs(part)
        return cls(question.nodes[at], alone, *pairs, part.words, vector, part.named.shape[1] > 0)

    def best_pair(self, values: Scores) -> Scores:
        """Return the largest value of the pairs that lead to each passage, at least 0: float64[p]."""
        best = np.zeros(len(self.nodes))
        np.maximum.at(best, self.target, values)
        return best

    def best_source(self, values: Scores, order: Ints) -> Ints:
        """Return for each of `order` the earlier passage whose pair with it has the largest value above 0, else -1."""
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
