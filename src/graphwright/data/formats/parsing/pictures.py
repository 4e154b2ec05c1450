"""Pictures as pixels, upright and on white, by Pillow; and pixels as PNG."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # a picture: rows of red, green and blue values
_MAX_PIXELS = 80_000_000
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")


class PictureError(Exception):
    """Error for a picture that is damaged, or has more than 80 million pixels."""


def is_picture(head: bytes) -> bool:
    """Return whether a file is PNG, JPEG, TIFF or WebP, by its first bytes."""
    return head.startswith(_MAGIC) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP")


def pictures_in(data: bytes, side: int = 0) -> Iterator[Pixels]:
    """Yield a file's pictures, pages of TIFF, up to `side`. Raises PictureError for too many pixels or damage."""
    number, count = 0, 1
    while number < count:
        pixels, count = _page(data, number)
        yield scaled(pixels, side) if side else pixels
        number += 1


def _page(data: bytes, number: int) -> tuple[Pixels, int]:
    """Return a picture of a file, and how many there are."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="PIL")  # of sizes, which are checked here, and of broken metadata
            with Image.open(io.BytesIO(data)) as file:
                file.seek(number)
                if file.width * file.height > _MAX_PIXELS:
                    raise Image.DecompressionBombError
                count = getattr(file, "n_frames", 1) if file.format == "TIFF" else 1
                return np.asarray(_upright(file)), count
    except Image.DecompressionBombError as error:
        raise PictureError(f"a picture of more than {_MAX_PIXELS // 10**6} million pixels; scale it down") from error
    except (OSError, ValueError, SyntaxError, EOFError, struct.error) as error:
        reason = "" if isinstance(error, UnidentifiedImageError) else f" ({error})"
        raise PictureError(f"a damaged picture{reason}; fetch or save it again") from error


def scaled(pixels: Pixels, side: int) -> Pixels:
    """Return a picture with at most `side` pixels on a side."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    picture.thumbnail((side, side))
    return np.asarray(picture)


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
