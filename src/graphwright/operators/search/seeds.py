"""Seeds of a PageRank over entities and passages: from names, triples, paths, or bridges (LinearRAG)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.kernels.ranking import top
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.operator import Operator
from graphwright.operators.paths.propositions import Propositions, propositions
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.search.nearest import likeness
from graphwright.operators.search.search import nearest
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex
from graphwright.text.words import words

Walk = tuple[tuple[int, ...], tuple[int, ...]]  # entities, and between two an edge of the sentence with both


@dataclass(frozen=True, repr=False)
class Bridge(Operator):
    """Activate entities that sentences near the question share with active ones (LinearRAG, semantic bridging).

    The question's entities are active with the weights of their anchors. In each of `rounds` rounds every newly active
    entity selects the `sentences` sentences nearest to the question among those that name it and that no other has
    selected. A sentence activates its other entities with the product of the entity's score and the sentence's cosine.
    Scores below `threshold` activate nothing. The evidence is a path from an anchor for each activation: entities as
    nodes, and one edge of each sentence; the last node is the entity.

    `triples`: vectors by edge (`Snapshot.triples`); without them words are compared, with a note.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> kin = Graph.from_triples([("Ida", "spouse", "Udo"), ("Ida", "lived in", "Lyon"), ("Udo", "lived in", "Graz")])
    >>> index = VectorIndex.from_array(HashEncoder().encode([kin.edge_text(edge) for edge in range(3)]), HashEncoder())
    >>> state = start("Where did the spouse of Ida live?", kin, entities=["Ida"])
    >>> evidence = Bridge(index, sentences=1, threshold=0.05)(state).evidence
    >>> [kin.names.take(nodes) for nodes, _ in evidence], evidence.scores.round(2).tolist()
    ([['Ida'], ['Ida', 'Udo'], ['Ida', 'Udo', 'Graz']], [1.0, 0.52, 0.09])
    """

    triples: VectorIndex | None
    rounds: Annotated[int, AtLeast(0)] = 2
    sentences: Annotated[int, AtLeast(1)] = 3
    threshold: Annotated[float, AtLeast(0)] = 0.4
    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        if self.triples is None:
            run.note_missing("triples")
        known, used = propositions(state.graph, self.triples), set[int]()
        active = _anchored(state)
        walks = {walk: score for score, walk in active.values()}
        for _ in range(self.rounds):
            new = dict[int, tuple[float, Walk]]()
            for score, walk in sorted(active.values(), key=lambda entry: (-entry[0], entry[1])):
                for value, longer in self._bridged(state, run, known, used, score, walk):
                    walks[longer] = value
                    new[longer[0][-1]] = max(new.get(longer[0][-1], (0.0, longer)), (value, longer))
            active = new
        return state.with_(evidence=Evidence.of_trees(state.graph, walks, list(walks.values())))

    def _bridged(
        self, state: State, run: Run, known: Propositions, used: set[int], score: float, walk: Walk
    ) -> list[tuple[float, Walk]]:
        """Return the walks continued by sentences at a walk's end, with scores; add the sentences to `used`."""
        nodes, edges = walk
        if score < self.threshold:
            return []
        at = known.of(nodes[-1])
        at = at[[number not in used for number in at.tolist()]] if len(at) else at
        first = known.edges.values[known.edges.indptr[at]].astype(np.int64)
        near = likeness(run, self.triples, state.graph.edge_text, first, state.question.text)
        longer = list[tuple[float, Walk]]()
        for best in top(near, self.sentences).tolist():
            used.add(int(at[best]))
            value = score * float(near[best])
            if value >= self.threshold:
                entities = known.nodes[known.entities.row(int(at[best]))].tolist()
                others = [entity for entity in entities if entity not in nodes]
                longer += [(value, ((*nodes, entity), (*edges, int(first[best])))) for entity in others]
        return longer


def _anchored(state: State) -> dict[int, tuple[float, Walk]]:
    """Return the entities of the anchors, each with its largest weight and a walk of one node."""
    active = dict[int, tuple[float, Walk]]()
    for anchor in state.anchors or ():
        nodes = anchor.seeds(state.graph)
        for node in nodes[state.graph.holds(nodes)].tolist() if anchor.kind == "entity" and anchor.weight else ():
            active[node] = max(active.get(node, (0.0, ((node,), ()))), (anchor.weight, ((node,), ())))
    return active


