"""Vectors of what steps lead to: the mean of the vectors of names at their ends."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.query.graphs.steps import step_index_of
from graphwright.search.facts import Facts

_SAMPLED = 8  # names of a step's ends that are encoded
_MAX_STEPS = 64  # maximum steps of a question whose ends are encoded; those of the others count as the mean


def end_vectors(keys: Iterable[int], facts: Facts, encoder: Encoder) -> dict[int, Floats]:
    """Return the unit vector of the ends of each step, less their mean, without the steps that are too many.

    Vectors are computed once for a step, a snapshot and an encoder.
    """
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
    """Return a sample of the names at the ends of a step."""
    relation = facts.relation(step_index_of(facts).relations[key >> 1])
    ends = np.unique(relation.subjects if key & 1 else relation.objects)
    return list(facts.texts(ends[:: max(1, len(ends) // _SAMPLED)][:_SAMPLED].tolist()))
