"""Pairs of near vectors among many, updated where only few of them are new."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.kernels.csr import Ids
from graphwright.kernels.ranking import sorted_distinct
from graphwright.models.protocols import Floats
from graphwright.search.vector_index import normalised
from graphwright.search.vector_pages import VectorRows

Kinds = Callable[[Ints], Ints]
_DIGITS = re.compile(r"\d+")
_ALL = 256  # rows up to which all are compared with all
_SLACK = 1e-3  # of a cosine by matrix product, which depends on the shape of the matrices in its last digits
_BLOCK = 2048  # rows, or pairs, compared at once, which bounds the memory
_COSINES = 2**23  # of rows of one group computed at once, likewise
_FEW = 16  # rows up to which BLAS, whose threads wait for one another, takes longer than one core


class NearPairs(NamedTuple):
    """Pairs (i < j) of near rows: int64[pairs, 2], sorted; and the pivots nearest to each row: int32[n, at most 2]."""

    pairs: Ints
    nearest: Ids


class KnownPairs(NamedTuple):
    """Near pairs among earlier rows, and the row that each is now, -1 for none; `sums`: their fingerprints."""

    found: NearPairs
    sums: NDArray[np.uint64]
    row: Ints


def synonyms(
    names: TextColumn, vectors: Floats | VectorRows, threshold: float, known: KnownPairs | None = None
) -> NearPairs:
    """Return near pairs of names with the same numbers in them: 1963 and 1964 are close, but not synonyms."""
    numbers = dict[tuple[str, ...], int]({(): 0})

    def kinds(rows: Ints) -> Ints:
        chosen, of_rows = names.gather(rows), np.zeros(len(rows), np.int64)
        at = np.flatnonzero((chosen.data - ord("0") < 10) | (chosen.data >= 0x80))  # digits, perhaps of another script
        some = sorted_distinct(np.searchsorted(chosen.offsets, at, side="right") - 1)
        found = (tuple(_DIGITS.findall(name)) for name in chosen.gather(some))
        of_rows[some] = [numbers.setdefault(digits, len(numbers)) for digits in found]
        return of_rows

    return near_pairs(vectors, threshold, known, kinds)


def near_pairs(
    vectors: Floats | VectorRows, threshold: float, known: KnownPairs | None = None, kinds: Kinds = np.zeros_like
) -> NearPairs:
    """Return the pairs of rows whose cosine is at least `threshold`, and the pivots of each row.

    About √n rows serve as pivots; every row joins its two nearest pivots and is compared only with rows of the same
    pivots: n·√n comparisons instead of n². A pair without a common pivot is missed; at a threshold of 0.9 these are a
    few in a hundred. With `known` pairs only new rows are compared, and those whose nearest pivots changed: the result
    is the same. `kinds`: gives a number of each of some rows, which the rows of a pair share; by default all do.

    >>> near_pairs(np.float32([[1, 0], [0, 1], [0.99, 0.1]]), 0.9).pairs.tolist()
    [[0, 2]]
    """
    rows = VectorRows.of(vectors)
    pivots, units = _pivots(rows.fingerprints()), _UnitRows(rows)
    updated = None if known is None else _updated_nearest(units, pivots, known)
    if known is None or updated is None:
        nearest = pivots[_nearest(units, units[pivots])]
        parts = [_pairs_in_groups(units, kinds, nearest, np.ones(len(rows), bool), threshold)]
    else:
        nearest, moved = updated
        unchanged = _kept(known)
        first, second = nearest[unchanged[:, 0]], nearest[unchanged[:, 1]]
        unchanged = unchanged[(first[:, :, None] == second[:, None, :]).any(axis=(1, 2))]  # with a pivot in common
        parts = [unchanged, _pairs_in_groups(units, kinds, nearest, moved, threshold)]
    return NearPairs(_distinct(np.concatenate(parts)), nearest.astype(np.int32))


@dataclass(frozen=True)
class _UnitRows:
    """The rows of a matrix at length 1, computed when they are read."""

    vectors: VectorRows

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, at: Any) -> Floats:
        return normalised(np.asarray(self.vectors[at], np.float32))


def _pivots(sums: NDArray[np.uint64]) -> Ints:
    """Return the rows with the smallest fingerprints, a power of two of them near √n."""
    n = len(sums)
    if n <= _ALL:
        return np.arange(min(n, 1))
    count = 2 ** round(np.log2(n) / 2)
    first: Ints = np.flatnonzero(sums <= np.partition(sums, count - 1)[count - 1])
    return first[np.argsort(sums[first], kind="stable")][:count]


def _kept(known: KnownPairs) -> Ints:
    """Return the known pairs of rows that are still there."""
    pairs = np.sort(known.row[known.found.pairs], axis=1)
    return pairs[pairs[:, 0] >= 0]


def _codes(pairs: Ints) -> Ints:
    return pairs[:, 0] << 32 | pairs[:, 1]


def _distinct(pairs: Ints) -> Ints:
    codes = sorted_distinct(_codes(pairs))
    return np.stack((codes >> 32, codes & 0xFFFFFFFF), axis=1)


def _earlier_nearest(n: int, known: KnownPairs) -> Ints:
    """Return the pivots that were nearest to each of `n` rows, -1 for a pivot that is gone and for new rows."""
    present = known.row >= 0
    nearest = np.full((n, known.found.nearest.shape[1]), -1)
    nearest[known.row[present]] = known.row[known.found.nearest[present]]
    return nearest


def _updated_nearest(rows: _UnitRows, pivots: Ints, known: KnownPairs) -> tuple[Ints, NDArray[np.bool_]] | None:
    """Return the pivots nearest to each row, computed only where they may have changed, and which rows have others.

    None where many of the pivots have changed.
    """
    before, unit = known.row[_pivots(known.sums)], rows[pivots]
    nearest, added = _earlier_nearest(len(rows), known), np.setdiff1d(pivots, before)
    if len(before) != len(pivots) or len(added) > len(pivots) // 2:
        return None
    position = np.full(len(rows) + 1, -1)  # the last is that of no pivot
    position[pivots] = np.arange(len(pivots))
    moved = np.asarray((position[nearest.T] < 0).any(axis=0))
    for start in range(0, len(rows) if len(added) else 0, _BLOCK):
        block = rows[start : start + _BLOCK]
        farther = np.einsum("ikj,ij->ik", unit[position[nearest[start : start + _BLOCK]]], block).min(axis=1)
        moved[start : start + _BLOCK] |= _products(block, rows[added]).max(axis=1) >= farther - _SLACK
    again = np.flatnonzero(moved)
    found = pivots[_nearest(_UnitRows(rows.vectors.take(again)), unit)]
    moved[again] = (np.sort(found, axis=1) != np.sort(nearest[again], axis=1)).any(axis=1)
    nearest[again] = found
    return nearest, moved


def _pairs_in_groups(rows: _UnitRows, kinds: Kinds, nearest: Ints, some: NDArray[np.bool_], threshold: float) -> Ints:
    """Return the near pairs of some rows and all with the same pivot, pivot by pivot."""
    touched, pairs = np.zeros(len(rows), bool), [np.empty((0, 2), np.int64)]
    touched[nearest[some]] = True
    member, column = np.nonzero(touched[nearest])
    pivot = nearest[member, column]
    order = np.lexsort((member, pivot))
    for members in np.split(member[order], np.flatnonzero(np.diff(pivot[order])) + 1):
        chosen = np.flatnonzero(some[members])
        pairs.append(_pairs_between(rows.vectors[members], members, kinds, chosen, threshold))
    return np.concatenate(pairs)


def _nearest(rows: _UnitRows, pivots: Floats) -> Ints:
    """Return the two pivots nearest to each row, in any order."""
    probes = min(2, len(pivots))
    nearest: list[NDArray[np.int64]] = [np.empty((0, probes), np.int64)]
    for block in range(0, len(rows), _BLOCK):
        cosines = _products(rows[block : block + _BLOCK], pivots)
        nearest.append(np.argpartition(-cosines, probes - 1, axis=1)[:, :probes].copy())  # a view would keep it all
    return np.concatenate(nearest)


def _products(some: Floats, rows: Floats) -> Floats:
    """Return the products of some rows and all, whose last digits depend on the shapes."""
    return np.einsum("ij,kj->ik", some, rows) if len(some) <= _FEW else some @ rows.T


def _pairs_between(rows: Floats, members: Ints, kinds: Kinds, some: Ints, threshold: float) -> Ints:
    """Return the near pairs of some of these rows, `members`, and any other; a cosine depends on the two alone."""
    pairs, size = [np.empty((0, 2), np.int64)], min(_BLOCK, 1 + _COSINES // max(len(rows), 1))
    kind, lengths = np.zeros(len(rows), np.int64), np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = np.inf  # a zero row is near to none
    unit = np.empty_like(rows)  # of those rows that may be near
    for block in range(0, len(some), size):
        part = some[block : block + size]
        near = _products(rows[part], rows) >= (threshold - _SLACK) * lengths[part, None] * lengths
        alike = np.flatnonzero(near.any(axis=0))
        kind[alike] = kinds(members[alike])
        at, other = np.nonzero(near & (kind[part, None] == kind))
        both = np.sort(np.stack((part[at], other), axis=1), axis=1)
        both = _distinct(both[both[:, 0] < both[:, 1]])
        used = sorted_distinct(both)
        unit[used] = normalised(rows[used])
        for start in range(0, len(both), _BLOCK):
            few = both[start : start + _BLOCK]
            first, second = (unit[few[:, side]].astype(np.float64) for side in (0, 1))
            pairs.append(few[np.einsum("ij,ij->i", first, second) >= threshold])
    return members[np.concatenate(pairs)]
