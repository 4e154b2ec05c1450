"""Files of vectors in pages that snapshots share: a change writes only the pages that it touches.

A page is a file of at most 4 MB with whole vectors, in half precision, and never changes. A new snapshot links the
unchanged pages of the snapshot before it, and writes the others anew; vectors of removed texts are overwritten with
zeros. So the row of a vector depends on the history, its content does not. Pages are mapped side by side as one matrix
for kernels; each block of 16 KB is verified against its checksum.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.files import link
from graphwright.graph.storage import IN_BLOCKS, damaged_block
from graphwright.kernels.blocks import BLOCK, MappedArray, block_sums
from graphwright.kernels.half import HalfArray
from graphwright.search.vector_rows import Sums, VectorRows, row_sums

PAGE = 4 * 2**20
"""Maximum bytes of a page, unless one block of whole vectors has more."""
_ITEM = 2  # bytes of a number
_MAX_UNUSED = 1 / 4  # share of rows without a text; above it all pages are written anew
_FIXED = 0x10  # MAP_FIXED of Linux and macOS
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pages:
    """The pages of one space of a snapshot.

    `rows` of `dimension` numbers, those without a text included, `page_rows` in each page but the last; `blocks`: the
    checksum of each block of 16 KB; `sums`: a fingerprint of each vector, 0 for a row without a text.
    """

    folder: Path
    name: str
    rows: int
    dimension: int
    page_rows: int
    blocks: Sums
    sums: Sums

    @classmethod
    def empty(cls, folder: Path, name: str, dimension: int) -> Pages:
        """Return pages without rows."""
        none, unit = np.empty(0, np.uint64), _unit(dimension)
        return cls(folder, name, 0, dimension, max(PAGE // (_ITEM * max(dimension, 1) * unit), 1) * unit, none, none)

    def paths(self) -> list[Path]:
        """Return the files, in order."""
        return [self.folder / f"{self.name}.{at:05d}.page" for at in range(-(-self.rows // self.page_rows))]

    def sizes(self) -> list[int]:
        """Return the bytes of each file."""
        each = self.page_rows
        return [_ITEM * self.dimension * (min(start + each, self.rows) - start) for start in range(0, self.rows, each)]


def _unit(dimension: int) -> int:
    """Return the rows of which every page has a multiple: whole blocks."""
    return BLOCK // gcd(BLOCK, _ITEM * max(dimension, 1))


def map_pages(pages: Pages) -> HalfArray:
    """Return all rows as one mapped matrix: up to 64 MB verified now, else each block before it is first read.

    Raises StoreError for a page that is missing, cut short or damaged.
    """
    raw = _mapped(pages.paths(), pages.sizes())
    values = raw.view(np.uint16).reshape(pages.rows, pages.dimension)
    if pages.blocks.shape != (raw.size // BLOCK,) or pages.sums.shape != (pages.rows,):
        raise StoreError(f"{pages.folder}: checksums of vectors of {pages.name} are missing; build the index again.")

    def damage(block: int) -> StoreError:
        at, inside = divmod(block * BLOCK, _ITEM * pages.dimension * pages.page_rows)
        return damaged_block(pages.paths()[at], inside // BLOCK)

    if raw.size > IN_BLOCKS:
        return HalfArray(MappedArray(raw, values, pages.blocks, damage))
    wrong = np.flatnonzero(block_sums(raw) != pages.blocks)
    if len(wrong):
        raise damage(int(wrong[0]))
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
    """Write the vectors of a space into the folder of a new snapshot.

    `before`: the pages that the base of `vectors` is mapped from, if any. Return the pages, and the row of each vector.
    """
    width = vectors.shape[1]
    if before is not None and before.dimension == width and len(vectors.base) == before.rows:
        plan = _Plan.of(vectors, before)
        if plan.unused <= max(_MAX_UNUSED * plan.rows, _unit(width)):
            return plan.write(folder, name)
    row, number = np.unique(vectors.row, return_inverse=True)
    each = VectorRows(vectors.base, vectors.new, row[_by_first(number)])
    rank = np.empty(len(row), np.int64)
    rank[_by_first(number)] = np.arange(len(row))
    fresh = VectorRows(np.empty((0, width), np.float32), each, rank[number])
    return _Plan.of(fresh, Pages.empty(folder, name, width)).write(folder, name)


def _by_first(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct numbers, all from 0 to the largest, in the order of their first appearance."""
    return np.argsort(np.unique(number, return_index=True)[1], kind="stable")


