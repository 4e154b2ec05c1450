"""Recognised lines: reading order, columns, rows of tables, turned pages, and lines that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from graphwright.data.formats.parsing import recognition
from graphwright.data.formats.parsing.pdf_rows import Line
from graphwright.data.formats.parsing.recognition import Found, recognised_lines

PAGE = np.full((1_000, 700, 3), 255, np.uint8)


def found(text: str, left: float, top: float, *, right: float = 0, fall: float = 0, score: float = 1.0) -> Found:
    """A line of 20 pixels, 8 for each character, that falls to the right."""
    right = right or left + 8 * len(text)
    low = top + fall * (right - left)
    return Found(text, score, [(left, top), (right, low), (right, low + 20), (left, top + 20)])


def lines(monkeypatch: pytest.MonkeyPatch, *parts: Found) -> list[Line]:
    monkeypatch.setattr(recognition, "_recognised", lambda pixels: list(parts))
    return recognised_lines(PAGE, 1_000)


def texts(found: Sequence[Line]) -> list[str]:
    return [line.text for line in found]


def test_recognised_columns_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = {40: "the left column, line", 380: "the right one has a line"}
    parts = [found(f"{side} {n}, of some words", left, 50 + 30 * n) for n in range(4) for left, side in sides.items()]
    assert texts(lines(monkeypatch, *parts)) == [
        f"{side} {n}, of some words" for side in sides.values() for n in range(4)
    ]


def test_recognised_short_texts_beside_each_other_are_cells_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [("River", "Length"), ("Mur", "464 km"), ("Enns", "254 km")]
    parts = [found(cell, 40 + 300 * at, 50 + 30 * n) for n, row in enumerate(cells) for at, cell in enumerate(row)]
    rows = lines(monkeypatch, found("The rivers of Styria and where each of them rises", 40, 10), *parts)
    assert [[cell.text for cell in row.cells] for row in rows[1:]] == [list(row) for row in cells]
    assert [len(row.parts) for row in rows] == [0, 2, 2, 2]


def test_recognised_parts_of_a_line_are_joined_and_doubtful_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = found("2.1", 40, 50), found("Where the Mur rises", 75, 51), found("~~,;", 300, 51, score=0.4)
    (line,) = lines(monkeypatch, *parts)
    assert line.text == "2.1 Where the Mur rises" and line.box == (571, 500, 3243, 710)


def test_recognised_lines_of_a_turned_page_are_in_order_and_of_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [found(f"line {n} over the whole of the page", 40, 50 + 24 * n, fall=0.05) for n in (0, 1, 2)]
    short = found("end", 40, 50 + 24 * 3, fall=0.05)
    read = lines(monkeypatch, short, *whole)
    assert texts(read) == [*texts(lines(monkeypatch, *whole)), "end"]
    gaps = [below.box[1] - above.box[1] for above, below in pairwise(read)]
    assert max(gaps) - min(gaps) <= 2 and len({line.height for line in read}) == 1


def test_recognised_picture_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()

    def once(pixels: recognition.Pixels) -> list[Found]:
        read.append(len(pixels))
        return [found("Graz lies on the Mur.", 40, 50)]

    monkeypatch.setattr(recognition, "_recognised", once)
    monkeypatch.setattr(recognition, "version", lambda name: "3.10.0")
    kept = tmp_path / "recognised.sqlite"
    first, again = (recognised_lines(PAGE, 1_000, kept) for _ in range(2))
    assert first == again and read == [1_000]
    recognised_lines(PAGE[:900], 900, kept)
    recognised_lines(PAGE, 1_000, tmp_path / "none" / "recognised.sqlite")  # a folder that cannot be written
    assert read == [1_000, 900, 1_000]
