"""One way of searching, and another where it finds nothing."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.operators.operator import Branches, Operator
from graphwright.operators.state import State

__all__ = ["OrElse"]


@dataclass(frozen=True, repr=False)
class OrElse(Branches):
    """Run the first; where that leaves no evidence, the second on the state as it was before.

    >>> from graphwright import Graph, KHop, Triples, start
    >>> graph = Graph.from_triples([("Graz", "on the", "Mur")])
    >>> OrElse(KHop(1), Triples())(start("?", graph, anchors=[])).evidence.texts(graph)
    ['Graz on the Mur']
    """

    def run(self, state: State, k: int | None = None) -> State:
        """Run the first, or both, each cut to k."""
        if state.answer is not None:
            return state
        found = self.first.run(state, k)
        if found.answer is not None or (found.evidence is not None and len(found.evidence)):
            return found
        return self.second.run(state.with_(trace=found.trace), k)

    def after(self, have: frozenset[str]) -> frozenset[str]:
        """Return what is set either way."""
        return self.first.after(have) & self.second.after(have)

    def capped(self, cap: int) -> Operator:
        """Hand the cap to both."""
        return OrElse(self.first.capped(cap), self.second.capped(cap))
