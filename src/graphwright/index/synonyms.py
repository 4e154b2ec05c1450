"""Near-synonyms among names: pairs whose vectors are close, found without comparing all pairs."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from graphwright.index.vectors import normalised
from graphwright.models.protocols import Floats

__all__ = ["near_pairs", "synonyms"]

_DIGITS = re.compile(r"\d+")


def near_pairs(vectors: Floats, threshold: float, *, probes: int = 2, seed: int = 0) -> NDArray[np.int64]:
    """Return pairs (i < j) of rows whose cosine is at least `threshold`: int64[pairs, 2], sorted.

    About √n rows, drawn with `seed`, serve as pivots; every row joins its `probes` nearest pivots and is
    compared only with the rows that share one. n·√n comparisons instead of n²; a pair that shares no
    pivot is missed, which at a threshold of 0.9 and two probes is a few in a hundred.

    >>> near_pairs(np.float32([[1, 0], [0, 1], [0.99, 0.1]]), 0.9).tolist()
    [[0, 2]]
    """
    rows = normalised(np.asarray(vectors, np.float32))
    n = len(rows)
    count = max(1, round(n**0.5)) if n > 256 else 1
    pivots = rows[np.sort(np.random.default_rng(seed).choice(n, count, replace=False))] if n else rows
    probes = min(probes, count)
    found = [np.empty((0, 2), np.int64)]
    member, owner = _assign(rows, pivots, probes)
    order = np.lexsort((member, owner))
    member, owner = member[order], owner[order]
    for group in np.split(member, np.flatnonzero(np.diff(owner)) + 1):
        found.append(_within(rows, group, threshold))
    pairs: NDArray[np.int64] = np.unique(np.concatenate(found), axis=0)
    return pairs


def _assign(rows: Floats, pivots: Floats, probes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row, pivot) for each row and each of its nearest pivots; blocks bound the memory."""
    owner = [np.empty((0, probes), np.int64)]
    for block in range(0, len(rows), 4096):
        cosines = rows[block : block + 4096] @ pivots.T
        owner.append(np.argpartition(-cosines, probes - 1, axis=1)[:, :probes])
    nearest = np.concatenate(owner)
    return np.repeat(np.arange(len(rows)), probes), nearest.ravel()


def _within(rows: Floats, group: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    pairs = [np.empty((0, 2), np.int64)]
    for block in range(0, len(group), 2048):
        some = group[block : block + 2048]
        at, other = np.nonzero(rows[some] @ rows[group].T >= threshold)
        both = np.stack((some[at], group[other]), axis=1)
        pairs.append(both[both[:, 0] < both[:, 1]])
    found: NDArray[np.int64] = np.concatenate(pairs)
    return found


def synonyms(names: list[str], vectors: Floats, threshold: float) -> NDArray[np.int64]:
    """Return near pairs of names that agree in their numbers: 1963 and 1964 are close, but not the same."""
    pairs = near_pairs(vectors, threshold)
    digits = [_DIGITS.findall(name) for name in names]
    same = np.fromiter((digits[i] == digits[j] for i, j in pairs.tolist()), bool, len(pairs))
    kept: NDArray[np.int64] = pairs[same]
    return kept
