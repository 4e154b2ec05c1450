"""PDF: text, headings, tables, pages, boxes, and files that cannot be read."""

from __future__ import annotations

import io
import re
from threading import Thread
from typing import Any

import pytest
from tests.data.formats.made import CHAPTERS, page_picture, pdf, rivers_pdf

from graphwright.data.document import RECOGNISED
from graphwright.data.formats.format import Extracted, File, UnreadableError
from graphwright.data.formats.parsing.pdf_pictures import PDFIUM
from graphwright.data.formats.pdf import read

pytest.importorskip("pypdfium2")


def extracted(data: bytes) -> Extracted:
    (document,) = read(File("a.pdf", content=data))
    return document


def test_pdf_running_heads_are_left_out() -> None:
    book = extracted(rivers_pdf())
    assert book.title == "Rivers of Styria" and not book.gaps and book.places is not None
    assert "edition" not in book.text and "Page " not in book.text
    assert [(h.level, h.title) for h in book.headings] == [(1, f"The river {name}") for name, _ in CHAPTERS]
    assert all(book.text.startswith(title, start) for start, _, title in book.headings)
    assert "which is important\nto all.\n\nA second" in book.text
    assert book.text.endswith(
        "River: Mur; Length: 464 km; Source: Lungau.\nRiver: Enns; Length: 254 km; Source: Radstadt."
    )
    for number, (_, sentence) in enumerate(CHAPTERS, start=1):
        start = book.text.index(sentence)
        assert book.places.of(start, start + len(sentence)) == f"page {number}"


def test_pdf_boxes_lie_on_their_words() -> None:
    document = pdf()
    document.set_xy(105, 148.5)  # the middle of the page, in mm of 210 x 297
    document.cell(50, 10, "Graz lies here")
    page = extracted(bytes(document.output()))
    assert page.places is not None and len(page.places.checksum) == 32
    (box,) = page.places.boxes
    assert page.places.of(0, 4) == "page 1" and (box.start, box.end) == (0, len("Graz lies here"))
    assert 5000 <= box.left <= 5100 and 6000 < box.right < 7000 and 5000 <= box.top < box.bottom <= 5400


def test_pdf_compound_at_line_end_keeps_hyphen() -> None:
    document = pdf()
    for line in ("It is a well-known river, and a very well-", "known one. It is docu-", "mented."):
        document.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
    assert extracted(bytes(document.output())).text == (
        "It is a well-known river, and a very well-known\none. It is documented."
    )


def test_pdf_sentence_continues_on_next_page() -> None:
    document = pdf()
    document.cell(0, 5, "The Mur flows through the whole of")
    document.add_page()
    document.cell(0, 5, "this land. Then it ends.", new_x="LMARGIN", new_y="NEXT")
    page = extracted(bytes(document.output()))
    assert page.text == "The Mur flows through the whole of\nthis land. Then it ends." and page.places is not None
    assert page.places.of(0, 40) == "pages 1-2" and page.places.of(36, 40) == "page 2"


def test_pdf_columns_are_read_one_after_other() -> None:
    document, columns = pdf(), ((20, "Left"), (110, "Right"))
    lines = [(x, 40 + 5 * row, f"{side} line {row} of a column") for x, side in columns for row in range(8)]
    for x, y, line in reversed(lines):
        document.set_xy(x, y)
        document.cell(60, 5, line)
    assert extracted(bytes(document.output())).text.split() == " ".join(line for _, _, line in lines).split()


def scan(text: str = "") -> Any:
    """A PDF with a page that is a picture."""
    blank = pytest.importorskip("PIL.Image").new("RGB", (8, 8))
    picture = page_picture(text, *[""] * 20) if text else blank
    document = pdf()
    document.image(picture, x=0, y=0, w=document.w)
    return document


def test_pdf_scanned_pages_without_the_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.data.formats.pdf.can_recognise", lambda: False)
    remedy = re.escape("to recognise their text (OCR): pip install 'graphwright[ocr]'")
    with pytest.raises(UnreadableError, match=f"no text in its only page, 1 scanned; {remedy}"):
        extracted(bytes(scan().output()))
    document = scan()
    document.add_page()
    document.cell(0, 5, "Some text.")
    mixed = extracted(bytes(document.output()))
    assert re.fullmatch(r"1 page has no text \(scanned\): 1; " + remedy, mixed.gaps) and mixed.text == "Some text."
    assert mixed.places is not None and mixed.places.of(0, 4) == "page 2"


