"""Directional distance encoding: where a node lies, seen from what the question names (SubgraphRAG, section 3.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Floats

__all__ = ["distances", "width"]

_ROOT = 0.25  # lets through how small a mean is; hubs make them small


def width(rounds: int) -> int:
    """Return how many numbers a node has."""
    return 1 + 3 * rounds


def distances(n: int, heads: Ints, tails: Ints, sources: Ints, rounds: int) -> Floats:
    """Return the encoding of each of n nodes: float32[n, 1 + 3 · rounds].

    s0 is 1 at the sources and 0 elsewhere; a round gives each node the mean over those before it. There are `rounds` of
    them along the edges, against the edges, and both ways: the last for graphs without inverse relations, in which a
    walk turns at every hub and neither of the first two sees two steps. Given as fourth roots: only so the order of
    magnitude is told, and 0 stays what is out of reach.

    >>> distances(3, np.array([0, 2]), np.array([1, 1]), np.array([0]), 2).astype(float).round(2).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.84], [0.0, 0.84, 0.0, 0.0, 0.0, 0.84, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.84]]
    """
    start: NDArray[np.float64] = np.zeros(n)
    start[sources] = 1.0
    columns = [start]
    both = np.concatenate((heads, tails)), np.concatenate((tails, heads))
    for begin, end in ((heads, tails), (tails, heads), both):
        degree = np.maximum(np.bincount(end, minlength=n), 1)
        value = start
        for _ in range(rounds):
            value = np.bincount(end, value[begin], n) / degree
            columns.append(value)
    return (np.stack(columns, axis=1) ** _ROOT).astype(np.float32)
