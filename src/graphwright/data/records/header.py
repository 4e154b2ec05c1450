"""Finding what names the columns of a table: its header, and the lines of its title above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from graphwright.data.records.grid import CellRow, cell_text, has_digit, is_number, kind_of
from graphwright.text.dates import date_text, period_of

Assumption = Callable[[CellRow], bool]  # whether a first row names the columns where the rows below do not tell

_MAX_HEADER = 100  # characters of the name of a column
_MAX_NAME = 1_000  # characters of a name that is kept, which each row repeats
_MAX_ROWS = 5  # of a header
_SAME_KIND = 0.75  # share of the values of a column
_BETWEEN = " / "  # the names of a column in several rows


def may_name_columns(row: CellRow) -> bool:
    """Return whether a row may name columns: short texts that differ, at least two of them, and no numbers but years.

    The first column may have no name.

    >>> may_name_columns(CellRow(0, ["River", "Length in km"])), may_name_columns(CellRow(0, ["Mur", "464"]))
    (True, False)
    """
    texts = [row.cells[column].casefold() for column in row.filled()]
    first = next((column for column, text in enumerate(row.cells) if text), 0)
    gaps = any(not text for text in row.cells[first:])
    numbers = _number_names(row)
    names = all(
        len(text) <= _MAX_HEADER and any(map(str.isalnum, text)) and (numbers or not is_number(text)) for text in texts
    )
    return names and not gaps and len(set(texts)) == len(texts) >= 2


def header_evidence(rows: Sequence[CellRow]) -> int:
    """Return by how many columns the first row differs from those below as names differ from values.

    A name has no digit where most values have one, or it is no number where most are numbers; one name stands above
    several columns; or only the first row is bold. Below 0, the first row is one of values: numbers above numbers,
    unless they count up as years do or span several columns, or a text that recurs in its column.
    """
    first, body = rows[0], [row for row in rows[1:] if row.cells != rows[0].cells]
    bold = sum(row.bold for row in body)
    score = 2 * (first.bold and 2 * bold < len(body)) + bool(first.left)
    numbers = _number_names(first)
    for column in first.filled():
        name = first.cells[column]
        values = [text for row in body if (text := row.cell(column)) and column not in row.above]
        if not values:
            continue
        if is_number(name) and column + 1 not in first.left:
            score -= not numbers or 2 * sum(_is_year(text) or bool(date_text(text)) for text in values) > len(values)
        elif 2 * sum(map(is_number if has_digit(name) else has_digit, values)) >= len(values):
            score += 1
        elif name.casefold() in map(str.casefold, values):
            score -= 1
    return score


def _number_names(row: CellRow) -> bool:
    """Return whether the numbers of a row may be names: 0, 1, 2; 1, 2, 3; or years or days that rise."""
    numbers = [row.cells[column] for column in row.filled() if is_number(row.cells[column])]
    if len(numbers) < 2:
        return False
    if all(map(date_text, numbers)):
        return sorted({*map(date_text, numbers)}) == [*map(date_text, numbers)]
    if not all(number.isdecimal() and len(number) <= 4 for number in numbers):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(numbers)}
    counts = numbers[:2] == ["0", "1"] or numbers[:3] == ["1", "2", "3"]
    return len(steps) == 1 and min(steps) > 0 and (all(map(_is_year, numbers)) or counts)


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdecimal() and text[0] in "12"


def title_depth(rows: Sequence[CellRow]) -> int:
    """Return the number of top rows that say what the table is: one text, or few, all on the left or with a number."""
    counts = [sum(map(bool, row.cells)) for row in rows]
    usual = median(counts)
    if usual < 2:
        return 0
    depth, several = 0, False
    while depth < len(rows) - 1:
        row, filled = rows[depth], rows[depth].filled()
        is_row = filled == list(range(filled[0], filled[0] + len(filled)))  # without gaps, unless beside a date
        has_number = any(is_number(row.cells[column]) for column in filled) and not _number_names(row)
        is_line = (is_row or has_number) and counts[depth] < usual
        is_group = any(not rows[depth + 1].cell(column) for column in filled)
        if len(filled) > 1 and (not is_line or is_group or row.left):
            break
        several = several or len(filled) > 1
        depth += 1
    return 0 if several and header_evidence(rows[depth:]) <= 0 else depth


def are_pairs(rows: Sequence[CellRow], is_nameless: bool = False) -> bool:
    """Return whether rows are names and values, as in a form: values of several kinds, or each name ends in a colon.

    `is_nameless`: the file says that no row names the columns; then names that differ are enough.
    """
    pairs = [row.filled() for row in rows]
    if len(rows) < 2 or any(pair != pairs[0] for pair in pairs) or len(pairs[0]) != 2:
        return False
    if rows[0].bold and not is_nameless:
        return False
    names, values = ([row.cells[column] for row in rows] for column in pairs[0])
    if all(name.endswith(":") for name in names):
        return True
    kinds = Counter(map(kind_of, values[1:])).most_common(1)
    distinct = len(set(names)) == len(names) and not any(map(is_number, names))
    return distinct and (is_nameless or (len(rows) > 2 and kinds[0][1] < _SAME_KIND * len(values[1:])))


def header_depth(rows: Sequence[CellRow], assume: Assumption, declared: int | None = None) -> int:
    """Return the number of rows at the top that name the columns; `assume` decides where the values do not.

    `declared`: how many the file says; a row below that divides a merged name, or one beside blanks, belongs to them.
    """
    if declared is not None:
        depth = min(declared, len(rows))
        is_split = 0 < depth < len(rows) - 1 and (rows[depth - 1].left or _divides(rows[depth - 1], rows[depth]))
        return depth + bool(is_split and header_evidence(rows[depth:]) > 0)
    score = header_evidence(rows)
    depth = 1 + _names_groups(rows)
    if depth == 1 and (score < 0 or (score == 0 and not assume(rows[0]))):
        return 0
    while depth < min(len(rows) - 1, _MAX_ROWS) and _goes_on(rows, depth):
        depth += 1
    return depth


def _names_groups(rows: Sequence[CellRow]) -> bool:
    """Return whether the first row names groups of columns, and the second the columns: it fills the gaps of the first.

    Below the gaps stand values, and the second row differs from the rows below, or has the same names in two groups.
    Where the first row repeats the name of a group instead, numbers stand below.
    """
    if len(rows) < 3:
        return False
    first, second, body = rows[0], rows[1], rows[2:]
    filled, width = first.filled(), max(second.filled(), default=-1) + 1
    gaps = [column for column in range(filled[0] + 1, width) if not first.cell(column)]
    if not gaps:
        numbers = _columns_of(body, width, is_number)
        gaps = [at for at in numbers if at and first.cell(at) == first.cell(at - 1)]
    names = [second.cells[column] for column in second.filled()]
    are_values = [is_number(text) and not _is_year(text) for text in map(first.cell, filled)] + [*map(is_number, names)]
    if len(filled) < 2 or not gaps or any(are_values) or not all(map(second.cell, gaps)):
        return False
    if any(2 * sum(bool(row.cell(column)) for row in body) < len(body) for column in gaps):
        return False
    return len({*names}) < len(names) or header_evidence(rows[1:]) > 0


def _goes_on(rows: Sequence[CellRow], depth: int) -> bool:
    """Return whether row `depth` belongs to the header above it.

    It does if a name spans both, if it divides a merged name, if it has names where the row above has none, or if it
    has units: texts above values, or numbers, and nothing above the rest; or above some that no row below repeats.
    """
    above, row, body = rows[depth - 1], rows[depth], rows[depth + 1 :]
    filled = row.filled()
    if row.above:
        return True
    if not filled or any(is_number(row.cells[column]) for column in filled):
        return False
    if above.left - above.above:  # a name that is merged from here on
        return header_evidence(rows[depth:]) >= 0
    values = _columns_of(body, len(row.cells), has_digit)
    numbers = _columns_of(body, len(row.cells), lambda text: is_number(text) and period_of(text) is None)
    differs = any(column in values and not has_digit(row.cells[column]) for column in filled)
    names = differs and any(not above.cell(column) for column in filled)
    some = row.filled()[0] > above.filled()[0] and {*filled} <= {*values}
    some = some and not any(row.cells[column] == below.cell(column) for below in body for column in filled)
    units = filled in (values, numbers) or some
    return names or (units and not any(has_digit(row.cells[column]) for column in filled))


def _divides(above: CellRow, row: CellRow) -> bool:
    """Return whether a row has texts just where those above are blank, and to the left of these, and blanks besides."""
    blank = {column for column in range(1, len(row.cells)) if not above.cell(column)}
    filled = {*row.filled()}
    return bool(blank) and blank <= filled <= blank | {column - 1 for column in blank}


def _columns_of(rows: Sequence[CellRow], width: int, is_kind: Callable[[str], bool]) -> list[int]:
    """Return the columns of which at least half of the texts are of a kind."""
    columns = ([text for row in rows if (text := row.cell(column))] for column in range(width))
    return [at for at, texts in enumerate(columns) if texts and 2 * sum(map(is_kind, texts)) >= len(texts)]


def column_names(header: Sequence[CellRow]) -> tuple[str, ...]:
    """Return the names of columns by the rows of a header, "" for a column without one.

    A name that stands above several columns is joined to theirs; a name that repeats another gets a number. A colon
    at the end of a cell is left out, and so is the sign of a comment before the first.

    >>> column_names([CellRow(0, ["", "Q1", "", "Q2"]), CellRow(1, ["Region", "Sales", "Units", "Sales"])])
    ('Region', 'Q1 / Sales', 'Q1 / Units', 'Q2 / Sales')
    """
    names: list[str] = []
    for column in range(max(len(row.cells) for row in header)):
        parts = [_name(header, number, column).rstrip(" :：") for number in range(len(header))]
        parts = [part.lstrip("#").lstrip() or part if not column else part for part in parts]
        parts = [part for at, part in enumerate(parts) if part and part not in parts[:at]]
        joined = name = cell_text(_BETWEEN.join(parts)[:_MAX_NAME])
        count = 2
        while name and name in names:
            name, count = f"{joined} ({count})", count + 1
        names.append(name)
    return tuple(names)


def _name(header: Sequence[CellRow], number: int, column: int) -> str:
    """Return the text of one row of a header above a column: its own, or that of the columns to the left."""
    row = header[number]
    if row.cell(column) or number + 1 == len(header) or not header[number + 1].cell(column):
        return row.cell(column)
    before = next((at for at in range(min(column, len(row.cells)) - 1, -1, -1) if row.cells[at]), None)
    return "" if before is None or not header[number + 1].cell(before) else row.cells[before]
