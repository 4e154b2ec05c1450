"""The triple retriever: whether a triple belongs to what explains the answer (ReG@Triple, Eq. 33)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from graphwright.graph.evidence import Ints, Scores
from graphwright.learn.retrievers.arcs import arcs_of, seen
from graphwright.learn.retrievers.arrays import logistic, rectified
from graphwright.learn.retrievers.gates import Likely, Walked, carried, gate_logits, gates_of, walked
from graphwright.learn.retrievers.retriever import Chances, Retriever
from graphwright.operators.operator import Operator
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Judge, means, owners
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import Triples

__all__ = ["TripleRetriever", "triple_logits"]


def triple_logits(
    w: Mapping[str, Any], asked: Any, relations: Any, near: Any, gates: Sequence[Any],
    reached: Sequence[Any], heads: Any, tails: Any, relation: Any, names: Any = None, owner: Any = None,
) -> Any:  # fmt: skip
    """Return the log-odds of triples, from arrays of numpy or of torch: an MLP over question, triple and distances.

    `asked`: [questions, d]; `relations`: [r, d]; `near`: [n, f], `names`: [n, d] or None; `gates`,
    `reached`: what `gates_of` and `carried` return; `heads`, `tails`, `relation`: [m], rows of these; `owner`: the
    question of each triple, None where there is one.
    """
    question, one = rectified(asked @ w["question"] + w["asked"]), 0 if owner is None else owner
    first = (relations @ w["relation"])[relation] + w["first"]
    for side, at in (("head", heads), ("tail", tails)):
        part = near @ w[f"{side} near"]
        if names is not None:
            part = part + names @ w[f"{side} name"]
        first = first + part[at]
    for step, (gate, by) in enumerate(zip(gates, reached, strict=False)):
        # Walked from its head at this step, or from its tail.
        along = by[heads][:, 0] * gate[one, 2 * relation + 1]
        against = by[tails][:, 0] * gate[one, 2 * relation]
        first = first + along[:, None] * w[f"along {step}"] + against[:, None] * w[f"against {step}"]
    mixed = rectified(first) * (question if owner is None else question[owner])
    return (rectified(mixed @ w["second weights"] + w["second"]) @ w["last weights"] + w["last"])[:, 0]


@dataclass(frozen=True, repr=False)
class TripleRetriever(Retriever):
    """Scores triples by an MLP over question, head, relation, tail and their distances (ReG@Triple, SubgraphRAG).

    The score of a triple is the probability that it is one of Ĝ+ (Eq. 33). Distances are those within the graph as it
    was narrowed, seen from the query entities.
    """

    def search(self, k: int) -> Operator:
        """Return the k best triples of the graph."""
        return Triples() >> Rerank(self) % k

    def judge(self, state: State) -> Judge:
        """Return the mean probability of a piece's triples; all of the graph are scored at once, and remembered."""
        value = _Values(lambda: self._scored(state))
        return lambda pieces: means(value.of(pieces.edges), owners(pieces.edge_ptr), len(pieces))

    def chances(self, state: State) -> Chances:
        """Return the probability of the triple of each step, times that of the best walk that takes the step."""
        value = _Values(lambda: self._scored(state))
        return lambda nodes, edges: value.of(edges) * value.scored().likely.steps(nodes, edges)

    def _scored(self, state: State) -> _Scored:
        graph = state.graph
        at = seen(graph, query_entities(state), int(self.checkpoint.about["rounds"]))
        if not len(at.edges):
            return _Scored(at.edges, np.empty(0), Likely(graph, at, Walked((), (at.start,), (at.start,))))
        names = self.names.of(at.nodes) if self.checkpoint.about.get("names") and self.names is not None else None
        relations, arcs = self.relations(graph, at.relations.tolist()), arcs_of(at)
        asked = self.asked(state)[None]
        said = gate_logits(self.weights, asked, relations, int(self.checkpoint.about["steps"]))
        gates = gates_of(said)
        reached = carried(gates, arcs, at.start)
        logits = triple_logits(
            self.weights, asked, relations, at.near, gates, reached, at.heads, at.tails, at.relation, names
        )
        likely = Likely(graph, at, walked(said, arcs, at.start))
        return _Scored(at.edges, logistic(np.asarray(logits, np.float64)), likely)


class _Scored(NamedTuple):
    """The probability of each edge of a graph, and how probable walks are."""

    edges: Ints
    scores: Scores
    likely: Likely


class _Values:
    """What triples are worth, by snapshot id; all of the graph are scored when the first is asked for."""

    def __init__(self, scored: Callable[[], _Scored]) -> None:
        self.scored = cache(scored)

    def of(self, wanted: Ints) -> Scores:
        """Return the probability of triples, 0 for one that is not in the graph."""
        edges, scores, _ = self.scored()
        if not len(edges):
            return np.zeros(wanted.shape)
        at = np.minimum(np.searchsorted(edges, wanted), len(edges) - 1)
        found: Scores = np.where(edges[at] == wanted, scores[at], 0.0)
        return found
