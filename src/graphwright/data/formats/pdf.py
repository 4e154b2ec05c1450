"""PDF: text in reading order with the box of each line, by pypdfium2; scanned pages by text recognition."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from math import pi
from typing import Any

from graphwright.data.decoding import is_binary
from graphwright.data.document import RECOGNISED
from graphwright.data.formats.format import MAX_TEXT, Extracted, File, Format, Picture, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.pdf_layout import write_pages
from graphwright.data.formats.parsing.pdf_pictures import is_scanned, opened, pictures_on, recognise
from graphwright.data.formats.parsing.pdf_rows import UNIT, Cell, Line, Rule, Rules, rows_of, snapped
from graphwright.data.formats.parsing.recognition import EXTRA, can_recognise, page_list
from graphwright.data.formats.parsing.xml import checked_title
from graphwright.text.characters import clean
from graphwright.text.places import Places

_MAX_CHARACTERS = 1_000_000  # of a page
_CELL_GAP = 1.0  # between two cells of a table, in heights of a line
_HYPHENS = dict.fromkeys((0x02, 0xFFFE), "-")  # as pdfium marks a hyphen at a line's end, which it leaves out
_RAISED = {ord(plain): ord(raised) for plain, raised in zip("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻", strict=True)}
_DIGITS, _SPACES = re.compile("[0-9+−-]+"), re.compile(r"[\r\n \xa0]*")
_SMALLER, _HIGHER = 0.85, 0.15  # of the height of the character before a raised one
_WORD_GAP, _NO_SPACE = 1.0, 0x200B  # points between two words on a line; a sign that is left out
_BREAKS = frozenset((10, 13, *_HYPHENS))
_BOLD = 600  # weight of a font
_BOLD_NAME = re.compile(rb"bold|black|heavy", re.IGNORECASE)
_MAX_FONT = 128  # bytes of the name of a font
_BLANK = frozenset((0, 9, 32, 160))
_JUMP = 0.3  # between the lines of two cells, in heights of a line
_MAX_LISTED = 8  # pages
_MAX_DEPTH = 8  # of forms in forms
_MAX_RULES = 3_000  # on a page; a drawing has more
_SAMPLED = 10  # of so many characters, one is asked for its direction


def read(file: File) -> Iterator[Extracted | Picture]:
    """Yield the text of a document; its places are pages, its boxes lines. Scanned pages are read by OCR.

    Raises UnreadableError if it is encrypted, damaged, or has no text, as scanned pages without the extra `ocr`.
    """
    data = file.data()
    pages, turns, scanned, damaged, title, author = _read_pages(data)
    recognised = recognise(data, pages, scanned, file.recognised) if can_recognise() else []
    turns = {page: turn for page, turn in turns.items() if page + 1 not in recognised}
    unread = [] if can_recognise() else [number for number in scanned if not pages[number - 1]]
    remedy = f"; to recognise their text (OCR): {EXTRA}" if unread else ""
    gaps = "; ".join(filter(None, (_listed(damaged, "damage"), _listed(unread, "no text (scanned)"))))
    builder = TextBuilder("page")
    write_pages(pages, builder, turns)
    if builder.text:
        places = builder.places(blake2b(data, digest_size=16).hexdigest())
        metadata = {"author": author, RECOGNISED: page_list(recognised) if recognised else ""}
        yield builder.extracted(
            _title(title, builder, places),
            places=places,
            metadata={name: value for name, value in metadata.items() if value},
            gaps=gaps + remedy,
        )
    done = {*recognised, *damaged}
    unseen = [(number, bool(lines)) for number, lines in enumerate(pages, start=1) if number not in done]
    shown = False
    for picture in pictures_on(data, unseen) if file.pictures else ():
        shown = True
        yield picture
    if not (builder.text or shown):
        where = "its only page" if len(pages) == 1 else f"its {len(pages)} pages"
        found = f", {len(scanned)} scanned" if scanned else ""
        raise UnreadableError(f"no text in {where}{found}{remedy or ', in which none was recognised' * bool(scanned)}")


def _read_pages(data: bytes) -> tuple[list[list[Line]], dict[int, int], list[int], list[int], str, str]:
    """Return the lines of each page, and by which turns (see `turned`) their text is upright, by position.

    Also the numbers of scanned and damaged pages, the title and the author.
    """
    import pypdfium2

    pages, turns, size = list[list[Line]](), dict[int, int](), 0
    scanned, damaged = [], []
    try:
        with opened(data) as document:
            for number in range(len(document)):
                try:
                    page = document[number]
                    lines, turn = _lines(page)
                    if turn:
                        turns[number] = turn
                    if is_scanned(page, lines):
                        scanned.append(number + 1)
                    page.close()
                except pypdfium2.PdfiumError:
                    lines = []
                    damaged.append(number + 1)
                pages.append(lines)
                size += sum(len(line.text) for line in lines)
                if size > MAX_TEXT:  # many pages may share one content
                    raise UnreadableError(f"its text is longer than {MAX_TEXT >> 20} million characters; split it")
            title, author = (document.get_metadata_dict().get(name, "") for name in ("Title", "Author"))
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise UnreadableError("encrypted; save it without a password") from error
        raise UnreadableError(f"a damaged PDF ({error}); fetch or save it again") from error
    return pages, turns, scanned, damaged, title, author


def _listed(pages: list[int], reason: str) -> str:
    if not pages:
        return ""
    listed = ", ".join(map(str, pages[:_MAX_LISTED])) + (", …" if len(pages) > _MAX_LISTED else "")
    noun = "page has" if len(pages) == 1 else "pages have"
    return f"{len(pages)} {noun} {reason}: {listed}"


def _title(title: str, builder: TextBuilder, places: Places | None) -> str:
    """Return the title of a document, unless it is none; else the largest heading of its first page."""
    if title := checked_title(title, builder.text):
        return title
    end = places.starts[1] if places is not None and len(places.starts) > 1 else len(builder.text)
    first = [heading for heading in builder.headings if heading.start < end]
    return min(first, key=lambda heading: heading.level).title if first else ""


def _lines(page: Any) -> tuple[list[Line], int]:
    """Return the lines of a page in the order in which the file draws them, and the turn by which they are upright."""
    import pypdfium2.raw as pdfium

    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        if count > _MAX_CHARACTERS:
            raise UnreadableError(f"a page of more than {_MAX_CHARACTERS:,} characters")
        handle = text_page.raw
        codes = [pdfium.FPDFText_GetUnicode(handle, at) for at in range(count)]
        turn = _turn(page, handle, codes)
        reader = PageReader(page, handle, turn)
        reader.mark_raised(codes)
        lines: list[Line] = []
        first = 0
        for at, code in enumerate([*codes, 10]):
            if code in _BREAKS:
                end = at if code in (10, 13) else at + 1
                lines += reader.lines(codes, first, end)
                first = at + 1
        return rows_of(lines, reader.rules), turn
    finally:
        text_page.close()


def _turn(page: Any, text_page: Any, codes: list[int]) -> int:
    """Return the quarters by which a page is to be turned, clockwise, for most of its text to be upright."""
    import pypdfium2.raw as pdfium

    shown = page.get_rotation() // 90
    sampled = [at for at, code in enumerate(codes) if code > ord(" ")][::_SAMPLED]
    angles = (pdfium.FPDFText_GetCharAngle(text_page, at) for at in sampled)  # clockwise, -1 for an error
    turns = Counter(-(round(angle / (pi / 2)) + shown) % 4 if angle >= 0 else 0 for angle in angles)
    return max(turns, key=lambda turn: (turns[turn], -turn), default=0)


class PageReader:
    """Boxes of the characters of one page, in 1/10,000 of its width and height, after a turn (see `turned`)."""

    def __init__(self, page: Any, text_page: Any, turn: int = 0) -> None:
        import pypdfium2.raw as pdfium

        self.pdfium, self.page, self.text_page = pdfium, page.raw, text_page
        self.turn = turn
        self.width, self.height = page.get_size() if turn % 2 == 0 else reversed(page.get_size())
        self.rectangle = pdfium.FS_RECTF()
        self.x, self.y = ctypes.c_int(), ctypes.c_int()
        self.font, self.flags = ctypes.create_string_buffer(_MAX_FONT), ctypes.c_int()
        self.rules = self._rules(page)

    def box(self, at: int) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom of a character as the page is shown, rotated and cropped."""
        self.pdfium.FPDFText_GetLooseCharBox(self.text_page, at, self.rectangle)
        corners = (self.rectangle.left, self.rectangle.top), (self.rectangle.right, self.rectangle.bottom)
        (left, top), (right, bottom) = (self._shown(*corner) for corner in corners)
        return min(left, right), min(top, bottom), max(left, right), max(top, bottom)

    def _shown(self, x: float, y: float) -> tuple[int, int]:
        self.pdfium.FPDF_PageToDevice(self.page, 0, 0, UNIT, UNIT, self.turn, x, y, self.x, self.y)
        return self.x.value, self.y.value

    def _rules(self, page: Any) -> Rules:
        """Return the edges of lines, frames and fills that run across the page, and down."""
        pdfium, x, y = self.pdfium, ctypes.c_float(), ctypes.c_float()
        across, down = set[Rule](), set[Rule]()
        for item in page.get_objects([pdfium.FPDF_PAGEOBJ_PATH], max_depth=_MAX_DEPTH):
            matrix, form = item.get_matrix(), item.container
            while form is not None:
                matrix, form = matrix.multiply(form.get_matrix()), form.container
            first = before = (0, 0)
            for number in range(pdfium.FPDFPath_CountSegments(item)):
                segment = pdfium.FPDFPath_GetPathSegment(item, number)
                pdfium.FPDFPathSegment_GetPoint(segment, x, y)
                point, kind = self._shown(*matrix.on_point(x.value, y.value)), pdfium.FPDFPathSegment_GetType(segment)
                first = point if kind == pdfium.FPDF_SEGMENT_MOVETO else first
                edges = [(before, point)] if kind == pdfium.FPDF_SEGMENT_LINETO else []
                edges += [(point, first)] if pdfium.FPDFPathSegment_GetClose(segment) else []
                for (left, top), (right, bottom) in edges:
                    if abs(top - bottom) <= 1:
                        across.add(Rule(top, min(left, right), max(left, right)))
                    elif abs(left - right) <= 1:
                        down.add(Rule(left, min(top, bottom), max(top, bottom)))
                before = point
            if len(across) + len(down) > _MAX_RULES:
                return Rules()
        return Rules(snapped(across), snapped(down))

    def _divides(self, left: int, right: int, y: float) -> bool:
        """Return whether a rule stands between two words at a height."""
        return any(left <= rule.at <= right and rule.begin <= y <= rule.end for rule in self.rules.down)

    def mark_raised(self, codes: list[int]) -> None:
        """Replace digits smaller and higher than the text around them by raised ones; pdfium ends a line after them."""
        text = "".join(map(chr, codes))
        for run in _DIGITS.finditer(text):
            first, end = run.span()
            base = first - 1 if first and codes[first - 1] > ord(" ") else first
            after = _SPACES.match(text, end).end()  # type: ignore[union-attr]
            is_first = not first or codes[first - 1] in _BREAKS
            is_cut = end < after and codes[end] in _BREAKS
            before_text = after < len(codes) and (is_cut or is_first) and self._is_raised(end - 1, after)
            if end - 1 > base and self._is_raised(end - 1, base):
                first = next((at + 1 for at in range(end - 2, base, -1) if not self._is_raised(at, base)), base + 1)
            elif not (before_text and is_first):
                continue
            codes[first:end] = [_RAISED[code] for code in codes[first:end]]
            if is_cut and before_text:
                gap = self._extent(after)[2] - self._extent(end - 1)[3]
                codes[end:after] = [ord(" ") if gap > _WORD_GAP else _NO_SPACE] * (after - end)

    def _is_raised(self, at: int, base: int) -> bool:
        """Return whether a character is smaller than another on its line, and stands higher."""
        (bottom, top, *_), (lowest, highest, *_) = self._extent(at), self._extent(base)
        height = highest - lowest
        return top - bottom < _SMALLER * height and lowest + _HIGHER * height < bottom < highest

    def _extent(self, at: int) -> tuple[float, float, float, float]:
        """Return the bottom, the top, the left and the right of a character, in points."""
        self.pdfium.FPDFText_GetLooseCharBox(self.text_page, at, self.rectangle)
        return self.rectangle.bottom, self.rectangle.top, self.rectangle.left, self.rectangle.right

    def lines(self, codes: list[int], start: int, end: int) -> Iterator[Line]:
        """Yield characters `start` to `end` as a line, divided where gaps are wide; as several where it jumps there."""
        while start < end and codes[start] in _BLANK:
            start += 1
        while end > start and codes[end - 1] in _BLANK:
            end -= 1
        if start >= end:
            return
        cells: list[Cell] = []
        first, (left, top, _, bottom) = start, self.box(start)
        before = begin = start
        for at in range(start, end):
            if codes[at] not in _BLANK or codes[at + 1] in _BLANK:
                continue
            after = at + 1
            previous, following = self.box(at - 1 if codes[at - 1] not in _BLANK else before), self.box(after)
            wide = (following[0] - previous[2]) * self.width > _CELL_GAP * (bottom - top) * self.height
            if wide or self._divides(previous[2], following[0], (top + bottom) / 2):
                cells.append(Cell(_text(codes, first, at), left, previous[2]))
                first, left = after, following[0]
                if abs(following[3] - bottom) > _JUMP * (bottom - top):
                    yield from self._line(cells, top, bottom, begin)
                    cells, begin, (_, top, _, bottom) = [], after, following
            top, bottom = min(top, following[1]), max(bottom, following[3])
            before = after
        cells.append(Cell(_text(codes, first, end), left, self.box(end - 1)[2]))
        yield from self._line(cells, top, bottom, begin)

    def _line(self, cells: list[Cell], top: int, bottom: int, start: int) -> Iterator[Line]:
        height = (bottom - top) * self.height / UNIT
        box = (min(cell.left for cell in cells), top, max(cell.right for cell in cells), bottom)
        if text := " ".join(cell.text for cell in cells).strip():
            yield Line(text, box, round(height * 2) / 2, tuple(cells), self._is_bold(start))

    def _is_bold(self, at: int) -> bool:
        """Return whether a character is bold, by the weight or the name of its font."""
        if self.pdfium.FPDFText_GetFontWeight(self.text_page, at) >= _BOLD:
            return True
        self.pdfium.FPDFText_GetFontInfo(self.text_page, at, self.font, len(self.font), self.flags)
        return _BOLD_NAME.search(self.font.value) is not None


def _text(codes: list[int], start: int, end: int) -> str:
    """Return characters as text; two halves of a surrogate pair become one character."""
    text = "".join(map(chr, codes[start:end])).translate(_HYPHENS)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(clean(text).split())


FORMATS = (
    Format(
        "PDF", (".pdf",), read, binary=True,
        by_content=lambda head, _: head.startswith(b"%PDF-") or (b"%PDF-" in head[:1024] and is_binary(head)),
    ),
)  # fmt: skip
