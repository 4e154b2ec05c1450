"""The entity retriever: whether a node belongs to what explains the answer, by a graph network (ReG@Entity, Eq. 34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.retrieve.narrow import Triples
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.paths import query_entities
from graphwright.retrieve.rerank import Rerank
from graphwright.retrieve.retrievers.arcs import Arcs, arcs_of, seen
from graphwright.retrieve.retrievers.arrays import logistic, rectified
from graphwright.retrieve.retrievers.retriever import Chances, Retriever
from graphwright.retrieve.scorer import Judge, means, owners
from graphwright.retrieve.state import State

__all__ = ["EntityRetriever", "entity_logits"]

MORE = 200  # triples more than at the triple level, since parallel ones are not told apart (ReG, appendix E)


def entity_logits(
    w: Mapping[str, Any], asked: Any, relations: Any, near: Any, arcs: Arcs, scale: Any, layers: int,
    names: Any = None, owner: Any = None, arc_owner: Any = None,
) -> Any:  # fmt: skip
    """Return the log-odds of nodes, from arrays of numpy or torch: principal neighbourhood aggregation (PNA).

    A message is what its node holds, times a gate made of the question and the arc's relation and direction; a node
    takes mean, maximum, minimum and deviation of the messages, each as it is, amplified and attenuated by its degree
    (Corso et al., 2020, Eq. 8). `asked`: [questions, d]; `relations`: [r, d]; `near`: [n, f]; `names`: [n, d] or None;
    `scale`: [n, 1], log(degree + 1) over its mean; `owner`, `arc_owner`: the question of each node and arc, None where
    there is one.
    """
    x = near @ w["near"] + w["start"]
    question = asked @ w["question"]
    x = x + (question if owner is None else question[owner])
    if names is not None:
        x = x + names @ w["name"]
    x = rectified(x)
    ways = arcs.way
    for layer in range(layers):
        of = (relations @ w[f"relation {layer}"]).reshape(
            -1, x.shape[1]
        )  # two rows a relation: against it and along it
        gate = asked @ w[f"gate {layer}"]
        messages = x[arcs.begin] * rectified(of[ways] + (gate if arc_owner is None else gate[arc_owner]))
        count = arcs.count
        mean = arcs.total(messages) / count
        spread = (rectified(arcs.total(messages * messages) / count - mean * mean) + 1e-6) ** 0.5
        taken = [mean, arcs.most(messages), -arcs.most(-messages), spread]
        mixed = x @ w[f"self {layer}"] + w[f"bias {layer}"]
        for i, part in enumerate(taken):
            for how, scaled in (("plain", part), ("up", part * scale), ("down", part / scale)):
                mixed = mixed + scaled @ w[f"{how} {i} {layer}"]
        x = rectified(mixed)
    return (x @ w["last weights"] + w["last"])[:, 0]


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
        graph, value = state.graph, self._values(state)

        def scores(pieces: Evidence) -> Scores:
            found = means(value(pieces.nodes), owners(pieces.node_ptr), len(pieces))
            bare = (np.diff(pieces.node_ptr) == 0)[of := owners(pieces.edge_ptr)]
            ends = value(graph.ends(pieces.edges[bare])).reshape(-1, 2).sum(axis=1)
            return found + np.bincount(of[bare], ends, len(pieces))

        return scores

    def chances(self, state: State) -> Chances:
        """Return the probability of the node that each step leads to."""
        value = self._values(state)
        return lambda nodes, edges: value(nodes[:, 1:])

    def _values(self, state: State) -> Callable[[Ints], Scores]:
        """Return what gives the probability of nodes, by snapshot id."""
        known: list[Scores] = []

        def value(nodes: Ints) -> Scores:
            if not known:
                known.append(self._scored(state, query_entities(state)))
            found: Scores = known[0][state.graph.local(nodes.ravel())].reshape(nodes.shape)
            return found

        return value

    def _scored(self, state: State, sources: Ints) -> Scores:
        graph, about = state.graph, self.checkpoint.about
        at = seen(graph, sources, int(about["rounds"]))
        relations = self.relations(graph, at.relations.tolist()) if len(at.relations) else np.zeros((1, 1), np.float32)
        if not len(at.edges):
            return np.zeros(len(graph))
        names = self.names.of(at.nodes) if about.get("names") and self.names is not None else None
        arcs = arcs_of(at)
        scale = np.log(arcs.count + 1) / float(about["degree"])
        asked = self.asked(state)[None]
        found = entity_logits(self.weights, asked, relations, at.near, arcs, scale, int(about["layers"]), names)
        return np.asarray(logistic(found), np.float64)
