"""A step on another graph of the same nodes, such as that of passages or of entities alone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from graphwright.graph.graph import Graph
from graphwright.operators.operator import Wrapper
from graphwright.operators.state import State

__all__ = ["Elsewhere"]


@dataclass(frozen=True, repr=False)
class Elsewhere(Wrapper):
    """Run a step on another graph, then put the graph back. Nodes are the same there, edges are not."""

    @abstractmethod
    def graph_of(self, graph: Graph) -> Graph:
        """Return the graph that the step is run on."""

    def run(self, state: State, k: int | None = None) -> State:
        """Run the step on the other graph, and keep the k best."""
        if state.answer is not None:
            return state
        return self.step.run(state.with_(graph=self.graph_of(state.graph)), k).with_(graph=state.graph)
