"""Pictures as pixels, upright and on white, by Pillow."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.data.formats.format import UnreadableError

Pixels = NDArray[np.uint8]
"""A picture: rows of red, green and blue values."""
_MAX_PIXELS = 80_000_000
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")


def is_picture(head: bytes) -> bool:
    """Return whether a file is PNG, JPEG, TIFF or WebP, by its first bytes."""
    return head.startswith(_MAGIC) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP")


def pictures_in(data: bytes) -> Iterator[Pixels]:
    """Yield the pictures of a file: each page of TIFF, one of the other formats.

    Raises UnreadableError for a picture of more than 80 million pixels, OSError and others of Pillow for a damaged one.
    """
    from PIL import Image

    try:
        file = Image.open(io.BytesIO(data))
    except Image.DecompressionBombError as error:
        raise _too_large() from error
    with file:
        for number in range(getattr(file, "n_frames", 1) if file.format == "TIFF" else 1):
            file.seek(number)
            if file.width * file.height > _MAX_PIXELS:
                raise _too_large()
            yield _upright(file)


def _too_large() -> UnreadableError:
    return UnreadableError(f"a picture of more than {_MAX_PIXELS // 10**6} million pixels; scale it down")


def _upright(picture: Any) -> Pixels:
    """Return a picture as it is shown: turned as the camera was held, with white behind what is transparent."""
    from PIL import Image, ImageOps

    if picture.mode.startswith("I;16"):  # whose values a conversion would cut off
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    upright = ImageOps.exif_transpose(picture)
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        upright = Image.new("RGB", layer.size, "white")
        upright.paste(layer, mask=layer.getchannel("A"))
    return np.asarray(upright.convert("RGB"))
