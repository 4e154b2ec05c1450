"""Vectors in pages that snapshots share: a change writes only the pages in which a vector changes."""

from __future__ import annotations

import ctypes
import mmap
import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import StoreError
from graphwright.files import link
from graphwright.graph.columns import TextColumn
from graphwright.graph.storage import IN_BLOCKS, KNOWN, Sums, checksum_of, damaged_block
from graphwright.kernels.blocks import BLOCK, HalfArray, MappedArray, block_sums
from graphwright.kernels.ranking import Numbering
from graphwright.kernels.strings import fingerprints
from graphwright.models.protocols import Floats

Keys = NDArray[np.uint64]  # 128 bits for the text of each vector: uint64[rows, 2], zeros without a text
_SEED = 0x5851F42D4C957F2D  # of the second half of a key
_BLOCK = 4_096  # rows that are read at a time


def row_sums(vectors: Floats | HalfArray | VectorRows) -> Sums:
    """Return a fingerprint of each vector, of its numbers in float32, never 0: uint64[rows]."""
    parts = [np.empty(0, np.uint64)]
    for start in range(0, len(vectors), _BLOCK):
        rows = np.ascontiguousarray(vectors[start : start + _BLOCK], np.float32)
        size = np.arange(len(rows) + 1, dtype=np.int64) * rows[0].nbytes
        parts.append(np.maximum(fingerprints(rows.reshape(-1).view(np.uint8), size), np.uint64(1)))
    return np.concatenate(parts)


def text_keys(texts: TextColumn) -> Keys:
    """Return the key of each text."""
    halves = (fingerprints(texts.data, texts.offsets, seed) for seed in (0, _SEED))
    return np.maximum(np.stack(tuple(halves), axis=1), np.uint64(1))


class VectorRows:
    """A matrix whose i-th row is row `row[i]` of `base`, followed by `new`; reading it returns a copy, float32.

    `sums`: the fingerprint of each row of `base`, where they are known (see `row_sums`). `keys`: the key of the text of
    each row of `base` and `new`, by default none.

    >>> rows = VectorRows(np.float32([[1, 0], [0, 1]]), np.float32([[5, 5]]), np.array([2, 0]))
    >>> len(rows), rows[:1].tolist(), rows[[1]].tolist(), np.asarray(rows).tolist()
    (2, [[5.0, 5.0]], [[1.0, 0.0]], [[5.0, 5.0], [1.0, 0.0]])
    """

    def __init__(
        self,
        base: Floats | HalfArray,
        new: Floats | HalfArray | VectorRows,
        row: NDArray[np.integer[Any]],
        sums: Sums | None = None,
        keys: Keys | None = None,
    ) -> None:
        self.base, self.new, self.row, self.sums = base, new, np.asarray(row, np.int64), sums
        self.keys: Keys = np.zeros((len(base) + len(new), 2), np.uint64) if keys is None else keys
        self.shape: tuple[int, int] = (len(self.row), new.shape[1] if len(new) or not len(base) else base.shape[1])

    @classmethod
    def of(cls, vectors: Floats | HalfArray | VectorRows) -> VectorRows:
        """Return rows as they are, or those of an array."""
        if isinstance(vectors, VectorRows):
            return vectors
        return cls(vectors, np.empty((0, vectors.shape[1]), np.float32), np.arange(len(vectors)))

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, at: ArrayLike | slice) -> Floats:
        rows = self.row[at if isinstance(at, slice) else np.asarray(at, np.int64)]
        n = len(self.base)
        old, out = rows < n, np.empty((len(rows), self.shape[1]), np.float32)
        for part, at_part, offset in ((self.base, old, 0), (self.new, ~old, n)):
            if at_part.any():  # an empty matrix may have another width
                out[at_part] = part[rows[at_part] - offset]
        return out

    def find(self, keys: Keys) -> NDArray[np.int64]:
        """Return the row of `base` and `new` that has each key, -1 for none."""
        numbering = Numbering()
        number = numbering.take(self.keys[:, 0])
        first = np.full(len(numbering) + 1, -1)  # the last is that of unknown keys
        first[number[::-1]] = np.arange(len(number))[::-1]
        row = first[numbering.find(keys[:, 0])]
        equal = (np.concatenate((self.keys, np.zeros((1, 2), np.uint64)))[row] == keys).all(axis=1)
        return np.where(equal, row, -1)

    def extended(self, added: HalfArray, keys: Keys, row: NDArray[np.integer[Any]]) -> VectorRows:
        """Return these rows of `base`, `new`, and of `added` vectors with the keys of their texts."""
        if len(self.new):
            added = HalfArray.of(np.concatenate([np.asarray(part) for part in (self.new, added) if len(part)]))
        return VectorRows(self.base, added, row, self.sums, np.concatenate((self.keys, keys)))

    def take(self, at: NDArray[np.integer[Any]]) -> VectorRows:
        """Return some rows, without copies."""
        return VectorRows(self.base, self.new, self.row[at], self.sums, self.keys)

    def fingerprints(self) -> Sums:
        """Return the fingerprint of each row."""
        base = row_sums(self.base) if self.sums is None else np.asarray(self.sums)
        return np.concatenate((base, row_sums(self.new)))[self.row]

    def positions(self) -> NDArray[np.int64]:
        """Return the position of each row of `base`, then of `new`, -1 for a row that is left out."""
        at = np.full(len(self.base) + len(self.new), -1)
        at[self.row] = np.arange(len(self.row))
        return at

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype, copy=copy)


