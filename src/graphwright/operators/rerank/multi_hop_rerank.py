"""Rerank items in two hops, by the names that the best items add to the question."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, MoreThan
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.rerank.rerank import SCORES_ITEMS, Reranker
from graphwright.operators.rerank.scorer import Scorer, ranked_by, score_function
from graphwright.operators.run import Run
from graphwright.operators.state import State

_HUB_NEIGHBOURS = 100  # a node with more is a hub
_NAME_CHARACTERS = 300  # of the names added to a question: as many as a small model reads well


@dataclass(frozen=True, repr=False)
class MultiHopRerank(Reranker):
    """Rank items in two hops: by the question, and by the question with the names of the best items added.

    The second passage of a two-hop chain shares few words with the question; the connecting entity is named in the
    first passage. So all items are scored with the question q, and again with q and the names that the graph joins with
    each of the `contexts` best items s and that q lacks:

        p(t | q) = softmax_t(m(q, t) / temperature)
        score(t) = p(t | q) + Σ_s p(s | q) · p(t | q + names of s),   t ≠ s,

    the expected visits to t of a random walk of two steps; an item that adds no name has no second step. m is the head
    of a CrossEncoder's latents, the cosine of an Encoder, or a Scorer, and `temperature` is in its units: 0.5 fits the
    embedded cross-encoder, 0.05 cosines. A model reads at most (1 + `contexts`) times the number of items. Names come
    from `state.graph` only; those in the item's text first.

    Ours. Adding retrieved text to the question is from multi-hop dense retrieval (Xiong et al., 2021, with whole
    passages), scoring chains by a reader from Beam Retrieval (Zhang et al., 2024, with training).

    >>> from graphwright import start; from graphwright.models import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Ida", "wife of", "Udo"), ("Ugo", "lived in", "Lyon"), ("Udo", "lived in", "Graz")])
    >>> state = start("Where did the husband of Ida live?", kin, evidence=Evidence.of_edges([0, 1, 2]))
    >>> MultiHopRerank(OverlapCrossEncoder(), temperature=0.1)(state).evidence.texts(kin)
    ['Ida wife of Udo', 'Udo lived in Graz', 'Ugo lived in Lyon']
    """

    model: Annotated[Encoder | CrossEncoder | Scorer, SCORES_ITEMS]
    contexts: Annotated[int, AtLeast(0)] = 3
    temperature: Annotated[float, MoreThan(0)] = 0.5

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        scores = score_function(self.model, state, run)(items)
        first = self._softmax(scores)
        totals = first.copy()
        best = rank_items(scores, items.nodes, items.node_ptr, items.edges, items.edge_ptr)[: self.contexts]
        for context in best.tolist():
            names = _new_names(state, items.take([context]))
            if names:
                question = replace(state.question, text=f"{state.question.text} {' '.join(names)}")
                scores = score_function(self.model, state.with_(question=question), run)(items)
                others = np.delete(np.arange(len(items)), context)
                totals[others] += first[context] * self._softmax(scores[others])
                run.note(f"read again with {', '.join(names)}")
        return ranked_by(items, totals, k)

    def _softmax(self, scores: Scores) -> Scores:
        """Return the softmax of the scores; zeros where no score is finite."""
        largest = scores.max(initial=-np.inf)
        if not np.isfinite(largest):
            return np.zeros(len(scores))
        powers = np.exp((scores - largest) / self.temperature)
        shares: Scores = powers / powers.sum()
        return shares


def _new_names(state: State, item: Evidence) -> list[str]:
    """Return the names joined with an item in the graph that the question lacks, in the order of the item's text."""
    graph = state.graph
    nodes = item.nodes if len(item.nodes) else graph.ends(item.edges)
    neighbours = [_neighbours(graph, position) for position in graph.local(nodes).tolist()]
    question, text = state.question.text.casefold(), item.texts(graph)[0].casefold()
    names: dict[str, str] = {}
    for name in sorted(_names(graph, np.concatenate((nodes, *neighbours)))):
        names.setdefault(name.casefold(), name)
    places = {folded: _place(folded, text) for folded in names if folded and _place(folded, question) < 0}
    selected: list[str] = []
    for folded in sorted(places, key=lambda folded: (places[folded] < 0, places[folded], folded)):
        if sum(map(len, selected)) + len(folded) <= _NAME_CHARACTERS:
            selected.append(names[folded])
    return selected


def _neighbours(graph: Graph, position: int) -> Ints:
    """Return the neighbours of the node at a position: all of a passage, none of any other hub."""
    neighbours = graph.at(graph.adjacency.row(position))
    passage = graph.columns.kinds[graph.at([position])[0]] == Kind.CHUNK
    return neighbours if passage or len(neighbours) <= _HUB_NEIGHBOURS else neighbours[:0]


def _names(graph: Graph, nodes: Ints) -> list[str]:
    """Return the names of nodes; that of a passage is its title, and may be empty."""
    passages = (graph.columns.kinds[nodes] == Kind.CHUNK).tolist()
    pairs = zip(nodes.tolist(), passages, strict=True)
    return [graph.title_of(node) if passage else graph.names[node] for node, passage in pairs]


def _place(name: str, text: str) -> int:
    """Return the position of a name in a text, as whole words; -1 if it is absent."""
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return -1 if match is None else match.start()
