"""Search by a function: any retriever as an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import Constraint
from graphwright.errors import OptionError
from graphwright.graph.columns import Passage
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

Result = str | tuple[str, float] | Passage
"""A result of a search: the id of a passage, document or node, an id with a score, or a Passage."""

_CALLABLE = Constraint("a function from a question to passages", callable)


@dataclass(frozen=True, repr=False)
class FunctionSearch(Operator):
    """Rank passages by a function `f(question) -> passages`, best first, so that any search can be part of a pipeline.

    The function returns ids, or pairs of id and score. The id of a document stands for all its passages; over a graph
    without documents an id is the name of a node. Ids that the graph lacks are left out, with a note in the trace.
    Without scores the order is the ranking.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Graz", "on", "Mur"), ("Linz", "on", "Danube")])
    >>> search = FunctionSearch(lambda question: [("Linz", 2.0), ("Graz", 1.0), ("Rome", 0.5)])
    >>> state = (search % 2)(start("Where is Linz?", graph)); graph.names.take(state.evidence.nodes)
    ['Linz', 'Graz']
    """

    function: Annotated[Callable[[str], Iterable[Result]], _CALLABLE]
    gives = ("evidence",)

    def __repr__(self) -> str:
        return f"FunctionSearch({getattr(self.function, '__qualname__', None) or repr(self.function)})"

    def apply(self, state: State, run: Run) -> State:
        ranked = [_pair(result, self.function) for result in self.function(state.question.text)]
        nodes: dict[int, float | None] = {}
        unknown = []
        for name, score in ranked:
            known = _nodes(state.graph, name)
            unknown += [] if known else [name]
            for node in known:
                nodes.setdefault(node, score)
        if unknown:
            run.note(f"{len(unknown)} of {len(ranked)} ids are not in the graph, such as {unknown[0]!r}")
        values = list(nodes.values())
        scores = None if None in values or not values else np.array(values, np.float64)
        return state.with_(evidence=Evidence.of_nodes(list(nodes), scores))


def _pair(result: Any, function: object) -> tuple[str, float | None]:
    if isinstance(result, str):
        return result, None
    if isinstance(result, Passage):
        return result.id, result.score
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], str):
        return result[0], float(result[1])
    raise OptionError(f"{function!r} returned {result!r}; give ids, or pairs of an id and a score.")


def _nodes(graph: Graph, name: str) -> list[int]:
    """Return the nodes of a passage, a document or a node by its name."""
    passages = graph.passages
    if passages is not None and name in passages.rows_of_document:
        rows = passages.rows_of_document[name]
        return [node for node in passages.nodes[np.array(rows)].tolist() if graph.holds(np.array([node]))[0]]
    return [int(node) for node in graph.ids(name)]
