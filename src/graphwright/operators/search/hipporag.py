"""Where a walk of HippoRAG begins: at what the question names, or at triples and passages that it calls to mind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.operators.anchors.link_entities import AnchorSearch
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.run import Run
from graphwright.operators.search.search import nearest
from graphwright.operators.state import State
from graphwright.text.words import words

__all__ = ["PhraseSeeds", "SharedWords", "Specific"]


def _specificity(graph: Graph, nodes: Ints) -> Scores:
    """Return 1 over the number of passages that each node is found in, 1 for one in none."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.ones(len(nodes))
    specificity: Scores = 1.0 / np.maximum(chunks.indptr[nodes + 1] - chunks.indptr[nodes], 1)
    return specificity


@dataclass(frozen=True, repr=False)
class Specific(Operator):
    """The nodes that the anchors mean, each with its anchor's weight over the number of passages that it is found in.

    Node specificity, s_i = 1/|P_i| (HippoRAG, section 2.3): what is named in few passages tells more. An anchor that
    means no node stands for the one whose name is nearest (`names` as in AnchorSearch); themes stand for none.

    >>> from graphwright import Anchor, start
    >>> graph = Graph.from_triples([("Graz", "on the", "Mur"), ("Lyon", "on the", "Rhône")])
    >>> state = start("?", graph, anchors=[Anchor("Graz", [0]), Anchor("the Rhône", weight=0.5)])
    >>> found = Specific(None)(state).evidence; graph.names.take(found.nodes), found.scores.tolist()
    (['Graz', 'Rhône'], [1.0, 0.5])
    """

    names: VectorIndex | None
    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Find the nodes and weigh them."""
        graph, search = state.graph, AnchorSearch(self.names) % 1
        best: dict[int, float] = {}
        for anchor in state.anchors or ():
            if anchor.kind != "entity" or not anchor.weight:
                continue
            nodes = anchor.seeds(graph)
            nodes = nodes[graph.holds(nodes)]
            if not len(nodes):
                found = search.execute(state.with_(anchors=(anchor,)), run).evidence
                nodes = nodes if found is None else found.nodes
            for node, share in zip(nodes.tolist(), _specificity(graph, nodes).tolist(), strict=True):
                best[node] = max(best.get(node, 0.0), anchor.weight * share)
        return state.with_(evidence=Evidence.of_nodes(list(best), list(best.values())))


@dataclass(frozen=True, repr=False)
class SharedWords(Ranker):
    """Pieces whose text holds the question's telling words, by their score and the share of these words that they hold.

    What a language model would recognise among triples that are near (HippoRAG 2, "recognition memory") is told by
    words here: nearness prefers what is like the question as a whole, such as any birth of a director, to what has its
    rare names. Words of the question count by ln(1 + N/(n + 0.5)), n of N passages holding them; those that no passage
    holds do not count. A piece's score, 1/rank where it has none, and `weight` times its share are added; a piece with
    less than `least` of the largest share is left out. `words`: the word index of the passages.

    >>> from graphwright import start
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> state = start("Where does Lyon lie?", graph, evidence=Evidence.of_edges([0, 1], [0.9, 0.8]))
    >>> SharedWords(WordIndex.of(list(graph.names), graph.nodes))(state).evidence.texts(graph)
    ['Lyon lies on Rhône']
    """

    words: WordIndex
    weight: float = 1.0
    least: float = 0.7
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise OptionError(f"SharedWords(weight={self.weight!r}): a number, 0 or more.")
        if not 0 <= self.least <= 1:
            raise OptionError(f"SharedWords(least={self.least!r}): a share from 0 to 1.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Choose and rank the pieces."""
        found = state.evidence or Evidence.of_nodes([])
        scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
        telling = self._telling(state.question.text)
        held = [sum(telling.get(word, 0.0) for word in set(words(text))) for text in found.texts(state.graph)]
        shares = np.array(held, np.float64) / max(sum(telling.values()), 1e-12)
        kept = np.flatnonzero(shares >= self.least * shares.max(initial=0.0))
        best = found.take(kept.tolist(), (scores + self.weight * shares)[kept])
        return state.with_(evidence=best if k is None else best.top(k))

    def _telling(self, question: str) -> dict[str, float]:
        """Return how much each word of the question tells."""
        counts = {word: len(self.words.postings(word)[0]) for word in dict.fromkeys(words(question))}
        return {word: math.log1p(len(self.words.nodes) / (n + 0.5)) for word, n in counts.items() if n}


@dataclass(frozen=True, repr=False)
class PhraseSeeds(Operator):
    """The ends of the evidence's triples, and every passage a little, as a walk's seeds (HippoRAG 2, section 3.3).

    An end has the mean score of the triples that it is in, over the number of passages that it is found in; a passage
    `weight` times its cosine with the question, from 0 for the farthest of all to 1 for the nearest. Where there is no
    evidence there are no seeds. `passages`: vectors of passages.

    >>> from graphwright import HashEncoder, start
    >>> graph = Graph.from_triples([("Graz", "on the", "Mur"), ("Lyon", "on the", "Rhône")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> found = PhraseSeeds(index)(start("Graz?", graph, evidence=Evidence.of_edges([0], [0.8]))).evidence
    >>> graph.names.take(found.nodes)[:2], found.scores[:2].round(3).tolist()
    (['Graz', 'Mur'], [0.85, 0.8...])
    """

    passages: VectorIndex
    weight: float = 0.05
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise OptionError(f"PhraseSeeds(weight={self.weight!r}): a number, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Weigh the ends and the passages."""
        found, graph = state.evidence, state.graph
        if found is None or not len(found):
            return state.with_(evidence=Evidence.of_nodes([], []))
        said: dict[int, list[float]] = {}
        scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
        for (nodes, edges), score in zip(found, scores.tolist(), strict=True):
            for node in {*nodes.tolist(), *graph.ends(edges).tolist()}:
                said.setdefault(node, []).append(max(score, 0.0))
        ends = np.array(list(said), np.int64)
        means = np.array([sum(scores) / len(scores) for scores in said.values()]) * _specificity(graph, ends)
        every = nearest(self.passages, self.passages.encode(state.question.text, run), state)
        near = np.empty(0) if every.scores is None else every.scores - every.scores[-1:]
        near = self.weight * near / max(near.max(initial=0.0), 1e-12)
        nodes, at = np.unique(np.append(ends, every.nodes), return_inverse=True)
        return state.with_(evidence=Evidence.of_nodes(nodes, np.bincount(at, np.append(means, near), len(nodes))))
