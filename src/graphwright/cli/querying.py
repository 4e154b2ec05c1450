"""The query command: what a query gives, as a table or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from graphwright.cli.asking import open_index
from graphwright.cli.terminal import console, note, plain_table, print_json, say, shortened
from graphwright.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

    from graphwright.operators import QueryResult
    from graphwright.search import Filter

_ROWS, _COLUMNS, _WIDTH, _HEADING = 20, 8, 60, 12  # of a table on a terminal; characters of a source, of a heading


def show_query(folder: Path, text: str, filter: Filter | None, *, as_json: bool) -> None:
    """Run a query and print its result: on a terminal a table and its sources, elsewhere a value or a row a line."""
    with open_index(folder) as index:
        result = index.query(text, filter=filter)
        if as_json:
            print_json(result.to_dict())
            return
        for line in result.notes:
            note(f"note: {line}")
        output = console()
        if output.is_terminal:
            output.print(Text(result.words, "dim"), soft_wrap=True)
        if result.is_set:
            _show_things(result, output)
        else:
            output.print(Text(_value(result), "bold"), soft_wrap=True)
        if output.is_terminal:
            _show_support(result, output)


def show_schema(folder: Path, *, as_json: bool) -> None:
    """Print the types and relations that a query may name, as a query names them."""
    from graphwright.operators import notation
    from graphwright.operators.query.query import OfType

    with open_index(folder) as index:
        listed = index.schema()
    if as_json:
        print_json(listed)
        return

    def name_text(name: str) -> str:
        return notation(OfType(name))  # relations are written as types are

    for item in listed["types"]:
        say(f"{name_text(item['name'])} ({item['count']:,}): {', '.join(map(name_text, item['relations']))}")
    for item in listed["relations"]:
        say(f".{name_text(item['name'])} ({item['count']:,}): {shortened(item['example'], _WIDTH)}")


def _value(result: QueryResult) -> str:
    """Return a number with its unit, yes or no, or that there is none."""
    if isinstance(result.value, bool):
        return "yes" if result.value else "no"
    if result.value is None:
        return "There is no such value."
    number = f"{result.value:,}" if isinstance(result.value, int) else str(result.value)
    return f"{number} {result.unit}".rstrip()


def _show_things(result: QueryResult, output: Console) -> None:
    """Print the things of a set, of records their fields in columns; elsewhere with tabs between them."""
    is_table = len(result.rows) == len(result.names)
    dates = result.dates if output.is_terminal and result.dates else [""] * len(result.names)
    dated = ([("", name), *([("dates", date)] if date else [])] for name, date in zip(result.names, dates, strict=True))
    rows = result.rows if is_table else list(map(dict, dated))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if not rows:
        note("Nothing was found.")
    elif output.is_terminal:
        rows, columns = rows[:_ROWS], columns[:_COLUMNS]
        table = plain_table()
        table.show_header = is_table
        for name in columns:
            table.add_column(Text(_heading(name)))
        for row in rows:
            table.add_row(*(Text(shortened(row.get(name, ""), _WIDTH)) for name in columns))
        output.print(table)
    else:
        for cells in [columns] * is_table + [[row.get(name, "") for name in columns] for row in rows]:
            say("\t".join(" ".join(cell.split()) for cell in cells))
    if len(result.things) > len(rows):
        note(f"note: {len(rows):,} of {counted(len(result.things), 'thing')} are shown.")


def _heading(name: str) -> str:
    """Return the name of a column, a long path in two lines."""
    around, dot, last = name.rpartition(".")
    return f"{around}{dot}\n{last}" if dot and len(name) > _HEADING else name


def _show_support(result: QueryResult, output: Console) -> None:
    """Print the sources of a result."""
    if result.citations:
        output.print(Text(f"Sources: {len(result.citations)} of {result.support_count:,}", "dim"))
    for cited in result.citations:
        place = cited.document or " — ".join(cited.path)
        where = f"  {cited.location}," if cited.location else ""
        where += f" characters {cited.start}-{cited.end}" if cited.document else ""
        output.print(Text(place, "cyan").append(where, "dim"), soft_wrap=True)
        if cited.document:
            output.print(Text(f"    “{shortened(cited.text, 3 * _WIDTH)}”", "italic"), soft_wrap=True)
