"""Keep the items whose scaled score reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Between
from graphwright.graph.evidence import Evidence
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class AboveThreshold(Reranker):
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

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        return items.take(np.flatnonzero(items.scaled_scores >= self.threshold))
