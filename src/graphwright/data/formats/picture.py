"""Pictures: the text of scans and photographs (PNG, JPEG, WebP, TIFF with several pages); those in Office files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from hashlib import blake2b

from graphwright.data.document import RECOGNISED, Skipped
from graphwright.data.formats.format import MAX_BYTES, Extracted, File, Format, Picture, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.pdf_layout import write_pages
from graphwright.data.formats.parsing.pdf_rows import Line
from graphwright.data.formats.parsing.pictures import PictureError, Pixels, is_picture, pictures_in, scaled
from graphwright.data.formats.parsing.recognition import EXTRA, MAX_SIDE, can_recognise, page_list, recognised_lines

_LEAST_SIDE = 32  # pixels; icons are smaller
_LEAST_SHOWN, _SHOWN_SIDE = 100, 1_600  # pixels of the sides of a picture that is described
_PAGE = 842.0  # points on the longer side of a page, as on A4; the true size of a picture is often unknown


def read(file: File) -> Iterator[Extracted | Picture]:
    """Yield a picture's recognised text by pages and lines. Raises UnreadableError if too large, or without OCR."""
    if not can_recognise():
        raise UnreadableError(f"a picture; to recognise its text (OCR): {EXTRA}")
    data, pages, shown = file.data(), list[list[Line]](), list[tuple[int, Pixels]]()
    for number, pixels in enumerate(_pictures(data), start=1):
        height, width, _ = pixels.shape
        if min(height, width) < _LEAST_SIDE:
            pages.append([])
            continue
        pages.append(recognised_lines(pixels, _PAGE * height / max(height, width), file.recognised))
        if file.pictures and min(height, width) >= _LEAST_SHOWN:
            shown.append((number, scaled(pixels, _SHOWN_SIDE)))
    builder = TextBuilder("page")
    write_pages(pages, builder)
    places = builder.places(blake2b(data, digest_size=16).hexdigest())
    if builder.text or not shown:
        yield builder.extracted(places=places, metadata={RECOGNISED: page_list(range(1, len(pages) + 1))})
    for number, pixels in shown:
        several = len(pages) > 1
        yield Picture(f"#picture-{number}" if several else "#picture", f"page {number}" if several else "", pixels)


def pictures_of(file: File) -> Iterator[Picture | Skipped]:
    """Yield the pictures in an Office document or e-book, a zip archive with a picture in each member."""
    with file.open() as source, zipfile.ZipFile(source) as package:
        for member in package.infolist():
            with package.open(member) as part:
                is_shown = is_picture(part.read(12)) and "thumbnail" not in member.filename.lower()
            if not is_shown or member.file_size > MAX_BYTES:
                continue
            try:
                pixels = next(pictures_in(package.read(member)))
            except PictureError as error:
                yield Skipped(f"/{member.filename}", str(error))
                continue
            if min(pixels.shape[:2]) >= _LEAST_SHOWN:
                yield Picture(f"#{member.filename}", "", scaled(pixels, _SHOWN_SIDE))


def _pictures(data: bytes) -> Iterator[Pixels]:
    try:
        yield from pictures_in(data, MAX_SIDE)
    except PictureError as error:
        raise UnreadableError(str(error)) from error


FORMATS = (
    Format(
        "picture", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"), read, binary=True,
        by_content=lambda head, _: is_picture(head),
    ),
)  # fmt: skip
