"""Names that a question implies, taken from the best passages without a language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import AtLeast, Between
from graphwright.graph.graph import ABOUT
from graphwright.operators.anchors.keywords import anchors_named, top_passages, with_anchors
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class ImpliedNames(Operator):
    """Add the names that the first passages are about to the keywords, as a language model adds names that it knows.

    `passages`: how many passages of the state are looked at. `weight`: of these names; see NamesAndPhrases for the
    keywords of the question itself. Without passages the state stays as it is.
    """

    passages: Annotated[int, AtLeast(0)] = 3
    weight: Annotated[float, Between(0, 1)] = 0.5
    needs = ("passages",)
    gives = ("anchors",)

    def apply(self, state: State, run: Run) -> State:
        graph = state.graph
        topics = graph.columns.by_relation(ABOUT).rows(top_passages(state, self.passages)).tolist()
        names = (graph.names[node] for node in topics)
        return with_anchors(state, anchors_named(names, state, self.weight))
