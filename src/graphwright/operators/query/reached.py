"""Paths over facts: what they reach from some things."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query.query import Comparison, Path, Step
from graphwright.search.facts import Facts

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
COMPARED: dict[Comparison, Callable[[Any, int], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
"""Comparisons of numbers of things."""
MAX_PAIRS = 20_000_000
"""Pairs of things that a step which is taken any number of times may join."""
_COLUMNS = ("starts", "near", "ends", "positions")
_NONE = np.empty(0, np.int64)


class Reached(NamedTuple):
    """The ends of paths: pairs of a start and an end, in order of the starts.

    `relation`: the last step's, "" for a path without steps; `positions`: its fact in the facts of that relation;
    `near`: the thing that the last step left from; `is_inverse`: whether it leads to subjects; `is_repeated`: whether
    some fact may be stated twice.
    """

    starts: Ints
    near: Ints
    ends: Ints
    relation: str = ""
    positions: Ints | None = None
    is_inverse: bool = False
    is_repeated: bool = False

    def chosen(self, mask: Bools) -> Reached:
        """Return the pairs that a mask chooses."""
        at = np.flatnonzero(mask)
        return self.taken(at, self.starts[at])

    def taken(self, at: Ints, starts: Ints) -> Reached:
        """Return the pairs at positions, with other starts."""
        positions = None if self.positions is None else self.positions[at]
        return self._replace(starts=starts, near=self.near[at], ends=self.ends[at], positions=positions)

    def distinct(self) -> Reached:
        """Return the pairs, those by a fact that is stated twice once."""
        if not self.is_repeated:
            return self
        first = np.unique(np.stack((self.starts, self.near, self.ends)), axis=1, return_index=True)[1]
        mask = np.zeros(len(self.starts), bool)
        mask[first] = True
        return self.chosen(mask)


def reached(facts: Facts, things: Ints, path: Path) -> Reached:
    """Return what a path reaches from each of some ascending things; without steps, the things themselves."""
    pairs = Reached(things, things, things)
    for at, step in enumerate(path):
        pairs = _stepped(facts, things, step) if at == 0 else _joined(pairs, facts, step)
    return pairs


def _stepped(facts: Facts, things: Ints, step: Step) -> Reached:
    """Return what a step reaches from ascending things; one that is taken several times reaches each end once."""
    if step.times != 1:
        pairs = _repeated(facts, things, step)
        return pairs._replace(near=pairs.starts)
    relation = facts.relation(step.relation)
    positions = relation.matching(things, step.inverse)
    if step.at:
        positions = positions[facts.hold(relation.fact(positions), step.at)]
    subjects, objects = relation.subject(positions), relation.object(positions)
    starts, ends = (objects, subjects) if step.inverse else (subjects, objects)
    return Reached(starts, starts, ends, step.relation, positions, step.inverse, relation.is_repeated)


def _repeated(facts: Facts, things: Ints, step: Step) -> Reached:
    """Return what a step that is taken once or more reaches from each thing, with the last fact on the shortest way."""
    level, size = reached(facts, things, ()), max(len(facts), 1)
    parts, known = [_stepped(facts, things[:0], step._replace(times=1))], _NONE
    for _ in range(step.times or size):
        level = _joined(level, facts, step._replace(times=1))
        keys, first = np.unique(level.starts * size + level.ends, return_index=True)
        is_new = ~np.isin(keys, known, assume_unique=True)
        level = level.taken(first[is_new], level.starts[first[is_new]])
        known = np.union1d(known, keys[is_new])
        if len(known) > MAX_PAIRS:
            raise OptionError(f"{step.relation} joins more than {MAX_PAIRS:,} pairs of things. Ask it of fewer things.")
        if not len(level.ends):
            break
        parts.append(level)
    starts, near, ends, positions = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS)
    order = np.argsort(starts, kind="stable")
    return Reached(starts[order], near[order], ends[order], step.relation, positions[order], step.inverse)


def trail(facts: Facts, pairs: Reached, step: Step) -> Ints:
    """Return the positions of the facts by which a step that is taken once or more leads to the ends of pairs."""
    size, wanted, parts = max(len(facts), 1), pairs.near * len(facts) + pairs.ends, list[Ints]()
    steps = _repeated(facts, sorted_distinct(pairs.near), step)
    while len(wanted):
        last = steps.chosen(np.isin(steps.starts * size + steps.ends, wanted))
        assert last.positions is not None
        parts.insert(0, last.positions)
        before = last.chosen(last.near != last.starts)
        wanted = np.setdiff1d(before.starts * size + before.near, wanted)
    return np.concatenate(parts) if parts else _NONE


def closure(facts: Facts, things: Ints, step: Step) -> Ints:
    """Return all that a step reaches from some things together which is taken once or more, ascending."""
    level, known = things, _NONE
    for _ in range(step.times or len(facts)):
        level = np.setdiff1d(_stepped(facts, level, step._replace(times=1)).ends, known)
        if not len(level):
            break
        known = np.union1d(known, level)
    return known


def _joined(pairs: Reached, facts: Facts, step: Step) -> Reached:
    """Return the pairs of which each end is replaced by what a step reaches from it; pairs count once."""
    starts, ends = _distinct(pairs.starts, pairs.ends, len(facts))
    middle, group = np.unique(ends, return_inverse=True)
    stepped = _stepped(facts, middle, step)
    # the facts of each thing in the middle are consecutive: repeat them for every start that reaches it
    first = np.searchsorted(stepped.starts, middle)
    counts = (np.searchsorted(stepped.starts, middle, side="right") - first)[group]
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(first[group], counts) + offsets
    return stepped.taken(at, np.repeat(starts, counts))


def _distinct(first: Ints, second: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of things below `size`, in order."""
    keys = np.unique(first * size + second)
    return keys // size, keys % size


def pair_counts(of: Ints, distinct: Ints, size: int) -> tuple[Ints, Ints]:
    """Return things, ascending, and with how many distinct others each is paired."""
    things, _ = _distinct(of, distinct, size)
    ids, counts = np.unique(things, return_counts=True)
    return ids, counts
