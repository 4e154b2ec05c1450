"""Files of each format, made by the libraries that write them, and their text."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from graphwright.data.formats.format import Extracted, File
from graphwright.data.formats.parsing.pdf_pictures import page_pixels
from graphwright.data.formats.registry import format_of

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


def page_picture(*lines: str, dpi: int = 100) -> Any:
    """A picture of the top of a page with lines of text."""
    pypdfium2, image = pytest.importorskip("pypdfium2"), pytest.importorskip("PIL.Image")
    document = pdf()
    document.set_font("helvetica", size=14)
    for line in lines:
        document.cell(0, 10, line, new_x="LMARGIN", new_y="NEXT")
    drawn = page_pixels(pypdfium2.PdfDocument(bytes(document.output()))[0], dpi / 72, 4_000)
    return image.fromarray(drawn[: dpi * (len(lines) + 2) // 2])


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


def extracted(name: str, data: bytes | str) -> Extracted:
    """The one document of a file."""
    file = File(name, content=data.encode() if isinstance(data, str) else data)
    (document,) = format_of(file).read(file)
    assert isinstance(document, Extracted)
    return document


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return result.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w") -> bytes:
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return result.getvalue()


def edited(data: bytes, old: str, new: str, member: str = "") -> bytes:
    """An Office file with text replaced in one of its parts, or in all."""
    changed = {}
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        for name in source.namelist():
            changed[name] = source.read(name)
            if member in ("", name):
                assert not member or old.encode() in changed[name]
                changed[name] = changed[name].replace(old.encode(), new.encode())
    return zipped(changed)
