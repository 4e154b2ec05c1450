"""Pairs of near vectors among many, updated where only few of them are new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.index.vector_index import normalised
from graphwright.index.vector_rows import VectorRows
from graphwright.models.protocols import Floats

__all__ = ["KnownPairs", "near_pairs", "synonyms"]

_DIGITS = re.compile(r"\d+")
_ALL = 256  # rows up to which all are compared with all
_FEW = 4  # times √n new rows, up to which only these are compared
_MOVED = 16  # pivots that may change
_SLACK = 1e-3  # of a cosine by matrix product, which depends on the shape of the matrices in its last digits
_BLOCK = 2048  # rows compared at once, which bounds the memory


class KnownPairs(NamedTuple):
    """Earlier vectors, the near pairs of their rows, and the row of each among the new vectors, -1 for none."""

    vectors: Floats | VectorRows
    pairs: Ints
    row: Ints


def synonyms(
    names: Sequence[str], vectors: Floats | VectorRows, threshold: float, known: KnownPairs | None = None
) -> Ints:
    """Return near pairs of names with the same numbers in them: 1963 and 1964 are close, but not synonyms."""
    pairs = near_pairs(vectors, threshold, known)
    digits = {row: _DIGITS.findall(names[row]) for row in np.unique(pairs).tolist()}
    equal = np.fromiter((digits[i] == digits[j] for i, j in pairs.tolist()), bool, len(pairs))
    synonymous: Ints = pairs[equal]
    return synonymous


def near_pairs(vectors: Floats | VectorRows, threshold: float, known: KnownPairs | None = None) -> Ints:
    """Return pairs (i < j) of rows whose cosine is at least `threshold`: int64[pairs, 2], sorted.

    About √n rows serve as pivots; every row joins its two nearest pivots and is compared only with rows of the same
    pivots: n·√n comparisons instead of n². A pair without a common pivot is missed; at a threshold of 0.9 these are a
    few in a hundred. The pivots are a function of the set of rows that rarely changes, so that with `known` pairs only
    new rows are compared: the result is the same.

    >>> near_pairs(np.float32([[1, 0], [0, 1], [0.99, 0.1]]), 0.9).tolist()
    [[0, 2]]
    """
    pivots = _pivots(vectors)
    pairs = None if known is None else _updated(pivots, vectors, threshold, known)
    if pairs is None:
        pairs = _all_pairs(normalised(np.asarray(vectors, np.float32)), pivots, threshold)
    distinct_pairs: Ints = np.unique(pairs, axis=0)
    return distinct_pairs


@dataclass(frozen=True)
class _UnitRows:
    """The rows of a matrix at length 1, computed when they are read."""

    vectors: Floats | VectorRows

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, at: Any) -> Floats:
        return normalised(np.asarray(self.vectors[at], np.float32))


def _first_numbers(vectors: Floats | VectorRows, count: int) -> Floats:
    if not isinstance(vectors, VectorRows):
        return np.asarray(vectors[:, :count], np.float32)
    both = [np.asarray(part, np.float32)[:, :count] for part in (vectors.base, vectors.new) if len(part)]
    return np.concatenate(both)[vectors.row]


def _pivots(vectors: Floats | VectorRows) -> Ints:
    """Return the rows with the smallest hashes of their first numbers, a power of two of them near √n."""
    n = len(vectors)
    if n <= _ALL:
        return np.arange(min(n, 1))
    bits = np.ascontiguousarray(_first_numbers(vectors, 4)).view(np.uint32).astype(np.uint64)
    multipliers = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64)
    mixed = (bits * multipliers[: bits.shape[1]]).sum(axis=1)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * multipliers[0]
    order: Ints = np.argsort(mixed ^ (mixed >> np.uint64(32)), kind="stable")
    return order[: 2 ** round(np.log2(n) / 2)]


def _all_pairs(rows: Floats, pivots: Ints, threshold: float) -> Ints:
    """Compare all rows of the same pivots."""
    groups = _groups(_nearest(rows, rows[pivots])[0])
    return np.concatenate([_pairs_between(rows, members, members, threshold) for members in groups])


def _groups(nearest: Ints) -> list[Ints]:
    """Return the rows of each pivot, ascending, given the pivots of each row."""
    member, pivot = np.repeat(np.arange(len(nearest)), nearest.shape[1]), nearest.ravel()
    order = np.lexsort((member, pivot))
    return np.split(member[order], np.flatnonzero(np.diff(pivot[order])) + 1)


def _updated(pivots: Ints, vectors: Floats | VectorRows, threshold: float, known: KnownPairs) -> Ints | None:
    """Compare new rows with all, and keep the known pairs; None where many pivots have changed or many rows are new.

    Where a few pivots have changed, rows that had or have one of them are compared within their groups again.
    """
    rows, before, is_new = _UnitRows(vectors), _pivots(known.vectors), np.ones(len(vectors), bool)
    is_new[known.row[known.row >= 0]] = False
    fresh = np.flatnonzero(is_new)
    added = np.setdiff1d(pivots, known.row[before])
    removed = before[~np.isin(known.row[before], pivots)]
    if len(before) != len(pivots) or len(added) > _MOVED or len(fresh) > _FEW * len(pivots):
        return None
    candidates = _near_new(VectorRows.of(vectors), fresh, threshold)
    kept = np.sort(known.row[known.pairs], axis=1)
    kept, pairs = kept[kept[:, 0] >= 0], candidates[_cosines(rows, candidates) >= threshold]
    if len(added):
        nearest, farther = _nearest(rows, rows[pivots])
        moved = np.asarray(np.isin(pivots[nearest], added).any(axis=1))
        gone = normalised(np.asarray(known.vectors[removed], np.float32))
        for start in range(
            0, len(rows), _BLOCK
        ):  # rows to which a removed pivot was as near as the second that is left
            part = slice(start, start + _BLOCK)
            moved[part] |= ((rows[part] @ gone.T) >= farther[part, None] - _SLACK).any(axis=1)
        pairs = np.concatenate((kept, pairs, *_pairs_in_groups(rows, nearest, moved, threshold)))
        return pairs[_share(nearest[pairs[:, 0]], nearest[pairs[:, 1]])]
    nearest = _nearest(rows[pairs.ravel()], rows[pivots])[0].reshape(len(pairs), 2, min(2, len(pivots)))
    return np.concatenate((kept, pairs[_share(nearest[:, 0], nearest[:, 1])]))


def _share(first: Ints, second: Ints) -> NDArray[np.bool_]:
    """Return which rows of pivots have a pivot in common."""
    common: NDArray[np.bool_] = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    return common


def _pairs_in_groups(rows: _UnitRows, nearest: Ints, some: NDArray[np.bool_], threshold: float) -> Iterator[Ints]:
    """Yield the near pairs of some rows and the others with the same pivot, pivot by pivot."""
    for members in _groups(nearest):
        if some[members].any():
            unit = rows[members]
            chosen = np.flatnonzero(some[members])
            yield members[_pairs_between(unit, chosen, np.arange(len(members)), threshold)]


def _near_new(vectors: VectorRows, fresh: Ints, threshold: float) -> Ints:
    """Return pairs of a new row and another that may be near, the smaller first; rows are read where they lie."""
    unit, position, offset = normalised(vectors[fresh]), vectors.positions(), 0
    pairs = [np.empty((0, 2), np.int64)]
    for part in (vectors.base, vectors.new):
        for start in range(0, len(part), _BLOCK):
            block = np.asarray(part[start : start + _BLOCK], np.float32)
            lengths = np.linalg.norm(block, axis=1)
            limits = (threshold - _SLACK) * np.where(lengths > 0, lengths, 1)
            at, new = np.nonzero(block @ unit.T >= limits[:, None])
            pairs.append(np.stack((position[offset + start + at], fresh[new]), axis=1))
        offset += len(part)
    both = np.sort(np.concatenate(pairs), axis=1)
    return np.unique(both[(both[:, 0] >= 0) & (both[:, 0] < both[:, 1])], axis=0)


def _nearest(rows: Floats | _UnitRows, pivots: Floats) -> tuple[Ints, Floats]:
    """Return the two pivots nearest to each row, in any order, and the cosine with the farther of both."""
    probes = min(2, len(pivots))
    nearest: list[NDArray[np.int64]] = [np.empty((0, probes), np.int64)]
    farther: list[Floats] = [np.empty(0, np.float32)]
    for block in range(0, len(rows), _BLOCK):
        cosines = rows[block : block + _BLOCK] @ pivots.T
        nearest.append(np.argpartition(-cosines, probes - 1, axis=1)[:, :probes])
        farther.append(np.take_along_axis(cosines, nearest[-1], axis=1).min(axis=1))
    return np.concatenate(nearest), np.concatenate(farther)


def _pairs_between(rows: Floats, some: Ints, others: Ints, threshold: float) -> Ints:
    """Return the near pairs of a row of `some` and one of `others`, the smaller first."""
    pairs = [np.empty((0, 2), np.int64)]
    for block in range(0, len(some), _BLOCK):
        part = some[block : block + _BLOCK]
        at, other = np.nonzero(rows[part] @ rows[others].T >= threshold - _SLACK)
        both = np.sort(np.stack((part[at], others[other]), axis=1), axis=1)
        both = np.unique(both[both[:, 0] < both[:, 1]], axis=0)
        pairs.append(both[_cosines(rows, both) >= threshold])
    return np.concatenate(pairs)


def _cosines(rows: Floats | _UnitRows, pairs: Ints) -> NDArray[np.float64]:
    """Return the cosines of pairs of rows, which do not depend on other rows."""
    first, second = (rows[pairs[:, side]].astype(np.float64) for side in (0, 1))
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", first, second)
    return cosines
