"""Pictures of PDF pages: the cited characters are marked, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from tests.data.formats.made import CHAPTERS, pdf, rivers_pdf

from graphwright.data.formats.format import Extracted, File
from graphwright.data.formats.parsing.pdf_image import page_image, page_marks
from graphwright.data.formats.pdf import read
from graphwright.errors import DataError
from graphwright.text.places import Box, Places

pytest.importorskip("pypdfium2")
Image = pytest.importorskip("PIL.Image")
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def marked(data: bytes, cited: str, page: int = 0) -> tuple[list[str], np.ndarray]:
    """Return the words whose middle is marked on a page where a text is cited, and where it is marked."""
    (document,) = read(File("a.pdf", content=data))
    start = document.text.index(cited)
    marks_at = marks(data, document, page, start, start + len(cited))
    height, width = marks_at.shape
    return [
        word.strip(".,")
        for word, left, top, right, bottom in words(data, page)
        if marks_at[int(top * height) : int(bottom * height), int(left * width) : int(right * width)].mean() > 0.5
    ], marks_at


def marks(data: bytes, document: Extracted, page: int, start: int, end: int) -> np.ndarray:
    assert document.places is not None
    picture = Image.open(io.BytesIO(page_image(data, page + 1)))
    picture.load()
    assert picture.format == "PNG" and max(picture.size) <= 2_000
    width, height = picture.size
    marked = np.zeros((height, width), bool)
    for number, (left, top, right, bottom) in page_marks(data, document.places, document.text, start, end):
        if number == page + 1:
            rows = slice(round(top * height / 10_000), round(bottom * height / 10_000))
            marked[rows, round(left * width / 10_000) : round(right * width / 10_000)] = True
    return marked


def words(data: bytes, page: int) -> list[tuple[str, float, float, float, float]]:
    """Return the words of an unturned page with their left, top, right and bottom, in shares of the page."""
    import pypdfium2

    drawn = pypdfium2.PdfDocument(data)[page]
    text, (width, height) = drawn.get_textpage(), drawn.get_size()
    found, word, boxes = [], "", []
    for at in range(text.count_chars() + 1):
        letter = text.get_text_range(at, 1) if at < text.count_chars() else " "
        if letter.strip() and letter not in "\ufffe\x02":  # a hyphen at the end of a line
            word, boxes = word + letter, [*boxes, text.get_charbox(at, loose=True)]
        elif word:
            lefts, bottoms, rights, tops = zip(*boxes, strict=True)
            sides = min(lefts) / width, 1 - max(tops) / height, max(rights) / width, 1 - min(bottoms) / height
            found.append((word, *sides))
            word, boxes = "", []
    return found


def test_page_image_marks_cited_words_over_joined_lines_and_hyphens() -> None:
    document = pdf()
    for line in ("The Mur is a well regu-", "lated river. It leaves Styria and", "flows on into the Drava."):
        document.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
    data = bytes(document.output())
    assert marked(data, "regulated\nriver. It")[0] == ["regu", "lated", "river", "It"]
    assert marked(data, "leaves Styria and\nflows on")[0] == ["leaves", "Styria", "and", "flows", "on"]
    assert marked(data, "The Mur")[0] == ["The", "Mur"]


def test_page_image_of_another_page_has_no_mark() -> None:
    data = rivers_pdf()
    assert " ".join(marked(data, CHAPTERS[1][1], page=1)[0]) == CHAPTERS[1][1]
    assert not marked(data, CHAPTERS[1][1], page=0)[1].any()


def test_page_image_marks_cells_of_a_table_row() -> None:
    assert marked(rivers_pdf(), "Length: 254 km")[0] == ["254", "km"]


def test_page_image_of_two_columns_and_accents_marks_one_column() -> None:
    document = pdf()
    if not FONT.exists():
        pytest.skip(f"there is no {FONT}")
    document.add_font("DejaVu", fname=FONT)
    document.set_font("DejaVu", size=11)
    for at, (left, right) in enumerate(
        (("Ein Fluß fließt", "Река Мур течёт"), ("durch Köflach hin.", "через Грац сюда."))
    ):
        document.set_xy(20, 40 + 5 * at)
        document.cell(60, 5, left)
        document.set_xy(120, 40 + 5 * at)
        document.cell(60, 5, right)
    assert marked(bytes(document.output()), "Грац")[0] == ["Грац"]
    assert marked(bytes(document.output()), "Köflach")[0] == ["Köflach"]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_page_image_of_turned_page_marks_the_same_share(turn: int) -> None:
    import pypdfium2

    document = pdf()
    document.cell(0, 5, "Graz lies on the Mur.")
    turned = pypdfium2.PdfDocument(bytes(document.output()))
    turned[0].set_rotation(turn)
    out = io.BytesIO()
    turned.save(out)
    straight, other = marked(bytes(document.output()), "lies on")[1], marked(out.getvalue(), "lies on")[1]
    assert straight.any() and abs(int(straight.sum()) - int(other.sum())) < 0.15 * straight.sum()
    back = np.rot90(other, turn // 90)
    assert (straight & back).sum() > 0.8 * straight.sum()


def test_page_image_of_damaged_file_is_refused() -> None:
    (document,) = read(File("a.pdf", content=rivers_pdf()))
    assert document.places is not None
    for draw in (lambda data: page_image(data, 1), lambda data: page_marks(data, document.places, document.text, 0, 9)):
        with pytest.raises(DataError):
            draw(b"%PDF-1.7 and nothing else")


def test_page_and_marks_of_a_picture_are_shown() -> None:
    output = io.BytesIO()
    pages = Image.new("L", (3_000, 400), 255), Image.new("L", (40, 60), 7)
    pages[0].save(output, "TIFF", save_all=True, append_images=pages[1:])
    data, places = output.getvalue(), Places("page", (0, 5), boxes=(Box(0, 4, 9, 9, 90, 30), Box(5, 9, 7, 8, 70, 30)))
    sizes = [Image.open(io.BytesIO(page_image(data, page))).size for page in (1, 2)]
    assert sizes == [(2_000, 267), (40, 60)]
    assert page_marks(data, places, "Graz\nLinz", 5, 7) == [(2, (7, 8, 70, 30))]
    for broken, page in ((data[:50], 1), (data, 3)):
        with pytest.raises(DataError, match="cannot be shown"):
            page_image(broken, page)
