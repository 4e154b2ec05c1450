"""Files of an image: a base that snapshots share, and what has changed since it was written.

`image.base` has the arrays of an image one behind the other, each from a multiple of 64 bytes on. `image.patch` has
lines of 64 bytes that replace those of the base, each after its number. Snapshots of a history link the base, until the
patch has more than an eighth of its size or an array has no room; then a new base is written. Lines of the base that
are replaced are never read, so texts of removed documents in them are overwritten with zeros.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.files import flush, link
from graphwright.kernels.blocks import block_sums
from graphwright.search.image import Dense, Image

BASE, PATCH = "image.base", "image.patch"
_LINE = 64  # bytes
_MAX_PATCH = 1 / 8  # of the base
Layout = list[list[Any]]
"""Name, type and shape of each array of an image, in order."""
Bytes = NDArray[np.uint8]


def write_image(folder: Path, dense: Dense, before: Path | None, layout: Layout | None) -> tuple[Layout, int]:
    """Write the image of a snapshot; return its layout, and a checksum of its arrays.

    `before`, `layout`: the snapshot before it and the layout of its image, if it has one.
    """
    if before is not None and layout is not None:
        image = Image.of(dense, Image.read(dict(_arrays(_patched(before), layout))))
        if image is not None and _layout(image) == layout:
            data, base = _joined(image), np.fromfile(before / BASE, np.uint8)
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
        return Image.read(dict(_arrays(_patched(folder), layout))).dense()
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise StoreError(f"{folder / BASE} is missing or damaged ({error}); build the index again.") from error


def image_checksum(folder: Path) -> int:
    """Return the checksum of an image. Raises OSError, ValueError or IndexError for damaged files."""
    return _checksum(_patched(folder))


def erase_replaced(folder: Path, layout: Layout) -> None:
    """Overwrite with zeros the texts in the base that the snapshot replaces; doing so again changes nothing."""
    base, is_text = np.fromfile(folder / BASE, np.uint8), np.zeros(0, bool)
    for name, _, size in _places(layout):
        is_text = np.append(is_text, np.full(-(-size // _LINE), name.endswith(" heap")))
    lines = _patch(folder)[:, 0].astype(np.int64)
    lines = lines[is_text[lines] & _lines(base)[lines].any(axis=1)]
    if len(lines):
        with (folder / BASE).open("r+b") as file:
            for line in lines.tolist():
                file.seek(line * _LINE)
                file.write(bytes(_LINE))
        flush(folder / BASE)


def _patch(folder: Path) -> NDArray[np.uint64]:
    """Return lines of a patch, each after its number."""
    return np.fromfile(folder / PATCH, np.uint64).reshape(-1, 1 + _LINE // 8)


def _patched(folder: Path) -> Bytes:
    """Return the bytes of an image. Raises OSError, ValueError or IndexError for files that do not belong together."""
    data, patch = np.fromfile(folder / BASE, np.uint8), _patch(folder)
    _lines(data)[patch[:, 0].astype(np.int64)] = patch[:, 1:]
    return data


def _lines(data: Bytes) -> NDArray[np.uint64]:
    return data.view(np.uint64).reshape(-1, _LINE // 8)


def _layout(image: Image) -> Layout:
    return [[name, array.dtype.str, list(array.shape)] for name, array in image.arrays.items()]


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
