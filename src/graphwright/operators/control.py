"""Control: repeat a step, choose between two, or run one on another view of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from graphwright.graph.graph import Graph
from graphwright.operators.operator import Composite, Operator, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["HasEvidence", "If", "OnGraph", "Predicate", "Reached", "Repeat", "View"]


class Predicate(Protocol):
    """A condition on a state. As the `until` of Repeat it may have a `cap`: the number of items it works towards."""

    def __call__(self, state: State) -> bool:
        """Return whether the state meets the condition."""
        ...


class View(Protocol):
    """Another graph over the nodes of a graph, such as that of its passages alone; node ids stay the same."""

    def __call__(self, graph: Graph) -> Graph:
        """Return the view of the graph."""
        ...


@dataclass(frozen=True)
class HasEvidence:
    """Holds if the state has at least one item of evidence."""

    def __call__(self, state: State) -> bool:
        """Return whether there is evidence."""
        return len(state.items) > 0


@dataclass(frozen=True)
class Reached:
    """Holds once the evidence has this many distinct nodes.

    >>> Reached(nodes=100)
    Reached(nodes=100)
    """

    nodes: int

    @property
    def cap(self) -> int:
        """The number of nodes that a loop works towards."""
        return self.nodes

    def __call__(self, state: State) -> bool:
        """Return whether the evidence has that many nodes."""
        return len({*state.items.nodes.tolist(), *state.graph.ends(state.items.edges).tolist()}) >= self.nodes


@dataclass(frozen=True, repr=False)
class Repeat(Composite):
    """Run a step until a condition holds, or until the step adds no new item.

    Every `|` inside the step is limited to the condition's cap (FastInsight, Algorithm 1, caps before it reranks).
    """

    step: Operator
    until: Predicate

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the loop, then keep the k best."""
        cap = getattr(self.until, "cap", None)
        step = self.step if cap is None else self.step.capped(cap)
        known = set(state.items.identities())
        while state.answer is None and not self.until(state):
            state = step.execute(state, run)
            new = set(state.items.identities()) - known
            if not new:
                break
            known |= new
        return top_of(state, ("evidence",), k)

    def __repr__(self) -> str:
        return f"Repeat({self.step!r}, until={self.until!r})"


@dataclass(frozen=True, repr=False)
class If(Composite):
    """Run the first step where a condition holds, else the second.

    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.operators.state import start
    >>> from graphwright.operators.subgraph.narrow import Triples
    >>> from graphwright.operators.operator import Keep
    >>> graph = Graph.from_triples([("Graz", "on the", "Mur")])
    >>> If(HasEvidence(), Keep(), Triples())(start("?", graph)).evidence.texts(graph)
    ['Graz on the Mur']
    """

    predicate: Predicate
    then: Operator
    otherwise: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the branch that the state selects, and keep the k best."""
        return (self.then if self.predicate(state) else self.otherwise).execute(state, run, k)


@dataclass(frozen=True, repr=False)
class OnGraph(Composite):
    """Run a step on another view of the graph, then put the graph back; node ids are the same in both.

    Views: `PassageGraph`, `EntityGraph`, `StatementGraph` in `operators.subgraph.views`.
    """

    view: View
    step: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step on the view, and keep the k best."""
        return self.step.execute(state.with_(graph=self.view(state.graph)), run, k).with_(graph=state.graph)
