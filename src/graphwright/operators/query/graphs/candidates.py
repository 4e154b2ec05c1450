"""Paths of relations from the things that a question names, the likeliest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Floats
from graphwright.operators.query.graphs.matching import Mention
from graphwright.operators.query.graphs.steps import StepIndex
from graphwright.operators.query.query import Except, Follow, Named, Things

_BEAM = (60, 30, 24)  # paths of each length that are extended
_KEPT = 320  # maximum paths


@dataclass(frozen=True, eq=False)
class PathCandidate:
    """A path of relations from a mention: `keys` of its steps, a sample of its `ends`, and how many there are.

    A step back along the relation by which the start was left leads to others than the start.
    """

    mention: Mention
    keys: tuple[int, ...]
    ends: Ints
    size: int
    score: float

    @cached_property
    def relations(self) -> tuple[int, ...]:
        """The relation of each step."""
        return tuple(key >> 1 for key in self.keys)

    def query(self, steps: StepIndex) -> Things:
        """Return the path as a query."""
        things: Things = Named(self.mention.name)
        for at, key in enumerate(self.keys):
            things = Follow(things, steps.step(key))
            if at == 1 and key == self.keys[0] ^ 1:
                things = Except(things, Named(self.mention.name))
        return things


def paths_of(
    mentions: Sequence[Mention], steps: StepIndex, strengths: Sequence[Floats], length: int
) -> list[PathCandidate]:
    """Return the paths from mentions, by the mean strength of their steps.

    `strengths`: for each mention how much the rest of the question asks for each relation; `length`: maximum steps.
    """
    level = [PathCandidate(mention, (), mention.things, len(mention.things), 0.0) for mention in mentions]
    strength_of = {id(mention): strength for mention, strength in zip(mentions, strengths, strict=True)}
    found: list[PathCandidate] = []
    for beam in _BEAM[:length]:
        level = [longer for path in level for longer in _extensions(path, steps, strength_of[id(path.mention)])]
        found += level
        level = sorted(level, key=lambda path: -path.score)[:beam]
    return sorted(found, key=lambda path: -path.score)[:_KEPT]


def _extensions(path: PathCandidate, steps: StepIndex, strength: Floats) -> list[PathCandidate]:
    """Return the paths that are one step longer."""
    longer = []
    for key, ends, size in steps.expand(path.ends):
        if len(path.keys) == 1 and key == path.keys[0] ^ 1:
            rest = np.setdiff1d(ends, path.mention.things)
            ends, size = rest, size - len(ends) + len(rest)
        if len(ends):
            count = len(path.keys)
            score = (path.score * count + float(strength[key >> 1])) / (count + 1)
            longer.append(PathCandidate(path.mention, (*path.keys, key), ends, size, score))
    return longer
