"""PowerPoint presentations: titles, texts, tables, charts, diagrams and notes of their slides, by python-pptx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.office_package import has_folder, office_package
from graphwright.data.formats.parsing.pptx_graphics import alternative_lines, chart_tables, chart_titles, diagram_lines
from graphwright.data.formats.parsing.xml import checked_title, local
from graphwright.data.records.grid import Cell, spread
from graphwright.data.records.table import Table, TableReader
from graphwright.text.words import words

_MAX_DEPTH = 50


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a presentation; its places are slides."""
    from pptx import Presentation

    with office_package(file) as source:
        presentation: Any = Presentation(source)
    builder = _Slides("slide")
    first = ""
    for slide in presentation.slides:
        builder.place()
        title = slide.shapes.title
        heading = _text(title.text_frame) if title is not None and title.has_text_frame else ""
        first = first or " ".join(heading.split())
        builder.heading(heading, 1)
        for shape in sorted(slide.shapes, key=_position):
            if title is None or shape.shape_id != title.shape_id:
                _add(shape, builder, 0)
        builder.block("\n".join(alternative_lines(slide.shapes.element)))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = _text(slide.notes_slide.notes_text_frame)
            builder.block(f"Notes: {notes}" if notes.strip() else "")
    properties = presentation.core_properties
    title = checked_title(properties.title or "", builder.text) if properties.title != "PowerPoint Presentation" else ""
    yield builder.extracted(title or first, metadata={"author": properties.author} if properties.author else {})


def _position(shape: Any) -> tuple[int, int]:
    """Return where a shape begins, from the top; shapes without a place of their own come first."""
    return shape.top or 0, shape.left or 0


class _Slides(TextBuilder):
    """Builder of the text of slides, with the last table: its reader, its slide, its first column and its title."""

    last: tuple[TableReader | None, int, set[str], set[str]] = None, 0, set(), set()

    def slide_table(self, table: Any) -> None:
        """Add a table, which goes on from the slide before with like columns, other rows, and a like title or none."""
        rows = [row for row in spread(map(_cells, table.rows)) if any(row.cells)]
        heading = self.headings[-1].title if self.headings else ""
        title = {word for word in words(heading) if not word.isdigit() or len(word) > 2}  # but for numbers of parts
        (reader, slide, names, above), new = self.last, {row.cell(0) for row in rows[1:]}
        is_next = len(self._starts) == slide + 1 and names.isdisjoint(new)
        is_same = title <= above or above <= title or not table.first_row
        if reader is None or not (is_next and is_same and reader.goes_on(rows)):
            reader, names, above = TableReader(Table(())), set(), title
            self.begin_table()
        for item in Table(rows).items(reader):
            self.row(item)
        self.blank()
        self.last = reader, len(self._starts), names | new, above


def _add(shape: Any, builder: _Slides, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise UnreadableError(f"shapes nested more than {_MAX_DEPTH} levels deep")
    if getattr(shape, "has_table", False):
        builder.slide_table(shape.table)
    elif getattr(shape, "has_chart", False):
        titles = list(chart_titles(shape.chart))
        builder.block("\n".join(titles))
        for table in chart_tables(shape.chart, titles[0] if titles else ""):
            builder.table(table)
    elif hasattr(shape, "shapes"):
        for inner in sorted(shape.shapes, key=_position):
            _add(inner, builder, depth + 1)
        builder.block("\n".join(alternative_lines(shape.element)))
    elif local(shape.element) == "graphicFrame":
        builder.block("\n".join(diagram_lines(shape)))
    elif getattr(shape, "has_text_frame", False):
        builder.block(_text(shape.text_frame))


def _cells(row: Any) -> list[Cell]:
    """Return the cells of a row of a table, each merged cell once."""
    cells = []
    for cell in row.cells:
        runs = [run for paragraph in cell.text_frame.paragraphs for run in paragraph.runs if run.text.strip()]
        if not cell.is_spanned:
            bold = bool(runs) and all(run.font.bold for run in runs)
            cells.append(Cell(cell.text, cell.span_width, cell.span_height, bold=bold))
    return cells


def _text(frame: Any) -> str:
    """Return the paragraphs of a frame as lines; those of lower levels as items of a list."""
    lines = ((paragraph.level, paragraph.text.replace("\v", "\n").strip()) for paragraph in frame.paragraphs)
    return "\n".join(f"{'  ' * (level - 1)}{'- ' if level else ''}{line}" for level, line in lines if line)


_SUFFIXES = (".pptx", ".pptm", ".ppsx", ".ppsm")
FORMATS = (Format("PowerPoint presentation", _SUFFIXES, read, binary=True, by_members=has_folder("ppt/")),)
