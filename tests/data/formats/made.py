"""Files of each format, made by the libraries that write them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest

__all__ = ["RIVERS", "pdf", "rivers_pdf", "written"]

RIVERS = (("River", "Length", "Source"), ("Mur", "464 km", "Lungau"), ("Enns", "254 km", "Radstadt"))
CHAPTERS = (
    ("Mur", "The Mur rises in the Lungau"),
    ("Enns", "The Enns rises near Radstadt"),
    ("Raab", "The Raab is small"),
)


def pdf() -> Any:
    """An empty A4 PDF with a page."""
    fpdf = pytest.importorskip("fpdf")
    document = fpdf.FPDF(format="A4")
    document.set_font("helvetica", size=11)
    document.add_page()
    return document


def rivers_pdf(chapters: Sequence[tuple[str, str]] = CHAPTERS) -> bytes:
    """A PDF of a page for each chapter, with running heads, page numbers, a hyphenated word and a table."""
    fpdf = pytest.importorskip("fpdf")

    class Book(fpdf.FPDF):  # type: ignore[misc, name-defined, unused-ignore]
        def header(self) -> None:
            self.set_font("helvetica", size=8)
            self.cell(0, 5, "Rivers of Styria, second edition", new_x="LMARGIN", new_y="NEXT")
            self.ln(8)

        def footer(self) -> None:
            self.set_y(-12)
            self.set_font("helvetica", size=8)
            self.cell(0, 5, f"Page {self.page_no()} of {len(chapters)}", align="C")

    document = Book(format="A4")
    document.set_title("Rivers of Styria")
    for river, sentence in chapters:
        document.add_page()
        document.set_font("helvetica", style="B", size=20)
        document.multi_cell(0, 10, f"The river {river}", new_x="LMARGIN", new_y="NEXT")
        document.ln(4)
        document.set_font("helvetica", size=11)
        for line in (f"{sentence}, and it flows through the land until it leaves it, which is impor-", "tant to all."):
            document.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
        document.ln(6)
        document.multi_cell(0, 5, "A second paragraph follows with more words. " * 5, new_x="LMARGIN", new_y="NEXT")
        document.ln(6)
        with document.table(col_widths=(40, 30, 30)) as table:
            for values in RIVERS:
                row = table.row()
                for value in values:
                    row.cell(value)
    return bytes(document.output())


def written(document: Any) -> bytes:
    """The bytes of a document of python-docx, python-pptx or openpyxl."""
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()
