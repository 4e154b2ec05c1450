"""Passage selection: the passages behind the evidence, by connected pairs, and by greedy coverage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints, Ranking, Scores
from graphwright.graph.graph import ABOUT, ALIAS, Graph, Kind
from graphwright.index.inverted_index import WordIndex
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.csr import Csr, group
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.support import Statements, Support, positions_in, rarity, reach
from graphwright.operators.state import State

__all__ = ["Complement", "ItemsOf", "Pairs", "ToPassages"]

ItemsOf = Callable[[State, Run], Evidence]
"""Items to score passages by, instead of the state's evidence."""


@dataclass(frozen=True, repr=False)
class ToPassages(Ranker):
    """Rank the passages of the evidence: nodes of an item, and passages that state its edges or name its nodes.

    A passage has the score of its best item (1/rank where items have no scores). Options:

    - `limit`: the number of passages.
    - `summed`: the sum over all its items, instead of the best. With entities and their PageRank it is the product with
      the passage-entity incidence matrix (HippoRAG, section 2.3).
    - `mentions`: the share of an item's score for a passage that only names one of its nodes. A node is named in many
      passages that have nothing to do with a path through it.
    - `index`, vectors of the passages, and `weight`: score = cos(question, passage) + weight · score of the items. For
      items with many passages, such as a community; with weight 0 the cosine alone ranks.
    - `items`: the items to use, by default the state's evidence, which does not change.

    On a graph without passages the nodes of the items take their place.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_edges([0, 1], [0.5, 0.25]))
    >>> best, summed = ToPassages()(state).passages, ToPassages(summed=True)(state).passages
    >>> best.ids.tolist(), best.scores.tolist(), summed.ids.tolist(), summed.scores.tolist()
    ([0, 1, 2], [0.5, 0.5, 0.25], [1, 0, 2], [0.75, 0.5, 0.25])
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    summed: bool = False
    mentions: Annotated[float, Between(0, 1)] = 1.0
    index: VectorIndex | None = None
    weight: Annotated[float, AtLeast(0)] = 0.5
    items: ItemsOf | None = None
    needs = ("evidence",)
    gives = ("passages",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Collect and rank the passages."""
        items = state.items if self.items is None else self.items(state, run)
        limit = min((n for n in (self.limit, k) if n is not None), default=None)
        if limit and not self.summed and self.index is None and self.mentions == 1.0:
            items = _leading(state.graph, items, limit)
        scores = items.ranked_scores
        item, passage, states = _behind(state.graph, items)
        ids, position = np.unique(passage, return_inverse=True)
        shares = scores[item] * np.where(states, 1.0, self.mentions)
        totals = self._combined(position, shares, len(ids))
        if self.index is not None:
            totals = self.index.cosines(ids, self.index.encode(state.question.text, run)) + self.weight * totals
        return state.with_(passages=Ranking.of(ids, totals).top(len(ids) if limit is None else limit))

    def _combined(self, position: Ints, shares: Scores, count: int) -> Scores:
        """Return the sum or the largest of the shares of each passage."""
        if self.summed:
            return np.bincount(position, shares, count).astype(np.float64, copy=False)
        best = np.full(count, -np.inf)
        np.maximum.at(best, position, shares)
        return best


def _leading(graph: Graph, items: Evidence, limit: int) -> Evidence:
    """Return the best items that have at least `limit` passages, and those of equal score."""
    scores, count = -items.ranked_scores, limit
    while count < len(items):
        leading = items.top(int(np.searchsorted(scores, scores[count - 1], side="right")))
        if len(np.unique(_behind(graph, leading)[1])) >= limit:
            return leading
        count *= 2
    return items


def _behind(graph: Graph, items: Evidence) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return each pair of an item and one of its passages, once, and whether it is more than a mention."""
    of_node = np.repeat(np.arange(len(items)), np.diff(items.node_ptr))
    of_edge = np.repeat(np.arange(len(items)), np.diff(items.edge_ptr))
    columns = graph.columns
    mentions = of_node[:0], items.nodes[:0]
    if graph.passages is None:
        bare = np.diff(items.node_ptr)[of_edge] == 0  # without nodes, the ends of its edges
        pairs = [(of_node, items.nodes), (np.repeat(of_edge[bare], 2), graph.ends(items.edges[bare]))]
    else:
        chunks = columns.kinds[items.nodes] == Kind.CHUNK
        pairs = [(of_node[chunks], items.nodes[chunks]), _rows(columns.edge_chunks, of_edge, items.edges)]
        mentions = _rows(columns.node_chunks, of_node, items.nodes)
    size = max(len(columns.names), 1)
    keys = np.concatenate([item * size + passage for item, passage in (*pairs, mentions)])
    keys, first = np.unique(keys, return_index=True)  # the first of equal pairs is the stronger one
    return keys // size, keys % size, first < sum(len(item) for item, _ in pairs)


def _rows(rows: Csr | None, owner: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Return the values of these rows, and before them the owner of each."""
    if rows is None:
        return owner[:0], ids[:0]
    return rows.expand(ids, owner)


