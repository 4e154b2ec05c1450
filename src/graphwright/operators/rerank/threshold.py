"""Keep the items whose scaled score reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class AboveThreshold(Ranker):
    """Keep the items whose score, scaled from 0 (the least) to 1 (the best), is at least `threshold`.

    The first filter of GraphRAG-FI (Guo et al., 2025), which scales a model's attention; here the scores are those of
    the evidence, whatever model gave them, and 1/rank without any. Scaled scores do not depend on the model's unit. If
    all scores are equal, all items stay.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> state = start("?", graph, evidence=Evidence.of_edges([0, 1, 2], [3.0, 1.0, -1.0]))
    >>> AboveThreshold(0.5)(state).evidence.texts(graph)
    ['a r b', 'b r c']
    """

    threshold: Annotated[float, Between(0, 1)] = 0.5
    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Keep the items, at most the first k."""
        above = np.flatnonzero(state.items.scaled_scores >= self.threshold)
        return state.with_(evidence=state.items.take(above).top(k))
