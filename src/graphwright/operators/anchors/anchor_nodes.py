"""The nodes of the anchors as evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class AnchorNodes(Operator):
    """Return the nodes of the anchors that are in the graph as evidence, each with its share of the anchors' weights.

    >>> from graphwright.graph.graph import Graph; from graphwright.operators.state import Anchor, start
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> state = AnchorNodes()(start("?", graph, anchors=[Anchor("towns", [0, 2]), Anchor("France", [1])]))
    >>> state.evidence.nodes.tolist(), state.evidence.scores.tolist()
    ([1, 0, 2], [1.0, 0.5, 0.5])
    """

    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        nodes = [anchor.seeds(state.graph) for anchor in state.anchors or ()]
        shares = [
            np.full(len(ids), anchor.weight / len(ids))
            for ids, anchor in zip(nodes, state.anchors or (), strict=True)
            if len(ids)
        ]
        ids, position = np.unique(np.concatenate([np.empty(0, np.int64), *nodes]), return_inverse=True)
        scores = np.bincount(position, np.concatenate([np.empty(0), *shares]), len(ids))
        inside = state.graph.holds(ids)
        return state.with_(evidence=Evidence.of_nodes(ids[inside], scores[inside]))