Connections = tuple[Ints, Ints, Scores]
"""Pairs of connected passages: the position of either, and the strength of the connection."""


@dataclass(frozen=True, repr=False)
class Pairs(Operator):
    """Rerank each passage by its best connected pair.

    Two passages of the evidence are connected if they share an entity (one alias edge allowed), if one mentions the
    topic of the other, or if the question names the topics of both. A pair s, t is scored as one text:

        F(s, t) = cos(q, s + t)/best + Σ_w max(B_s(w), B_t(w)) + anchors that s or t is about + strength(s, t)
                  - unnamed · (1 - named(s, t))

    where cos(q, s + t) = (q·s + q·t)/|s + t| needs no encoding and B is BM25 by word. The strength is `about` if one
    mentions the topic of the other, and at least `shared` times the idf of the rarest entity shared; an entity in more
    than the share `common` of all passages, and in more than five, connects nothing. named is 1 if one of them is
    about an anchor (half if that was inferred, see `Support`), else 0: the pair loses `unnamed` if the question names
    neither topic. With h the sum of the signals of one passage,

        score(t) = max(h(t), max_s F(s, t)) + own · h(t).

    Ours. On the multihop sets most of the recall beyond the hybrid search comes from it.
    """

    passages: VectorIndex
    words: WordIndex
    about: Annotated[float, AtLeast(0)] = 0.8
    shared: Annotated[float, AtLeast(0)] = 0.3
    own: Annotated[float, AtLeast(0)] = 0.5
    unnamed: Annotated[float, AtLeast(0)] = 1.0
    common: Annotated[float, Between(0, 1)] = 0.02
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Score each passage of the evidence; other nodes are left out."""
        support = Support.of(state, run, self.passages, self.words)
        support = support.take(np.flatnonzero(np.isin(support.nodes, state.items.nodes)))
        if not len(support.nodes):
            return state.with_(evidence=Evidence.of_nodes([]))
        alone = support.total()
        pairs = self._texts(support) + self._strengths(state.graph, support)
        best = np.maximum(alone, pairs.max(axis=1))
        return state.with_(evidence=Evidence.of_nodes(support.nodes, best + self.own * alone))

    def _texts(self, support: Support) -> Scores:
        """Return F without strength and `unnamed` for all pairs: float64[p, p]."""
        vectors = self.passages.of(support.nodes)
        products = vectors @ vectors.T
        squares = products.diagonal()
        lengths = np.sqrt(np.maximum(squares[:, None] + squares[None] + 2 * products, 1e-9))
        totals: Scores = ((support.near[:, None] + support.near[None]) / lengths).astype(np.float64)
        for signal in support.coverage().T:
            totals += np.maximum(signal[:, None], signal[None])
        return totals

    def _strengths(self, graph: Graph, support: Support) -> Scores:
        """Return strength less `unnamed` of connected pairs, minus infinity for others: float64[p, p]."""
        topics, every = support.topics, np.arange(len(support.nodes))
        first, second, strengths = connections(graph, support, every, self, pooled=True)
        best = np.full(len(topics) ** 2, -np.inf)
        np.maximum.at(best, first * len(topics) + second, strengths)
        table = best.reshape(len(topics), -1)
        largest: Scores = np.maximum(table, table.T)
        return largest - self.unnamed * (1 - np.maximum(topics[:, None], topics[None]))


@dataclass(frozen=True, repr=False)
class Complement(Ranker):
    """Select passages greedily by coverage: each time the passage with the largest gain over those selected.

    It starts with the passages of the evidence (nodes of its items, and passages that state their edges) and those
    connected with them; a selected passage makes those connected with it candidates. A candidate t has the score J(t)
    that `Pairs` would give it over the passages that it is connected with so far, and its gain over the selected
    passages C is

        gain(t) = J(t) - overlap · Σ_i min(signal_i(t), max_{c in C} signal_i(c)) + joined · max_{c in C} C(c, t)

    over the words and names i: covered words count less, like a group of anchors in the penalty of BubbleRAG
    (Eq. 6). C(s, t), the strength of a connection, is the largest of: `about`, if one mentions the topic of the other;
    that and `stated` · r(s, e), if t is about e, where r is the share of the question's words (by idf, over the largest
    in the first passages, at most 1) in the best statement of s on e; `shared` times the rarity of an entity that both
    mention; and 0 if the question names the topics of both. Scores are gains, each less than the one before.

    Ours: the offline twin of reasoning-aware expansion (BubbleRAG, section 3.5) on passages.
    """

    passages: VectorIndex
    words: WordIndex
    about: Annotated[float, AtLeast(0)] = 0.5
    stated: Annotated[float, AtLeast(0)] = 0.4
    shared: Annotated[float, AtLeast(0)] = 0.3
    own: Annotated[float, AtLeast(0)] = 0.5
    overlap: Annotated[float, AtLeast(0)] = 0.6
    joined: Annotated[float, AtLeast(0)] = 0.1
    unnamed: Annotated[float, AtLeast(0)] = 1.0
    common: Annotated[float, Between(0, 1)] = 0.02
    needs = ("evidence",)
    gives = ("passages",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Select passages until there are k."""
        support = Support.of(state, run, self.passages, self.words)
        selection = _Selection(self, state, support)
        stating = state.graph.chunks_of((), state.items.edges)
        selection.begin(np.flatnonzero(np.isin(support.nodes, np.append(state.items.nodes, stating))))
        selected: list[int] = []
        scores: list[float] = []
        while len(selected) != k and len(selection.candidates):
            position, gain = selection.best()
            selection.add(position)
            selected.append(position)
            scores.append(gain if not scores or gain < scores[-1] else np.nextafter(scores[-1], -np.inf))
        return state.with_(passages=Ranking.of(support.nodes[selected], scores))


