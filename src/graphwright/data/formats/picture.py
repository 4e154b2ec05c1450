"""Pictures of pages, such as scans and photographs: PNG, JPEG, WebP, and TIFF with several pages; their text by OCR."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from graphwright.data.document import RECOGNISED
from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.pdf_layout import write_pages
from graphwright.data.formats.parsing.pictures import is_picture, pictures_in
from graphwright.data.formats.parsing.recognition import EXTRA, can_recognise, page_list, recognised_lines

_LEAST_SIDE = 32  # pixels; icons are smaller
_PAGE = 842.0  # points on the longer side of a page, as on A4; the true size of a picture is often unknown


def read(file: File) -> Iterator[Extracted]:
    """Yield the recognised text of a picture; its places are pages, its boxes lines.

    Raises UnreadableError where the recogniser is not installed, or the picture is too large.
    """
    if not can_recognise():
        raise UnreadableError(f"a picture; to recognise its text (OCR): {EXTRA}")
    data, pages = file.data(), []
    for pixels in pictures_in(data):
        height, width, _ = pixels.shape
        is_icon = min(height, width) < _LEAST_SIDE
        pages.append([] if is_icon else recognised_lines(pixels, _PAGE * height / max(height, width), file.recognised))
    builder = TextBuilder("page")
    write_pages(pages, builder)
    places = builder.places(blake2b(data, digest_size=16).hexdigest())
    yield builder.extracted(places=places, metadata={RECOGNISED: page_list(range(1, len(pages) + 1))})


FORMATS = (
    Format(
        "picture", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"), read, binary=True,
        by_content=lambda head, _: is_picture(head),
    ),
)  # fmt: skip
