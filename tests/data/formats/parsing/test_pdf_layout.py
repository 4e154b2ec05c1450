"""Layout: every word of the lines is written once, inside its box, whatever the lines are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.formats.format import TextBuilder
from graphwright.data.formats.parsing.pdf_layout import in_reading_order, without_running_heads, write_pages
from graphwright.data.formats.parsing.pdf_rows import Cell, Line

coordinates = st.integers(0, 9_000)


@st.composite
def lines(draw: st.DrawFn) -> Line:
    text = draw(st.sampled_from(["One line.", "of docu-", "ments here", "12", "•", "A", "Two words"]))
    left, top, height = draw(coordinates), draw(coordinates), draw(st.sampled_from([100, 150]))
    halves = text.split(" ")
    cells = tuple(Cell(half, left + 900 * at, left + 900 * at + 500) for at, half in enumerate(halves))
    parts = draw(st.sampled_from([cells, (Cell(text, left, left + 900),)]))
    return Line(text, (left, top, parts[-1].right, top + height), height / 10, parts, draw(st.booleans()))


@given(st.lists(st.lists(lines(), max_size=8), max_size=4))
def test_write_pages_every_character_lies_in_box(pages: list[list[Line]]) -> None:
    builder = TextBuilder("page")
    write_pages(pages, builder)
    text, places = builder.text, builder.places()
    kept = [line for page in without_running_heads(pages) for line in page]
    letters = sorted(sign for line in kept for sign in line.text if sign.isalnum())
    table = "|" in text or ": " in text  # the names of columns are repeated
    assert table or sorted(sign for sign in text if sign.isalnum()) == letters
    assert places is None or all(0 <= box.start < box.end <= len(text) for box in places.boxes)
    assert places is None or [box.start for box in places.boxes] == sorted(box.start for box in places.boxes)
    covered = {at for box in builder.boxes for at in range(box.start, box.end)}
    assert all(at in covered for at, sign in enumerate(text) if sign.isalnum())


@given(st.lists(lines(), max_size=12))
def test_in_reading_order_keeps_every_line(page: list[Line]) -> None:
    assert sorted(in_reading_order(page)) == sorted(page)


def line_at(text: str, top: int) -> Line:
    return Line(text, (1000, top, 9000, top + 150), 11.0, (Cell(text, 1000, 9000),))


def test_page_numbers_without_running_heads_are_omitted() -> None:
    heads = ["Rivers 7", "8 Styria", "The Mur 9", "10 The Enns"]
    pages = [[line_at(head, 300), *(line_at(f"Text {row}", 2000 + 200 * row) for row in range(3))] for head in heads]
    assert [[line.text for line in page] for page in without_running_heads(pages)] == [
        ["Text 0", "Text 1", "Text 2"]
    ] * 4


def test_margin_lines_without_running_heads_stay() -> None:
    pages = [[line_at("In 1974", 300), line_at("Text", 2000)], [line_at("A letter", 300), line_at("Text", 2100)]]
    assert without_running_heads(pages) == pages