PAGE = 4 * 2**20  # maximum bytes of a page, unless one block of whole vectors has more
_ITEM = 2  # bytes of a number
_SMALL = 4  # units of rows of a last page that is filled up rather than followed by another
_MAX_UNUSED = 1 / 4  # share of rows without a text; above it all pages are written anew
_FIXED = 0x10  # MAP_FIXED of Linux and macOS


@dataclass(frozen=True, eq=False)
class Pages:
    """The pages of one space of a snapshot.

    `borders`: the first row of each page, and the number of rows, those without a text included. `blocks`: the checksum
    of each block of 16 KB; `sums`: a fingerprint of each vector, 0 for a row without a text.
    """

    folder: Path
    name: str
    dimension: int
    borders: list[int]
    blocks: Sums
    sums: Sums

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.borders[-1]

    def paths(self) -> list[Path]:
        """Return the files, in order."""
        return [self.folder / f"{self.name}.{first:09d}.page" for first in self.borders[:-1]]

    def checksums(self) -> dict[str, int]:
        """Return the checksum of each file, by name."""
        ends, sums = np.cumsum(self.sizes()) // BLOCK, dict[str, int]()
        for path, size, end in zip(self.paths(), self.sizes(), ends.tolist(), strict=True):
            sums[path.name] = checksum_of(self.blocks[end - size // BLOCK : end], size)
        return sums

    def sizes(self) -> list[int]:
        """Return the bytes of each file."""
        return [_ITEM * self.dimension * (end - first) for first, end in pairwise(self.borders)]


def _unit(dimension: int) -> int:
    """Return the rows of which every page has a multiple: whole blocks."""
    return BLOCK // gcd(BLOCK, _ITEM * max(dimension, 1))


def _extended(borders: list[int], rows: int, dimension: int) -> list[int]:
    """Return borders of pages up to `rows`; the last pages are joined while none is more than twice the next.

    >>> _extended([0, 320, 384], 448, 384), _extended([0, 1000, 1064], 1128, 384)
    ([0, 320, 448], [0, 1000, 1128])
    """
    unit, ends = _unit(dimension), list(borders)
    limit = max(PAGE // (_ITEM * max(dimension, 1) * unit), 1) * unit
    while ends[-1] < rows:
        ends.append(min(ends[-1] + limit, rows))
    while len(ends) > 2 and ends[-1] - ends[-3] <= limit and ends[-2] - ends[-3] <= 2 * (ends[-1] - ends[-2]):
        del ends[-2]
    return ends


def map_pages(pages: Pages) -> HalfArray:
    """Return all rows as one mapped matrix, verified; above 64 MB when a block is first read. Raises StoreError."""
    raw = _mapped(pages.paths(), pages.sizes())
    values = raw.view(np.uint16).reshape(pages.rows, pages.dimension)
    if pages.blocks.shape != (raw.size // BLOCK,) or pages.sums.shape != (pages.rows,):
        raise StoreError(f"{pages.folder}: checksums of vectors of {pages.name} are missing; build the index again.")

    def damage(block: int) -> StoreError:
        row = block * BLOCK // (_ITEM * pages.dimension)
        at = bisect_right(pages.borders, row) - 1
        return damaged_block(pages.paths()[at], block - _ITEM * pages.dimension * pages.borders[at] // BLOCK)

    if raw.size > IN_BLOCKS:
        return HalfArray(MappedArray(raw, values, pages.blocks, damage))
    first = 0
    for path, checksum in zip(pages.paths(), pages.checksums().values(), strict=True):
        about = path.stat()
        end = first + about.st_size // BLOCK
        if KNOWN.get(about) != checksum:
            wrong = np.flatnonzero(block_sums(raw[first * BLOCK : end * BLOCK]) != pages.blocks[first:end])
            if wrong.size:
                raise damage(first + int(wrong[0]))
            KNOWN.put(about, checksum)
        first = end
    values.flags.writeable = False
    return HalfArray(values)


def _mapped(paths: Sequence[Path], sizes: Sequence[int]) -> NDArray[np.uint8]:
    """Return the bytes of files end to end, mapped if the system can, else read."""
    for path, size in zip(paths, sizes, strict=True):
        try:
            actual = path.stat().st_size
        except FileNotFoundError as error:
            raise StoreError(f"{path} is missing; build the index again.") from error
        if actual != size:
            raise StoreError(f"{path} is cut short or damaged: {actual:,} bytes, not {size:,}; build the index again.")
    if not sizes or os.name != "posix" or any(size % mmap.PAGESIZE for size in sizes):
        return np.concatenate([np.empty(0, np.uint8), *(np.fromfile(path, np.uint8) for path in paths)])
    region = mmap.mmap(-1, sum(sizes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    raw = np.frombuffer(region, np.uint8)
    place, map_file = raw.ctypes.data, ctypes.CDLL(None, use_errno=True).mmap
    map_file.restype, map_file.argtypes = ctypes.c_void_p, (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    )  # fmt: skip
    for path, size in zip(paths, sizes, strict=True):
        with path.open("rb") as file:
            # The region is this process's own, so nothing else is replaced.
            address = map_file(place, size, mmap.PROT_READ, mmap.MAP_SHARED | _FIXED, file.fileno(), 0)
        if address != place:
            number = ctypes.get_errno()
            raise StoreError(f"{path} cannot be mapped.") from OSError(number, os.strerror(number))
        place += size
    return raw


def write_pages(folder: Path, name: str, vectors: VectorRows, before: Pages | None) -> tuple[Pages, NDArray[np.int32]]:
    """Write a space's vectors into a new snapshot; return pages and rows. `before`: pages of its base, if any."""
    width = vectors.shape[1]
    if before is not None and before.dimension == width and len(vectors.base) == before.rows:
        plan = _planned(vectors, before)
        if np.count_nonzero(plan.source < 0) <= max(_MAX_UNUSED * len(plan.source), _unit(width)):
            return _write(folder, vectors, before, plan), plan.place
    row, number = np.unique(vectors.row, return_inverse=True)
    each = VectorRows(vectors.base, vectors.new, row[_by_first(number)])
    rank = np.empty(len(row), np.int64)
    rank[_by_first(number)] = np.arange(len(row))
    fresh, none = VectorRows(np.empty((0, width), np.float32), each, rank[number]), np.empty(0, np.uint64)
    empty = Pages(folder, name, width, [0], none, none)
    plan = _planned(fresh, empty)
    return _write(folder, fresh, empty, plan), plan.place


def _by_first(number: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.argsort(np.unique(number, return_index=True)[1], kind="stable")


class _Plan(NamedTuple):
    """The `source` of each row of pages: a row of the base (from 0) or of the new vectors (from n), -1 for none.

    `place`: the row of each vector; `changed: bool`: whether the vector of each row is new or erased.
    """

    source: NDArray[np.int64]
    place: NDArray[np.int32]
    changed: NDArray[np.bool_]


def _planned(vectors: VectorRows, before: Pages) -> _Plan:
    """Plan rows: used rows of the base keep their place, new vectors go into pages that are written anyway."""
    n, unit = before.rows, _unit(before.dimension)
    live = np.zeros(n + len(vectors.new), bool)
    live[vectors.row] = True
    new = n + np.flatnonzero(live[n:])
    erased = np.flatnonzero((before.sums != 0) & ~live[:n])
    sizes = np.diff(before.borders)
    page, is_written = np.repeat(np.arange(len(sizes)), sizes), np.zeros(len(sizes), bool)
    is_written[page[erased]] = True
    is_written[-1:] |= sizes[-1:] <= _SMALL * unit
    free = np.flatnonzero(~live[:n] & is_written[page])[: len(new)]
    more = len(new) - len(free)
    source = np.full(n + -(-more // unit) * unit, -1)
    at = np.concatenate((np.flatnonzero(live[:n]), free, n + np.arange(more)))
    source[at] = stored = np.concatenate((np.flatnonzero(live[:n]), new))
    place = np.full(len(live), -1, np.int32)
    place[stored] = at
    changed = source >= n
    changed[erased] = True
    return _Plan(source, place[vectors.row], changed)


def _write(folder: Path, vectors: VectorRows, old: Pages, plan: _Plan) -> Pages:
    width, rows, source = old.dimension, len(plan.source), plan.source
    sums, blocks = np.zeros(rows, np.uint64), np.zeros(_ITEM * width * rows // BLOCK, np.uint64)
    sums[: old.rows], blocks[: len(old.blocks)] = old.sums, old.blocks
    pages = Pages(folder, old.name, width, _extended(old.borders, rows, width), blocks, sums)
    linked = dict(zip(pairwise(old.borders), old.paths(), strict=True))
    for (first, end), path in zip(pairwise(pages.borders), pages.paths(), strict=True):
        if (first, end) in linked and not plan.changed[first:end].any():
            link(linked[first, end], path)
            continue
        content, used = np.zeros((end - first, width), np.float32), source[first:end] >= 0
        content[used] = VectorRows(vectors.base, vectors.new, source[first:end][used])[:]
        halves = HalfArray.of(content)
        sums[first:end] = np.where(used, row_sums(halves), np.uint64(0))
        data = halves.bits.reshape(-1).view(np.uint8)
        begin = _ITEM * width * first // BLOCK
        blocks[begin : begin + data.size // BLOCK] = block_sums(data)
        path.write_bytes(data.data)
    return pages