def _specificity(graph: Graph, nodes: Ints) -> Scores:
    """Return 1 / the number of passages that mention each node, 1 for a node without such a passage."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.ones(len(nodes))
    specificity: Scores = 1.0 / np.maximum(chunks.sizes(nodes), 1)
    return specificity


@dataclass(frozen=True, repr=False)
class SpecificSeeds(Operator):
    """Score the anchors' nodes by anchor weight times node specificity (HippoRAG, section 2.3, s_i = 1/|P_i|).

    P_i are the passages that mention node i. An anchor without nodes takes the node with the nearest name (`names` as
    in AnchorSearch); themes take none.
    """

    names: VectorIndex | None
    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        graph, search = state.graph, AnchorSearch(self.names)
        best: dict[int, float] = {}
        for anchor in state.anchors or ():
            if anchor.kind != "entity" or not anchor.weight:
                continue
            nodes = anchor.seeds(graph)
            nodes = nodes[graph.holds(nodes)]
            if not len(nodes):
                nearest_name = search.ranked(state.with_(anchors=(anchor,)), run, 1).evidence
                nodes = nodes if nearest_name is None else nearest_name.nodes
            for node, specificity in zip(nodes.tolist(), _specificity(graph, nodes).tolist(), strict=True):
                best[node] = max(best.get(node, 0.0), anchor.weight * specificity)
        return state.with_(evidence=Evidence.of_nodes(list(best), list(best.values())))


@dataclass(frozen=True, repr=False)
class SharedWords(Reranker):
    """Rank items by their score (1/rank without) plus `weight` times the share of the question's words in them.

    Replaces HippoRAG 2's recognition memory, where a language model selects the relevant triples. Vectors prefer items
    similar to the whole question; words prefer its rare names. A word of the question weighs ln(1 + N/(n + 0.5)) if n >
    0 of the N passages contain it. Items with less than `threshold` of the largest share are left out. `words`: the
    word index of the passages.
    """

    words: WordIndex
    weight: Annotated[float, AtLeast(0)] = 1.0
    threshold: Annotated[float, Between(0, 1)] = 0.7

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        counts = {word: self.words.frequency(word) for word in dict.fromkeys(words(state.question.text))}
        total = len(self.words.nodes)
        weights = {word: math.log1p(total / (count + 0.5)) for word, count in counts.items() if count}
        distinct = [dict.fromkeys(words(text)) for text in items.texts(state.graph)]  # in one order, for equal sums
        sums = [sum(weights.get(word, 0.0) for word in text_words) for text_words in distinct]
        shares = np.array(sums, np.float64) / max(sum(weights.values()), 1e-12)
        selected = np.flatnonzero(shares >= self.threshold * shares.max(initial=0.0))
        return items.take(selected.tolist(), (items.ranked_scores + self.weight * shares)[selected])


@dataclass(frozen=True, repr=False)
class PhraseSeeds(Reranker):
    """Score the ends of the evidence's triples, and every passage, as seeds of PageRank (HippoRAG 2, section 3.3).

    An end has the mean score of its triples, divided by the largest of any, times its specificity (see SpecificSeeds);
    the `phrases` best ends are seeds. A passage has `weight` times its cosine with the question, scaled to 0 for the
    least and 1 for the largest. Without evidence there are no seeds. `passages`: vectors of the passages.
    """

    passages: VectorIndex
    weight: Annotated[float, AtLeast(0)] = 0.05
    phrases: Annotated[int, AtLeast(1)] = 5

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        scores_of: dict[int, list[float]] = {}
        relative = items.ranked_scores / max(items.ranked_scores.max(), 1e-12)
        for (nodes, edges), score in zip(items, relative.tolist(), strict=True):
            for node in {*nodes.tolist(), *state.graph.ends(edges).tolist()}:
                scores_of.setdefault(node, []).append(max(score, 0.0))
        ends = np.array(list(scores_of), np.int64)
        means = np.array([sum(scores) / len(scores) for scores in scores_of.values()]) * _specificity(state.graph, ends)
        best = top(means, self.phrases)
        passages, cosines = scaled_passages(self.passages, state, run)
        return united_seeds([(ends[best], means[best]), (passages, self.weight * cosines)])


def scaled_passages(passages: VectorIndex, state: State, run: Run) -> tuple[Ints, Scores]:
    """Return the passages, and the cosine of each with the question: 0 for the least, 1 for the largest."""
    every = nearest(passages, passages.encode(state.question.text, run), state, run=run)
    scores = np.empty(0) if every.scores is None else every.scores - every.scores[-1:]
    return every.nodes, scores / max(scores.max(initial=0.0), 1e-12)


def united_seeds(parts: Iterable[tuple[Ints, Scores]]) -> Evidence:
    """Return the nodes of all parts with the sum of their weights."""
    nodes, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    seeds, position = np.unique(nodes, return_inverse=True)
    return Evidence.of_nodes(seeds, np.bincount(position, weights, len(seeds)))


@dataclass(frozen=True, repr=False)
class PathSeeds(Reranker):
    """Score entities of the best paths, and every passage of the graph, as seeds of PageRank (PropRAG).

    From the `paths` best items it takes the `entities` with the largest sums of scores, and as many from the `paths`
    best items with one edge. An entity's weight is the score of its best item, divided by the largest; 1 if not
    `scored`. Passages: as for PhraseSeeds.
    """

    passages: VectorIndex
    paths: Annotated[int, AtLeast(1)] = 5
    entities: Annotated[int, AtLeast(1)] = 5
    weight: Annotated[float, AtLeast(0)] = 0.05
    scored: bool = True

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        best = dict[int, float]()
        short = items.take(np.flatnonzero(np.diff(items.edge_ptr) == 1))
        for part in (items.top(self.paths), short.top(self.paths)):
            best |= {node: max(score, best.get(node, 0.0)) for node, score in self._entities(state, part)}
        weights = np.array(list(best.values()), np.float64)
        weights = weights / max(weights.max(initial=0.0), 1e-12) if self.scored else np.ones(len(weights))
        passages, cosines = scaled_passages(self.passages, state, run)
        entities = np.array(list(best), np.int64), weights
        return united_seeds([entities, (passages, self.weight * cosines)])

    def _entities(self, state: State, items: Evidence) -> list[tuple[int, float]]:
        """Return the entities with the largest sums, and the best score of each."""
        scores_of: dict[int, list[float]] = {}
        for (nodes, edges), score in zip(items, items.ranked_scores.tolist(), strict=True):
            for node in dict.fromkeys((nodes if len(nodes) else state.graph.ends(edges)).tolist()):
                scores_of.setdefault(node, []).append(max(score, 0.0))
        ordered = sorted(scores_of, key=lambda node: (-sum(scores_of[node]), node))[: self.entities]
        return [(node, max(scores_of[node])) for node in ordered]


@dataclass(frozen=True, repr=False)
class BridgeSeeds(Reranker):
    """Score active entities, and every passage of the graph, as seeds of PageRank (LinearRAG, importance of passages).

    An entity has the sum of the scores of the paths that end at it (see Bridge). A passage has

        weight · (ratio · cosine + ln(1 + Σ_e s_e · ln(1 + n_e) / l_e)),

    its cosine scaled as for PhraseSeeds; e are the active entities that it names n_e times, s_e the score of the best
    path to e, and l_e the number of entities on it.
    """

    passages: VectorIndex
    ratio: Annotated[float, AtLeast(0)] = 2.0
    weight: Annotated[float, AtLeast(0)] = 0.05

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        sums, best = dict[int, float](), dict[int, tuple[float, int]]()
        for (nodes, edges), score in zip(items, items.ranked_scores.tolist(), strict=True):
            node = int(nodes[-1] if len(nodes) else state.graph.ends(edges)[-1])
            sums[node] = sums.get(node, 0.0) + max(score, 0.0)
            best.setdefault(node, (max(score, 0.0), len(edges) + 1))
        entities = np.array(list(sums), np.int64), np.array(list(sums.values()))
        passages, cosines = scaled_passages(self.passages, state, run)
        named = self._bonus(state, best)
        bonus = np.array([named.get(passage, 0.0) for passage in passages.tolist()])
        weights = self.weight * (self.ratio * cosines + np.log1p(bonus))
        return united_seeds([entities, (passages, weights)])

    def _bonus(self, state: State, best: dict[int, tuple[float, int]]) -> dict[int, float]:
        """Return the sum over the active entities that each passage names."""
        graph, chunks = state.graph, state.graph.columns.node_chunks
        sums, texts = dict[int, float](), dict[int, str]()
        if chunks is None:
            return sums
        for node, (score, level) in best.items():
            name = graph.names[node].casefold()
            for passage in chunks.row(node).tolist():
                if passage not in texts:
                    texts[passage] = graph.reading(passage).casefold()
                times = max(texts[passage].count(name), 1)  # an alias may stand for the name
                sums[passage] = sums.get(passage, 0.0) + score * math.log1p(times) / level
        return sums
