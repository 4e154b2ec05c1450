"""PowerPoint presentations: the titles, texts, tables, charts and notes of their slides, by python-pptx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from graphwright.data.formats.format import Extracted, File, TextBuilder, UnreadableError
from graphwright.data.formats.office import office_package
from graphwright.data.formats.xml import local, outermost
from graphwright.data.tables import row_sentence, table_lines

_MAX_DEPTH = 50
_MAX_POINTS = 10_000  # of a series


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
    for at, element in enumerate(_plots(chart)):
        try:
            names, categories, values = _plotted(chart.plots[at])
        except (NotImplementedError, ValueError):  # of kinds that the library does not know, such as a cake in 3-D
            names, categories, values = _stored(element)
        for row, cells in enumerate(zip_longest(*values)):
            category = categories[row] if row < len(categories) else str(row + 1)
            builder.line(row_sentence(["", *names], [category, *map(_number, cells)]))
    builder.blank()


def _plots(chart: Any) -> list[Any]:
    """Return the elements of the plots of a chart, such as bars and a line over them."""
    return [node for area in outermost(chart.element, "plotArea") for node in area if local(node).endswith("Chart")]


def _plotted(plot: Any) -> tuple[list[str], list[str], list[Any]]:
    """Return the names of the series of a plot, its categories, and the values of each series."""
    series = list(plot.series)
    categories = [", ".join(map(str, labels)) for labels in plot.categories.flattened_labels]
    return [each.name or "" for each in series], categories, [each.values for each in series]


def _stored(plot: Any) -> tuple[list[str], list[str], list[Any]]:
    """Return the same by the values that are stored with a plot; of categories in categories the innermost."""
    series = [_parts(each) for each in plot if local(each) == "ser"]
    names = ["".join("".join(node.itertext()) for node in outermost(each.get("tx", ()), "v")) for each in series]
    categories = _points(series[0]["cat"]) if series and "cat" in series[0] else {}
    values = [_points(each["val"]) if "val" in each else {} for each in series]
    rows = range(max((max(points, default=-1) + 1 for points in (categories, *values)), default=0))
    return names, [categories.get(row, str(row + 1)) for row in rows], [list(map(each.get, rows)) for each in values]


def _parts(element: Any) -> dict[str, Any]:
    return {local(child): child for child in element}


def _points(element: Any) -> dict[int, str]:
    """Return the values that are stored below an element, by their number from 0."""
    level = next(outermost(element, "lvl"), element)
    found = {}
    for point in outermost(level, "pt"):
        number, value = point.get("idx", ""), "".join(point.itertext()).strip()
        if number.isdecimal() and int(number) < _MAX_POINTS:
            found[int(number)] = value
    return found


def _number(value: float | str | None) -> str:
    return "" if value is None else str(value).removesuffix(".0")


def _text(frame: Any) -> str:
    """Return the paragraphs of a frame as lines; those of lower levels as items of a list."""
    lines = ((paragraph.level, paragraph.text.replace("\v", "\n").strip()) for paragraph in frame.paragraphs)
    return "\n".join(f"{'- ' if level else ''}{line}" for level, line in lines if line)
