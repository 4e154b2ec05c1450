"""Keep the items whose scaled score reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between
from graphwright.graph.evidence import Evidence
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class AboveThreshold(Ranker):
    """Keep the items whose score, scaled from 0 (the least) to 1 (the best), is at least `threshold`.

    The first filter of GraphRAG-FI (Guo et al., 2025), which scales a model's attention; here the scores are those of
    the evidence, whatever model gave them, and 1/rank without any. Scaled scores do not depend on the model's unit. If
    all scores are equal, all items stay.

    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.operators.state import start
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
        items = state.items
        scores = items.ranked_scores
        if not len(items):
            return state.with_(evidence=Evidence.of_nodes([], []))
        smallest, largest = float(scores.min()), float(scores.max())
        scaled = (scores - smallest) / (largest - smallest) if largest > smallest else np.ones(len(scores))
        above = items.take(np.flatnonzero(scaled >= self.threshold))
        return state.with_(evidence=above.top(k))
