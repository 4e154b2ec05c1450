"""Pictures as pixels, upright and on white, by Pillow; and pixels as PNG."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""A picture: rows of red, green and blue values."""
_MAX_PIXELS = 80_000_000
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")


class LargePictureError(ValueError):
    """Error for a picture of more than 80 million pixels."""


def is_picture(head: bytes) -> bool:
    """Return whether a file is PNG, JPEG, TIFF or WebP, by its first bytes."""
    return head.startswith(_MAGIC) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP")


def pictures_in(data: bytes, side: int = 0) -> Iterator[Pixels]:
    """Yield the pictures of a file: each page of TIFF, one of the other formats; with a `side`, no longer than this.

    Raises LargePictureError for too many pixels, OSError and other errors of Pillow for a damaged picture.
    """
    from PIL import Image

    try:
        with _quiet():
            file = Image.open(io.BytesIO(data))
    except Image.DecompressionBombError as error:
        raise _too_large() from error
    with file:
        for number in range(getattr(file, "n_frames", 1) if file.format == "TIFF" else 1):
            with _quiet():
                file.seek(number)
                if file.width * file.height > _MAX_PIXELS:
                    raise _too_large()
                pixels = np.asarray(_upright(file))
            yield scaled(pixels, side) if side else pixels


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Pillow warn of nothing: not of sizes, which are checked, nor of broken metadata."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="PIL")
        yield


def scaled(pixels: Pixels, side: int) -> Pixels:
    """Return a picture with at most `side` pixels on a side."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    picture.thumbnail((side, side))
    return np.asarray(picture)


def _too_large() -> LargePictureError:
    return LargePictureError(f"a picture of more than {_MAX_PIXELS // 10**6} million pixels; scale it down")


def _upright(picture: Any) -> Any:
    """Return a picture as it is shown: turned as the camera was held, with white behind what is transparent."""
    from PIL import Image, ImageOps

    if picture.mode.startswith("I;16"):  # whose values a conversion would cut off
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    upright = ImageOps.exif_transpose(picture)
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        upright = Image.new("RGB", layer.size, "white")
        upright.paste(layer, mask=layer.getchannel("A"))
    return upright.convert("RGB")


def png(pixels: Pixels) -> bytes:
    """Return a picture as PNG."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with its filter, 0
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
