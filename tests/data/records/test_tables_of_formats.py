"""One table in each format that has tables gives the same records."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.formats.made import extracted, pdf, written, zipped

from graphwright.data.document import Document
from graphwright.data.records.rows import read_rows

Rows = Sequence[Sequence[str]]
Facts = list[tuple[bool, list[tuple[str, str]]]]


def delimited(mark: str, **options: Any) -> Callable[[Rows], bytes]:
    def write(rows: Rows) -> bytes:
        file = io.StringIO()
        csv.writer(file, delimiter=mark, **options).writerows(rows)
        return file.getvalue().encode()

    return write


def xlsx(rows: Rows) -> bytes:
    workbook = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        workbook.active.append([cell or None for cell in row])
    return written(workbook)


def docx(rows: Rows) -> bytes:
    document = pytest.importorskip("docx").Document()
    table = document.add_table(0, len(rows[0]))
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    return written(document)


def pptx(rows: Rows) -> bytes:
    presentation = pytest.importorskip("pptx").Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(len(rows), len(rows[0]), 0, 0, 5_000_000, 1_000_000).table
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(at, column).text = text
    return written(presentation)


def odt(rows: Rows) -> bytes:
    body = "".join(
        "<t:table-row>" + "".join(f"<t:table-cell><x:p>{cell}</x:p></t:table-cell>" for cell in row) + "</t:table-row>"
        for row in rows
    )
    content = f'<o xmlns:t="urn:t" xmlns:x="urn:x"><body><t:table>{body}</t:table></body></o>'
    return zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": content.encode()})


def html(rows: Rows) -> bytes:
    head, *body = rows
    lines = ["".join(f"<th>{cell}</th>" for cell in head)]
    lines += ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
    return ("<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>").encode()


def markdown(rows: Rows) -> bytes:
    head, *body = (f"| {' | '.join(row)} |\n" for row in rows)
    return (head + "|" + " --- |" * len(rows[0]) + "\n" + "".join(body)).encode()


def asciidoc(rows: Rows) -> bytes:
    return ("|===\n" + "".join("|" + " |".join(row) + "\n\n" for row in rows) + "|===\n").encode()


def _padded(rows: Rows) -> list[list[str]]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]


def grid_table(rows: Rows) -> bytes:
    head, *body = _padded(rows)
    rule = "+" + "".join("-" * (len(cell) + 2) + "+" for cell in head)
    lines = [rule, f"| {' | '.join(head)} |", rule.replace("-", "=")]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |\n{rule}" for row in body)]).encode()


def simple_table(rows: Rows) -> bytes:
    head, *body = _padded(rows)
    rule = "  ".join("=" * len(cell) for cell in head)
    return "\n".join([rule, "  ".join(head), rule, *("  ".join(row) for row in body), rule]).encode()


def list_table(rows: Rows) -> bytes:
    items = ("".join(f"   {' ' if at else '*'} - {cell}\n" for at, cell in enumerate(row)) for row in rows)
    return (".. list-table::\n   :header-rows: 1\n\n" + "".join(items)).encode()


def csv_table(rows: Rows) -> bytes:
    lines = (",".join(f'"{cell}"' for cell in row) for row in rows)
    return (".. csv-table::\n   :header-rows: 1\n\n   " + "\n   ".join(lines)).encode()


def printed(rows: Rows) -> bytes:
    document = pdf()
    with document.table(rows) as _:
        pass
    return bytes(document.output())


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "t.csv": delimited(","),
    "semicolons.csv": delimited(";", quoting=csv.QUOTE_ALL),
    "t.tsv": delimited("\t"),
    "t.xlsx": xlsx,
    "t.docx": docx,
    "t.pptx": pptx,
    "t.odt": odt,
    "t.html": html,
    "t.md": markdown,
    "grid.md": grid_table,
    "grid.rst": grid_table,
    "simple.rst": simple_table,
    "list.rst": list_table,
    "csv.rst": csv_table,
    "t.adoc": asciidoc,
    "t.pdf": printed,
}

NAMES = st.text("abcdefghij", min_size=3, max_size=8)
VALUES = (
    st.text("klmnopqrst", min_size=2, max_size=8),
    st.integers(1000, 999_999).map(str),
    st.decimals(1, 999, places=2).map(str),
    st.dates().map(str),
    st.integers(1, 999).map("{} km".format),
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """A table whose columns each hold one kind of values, with gaps in all but the first two."""
    width, height = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    columns = []
    for column in range(width):
        values = draw(st.sampled_from(VALUES))
        texts = draw(st.lists(values, min_size=height, max_size=height))
        gaps = draw(st.sets(st.integers(0, height - 1), max_size=1)) if column > 1 else set()
        columns.append(["" if at in gaps else text for at, text in enumerate(texts)])
    names = draw(st.lists(NAMES, min_size=width, max_size=width, unique=True))
    return [names, *map(list, zip(*columns, strict=True))]


def facts_in(name: str, data: bytes, folder: Path) -> Facts:
    """The fields of the records of a file, with whether each record is a copy."""
    if name.endswith(("csv", "tsv")):
        path = folder / name
        path.write_bytes(data)
        records = [r for _, row in read_rows(path, name) if isinstance(row, Document) for r in row.records]
    else:
        records = list(extracted(name, data).records)
    return [(record.is_copy, [(field.name, field.text) for field in record.fields]) for record in records]


@settings(max_examples=20, deadline=None)
@given(tables())
def test_table_in_every_format_gives_same_records(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]
) -> None:
    names, *rows = table
    expected = [[(name, text) for name, text in zip(names, row, strict=True) if text] for row in rows]
    for name, write in FORMATS.items():
        facts = facts_in(name, write(table), tmp_path_factory.mktemp("tables"))
        assert [fields for _, fields in facts] == expected, name
        assert not any(is_copy for is_copy, _ in facts), name