class _Selection:
    """Values of the passages during a greedy selection; passages by position in the support."""

    def __init__(self, options: Complement, state: State, support: Support) -> None:
        self.options, self.support, self.graph = options, support, state.graph
        self.alone, self.topics, self.coverage = support.total(), support.topics, support.coverage()
        self.statements = Statements(options.stated, state, options.words)
        self.candidates = np.empty(0, np.int64)  # ascending, without the selected
        self.values = np.full(len(self.alone), -np.inf)  # J
        self.joined = np.zeros(len(self.alone))
        self.covered = np.zeros(self.coverage.shape[1], np.float32)
        self.connected: dict[int, tuple[Ints, Scores]] = {}

    def begin(self, first: Ints) -> None:
        """Make the first passages, and those connected with them, candidates."""
        self.values[first] = (1 + self.options.own) * self.alone[first]
        self.candidates = np.union1d(self.candidates, first)
        self.connect(first)

    def best(self) -> tuple[int, float]:
        """Return the candidate with the largest gain, and the gain."""
        at = self.candidates
        repeated = np.minimum(self.coverage[at], self.covered).sum(axis=1, dtype=np.float64)
        gains = self.values[at] - self.options.overlap * repeated + self.options.joined * self.joined[at]
        return int(at[gains.argmax()]), float(gains.max())

    def add(self, position: int) -> None:
        """Select a passage: its words count less from now on, and its connected passages more."""
        self.candidates = self.candidates[self.candidates != position]
        if position not in self.connected:
            self.connect(np.array([position]))
        others, strengths = self.connected[position]
        self.joined[others] = np.maximum(self.joined[others], strengths)
        self.covered = np.maximum(self.covered, self.coverage[position])

    def connect(self, positions: Ints) -> None:
        """Score the passages connected with these as pairs, and make the new ones candidates."""
        pairs = connections(self.graph, self.support, positions, self.options, self.statements)
        owner, others, strengths = _strongest(len(self.support.nodes), *pairs)
        scores = np.maximum(self.alone[others], self._texts(positions, owner, others) + strengths)
        new = others[~np.isfinite(self.values[others])]
        np.maximum.at(self.values, others, scores + self.options.own * self.alone[others])
        self.candidates = np.union1d(self.candidates, new)
        borders = np.searchsorted(owner, np.arange(len(positions) + 1))
        for i, position in enumerate(positions.tolist()):
            rows = slice(borders[i], borders[i + 1])
            self.connected[position] = others[rows], strengths[rows]

    def _texts(self, positions: Ints, owner: Ints, others: Ints) -> Scores:
        """Return F of each pair without the connection."""
        distinct, place = np.unique(others, return_inverse=True)
        first, second = (self.options.passages.of(self.support.nodes[part]) for part in (positions, distinct))
        squares = [np.einsum("ij,ij->i", part, part) for part in (first, second)]
        lengths = squares[0][owner] + squares[1][place] + 2 * (first @ second.T)[owner, place]
        rows = positions[owner]
        near = (self.support.near[rows] + self.support.near[others]) / np.sqrt(np.maximum(lengths, 1e-9))
        covered = np.maximum(self.coverage[rows], self.coverage[others]).sum(axis=1, dtype=np.float64)
        topics = np.maximum(self.topics[rows], self.topics[others])
        totals: Scores = near + covered - self.options.unnamed * (1 - topics)
        return totals


