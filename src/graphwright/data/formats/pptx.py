"""PowerPoint presentations: the titles, texts, tables, charts and notes of their slides, by python-pptx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from graphwright.data.formats.format import Extracted, File, TextBuilder, UnreadableError
from graphwright.data.formats.office import office_package
from graphwright.data.tables import row_sentence, table_lines

_MAX_DEPTH = 50


def read(file: File) -> Iterator[Extracted]:
    """Yield the text of a presentation; its places are slides."""
    from pptx import Presentation

    with office_package(file) as source:
        presentation: Any = Presentation(source)
    builder = TextBuilder("slide")
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
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = _text(slide.notes_slide.notes_text_frame)
            builder.block(f"Notes: {notes}" if notes.strip() else "")
    properties = presentation.core_properties
    title = properties.title if properties.title != "PowerPoint Presentation" else ""
    yield builder.extracted(title or first, metadata={"author": properties.author} if properties.author else {})


def _position(shape: Any) -> tuple[int, int]:
    """Return where a shape begins, from the top; shapes without a place of their own come first."""
    return shape.top or 0, shape.left or 0


def _add(shape: Any, builder: TextBuilder, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise UnreadableError(f"shapes nested more than {_MAX_DEPTH} levels deep")
    if getattr(shape, "has_table", False):
        builder.blank()
        for line in table_lines([cell.text for cell in row.cells] for row in shape.table.rows):
            builder.line(line)
        builder.blank()
    elif getattr(shape, "has_chart", False):
        _add_chart(shape.chart, builder)
    elif hasattr(shape, "shapes"):
        for inner in sorted(shape.shapes, key=_position):
            _add(inner, builder, depth + 1)
    elif getattr(shape, "has_text_frame", False):
        builder.block(_text(shape.text_frame))


def _add_chart(chart: Any, builder: TextBuilder) -> None:
    """Add the titles of a chart and its axes, and a sentence for each category with the values of the series."""
    builder.blank()
    if chart.has_title and chart.chart_title.has_text_frame:
        builder.line(_text(chart.chart_title.text_frame))
    for name in ("category_axis", "value_axis"):
        with suppress(ValueError):  # such as a pie, which has no axes
            axis = getattr(chart, name)
            if axis.has_title and axis.axis_title.has_text_frame:
                builder.line(_text(axis.axis_title.text_frame))
    for plot in chart.plots:
        columns = ["", *(series.name or "" for series in plot.series)]
        categories = [", ".join(map(str, labels)) for labels in plot.categories.flattened_labels]
        for at, values in enumerate(zip_longest(*(series.values for series in plot.series))):
            category = categories[at] if at < len(categories) else str(at + 1)
            builder.line(row_sentence(columns, [category, *map(_number, values)]))
    builder.blank()


def _number(value: float | None) -> str:
    return "" if value is None else str(value).removesuffix(".0")


def _text(frame: Any) -> str:
    """Return the paragraphs of a frame as lines; those of lower levels as items of a list."""
    lines = ((paragraph.level, paragraph.text.replace("\v", "\n").strip()) for paragraph in frame.paragraphs)
    return "\n".join(f"{'- ' if level else ''}{line}" for level, line in lines if line)
