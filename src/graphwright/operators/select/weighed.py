"""From evidence to the passages behind it, those nearest to the question first, weighed with their pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ranking
from graphwright.index.vector_index import VectorIndex
from graphwright.operators.run import Run
from graphwright.operators.select.passages import Sources, behind
from graphwright.operators.state import State

__all__ = ["WeighedSources"]


@dataclass(frozen=True, repr=False)
class WeighedSources(Sources):
    """Passages behind the evidence by their own cosine with the question and the score of their best piece.

        score(p) = cos(question, p) + weight · max score of a piece that p comes from

    For pieces that many passages come from, as a community or an entity that all speak of, between which `Sources`
    cannot choose. `index`: vectors of the passages; a piece without a score counts as 1/rank. `limit`: passages in all.
    On a graph without passages the nodes of the evidence take their place.
    """

    index: VectorIndex | None = None
    weight: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.index, VectorIndex):
            raise OptionError(f"WeighedSources(index={self.index!r}): give the vectors of the passages.")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise OptionError(f"WeighedSources(weight={self.weight!r}): a number, 0 or more.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Collect the passages, and rank them."""
        found, index = state.evidence, self.index
        if found is None or index is None:
            return state
        scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
        best: dict[int, float] = {}
        for (nodes, edges), score in zip(found, scores.tolist(), strict=True):
            for chunk in behind(state.graph, nodes, edges).tolist():
                best[chunk] = max(score, best.get(chunk, -math.inf))
        ids = np.array(list(best), np.int64)
        near = index.cosines(ids, index.encode(state.question.text, run))
        ranking = Ranking.of(ids, near + self.weight * np.array(list(best.values())))
        wanted = [n for n in (self.limit, k) if n is not None]
        return state.with_(passages=ranking.top(min(wanted)) if wanted else ranking)
