"""Fusion: several searches on the same state, made one ranking."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Scores
from graphwright.operators.operator import Composite, Operator, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["ReciprocalRank", "ScoreSum"]


class _Fusion(Composite):
    """Runs its parts on the same state and scores each of their items; the other fields do not change."""

    parts: tuple[Operator, ...]

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        return fields | {"evidence"}

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the parts, each a step of the trace, and fuse their evidence."""
        states = [part.execute(state, run) for part in self.parts]
        steps = [step for result in states for step in result.trace[len(state.trace) :]]
        begun = state.with_(trace=(*state.trace, *steps))
        fused = [result.items for result in states]
        return self.traced(begun, run, k, lambda _: top_of(begun.with_(evidence=self._fuse(fused)), self.gives, k))

    def _fuse(self, parts: list[Evidence]) -> Evidence:
        if all(evidence.only_nodes for evidence in parts):
            return self._fuse_nodes(parts)
        totals: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for at, evidence in enumerate(parts):
            for key, score in zip(evidence.identities(), self.scores(at, evidence).tolist(), strict=True):
                totals[key] = totals.get(key, 0.0) + score
        return Evidence.of_pieces(totals, list(totals.values()))

    def _fuse_nodes(self, parts: list[Evidence]) -> Evidence:
        """Fuse items that are single nodes, with arrays: thousands of passages in a millisecond."""
        nodes, at = np.unique(np.concatenate([evidence.nodes for evidence in parts]), return_inverse=True)
        scores = np.concatenate([self.scores(i, evidence) for i, evidence in enumerate(parts)])
        return Evidence.of_nodes(nodes, np.bincount(at, scores, len(nodes)))

    @abstractmethod
    def scores(self, at: int, evidence: Evidence) -> Scores:
        """Return the addend of part `at` to the score of each of its items."""


@dataclass(frozen=True, repr=False, init=False)
class ReciprocalRank(_Fusion):
    """Fuse by rank: the score of an item is the sum of 1/(constant + rank) over the parts that return it.

    Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009), whose constant is 60.

    >>> from graphwright.operators.operator import Keep
    >>> ReciprocalRank(Keep(), Keep(), constant=10)
    ReciprocalRank(Keep(), Keep(), constant=10)
    """

    parts: tuple[Operator, ...]
    constant: int

    def __init__(self, *parts: Operator, constant: int = 60) -> None:
        if constant < 0:
            raise OptionError(f"ReciprocalRank(constant={constant!r}): a number, 0 or more.")
        object.__setattr__(self, "parts", _checked(parts))
        object.__setattr__(self, "constant", constant)

    def scores(self, at: int, evidence: Evidence) -> Scores:
        """Return 1/(constant + rank), ranks from 1."""
        return 1.0 / (self.constant + np.arange(1, len(evidence) + 1))

    def __repr__(self) -> str:
        constant = "" if self.constant == 60 else f", constant={self.constant}"
        return f"ReciprocalRank({', '.join(map(repr, self.parts))}{constant})"


@dataclass(frozen=True, repr=False, init=False)
class ScoreSum(_Fusion):
    """Fuse by score: the weighted sum of an item's scores, each part's scores divided by its largest.

    `weights`: one per part, 1 each by default. A part whose largest score is not above 0 adds nothing;
    a part without scores counts as 1/rank.
    """

    parts: tuple[Operator, ...]
    weights: tuple[float, ...]

    def __init__(self, *parts: Operator, weights: tuple[float, ...] | None = None) -> None:
        weights = (1.0,) * len(parts) if weights is None else tuple(weights)
        if len(weights) != len(parts):
            raise OptionError(f"ScoreSum has {len(parts)} parts and {len(weights)} weights; give one weight for each.")
        object.__setattr__(self, "parts", _checked(parts))
        object.__setattr__(self, "weights", weights)

    def scores(self, at: int, evidence: Evidence) -> Scores:
        """Return weight · score / largest score."""
        ranked = evidence.ranked_scores
        largest = ranked.max(initial=0.0)
        return self.weights[at] * ranked / largest if largest > 0 else np.zeros(len(ranked))

    def __repr__(self) -> str:
        weights = "" if set(self.weights) <= {1.0} else f", weights={self.weights}"
        return f"ScoreSum({', '.join(map(repr, self.parts))}{weights})"


def _checked(parts: tuple[Operator, ...]) -> tuple[Operator, ...]:
    if len(parts) < 2 or not all(isinstance(part, Operator) for part in parts):
        raise OptionError(f"a fusion takes two operators or more; it was given {parts!r}.")
    return parts
