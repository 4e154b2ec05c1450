"""A step on another graph of the same nodes, such as that of passages or of entities alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphwright.graph.graph import Graph
from graphwright.retrieve.operator import Operator
from graphwright.retrieve.state import State

__all__ = ["Elsewhere"]


@dataclass(frozen=True, repr=False)
class Elsewhere(Operator):
    """Run a step on another graph, then put the graph back. Nodes are the same there, edges are not."""

    step: Operator

    @abstractmethod
    def graph_of(self, graph: Graph) -> Graph:
        """Return the graph that the step is run on."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step needs."""
        return self.step.needs

    @property
    def gives(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the step gives."""
        return self.step.gives

    def apply(self, state: State) -> State:
        """Run the step."""
        return self.run(state)

    def run(self, state: State, k: int | None = None) -> State:
        """Run the step on the other graph, and keep the k best."""
        if state.answer is not None:
            return state
        return self.step.run(state.with_(graph=self.graph_of(state.graph)), k).with_(graph=state.graph)

    def lacks(self, have: frozenset[str]) -> Iterator[tuple[int, int, Operator, str]]:
        """Yield what the step lacks."""
        return self.step.lacks(have)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what is set after the step."""
        return self.step.after(have)

    def capped(self, cap: int) -> Operator:
        """Hand the cap on."""
        return replace(self, step=self.step.capped(cap))
