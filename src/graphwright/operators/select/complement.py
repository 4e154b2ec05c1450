"""Passage selection by connected pairs and by greedy coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Ranking
from graphwright.graph.graph import ABOUT, ALIAS, Csr, Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.csr import group
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.support import Support, expand, rarity, reach
from graphwright.operators.state import State
from graphwright.text.words import words

__all__ = ["Complement", "Pairs"]

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
        named, everyone = pool.asked, np.arange(len(pool.nodes))
        first, to, strengths = connections(graph, pool, everyone, self, pooled=True)
        strength = np.full(len(named) ** 2, -np.inf)
        np.maximum.at(strength, first * len(named) + to, strengths)
        table = strength.reshape(len(named), -1)
        return np.maximum(table, table.T) - self.unnamed * (1 - np.maximum(named[:, None], named[None]))


Row = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Complement(Ranker):
    """Passages, each the one that adds most to those before it: evidence grown by what completes it.

    It begins with the passages of the evidence (those in its pieces, and those that state an edge of one), and what
    they are connected with; each passage that is taken opens what it is connected with in turn. With h(t) the sum of
    the signals of a passage alone (see `Support`) and F(s, t) of two read as one text (see `Pairs`), what speaks for a
    passage is

        J(t) = max(h(t), max_s F(s, t)) + own · h(t),    F(s, t) = cos(q, s + t)/best + Σ_w max(B_s(w), B_t(w))
                                                                 + names that s or t is about + C(s, t)
                                                                 - unnamed · (1 - named(s, t))

    over the s that were opened, and what it adds to the passages C that were taken

        gain(t) = J(t) - overlap · Σ_i min(signal_i(t), max_{c in C} signal_i(c)) + joined · max_{c in C} C(c, t)

    over the words and names i, so that one counts less where it is covered, as a group of anchors does in the penalty
    of BubbleRAG (Eq. 6). The connection C(s, t) is the largest of: `about`, where one is about what the other mentions;
    that and `stated` · r(s, e), where t is about e, and r is the share of the question's words (by idf, over the
    largest in those opened first, at most 1) that the best statement of s on e has; `shared` times the rarity of an
    entity that both mention; and 0 where the question names what both are about. A score is a gain, but always less
    than that of the passage before.

    Ours: the offline twin of reasoning-aware expansion (BubbleRAG, section 3.5) on passages.
    """

    passages: VectorIndex
    words: WordIndex
    about: float = 0.5
    stated: float = 0.4
    shared: float = 0.3
    own: float = 0.5
    overlap: float = 0.6
    joined: float = 0.1
    unnamed: float = 1.0
    common: float = 0.02
    needs = ("evidence",)
    gives = ("passages",)

    def __post_init__(self) -> None:
        for name in ("about", "stated", "shared", "own", "overlap", "joined", "unnamed"):
            value = getattr(self, name)
            known = isinstance(value, Real) and not isinstance(value, bool)
            if not known or not 0 <= value < math.inf:
                raise OptionError(f"Complement({name}={value!r}): a number, 0 or more.")
        if isinstance(self.common, bool) or not isinstance(self.common, Real) or not 0 <= self.common <= 1:
            raise OptionError(f"Complement(common={self.common!r}): a share, from 0 to 1.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Take passages until there are k."""
        if state.evidence is None:
            return state
        every = Support.of(state, run, self.passages, self.words)
        growth = _Growth(self, state, every)
        found = state.graph.chunks_of((), state.evidence.edges)
        growth.begin(np.flatnonzero(np.isin(every.nodes, np.append(state.evidence.nodes, found))))
        taken: list[int] = []
        scores: list[float] = []
        while len(taken) != k and len(growth.reached):
            at, gain = growth.best()
            growth.take(at)
            taken.append(at)
            scores.append(gain if not scores or gain < scores[-1] else np.nextafter(scores[-1], -np.inf))
        return state.with_(passages=Ranking.of(every.nodes[taken], scores))


