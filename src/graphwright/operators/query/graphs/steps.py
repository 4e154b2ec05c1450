"""Steps from things along relations, in both directions, over all facts; and vectors of what they lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.query.query import Step
from graphwright.search.facts import Facts
from graphwright.text.values import DATE, NUMBER, TEXT, typed_values

MAX_NAMES = 4_000  # relations and types that questions may ask for: of more, those with the most facts
_EDGES = 4_000  # maximum facts that one expansion looks at
_SAMPLED = 60  # ends of a step whose kinds are looked at
_ENDS = 60  # maximum ends that are kept of one step


@dataclass(frozen=True, eq=False)
class StepIndex:
    """The facts next to each thing, by relation and direction.

    The facts next to thing t are rows `start[t]:start[t + 1]` of `key` (twice the relation, plus 1 backwards) and of
    `other`, the thing at the other end. `relations`: the names of relations.
    """

    relations: tuple[str, ...]
    start: Ints
    key: Ints
    other: Ints
    _kinds: dict[int, Floats] = field(default_factory=dict)
    _ends: dict[int, tuple[Ints, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Facts) -> StepIndex:
        """Build the index of at most MAX_NAMES relations: O(facts)."""
        near, far, keys = [], [], []
        relations = facts.frequent_relations(MAX_NAMES)
        for number, name in enumerate(relations):
            relation = facts.relation(name)
            near += [relation.subjects, relation.objects]
            far += [relation.objects, relation.subjects]
            keys += [np.full(len(relation.subjects), 2 * number), np.full(len(relation.subjects), 2 * number + 1)]
        if not near:
            return cls((), np.zeros(len(facts) + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
        ends, key = np.concatenate(near), np.concatenate(keys)
        order = np.lexsort((key, ends))
        start = np.searchsorted(ends[order], np.arange(len(facts) + 1))
        return cls(relations, start, key[order], np.concatenate(far)[order])

    def step(self, key: int) -> Step:
        """Return the step of a key."""
        return Step(self.relations[key >> 1], bool(key & 1))

    def expand(self, things: Ints) -> Iterator[tuple[int, Ints, int]]:
        """Yield each step that leads on from some things: its key, a sample of its ends, and how many there are."""
        first, last = self.start[things], self.start[things + 1]
        counts = np.minimum(last - first, max(1, _EDGES // max(1, len(things))))
        rows = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        pairs = np.unique(self.key[rows] * len(self.start) + self.other[rows])
        keys, ends = pairs // len(self.start), pairs % len(self.start)
        bounds = np.flatnonzero(np.diff(keys, prepend=-1, append=-1))
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            spread = -(-(high - low) // _ENDS)
            yield int(keys[low]), ends[low:high:spread], high - low

    def kinds(self, key: int, facts: Facts) -> Floats:
        """Return the shares of things, dates and numbers at the ends of a step, by a sample."""
        if key not in self._kinds:
            ends = self._all_ends(key, facts)
            sample = ends[:: -(-len(ends) // _SAMPLED) or 1]
            kinds = typed_values(facts.texts(sample.tolist())).kind
            counts = [np.count_nonzero(kinds == kind) for kind in (TEXT, DATE, NUMBER)]
            self._kinds[key] = (np.array(counts) / max(1, len(kinds))).astype(np.float32)
        return self._kinds[key]

    def ends(self, key: int, facts: Facts) -> tuple[Ints, int]:
        """Return the distinct ends of a step from everything: a sample of at most 60, and how many there are."""
        if key not in self._ends:
            ends = np.unique(self._all_ends(key, facts))
            self._ends[key] = ends[:: -(-len(ends) // _ENDS) or 1], len(ends)
        return self._ends[key]

    def _all_ends(self, key: int, facts: Facts) -> Ints:
        relation = facts.relation(self.relations[key >> 1])
        return relation.subjects if key & 1 else relation.objects


def step_index_of(facts: Facts) -> StepIndex:
    """Return the steps of facts, built once for a snapshot."""
    return facts.kept("steps of paths", lambda: StepIndex.of(facts))


_SAMPLED_ENDS = 8  # names of a step's ends that are encoded
_MAX_STEPS = 64  # maximum steps of a question whose ends are encoded; those of the others count as the mean


def end_vectors(keys: Iterable[int], facts: Facts, encoder: Encoder) -> dict[int, Floats]:
    """Return unit vectors of the ends of each step, less their mean; computed once a step, snapshot and encoder."""
    known = facts.kept(("ends of steps", getattr(encoder, "id", repr(encoder))), lambda: dict[int, Floats]())
    chosen = list(dict.fromkeys(keys))[:_MAX_STEPS]
    missing = [key for key in chosen if key not in known]
    names = [_names(key, facts) for key in missing]
    if missing:
        vectors = encoder.encode([name for own in names for name in own])
        bounds = np.cumsum([0, *map(len, names)])
        for key, first, last in zip(missing, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            mean = vectors[first:last].sum(axis=0)
            known[key] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    middle = np.mean([known[key] for key in chosen], axis=0) if chosen else 0.0
    return {key: known[key] - middle for key in chosen}


def _names(key: int, facts: Facts) -> list[str]:
    """Return the types of a sample of the ends of a step, and the names of those without one."""
    relation = facts.relation(step_index_of(facts).relations[key >> 1])
    ends = np.unique(relation.subjects if key & 1 else relation.objects)
    sample = ends[:: max(1, len(ends) // _SAMPLED_ENDS)][:_SAMPLED_ENDS]
    types = rarest_types(facts)[sample].tolist()
    names = facts.texts(sample.tolist())
    return [facts.types[row].casefold() if row >= 0 else name for row, name in zip(types, names, strict=True)]


def types_in_words(things: Ints, facts: Facts) -> list[str]:
    """Return the rarest type of each of some things in words, each once."""
    rows = {int(own) for own in rarest_types(facts)[things] if own >= 0}
    return [facts.types[row].casefold() for row in sorted(rows)]


def rarest_types(facts: Facts) -> Ints:
    """Return for each thing the row of its rarest type, -1 for none; computed once for a snapshot."""
    return facts.kept("types of things", lambda: _rarest_types(facts))


def _rarest_types(facts: Facts) -> Ints:
    of_things = np.full(len(facts), -1, np.int64)
    for row in sorted(range(min(len(facts.types), MAX_NAMES)), key=lambda row: -len(facts.of_type(facts.types[row]))):
        of_things[facts.of_type(facts.types[row])] = row
    return of_things