def connections(
    graph: Graph,
    support: Support,
    positions: Ints,
    options: Pairs | Complement,
    statements: Statements | None = None,
    *,
    pooled: bool = False,
) -> Connections:
    """Return the connections of the passages at `positions` with all of `support`; the first index is in `positions`.

    A pair may occur several times, and its largest strength counts: `about` if one mentions the topic of the other
    (with that of `statements` added, if that is the second), `shared` times the rarity of an entity that both mention,
    and 0 if the question names the topics of both. `pooled`: the positions are all passages, so that only these are
    searched for mentions of an entity, and a pair by the topic of the first occurs only as its transpose.
    """
    nodes, topics = support.nodes[positions], graph.columns.by_relation(ABOUT)
    entities, mentions = reach(graph, nodes)
    owner, mentioned = np.repeat(np.arange(len(positions)), np.diff(mentions.indptr)), mentions.values
    strengths = np.full(len(owner), options.about, np.float64)
    if statements is not None:
        strengths += statements.scores(nodes, entities)[owner, mentioned]
    row, subjects = topics.expand(entities[mentioned])
    parts = [(owner[row], positions_in(support.nodes, subjects), strengths[row])]
    rare = rarity(graph, entities, options.common)[mentioned]
    few = np.flatnonzero(rare)
    if pooled:
        inverse = group(len(entities), mentioned, owner.astype(np.int32))
        row, others = inverse.expand(mentioned[few].astype(np.int64))
    else:
        row, holders = _mentioning(graph, entities[mentioned[few]])
        others = positions_in(support.nodes, holders)
        parts.append(_by_own_topic(graph, support, nodes, topics, options.about))
    parts += [(owner[few][row], others, options.shared * rare[few][row]), _named_pairs(support, positions)]
    first, second, strengths = (np.concatenate(column) for column in zip(*parts, strict=True))
    inside = (second >= 0) & (second != positions[first])
    return first[inside], second[inside], strengths[inside]


def _by_own_topic(graph: Graph, support: Support, nodes: Ints, topics: Csr, strength: float) -> Connections:
    """Return the connections of passages with other passages that mention their topics."""
    owner, own = topics.expand(nodes)
    row, holders = _mentioning(graph, own)
    return owner[row], positions_in(support.nodes, holders), np.full(len(row), strength)


def _named_pairs(support: Support, positions: Ints) -> Connections:
    """Return the connections, of strength 0, between passages whose topics the question names."""
    named = np.flatnonzero(support.topics)
    first = np.flatnonzero(np.isin(positions, named))
    return np.repeat(first, len(named)), np.tile(named, len(first)), np.zeros(len(first) * len(named))


def _strongest(n: int, first: Ints, second: Ints, strengths: Scores) -> Connections:
    """Return each pair of positions once, in order, with its largest strength."""
    pairs, place = np.unique(first * n + second, return_inverse=True)
    strongest = np.zeros(len(pairs))
    np.maximum.at(strongest, place, strengths)
    return pairs // n, pairs % n, strongest


def _mentioning(graph: Graph, entities: Ints) -> tuple[Ints, Ints]:
    """Return the passages that mention each entity, or one joined to it by an alias, with its position."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return entities[:0], entities[:0]
    direct, holders = chunks.expand(entities)
    owner, aliases = graph.columns.by_relation(ALIAS).expand(entities)
    row, more = chunks.expand(aliases)
    return np.concatenate((direct, owner[row])), np.concatenate((holders, more))
