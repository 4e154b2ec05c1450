"""Pages of PDF and pictures as PNG, and the rectangles in which a span of the document's text stands on them."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from graphwright.data.formats.parsing.pdf_pictures import opened, page_pixels
from graphwright.data.formats.parsing.pictures import PictureError, Pixels, is_picture, pictures_in, png
from graphwright.data.formats.parsing.recognition import EXTRA
from graphwright.data.formats.pdf import PageReader
from graphwright.errors import DataError
from graphwright.text.places import Box, Places

_Rectangle = tuple[int, int, int, int]  # left, top, right, bottom, as in a Box
_SCALE, _MAX_SIDE = 2.0, 2_000  # pixels in a point, and on a side of the picture
_MAX_LETTERS = 20_000  # of a page; on one with more, whole lines are marked
_MAX_LINES = 1_000  # that are marked
_MIN_RUN = 2  # letters that a rewritten line and the page have in common


def page_image(data: bytes, page: int) -> bytes:
    """Return a page of a PDF or a picture, counted from 1, as PNG. Raises DataError if it cannot be drawn."""
    if is_picture(data):
        return png(_picture(data, page))
    with _opened(data) as document:
        return png(page_pixels(document[page - 1], _SCALE, _MAX_SIDE))


def page_marks(data: bytes, places: Places, text: str, start: int, end: int) -> list[tuple[int, _Rectangle]]:
    """Return where characters `start` to `end` of a file's text stand: pages, counted from 1, and rectangles there.

    `places` has the boxes of the lines. A line that was rewritten is marked as a whole where none of its words stand on
    the page. Raises DataError for a damaged file.
    """
    lines = defaultdict[int, list[Box]](list)
    for box in islice((box for box in places.boxes if box.start < end and start < box.end), _MAX_LINES):
        lines[bisect_right(places.starts, box.start)].append(box)
    marks: list[tuple[int, _Rectangle]] = []
    if is_picture(data):
        return [(page, _mark(box, (), text, start, end)) for page, boxes in lines.items() for box in boxes]
    with _opened(data) as document:
        for page, boxes in lines.items():
            is_whole = all(start <= box.start and box.end <= end for box in boxes)
            letters = [] if is_whole else _letters_on(document[page - 1])
            marks += [(page, _mark(box, letters, text, start, end)) for box in boxes]
    return marks


def _picture(data: bytes, page: int) -> Pixels:
    try:
        return next(islice(pictures_in(data, _MAX_SIDE), page - 1, None))
    except ModuleNotFoundError as error:
        raise DataError(f"Pictures need the package Pillow: {EXTRA}") from error
    except (PictureError, StopIteration) as error:
        raise DataError(f"The picture cannot be shown: {error or f'it has no page {page}'}.") from error


@contextmanager
def _opened(data: bytes) -> Iterator[Any]:
    """Open a PDF, and keep other threads from pdfium during the block."""
    try:
        import pypdfium2
    except ModuleNotFoundError as error:
        raise DataError("Pages of PDF need the package pypdfium2: pip install 'graphwright[documents]'") from error
    try:
        with opened(data) as document:
            yield document
    except pypdfium2.PdfiumError as error:
        raise DataError(f"The pages of a damaged PDF cannot be shown ({error}).") from error


def _letters_on(page: Any) -> list[tuple[str, _Rectangle]]:
    """Return the letters and digits of a page with their boxes, in the order of the file; none if there are many."""
    import pypdfium2.raw as pdfium

    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        if count > _MAX_LETTERS:
            return []
        reader = PageReader(page, text_page.raw)
        codes = (pdfium.FPDFText_GetUnicode(text_page.raw, at) for at in range(count))
        return [(letter, reader.box(at)) for at, code in enumerate(codes) for letter in _letters(chr(code))]
    finally:
        text_page.close()


def _letters(text: str) -> Iterator[str]:
    """Yield the letters and digits of a text, without case, marks and ligatures."""
    return (letter for letter in unicodedata.normalize("NFKD", text).casefold() if letter.isalnum())


def _mark(line: Box, letters: Sequence[tuple[str, _Rectangle]], text: str, start: int, end: int) -> _Rectangle:
    """Return the rectangle of those characters of a line that lie in a span of the text."""
    left, right = sorted((line.left, line.right))  # a turned line has them exchanged
    top, bottom = line.top, line.bottom
    inside, found = list[tuple[str, _Rectangle]](), list[_Rectangle]()
    if start > line.start or line.end > end:
        for letter, box in letters:
            if left <= (box[0] + box[2]) / 2 <= right and top <= (box[1] + box[3]) / 2 <= bottom:
                inside.append((letter, box))
        said = [(letter, at) for at in range(line.start, line.end) for letter in _letters(text[at])]
        shown, stated = ([letter for letter, _ in row] for row in (inside, said))
        for a, b, size in SequenceMatcher(None, shown, stated, autojunk=False).get_matching_blocks():
            if size >= min(_MIN_RUN, len(said)):
                found += [inside[a + at][1] for at in range(size) if start <= said[b + at][1] < end]
    lefts, tops, rights, bottoms = zip(*(found or [(left, top, right, bottom)]), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
