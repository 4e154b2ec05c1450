"""Files of an image: a base that snapshots share, and what has changed since it was written.

`image.base` has the arrays of an image one behind the other, each from a multiple of 64 bytes on. `image.patch` has
lines of 64 bytes that replace those of the base, each after its number. Snapshots of a history link the base, until the
patch has more than an eighth of its size or an array has no room; then a new base is written. Lines of the base that
are replaced are never read, so texts of removed documents in them are overwritten with zeros.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.files import link
from graphwright.kernels.blocks import block_sums
from graphwright.search.image import Dense, Image

BASE, PATCH = "image.base", "image.patch"
_LINE = 64  # bytes
_MAX_PATCH = 1 / 8  # of the base
Layout = Sequence[tuple[str, str, Sequence[int]]]
"""Name, type and shape of each array of an image, in order."""
Bytes = NDArray[np.uint8]


def write_image(folder: Path, dense: Dense, before: Path | None, layout: Layout | None) -> tuple[Layout, int]:
    """Write the image of a snapshot; return its layout, and a checksum of its arrays.

    `before`, `layout`: the snapshot before it and the layout of its image, if it has one.
    """
    if before is not None and layout is not None:
        base, patched = _read(before)
        image = Image.of(dense, Image.read(dict(_arrays(patched, layout))))
        if image is not None and _layout(image) == [*map(_entry, layout)]:
            data = _joined(image)
            lines = np.flatnonzero((_lines(data) != _lines(base)).any(axis=1))
            if lines.size * _LINE <= data.size * _MAX_PATCH:
                link(before / BASE, folder / BASE)
                np.column_stack((lines.astype(np.uint64), _lines(data)[lines])).tofile(folder / PATCH)
                return layout, _checksum(data)
    fresh = Image.of(dense)
    assert fresh is not None  # a new image has room
    data = _joined(fresh)
    data.tofile(folder / BASE)
    (folder / PATCH).touch()
    return _layout(fresh), _checksum(data)


def read_image(folder: Path, layout: Layout) -> Dense:
    """Return the arrays of a snapshot's image without room. Raises StoreError for damaged files."""
    try:
        return Image.read(dict(_arrays(_read(folder)[1], [*map(_entry, layout)]))).dense()
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise StoreError(f"{folder / BASE} is missing or damaged ({error}); build the index again.") from error


def image_checksum(folder: Path) -> int:
    """Return the checksum of an image. Raises OSError or ValueError for files that do not belong together."""
    try:
        return _checksum(_read(folder)[1])
    except IndexError as error:
        raise ValueError(f"{folder / PATCH} is damaged") from error


def erase_replaced(folder: Path, layout: Layout) -> None:
    """Overwrite with zeros the texts in the base that the snapshot replaces; doing so again changes nothing."""
    base = _read(folder)[0]
    lines = np.fromfile(folder / PATCH, np.uint64).reshape(-1, 9)[:, 0].astype(np.int64)
    lines, ends = lines[_lines(base)[lines].any(axis=1)], np.zeros(len(_lines(base)), bool)
    for name, first, size in _places(layout):
        ends[first // _LINE : -(-(first + size) // _LINE)] = name.endswith(" heap")
    with (folder / BASE).open("r+b") as file:
        for line in lines[ends[lines]].tolist():
            file.seek(line * _LINE)
            file.write(bytes(_LINE))
        file.flush()
        os.fsync(file.fileno())


def _read(folder: Path) -> tuple[Bytes, Bytes]:
    """Return the base, and the image that it is with the patch."""
    base = np.fromfile(folder / BASE, np.uint8)
    patch, patched = np.fromfile(folder / PATCH, np.uint64).reshape(-1, 9), base.copy()
    _lines(patched)[patch[:, 0].astype(np.int64)] = patch[:, 1:]
    return base, patched


def _lines(data: Bytes) -> NDArray[np.uint64]:
    return data.view(np.uint64).reshape(-1, _LINE // 8)


def _entry(part: tuple[str, str, Sequence[int]]) -> tuple[str, str, Sequence[int]]:
    return part[0], part[1], tuple(part[2])


def _layout(image: Image) -> list[tuple[str, str, Sequence[int]]]:
    return [(name, array.dtype.str, array.shape) for name, array in image.arrays.items()]


def _places(layout: Layout) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each array, the first byte of it, and how many it has."""
    first = 0
    for name, kind, shape in layout:
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        yield name, first, size
        first += -(-size // _LINE) * _LINE


def _arrays(data: Bytes, layout: Layout) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of an image."""
    for (name, first, size), (_, kind, shape) in zip(_places(layout), layout, strict=True):
        yield name, data[first : first + size].view(kind).reshape(shape)


def _joined(image: Image) -> Bytes:
    """Return the arrays of an image one behind the other."""
    layout = _layout(image)
    *_, (_, first, size) = _places(layout)
    data = np.zeros(-(-(first + size) // _LINE) * _LINE, np.uint8)
    for name, array in _arrays(data, layout):
        array[...] = image.arrays[name]
    return data


def _checksum(data: Bytes) -> int:
    return zlib.crc32(block_sums(data).tobytes(), data.size & 0xFFFFFFFF)