class _Growth:
    """What speaks for each passage while they are taken one by one; passages by position in the support."""

    def __init__(self, how: Complement, state: State, every: Support) -> None:
        self.how, self.every = how, every
        self.alone = every.total()
        self.named = every.asked
        self.signals = np.concatenate((every.terms, every.named), axis=1)
        self.graph, self.statements = state.graph, Statements(how.stated, state, how.words)
        self.reached = np.empty(0, np.int64)  # ascending, without what was taken
        self.worth = np.full(len(self.alone), -np.inf)  # J
        self.joined = np.zeros(len(self.alone))
        self.covered = np.zeros(self.signals.shape[1], np.float32)
        self.opened: dict[int, tuple[Ints, Row]] = {}

    def begin(self, first: Ints) -> None:
        """Open the first passages."""
        self.worth[first] = (1 + self.how.own) * self.alone[first]
        self.open(first)

    def best(self) -> tuple[int, float]:
        """Return the passage that adds most, and what it adds."""
        at = self.reached
        again = np.minimum(self.signals[at], self.covered).sum(axis=1, dtype=np.float64)
        gains = self.worth[at] - self.how.overlap * again + self.how.joined * self.joined[at]
        return int(at[gains.argmax()]), float(gains.max())

    def take(self, at: int) -> None:
        """Take a passage: what it covers counts less from now on, what it is connected with counts more."""
        self.reached = self.reached[self.reached != at]
        if at not in self.opened:
            self.open(np.array([at]))
        to, strength = self.opened[at]
        self.joined[to] = np.maximum(self.joined[to], strength)
        self.covered = np.maximum(self.covered, self.signals[at])

    def open(self, at: Ints) -> None:
        """Score the passages that these are connected with, together with each of them."""
        connected = connections(self.graph, self.every, at, self.how, self.statements)
        owner, to, strength = _strongest(len(self.every.nodes), *connected)
        pairs = np.maximum(self.alone[to], self._together(at, owner, to) + strength)
        was = np.isfinite(self.worth)
        np.maximum.at(self.worth, to, pairs + self.how.own * self.alone[to])
        known = at if not self.opened else at[:0]
        self.reached = np.union1d(self.reached, np.append(known, to[~was[to]]))
        borders = np.searchsorted(owner, np.arange(len(at) + 1))
        for i, one in enumerate(at.tolist()):
            part = slice(borders[i], borders[i + 1])
            self.opened[one] = to[part], strength[part]

    def _together(self, at: Ints, owner: Ints, to: Ints) -> Row:
        """Return F of each pair without the connection."""
        others, place = np.unique(to, return_inverse=True)
        first, second = (self.how.passages.of(self.every.nodes[part]) for part in (at, others))
        squares = [np.einsum("ij,ij->i", part, part) for part in (first, second)]
        lengths = squares[0][owner] + squares[1][place] + 2 * (first @ second.T)[owner, place]
        near = (self.every.near[at[owner]] + self.every.near[to]) / np.sqrt(np.maximum(lengths, 1e-9))
        covered = np.maximum(self.signals[at[owner]], self.signals[to]).sum(axis=1, dtype=np.float64)
        named = np.maximum(self.named[at[owner]], self.named[to])
        both: Row = near + covered - self.how.unnamed * (1 - named)
        return both


def connections(
    graph: Graph,
    every: Support,
    at: Ints,
    how: Pairs | Complement,
    statements: Statements | None = None,
    *,
    pooled: bool = False,
) -> tuple[Ints, Ints, Row]:
    """Return the connections of the passages `at` with `every` passage: position in `at`, position, strength.

    A pair may come several times, and its largest strength counts: `about` where one is about what the other mentions
    (and more by `statements`, where that is the second), `shared` times the rarity of an entity that both mention, and
    0 where the question names the topics of both. `pooled`: `at` is every passage, so that only
    these are searched for those that mention an entity, and pairs by the topic of the first come transposed.
    """
    nodes, topics = every.nodes[at], graph.columns.by_relation(ABOUT)
    entities, mentions = reach(graph, nodes)
    owner, mentioned = np.repeat(np.arange(len(at)), np.diff(mentions.indptr)), mentions.values
    of_topic = np.full(len(owner), how.about, np.float64)
    if statements is not None:
        of_topic += statements.scores(nodes, entities)[owner, mentioned]
    rare = rarity(graph, entities, how.common)[mentioned]
    by, subjects = expand(topics, entities[mentioned])
    parts = [(owner[by], _positions(every.nodes, subjects), of_topic[by])]
    seldom = np.flatnonzero(rare)
    if pooled:
        inverse = Csr(*group(len(entities), mentioned, owner.astype(np.int32)))
        via, sharing = expand(inverse, mentioned[seldom])
    else:
        via, passages = _holders(graph, entities[mentioned[seldom]])
        sharing = _positions(every.nodes, passages)
        whose, own = expand(topics, nodes)
        through, mentioning = _holders(graph, own)
        parts.append((whose[through], _positions(every.nodes, mentioning), np.full(len(through), how.about)))
    parts.append((owner[seldom][via], sharing, how.shared * rare[seldom][via]))
    named = np.flatnonzero(every.asked)
    asked = np.flatnonzero(np.isin(at, named))
    parts.append((np.repeat(asked, len(named)), np.tile(named, len(asked)), np.zeros(len(asked) * len(named))))
    first, to, strengths = (np.concatenate(column) for column in zip(*parts, strict=True))
    inside = (to >= 0) & (to != at[first])
    return first[inside], to[inside], strengths[inside]