@dataclass(frozen=True, eq=False)
class _Plan:
    """Assignment of vectors to rows: `source` of each row is a row of the base (from 0) or of the new ones (from n)."""

    vectors: VectorRows
    before: Pages
    source: NDArray[np.int64]
    place: NDArray[np.int32]
    dirty: Mask

    @property
    def rows(self) -> int:
        return len(self.source)

    @property
    def unused(self) -> int:
        return int((self.source < 0).sum())

    @classmethod
    def of(cls, vectors: VectorRows, before: Pages) -> _Plan:
        """Plan rows: used rows of the base keep their place, new vectors go into pages that are written anyway."""
        n, each, row = before.rows, before.page_rows, vectors.row
        live = np.zeros(n + len(vectors.new), bool)
        live[row] = True
        new = n + np.flatnonzero(live[n:])
        erased = np.flatnonzero((before.sums != 0) & ~live[:n])
        dirty = np.zeros(-(-n // each) + 1, bool)
        dirty[erased // each] = True
        page = np.arange(n) // each
        if np.count_nonzero(~live[:n] & dirty[page]) < len(new):
            dirty[n // each] = n % each > 0
        free = np.flatnonzero(~live[:n] & dirty[page])[: len(new)]
        more = len(new) - len(free)
        unit = _unit(before.dimension)
        rows = n + -(-more // unit) * unit
        source = np.full(rows, -1)
        source[:n][live[:n]] = np.flatnonzero(live[:n])
        at = np.concatenate((free, n + np.arange(more)))
        source[at] = new
        place_of = np.full(n + len(vectors.new), -1, np.int32)
        place_of[:n][live[:n]] = np.flatnonzero(live[:n])
        place_of[new] = at
        pages = np.zeros(-(-rows // each), bool)
        pages[: len(dirty)] = dirty[: len(pages)]
        pages[np.unique(at // each)] = True
        return cls(vectors, before, source, place_of[row], pages)

    def write(self, folder: Path, name: str) -> tuple[Pages, NDArray[np.int32]]:
        """Write the pages that change, and link the others."""
        old, n, each = self.before, self.before.rows, self.before.page_rows
        blocks = np.zeros(_ITEM * old.dimension * self.rows // BLOCK, np.uint64)
        blocks[: len(old.blocks)] = old.blocks
        sums = np.zeros(self.rows, np.uint64)
        unchanged = (self.source >= 0) & (self.source < n)
        sums[unchanged] = old.sums[self.source[unchanged]]
        pages = Pages(folder, name, self.rows, old.dimension, each, blocks, sums)
        for at, path in enumerate(pages.paths()):
            if not self.dirty[at]:
                link(old.paths()[at], path)
                continue
            rows = slice(at * each, min((at + 1) * each, self.rows))
            content = self._content(self.source[rows])
            sums[rows] = np.where(self.source[rows] >= 0, row_sums(content), np.uint64(0))
            data = content.bits.reshape(-1).view(np.uint8)
            first = _ITEM * old.dimension * rows.start // BLOCK
            blocks[first : first + data.size // BLOCK] = block_sums(data)
            path.write_bytes(data.data)
        return pages, self.place

    def _content(self, source: NDArray[np.int64]) -> HalfArray:
        content, has = np.zeros((len(source), self.before.dimension), np.float32), source >= 0
        content[has] = VectorRows(self.vectors.base, self.vectors.new, source[has])[:]
        return HalfArray.of(content)
