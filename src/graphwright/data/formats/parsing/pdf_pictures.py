"""Pages of PDF as pictures, by pypdfium2: those that are scanned and recognised, and the pictures on the others."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from graphwright.data.formats.format import Picture
from graphwright.data.formats.parsing.pdf_rows import UNIT, Line
from graphwright.data.formats.parsing.pictures import Pixels
from graphwright.data.formats.parsing.recognition import MAX_SIDE, recognised_lines

PDFIUM = Lock()  # held while pdfium works, which several threads must not use at once
_MAX_STAMP = 100  # characters on a scanned page, such as its number or who downloaded it
_MORE = 1.5  # characters recognised for each of the text that a page has
_RECOGNISED_SCALE = 200 / 72  # pixels in a point
_PICTURE_SCALE = 150 / 72  # of pages whose pictures are described
_LEAST_PICTURE = 72  # points of the sides of a picture that is described
_BEHIND = 0.9  # of the page, which a picture behind the text fills
_MAX_PICTURES = 100  # on a page


@contextmanager
def opened(data: bytes) -> Iterator[Any]:
    """Open a PDF, and keep other threads from pdfium during the block."""
    import pypdfium2

    with PDFIUM, closing(pypdfium2.PdfDocument(data)) as document:
        yield document


def page_pixels(page: Any, scale: float, side: int) -> Pixels:
    """Draw a page with `scale` pixels in a point, and at most `side` on a side."""
    scale = min(scale, side / max(*page.get_size(), 1))
    drawn: Pixels = page.render(scale=scale, rev_byteorder=True).to_numpy()[:, :, :3].copy()
    return drawn


def is_scanned(page: Any, lines: Sequence[Line]) -> bool:
    """Return whether a page is a picture: one without text, or one that fills half of it, with a stamp at most."""
    import pypdfium2.raw as pdfium

    if _characters(lines) > _MAX_STAMP:
        return False
    images = page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=2)
    if not lines:
        return next(images, None) is not None
    bounds = (image.get_bounds() for image in images)
    area = max(((right - left) * (top - bottom) for left, bottom, right, top in bounds), default=0.0)
    width, height = page.get_size()
    return bool(area >= width * height / 2)


def recognise(data: bytes, pages: list[list[Line]], numbers: Sequence[int], kept: Path | None) -> list[int]:
    """Replace the lines of pages by those that are recognised on them, if these say more; return these pages."""
    changed = []
    for number in numbers:
        with opened(data) as document:
            page = document[number - 1]
            pixels, height = page_pixels(page, _RECOGNISED_SCALE, MAX_SIDE), page.get_height()
        lines = recognised_lines(pixels, height, kept)
        if _characters(lines) > _MORE * _characters(pages[number - 1]):
            pages[number - 1] = lines
            changed.append(number)
    return changed


def _characters(lines: Sequence[Line]) -> int:
    return sum(len(line.text) for line in lines)


def pictures_on(data: bytes, pages: Sequence[tuple[int, bool]]) -> Iterator[Picture]:
    """Yield the pictures on pages, given by number and whether they have text, each once, as the pages show them."""
    seen = set[bytes]()
    for number, has_text in pages:
        with opened(data) as document:
            shown = _pictures_on(document[number - 1], has_text)
        for pixels in shown:
            if (digest := blake2b(pixels.tobytes(), digest_size=16).digest()) not in seen:
                seen.add(digest)
                yield Picture(f"#picture-{len(seen)}", f"page {number}", pixels)


def _pictures_on(page: Any, has_text: bool) -> list[Pixels]:
    """Return the pictures of a page that are an inch wide and tall, without one that lies behind its text."""
    import pypdfium2.raw as pdfium

    images = islice(page.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=1), _MAX_PICTURES)
    boxes = [_box_on(page, *image.get_bounds()) for image in images]
    width, height = (size / UNIT for size in page.get_size())
    chosen = [
        (left, top, right, bottom)
        for left, top, right, bottom in boxes
        if min((right - left) * width, (bottom - top) * height) >= _LEAST_PICTURE
        and not (has_text and (right - left) * (bottom - top) >= _BEHIND * UNIT**2)
    ]
    if not chosen:
        return []
    pixels = page_pixels(page, _PICTURE_SCALE, MAX_SIDE)
    tall, wide = (size / UNIT for size in pixels.shape[:2])
    return [
        pixels[int(y * tall) : int(below * tall), int(x * wide) : int(right * wide)] for x, y, right, below in chosen
    ]


def _box_on(page: Any, left: float, bottom: float, right: float, top: float) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom on the page as it is shown, in 1/10,000 of it."""
    import pypdfium2.raw as pdfium

    x, y = ctypes.c_int(), ctypes.c_int()
    corners = []
    for corner in ((left, bottom), (right, top)):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, UNIT, UNIT, 0, *corner, x, y)
        corners.append((min(max(x.value, 0), UNIT), min(max(y.value, 0), UNIT)))
    (one, two), (three, four) = corners
    return min(one, three), min(two, four), max(one, three), max(two, four)
