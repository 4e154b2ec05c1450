"""Text of the charts and diagrams of PowerPoint presentations, read from their XML.

The chart interface of python-pptx 1.0 fails for 3 of 95 charts of real presentations (kinds that it does not know), and
finds 88 % of our words: no labels written by hand, dates as numbers of days, no x values of points.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from graphwright.data.formats.parsing.xml import local, outermost, parsed_xml
from graphwright.data.records.grid import CellRow, cell_text
from graphwright.data.records.table import Table

_MAX_POINTS = 10_000  # of a series
_MAX_DIGITS = 15  # of a number that is shown; two more may be stored
_RELATIONSHIP = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_RELATIONSHIP_STRICT = "{http://purl.oclc.org/ooxml/officeDocument/relationships}dm"

Points = dict[int, str]


class _Series(NamedTuple):
    """A series of a chart: its name; and by point the category (or x value), the value and the size."""

    name: str
    categories: Points
    values: Points
    sizes: Points


def chart_titles(chart: Any) -> Iterator[str]:
    """Yield the titles of a chart and its axes."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield chart.chart_title.text_frame.text
    for name in ("category_axis", "value_axis"):
        with suppress(ValueError):  # such as a pie, which has no axes
            axis = getattr(chart, name)
            if axis.has_title and axis.axis_title.has_text_frame:
                yield axis.axis_title.text_frame.text


def chart_tables(chart: Any, title: str) -> Iterator[Table]:
    """Yield the values of a chart as tables: a row for each category, a column for each series."""
    from_1904 = any(node.get("val", "1") not in ("0", "false") for node in outermost(chart.element, "date1904"))
    for area in outermost(chart.element, "plotArea"):
        for plot in area:
            series = [_series(node, from_1904) for node in plot if local(node) == "ser"]
            for categories, group in groupby(series, itemgetter(1)):
                yield Table(_rows(categories, list(group)), header=1, min_columns=1, title=title)


def _rows(categories: Points, series: list[_Series]) -> Iterator[CellRow]:
    """Yield a row for each category of series that share their categories, below a row of their names."""
    columns = [(s.name, s.values) for s in series] + [(f"{s.name} size".lstrip(), s.sizes) for s in series if s.sizes]
    yield CellRow(0, ["", *(cell_text(name) for name, _ in columns)])
    last = max(chain(categories, *(points for _, points in columns)), default=-1)
    for row in range(last + 1):
        cells = [categories.get(row, str(row + 1)), *(points.get(row, "") for _, points in columns)]
        yield CellRow(row + 1, [cell_text(cell) for cell in cells])


def _series(element: Any, from_1904: bool) -> _Series:
    parts = {local(child): child for child in element}
    name = "".join("".join(node.itertext()) for node in outermost(parts.get("tx", ()), "v"))
    kinds = (("cat", "xVal"), ("val", "yVal"), ("bubbleSize",))
    nodes = [next((parts[kind] for kind in names if kind in parts), None) for names in kinds]
    categories, values, sizes = ({} if node is None else _points(node, from_1904) for node in nodes)
    for number, label in _labels(parts.get("dLbls", ())):
        values[number] = f"{values[number]} ({label})" if values.get(number) else label
    return _Series(name, categories, values, sizes)


def _labels(element: Any) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each label that was written by hand."""
    for label in outermost(element, "dLbl"):
        parts = {local(child): child for child in label}
        text = " ".join(" ".join("".join(t.itertext()) for t in outermost(parts.get("tx", ()), "t")).split())
        number = _number(parts["idx"].get("val", "")) if "idx" in parts else None
        if text and number is not None:
            yield number, text


def _points(element: Any, from_1904: bool) -> Points:
    """Return the values stored below an element; nested categories are joined, the outermost first."""
    levels = [_level(level, from_1904) for level in outermost(element, "lvl")]
    if not levels:
        return _level(element, from_1904)
    inner, *outer = levels
    names: list[Points] = []
    for level in outer:  # the first point below a name carries it
        name, filled = "", {}
        for number in range(max(inner, default=-1) + 1):
            name = filled[number] = level.get(number, name)
        names.append(filled)
    return {
        number: ", ".join(filter(None, (*(level[number] for level in reversed(names)), label)))
        for number, label in inner.items()
    }


def _level(element: Any, from_1904: bool) -> Points:
    form = next(("".join(node.itertext()) for node in outermost(element, "formatCode")), "")
    texts = {}
    for point in outermost(element, "pt"):
        number = _number(point.get("idx", ""))
        if number is not None:
            text = "".join(text for v in outermost(point, "v") for text in v.itertext()).strip()
            texts[number] = _shown(text, point.get("formatCode") or form, from_1904)
    return texts


def _number(text: str) -> int | None:
    """Return the number of a point, None if it is not a number or too large."""
    return int(text) if text.isdecimal() and len(text) < 9 and int(text) < _MAX_POINTS else None


def _shown(text: str, form: str, from_1904: bool) -> str:
    """Return a stored value as text: dates, which are stored as numbers of days, in ISO 8601; numbers to 15 digits."""
    if form and form != "General":
        from openpyxl.styles.numbers import is_date_format
        from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

        with suppress(ValueError, OverflowError):  # text, or days that are no date
            if is_date_format(form):
                day = from_excel(float(text), CALENDAR_MAC_1904 if from_1904 else CALENDAR_WINDOWS_1900)
                return str(day).removesuffix(" 00:00:00")
    if len(text) > _MAX_DIGITS:
        with suppress(ValueError):
            return f"{float(text):.{_MAX_DIGITS}g}"
    return text.removesuffix(".0")


def diagram_lines(shape: Any) -> Iterator[str]:
    """Yield the texts of a diagram (SmartArt) in the order of its tree; those below another as items of a list."""
    for relations in outermost(shape.element, "relIds"):
        name = relations.get(_RELATIONSHIP) or relations.get(_RELATIONSHIP_STRICT)
        with suppress(KeyError):  # a relationship that is missing
            yield from _tree(parsed_xml(shape.part.related_part(name).blob))


def _tree(model: Any) -> Iterator[str]:
    """Yield the texts of the points of a diagram's data: a parent before its children."""
    points = {point.get("modelId", ""): point for point in outermost(model, "pt")}
    links = [link for link in outermost(model, "cxn") if link.get("type", "parOf") == "parOf"]
    links.sort(key=lambda link: _number(link.get("srcOrd", "")) or 0)
    children: dict[str, list[str]] = {}
    for link in links:
        children.setdefault(link.get("srcId", ""), []).append(link.get("destId", ""))
    rest = [(name, 0) for name, point in points.items() if point.get("type") == "doc"][::-1]
    while rest:
        name, depth = rest.pop()
        point = points.pop(name, None)  # each point once, whatever the links say
        if point is None:
            continue
        runs = (run for body in outermost(point, "t") for run in outermost(body, "t"))
        if text := " ".join(" ".join("".join(run.itertext()) for run in runs).split()):
            yield f"- {text}" if depth > 1 else text
        rest += [(child, depth + 1) for child in reversed(children.get(name, ()))]


def alternative_lines(shapes: Any) -> Iterator[str]:
    """Yield the paragraphs of shapes stored for newer programs, such as formulas."""
    for node in shapes:
        if local(node) == "AlternateContent" and len(node):
            for paragraph in outermost(node[0], "p"):
                if text := "".join("".join(t.itertext()) for t in outermost(paragraph, "t")).strip():
                    yield text