def _positions(searched: Ints, nodes: Ints) -> Ints:
    """Return where each node is in ascending `searched`, -1 where it is not."""
    at = np.minimum(np.searchsorted(searched, nodes), len(searched) - 1)
    return np.where(searched[at] == nodes, at, -1)


def _strongest(n: int, first: Ints, to: Ints, strengths: Row) -> tuple[Ints, Ints, Row]:
    """Return each pair of positions once, in order, with its largest strength."""
    pairs, place = np.unique(first * n + to, return_inverse=True)
    strongest = np.zeros(len(pairs))
    np.maximum.at(strongest, place, strengths)
    return pairs // n, pairs % n, strongest


def _holders(graph: Graph, entities: Ints) -> tuple[Ints, Ints]:
    """Return the passages that mention each entity, or one joined to it by an alias, with its position."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return entities[:0], entities[:0]
    direct, holders = expand(chunks, entities)
    owner, same = expand(graph.columns.by_relation(ALIAS), entities)
    through, more = expand(chunks, same)
    return np.concatenate((direct, owner[through])), np.concatenate((holders, more))


class Statements:
    """Scores of the statements of passages on entities: the share of the question's words that the best one has.

    Words count by idf. Scores are divided by the largest in the first passages, and multiplied by `weight`.
    """

    def __init__(self, weight: float, state: State, index: WordIndex) -> None:
        self.weight, self.graph = weight, state.graph
        n = len(index.nodes)
        frequencies = {word: len(index.postings(word)[0]) for word in words(state.question.text)}
        self.idf = {word: math.log1p((n - df + 0.5) / (df + 0.5)) for word, df in frequencies.items() if df}
        self.shares: dict[int, float] = {}
        self.largest = 0.0

    def scores(self, nodes: Ints, entities: Ints) -> Row:
        """Return the score of each passage on each of the entities, ascending: float64[p, e]."""
        columns = self.graph.columns
        best = np.zeros((len(nodes), len(entities)))
        owner, edges = expand(columns.stated, nodes)
        if not len(edges) or not len(entities):
            return best
        shares = self._shares(edges)
        self.largest = self.largest or float(shares.max())
        owner, shares, ends = np.repeat(owner, 2), np.repeat(shares, 2), self.graph.ends(edges)
        through, same = expand(columns.by_relation(ALIAS), ends)
        owner, shares, ends = (
            np.append(owner, owner[through]),
            np.append(shares, shares[through]),
            np.append(ends, same),
        )
        at = np.minimum(np.searchsorted(entities, ends), len(entities) - 1)
        here = entities[at] == ends
        np.maximum.at(best, (owner[here], at[here]), shares[here])
        scores: Row = self.weight * np.minimum(best / (self.largest or 1.0), 1.0)
        return scores

    def _shares(self, edges: Ints) -> Row:
        """Return the share of the question's words that each statement has; a text of many edges is read once."""
        columns = self.graph.columns
        texts = np.full(len(edges), -1) if columns.edge_text is None else columns.edge_text[edges]
        keys, first, place = np.unique(np.where(texts < 0, -1 - edges, texts), return_index=True, return_inverse=True)
        total = sum(self.idf.values()) or 1.0
        for key, edge in zip(keys.tolist(), edges[first].tolist(), strict=True):
            if key not in self.shares:
                matches = self.idf.keys() & set(words(self.graph.edge_text(edge)))
                self.shares[key] = sum(self.idf[word] for word in matches) / total
        return np.array([self.shares[key] for key in keys.tolist()])[place]
