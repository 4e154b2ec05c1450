"""Answers from a graph alone: the nodes that paths lead to, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.generate.citations import PathWriter
from graphwright.graph.evidence import Evidence
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State

__all__ = ["NO_TARGET", "TargetAnswer", "names_answer"]

NO_TARGET = "No path from what the question names leads to an answer."
_UNLINKED = "The question names nothing that is in the graph."


@dataclass(frozen=True, repr=False)
class TargetAnswer(Operator):
    """Answer with the names of the nodes that the evidence leads to, best first, each with its best path.

    An item leads to the last of its nodes that the question does not name (of a triple: to its tail, else its head).
    The text has one name a line, at most `limit`; with `tied` only those of items that score as high as the best, as
    all walks by one plan do. The citation of the same rank has the name and the path. Needs neither a language model
    nor passages.

    >>> from graphwright import Graph, ShortestPaths, start
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Udo", "spouse", "Ida")])
    >>> answer = (ShortestPaths() >> TargetAnswer())(start("Who?", family, entities=["Bertha"])).answer
    >>> answer.short, answer.citations[1].path
    (('Ida', 'Udo'), ('Bertha', 'child', 'Ida', 'spouse⁻¹', 'Udo'))
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    tied: bool = False
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph, writer = state.graph, PathWriter(state.graph)
        seeds = {node for anchor in state.anchors or () for node in anchor.seeds(graph).tolist()}
        paths: dict[str, tuple[str, ...]] = {}
        for nodes, edges in self._items(state):
            if self.limit is not None and len(paths) >= self.limit:
                break
            ends = nodes.tolist() or graph.ends(edges).tolist()
            target = next((node for node in reversed(ends) if node not in seeds), None)
            # The text of a path costs more than all else here: only that of a new target is written.
            if target is not None and (name := writer.name(target)) not in paths:
                paths[name] = writer.path(nodes, edges)
        if not paths:
            return state.with_(answer=Answer(NO_TARGET if seeds else _UNLINKED, found=False))
        return state.with_(answer=names_answer(paths))

    def _items(self, state: State) -> Evidence:
        items = state.evidence or Evidence.of_nodes([])
        if not self.tied or items.scores is None or not len(items):
            return items
        return items.top(int(np.searchsorted(-items.scores, -items.scores[0], "right")))


def names_answer(paths: dict[str, tuple[str, ...]]) -> Answer:
    """Return the answer of these names, one a line, each cited with the path that leads to it."""
    citations = tuple(Citation("", name, 0, len(name), name, path) for name, path in paths.items())
    return Answer("\n".join(paths), tuple(paths), citations)
