"""Merge the items of evidence into one (BubbleRAG)."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.graph.evidence import Evidence
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class Unite(Operator):
    """Merge the items into one, each node and edge at its first position; unscored (BubbleRAG, section 3.6).

    A triple has the nodes of its ends.

    >>> from graphwright import Graph
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "e")])
    >>> state = start("?", graph, evidence=Evidence.of_paths(graph, [([1, 0], [0]), ([3, 4], [2]), ([1, 2], [1])]))
    >>> [ids.tolist() for ids in Unite()(state).evidence.piece(0)]
    [[1, 0, 3, 4, 2], [0, 2, 1]]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        if state.evidence is None:
            return state
        nodes: dict[int, None] = {}
        for item_nodes, edges in state.evidence:
            nodes |= dict.fromkeys((item_nodes if len(item_nodes) else state.graph.ends(edges)).tolist())
        united = [(list(nodes), list(dict.fromkeys(state.evidence.edges.tolist())))] if len(state.evidence) else []
        return state.with_(evidence=Evidence.of_trees(state.graph, united))
