"""The entity retriever: whether a node belongs to what explains the answer, by a graph network (ReG@Entity, Eq. 34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.learn.retrievers.arcs import Arcs, arcs_of, seen
from graphwright.learn.retrievers.arrays import logistic, rectified
from graphwright.learn.retrievers.gates import Likely, Walked, gate_logits, walked
from graphwright.learn.retrievers.retriever import Chances, Retriever
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Operator
from graphwright.operators.paths.paths import query_entities
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Judge, means, owners
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import Triples

__all__ = ["EntityRetriever", "entity_logits", "scaled"]

MORE = 200  # triples more than at the triple level, since parallel ones are not told apart (ReG, appendix E)


def entity_logits(
    w: Mapping[str, Any], asked: Any, relations: Any, near: Any, arcs: Arcs, scales: Any, layers: int,
    names: Any = None, owner: Any = None, arc_owner: Any = None,
) -> Any:  # fmt: skip
    """Return the log-odds of nodes, from arrays of numpy or torch: principal neighbourhood aggregation (PNA).

    A message is what its node holds, times a gate made of the question and the arc's relation and direction; a node
    takes mean, maximum, minimum and deviation of the messages, each as it is, amplified and attenuated by its degree
    (Corso et al., 2020, Eq. 8). `asked`: [questions, d]; `relations`: [r, d]; `near`: [n, f], the distances, and how
    probable the question's walks through each node are; `names`: [n, d] or None; `scales`: what `scaled` returns;
    `owner`, `arc_owner`: the question of each node and arc, None where there is one.
    """
    x = near @ w["near"] + w["start"]
    question = asked @ w["question"]
    x = x + (question if owner is None else question[owner])
    if names is not None:
        x = x + names @ w["name"]
    x, ways = rectified(x), 2 * relations.shape[0]
    at = arcs.way if arc_owner is None else arc_owner * ways + arcs.way
    for layer in range(layers):
        # Two rows a relation: against it and along it.
        of = (relations @ w[f"relation {layer}"]).reshape(1, ways, -1)
        gates = rectified(of + (asked @ w[f"ask {layer}"]).reshape(-1, 1, of.shape[2]))
        said = arcs.gathered(x, gates.reshape(-1, of.shape[2]), at) @ w[f"said {layer}"]
        said = (said.reshape(x.shape[0], 3, -1) * scales).sum(1)
        x = rectified(x @ w[f"self {layer}"] + said + w[f"bias {layer}"])
    return (x @ w["last weights"] + near @ w["last near"] + w["last"])[:, 0]


def scaled(arcs: Arcs, degree: float) -> Floats:
    """Return by what messages are scaled: 1, s and 1 / s, s being log(degree + 1) over its mean; [n, 3, 1]."""
    scale = np.log(np.asarray(arcs.count) + 1) / np.float32(degree)
    return np.stack((np.ones_like(scale), scale, 1 / scale), axis=1)


@dataclass(frozen=True, repr=False)
class EntityRetriever(Retriever):
    """Scores nodes by a graph network over what was narrowed to, conditioned on the question (ReG@Entity, GNN-RAG).

    The score of a node is the probability that it is one of Ê+ (Eq. 34), of a triple the sum of those of its ends (ReG,
    appendix E), and of any other piece the mean over its nodes.
    """

    def search(self, k: int) -> Operator:
        """Return the k + 200 best triples of the graph."""
        return Triples() >> Rerank(self) % (k + MORE)

    def judge(self, state: State) -> Judge:
        """Score all nodes at once, and pieces by these; a triple is one that lists no nodes."""
        graph, value = state.graph, self._values(state).nodes

        def scores(pieces: Evidence) -> Scores:
            found = means(value(pieces.nodes), owners(pieces.node_ptr), len(pieces))
            bare = (np.diff(pieces.node_ptr) == 0)[of := owners(pieces.edge_ptr)]
            ends = value(graph.ends(pieces.edges[bare])).reshape(-1, 2).sum(axis=1)
            return found + np.bincount(of[bare], ends, len(pieces))

        return scores

    def chances(self, state: State) -> Chances:
        """Return the probability of the node that each step leads to, times that of the best walk that takes the step.

        Nodes alone do not tell which relation leads to them: two may join the same nodes, and the end of one walk may
        be on the way of another. Of a walk each step is that of its place; a triple alone is any step, whichever way.
        """
        values = self._values(state)
        return lambda nodes, edges: values.nodes(nodes[:, 1:]) * values.scored().likely.steps(nodes, edges)

    def _values(self, state: State) -> _Values:
        return _Values(state.graph, lambda: self._scored(state))

    def _scored(self, state: State) -> _Scored:
        graph, about = state.graph, self.checkpoint.about
        at = seen(graph, query_entities(state), int(about["rounds"]))
        if not len(at.edges):
            return _Scored(np.zeros(len(graph)), Likely(graph, at, Walked((), (at.start,), (at.start,))))
        relations, asked = self.relations(graph, at.relations.tolist()), self.asked(state)[None]
        names = self.names.of(at.nodes) if about.get("names") and self.names is not None else None
        arcs, layers = arcs_of(at), int(about["layers"])
        walks = walked(gate_logits(self.weights, asked, relations, layers), arcs, at.start)
        near, scales = np.concatenate((at.near, *walks.nodes()), axis=1), scaled(arcs, float(about["degree"]))
        found = entity_logits(self.weights, asked, relations, near, arcs, scales, layers, names)
        return _Scored(logistic(found.astype(np.float64)), Likely(graph, at, walks))


class _Scored(NamedTuple):
    """The probability of each node, and how probable walks are."""

    nodes: Scores
    likely: Likely


class _Values:
    """What nodes of a graph are worth, by snapshot id; all is scored when the first is asked for."""

    def __init__(self, graph: Graph, scored: Callable[[], _Scored]) -> None:
        self.graph, self.scored = graph, cache(scored)

    def nodes(self, wanted: Ints) -> Scores:
        found: Scores = self.scored().nodes[self.graph.local(wanted.ravel())].reshape(wanted.shape)
        return found
