"""Rows of tables as sentences: each cell after the name of its column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_NUMBER = re.compile(r"[\s\d.,:%$€£+()/-]+")
_MAX_HEADER = 100  # characters of the name of a column


def is_header(row: Sequence[str]) -> bool:
    """Return whether a row may name columns: short texts that differ, at least two of them, and no numbers.

    >>> is_header(["River", "Length in km"]), is_header(["Mur", "464"]), is_header(["River", ""])
    (True, False, False)
    """
    names = [cell.strip().lower() for cell in row]
    differ = len(set(names)) == len(names) >= 2
    return differ and all(name and len(name) <= _MAX_HEADER and not _NUMBER.fullmatch(name) for name in names)


def row_sentence(columns: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as a sentence, without its empty cells.

    >>> row_sentence(["River", "Source", "km"], ["Mur", "", "464"])
    'River: Mur; km: 464.'
    """
    cells = [" ".join(cell.split()) for cell in row]
    names = [*columns[: len(cells)], *[""] * (len(cells) - len(columns))]
    pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
    sentence = "; ".join(pairs)
    return sentence if not sentence or sentence[-1] in ".!?" else f"{sentence}."


def table_lines(rows: Iterable[Sequence[str]], *, header: bool = True) -> Iterator[str]:
    """Yield the rows of a table as lines: sentences if the first row names the columns, else cells between bars.

    The names of columns without cells come last. `header`: whether the first row may name columns.

    >>> list(table_lines([["River", "km"], ["Mur", "464"]])), list(table_lines([["1", "2"], ["3", "4"]]))
    (['River: Mur; km: 464.'], ['1 | 2', '3 | 4'])
    >>> list(table_lines([["River", "km", "Source"], ["Mur", "464", ""]]))
    ['River: Mur; km: 464.', 'Source']
    """
    columns: list[str] | None = None
    empty: dict[int, str] = {}  # columns without cells so far
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if not any(cells):
            continue
        if columns is None:
            columns = cells if header and is_header(cells) else []
            empty = dict(enumerate(columns))
            if columns:
                continue
        for at in [at for at in empty if at < len(cells) and cells[at]]:
            del empty[at]
        yield row_sentence(columns, cells) if columns else " | ".join(filter(None, cells))
    if empty:  # all of them in a table of one row
        yield " | ".join(empty.values())