def test_pdf_scanned_page_with_a_stamp_is_recognised() -> None:
    pytest.importorskip("rapidocr")
    document = scan("Graz lies on the Mur.")
    document.set_xy(10, 280)
    document.cell(0, 5, "Scan 17")
    document.add_page()
    document.cell(0, 5, "Some text.")
    mixed = extracted(bytes(document.output()))
    assert mixed.text.split("\n\n") == ["Graz lies on the Mur.", "Scan 17", "Some text."] and not mixed.gaps
    assert mixed.metadata == {RECOGNISED: "page 1"} and mixed.places is not None
    assert mixed.places.of(0, 4) == "page 1" and [box.start for box in mixed.places.boxes] == [0, 23, 32]


def test_pdf_scanned_pages_on_which_nothing_is_recognised_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.data.formats.pdf.can_recognise", lambda: True)
    monkeypatch.setattr("graphwright.data.formats.parsing.pdf_pictures.recognised_lines", lambda *page: [])
    with pytest.raises(UnreadableError, match=r"its only page, 1 scanned, in which none was recognised$"):
        extracted(bytes(scan().output()))


def test_pdf_empty_encrypted_or_damaged_raises() -> None:
    with pytest.raises(UnreadableError, match=r"no text in its only page$"):
        extracted(bytes(pdf().output()))
    document = pdf()
    document.set_encryption(owner_password="a", user_password="b")
    document.cell(0, 5, "Secret.")
    with pytest.raises(UnreadableError, match="encrypted"):
        extracted(bytes(document.output()))
    with pytest.raises(UnreadableError, match="damaged PDF"):
        extracted(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj")


@pytest.mark.parametrize("is_repeated", [True, False])
@pytest.mark.parametrize("is_bold", [True, False])
def test_pdf_table_over_pages_keeps_its_columns(is_repeated: bool, is_bold: bool) -> None:
    document = pdf()
    document.cell(0, 10, "Table 4. Limits of valves", new_x="LMARGIN", new_y="NEXT")
    for number in range(1, 121):
        if number == 1 or (is_repeated and number % 40 == 1):
            document.set_font("helvetica", style="B" if is_bold else "", size=11)
            line(document, "Valve", "Pressure", "Maker")
            document.set_font("helvetica", size=11)
        line(document, f"V-{number}", f"{number * 3} bar", ("Linde", "Kemi")[number % 2])
        if number % 40 == 0:
            document.add_page()
    document.cell(0, 5, "The end of it.")
    page = extracted(bytes(document.output()))
    assert [{f.name: f.text for f in record.fields} for record in page.records] == [
        {"Valve": f"V-{n}", "Pressure": f"{n * 3} bar", "Maker": ("Linde", "Kemi")[n % 2]} for n in range(1, 121)
    ]
    assert {record.type for record in page.records} == {"Limits of valves"} and page.text.endswith("The end of it.")
    assert page.places is not None
    for at, label in ((0, "page 1"), (40, "page 2"), (119, "page 3")):
        record = page.records[at]
        assert page.places.of(record.start, record.end) == label
    assert page.places.of(len(page.text) - 3, len(page.text)) == "page 4"


def line(document: Any, *cells: str) -> None:
    for cell in cells:
        document.cell(50, 6, cell)
    document.ln(6)


def test_pdf_line_at_top_of_both_pages_is_a_running_head() -> None:
    document = pdf()
    for text in ("The Mur is long.", "The Enns is short."):
        document.cell(0, 5, "Acme confidential", new_x="LMARGIN", new_y="NEXT")
        document.ln(10)
        document.cell(0, 5, text, new_x="LMARGIN", new_y="NEXT")
        if text.startswith("The Mur"):
            document.add_page()
    assert extracted(bytes(document.output())).text == "The Mur is long.\n\nThe Enns is short."


def test_pdf_raised_digits_are_powers_or_marks() -> None:
    document = pdf()
    document.write_html(
        "<p>The tank holds 10<sup>3</sup> litres and 25 m<sup>2</sup> of floor, by the annex<sup>12</sup> of 2019.</p>"
        "<p>E = mc<sup>2</sup>, 10<sup>-6</sup> of H<sub>2</sub>O.</p><p><sup>12</sup> See the list.</p>"
    )
    assert " ".join(extracted(bytes(document.output())).text.split()) == (
        "The tank holds 10^3 litres and 25 m² of floor, by the annex^12 of 2019. "
        "E = mc², 10^-6 of H2O. ¹² See the list."
    )


FERRIES = (
    (
        "Northern ferry from the old harbour to the island",
        "120",
        "4.5",
        "Lind Lines, whose office is at the pier of Asp",
    ),
    ("Ferry", "80", "3", "Moe"),
    ("Night ferry", "300", "11", "Berg and Daughters, the owners of two ships"),
)
LAYOUTS: dict[str, dict[str, Any]] = {
    "cells": {},
    "rows": {"borders_layout": "HORIZONTAL_LINES"},
    "columns": {"borders_layout": "NO_HORIZONTAL_LINES", "line_height": 5, "padding": 2},
    "none": {"borders_layout": "NONE", "line_height": 5, "padding": 2},
    "top": {"borders_layout": "NONE", "line_height": 5, "padding": 2, "v_align": "TOP"},
}


@pytest.mark.parametrize("is_split", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pdf_table_with_wrapped_cells_and_split_names_keeps_its_rows(layout: str, is_split: bool) -> None:
    document = pdf()
    document.set_font("helvetica", size=10)
    with document.table(num_heading_rows=1 + is_split, **LAYOUTS[layout]) as table:
        row = table.row()
        for name, rows, columns in (("Line", 2, 1), ("Seats", 1, 2), ("Owner", 2, 1)) if is_split else ():
            row.cell(name, rowspan=rows, colspan=columns, align="C")
        for values in (("Cars", "Boats") if is_split else ("Line", "Cars", "Boats", "Owner"), *FERRIES):
            row = table.row() if is_split or values[0] != "Line" else row
            for value in values:
                row.cell(value)
    names = ("Line", *(f"Seats / {name}" if is_split else name for name in ("Cars", "Boats")), "Owner")
    assert [{f.name: f.text for f in record.fields} for record in extracted(bytes(document.output())).records] == [
        dict(zip(names, ferry, strict=True)) for ferry in FERRIES
    ]


def test_pdf_columns_below_each_heading_are_no_table() -> None:
    document = pdf()
    for section in range(3):
        document.set_xy(10, 40 + 60 * section)
        document.cell(0, 6, f"Part {section}")
        for x, side in ((10, "left"), (110, "right")):
            document.set_xy(x, 50 + 60 * section)
            document.multi_cell(85, 5, f"The {side} column says what it says in so many words that it takes lines.")
    page = extracted(bytes(document.output()))
    column = "column says what it says in so many\nwords that it takes lines."
    assert not page.records and all(page.text.count(f"The {side} {column}") == 3 for side in ("left", "right"))


def test_pdf_read_waits_while_another_thread_uses_pdfium() -> None:
    data, done = rivers_pdf(), list[Extracted]()
    thread = Thread(target=lambda: done.append(extracted(data)))
    with PDFIUM:
        thread.start()
        thread.join(0.2)
        assert not done
    thread.join()
    assert len(done) == 1


@pytest.mark.parametrize(("drawn", "turn"), [(0, 90), (0, 180), (0, 270), (90, 0), (270, 0), (90, 90)])
def test_pdf_turned_text_is_read_in_order_with_boxes_as_shown(drawn: int, turn: int) -> None:
    import pypdfium2

    said = ["The tunnel was opened in 1854 by", "Carl Ghega, who was born in Venice,", "and it is 1431 metres long."]
    document = pdf()
    with document.rotation(drawn, x=100, y=150):
        for at, line in enumerate(said):
            document.set_xy(60, 140 + 5 * at)
            document.cell(0, 5, line)
    turned = pypdfium2.PdfDocument(bytes(document.output()))
    turned[0].set_rotation(turn)
    out = io.BytesIO()
    turned.save(out)
    page = extracted(out.getvalue())
    assert page.text == "\n".join(said) and page.places is not None
    is_sideways = (turn - drawn) % 180 == 90
    for box in page.places.boxes:
        width, height = box.right - box.left, box.bottom - box.top
        assert 0 < 2 * min(width, height) < max(width, height) and is_sideways == (height > width)


@pytest.mark.parametrize(
    "rest", ["", " It was rebuilt in stone after the flood of that summer, and stands to this day."]
)
def test_pdf_first_lines_that_differ_in_numbers_are_text(rest: str) -> None:
    document = pdf()
    for year in range(1900, 1905):
        document.add_page()
        document.set_xy(20, 20)
        document.multi_cell(150, 5, f"In {year} the bridge cost {year - 1880} thousand guilders.{rest}")
    text = extracted(bytes(document.output())).text
    assert all(f"In {year} the bridge cost {year - 1880} thousand" in text for year in range(1900, 1905))
