"""Fill the figures of the documentation from the pages of results, or check that they are filled.

    python benchmarks/docs_figures.py            fill README.md and docs
    python benchmarks/docs_figures.py --check    change nothing; 1 if a page would change

A page asks for figures in a comment, and holds them up to the comment that ends them:

    <!-- results: blend.md "What it is worth" rows="scifact = SciFact; cisi" columns="set; 0.3" --> ... <!-- / -->
    <!-- results: recall.md "Recall@5" cell="multihop; 2wiki" -->98.6<!-- / -->
    <!-- results: updates.json "tenth > add a tenth / rebuild" round=2 -->0.17<!-- / -->
    <!-- results: states --> ... <!-- / -->

The first word is a file of `benchmarks/results`. Of a page the second is the heading above a table, with those above it
where it is not the only one ("The fifteen instances > MetaQA"); of several tables `table=2` is the second. Rows are
named by patterns of their beginning, cells joined by " | ", columns by their titles; `NAME = OTHER` gives either
another name. A cell is written up to its interval. Of a JSON file the second word is the keys that lead to a number.
`round=0` rounds a number, `times=100` multiplies it. `states` is a sentence with the states of the code behind the
figures of a page.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from stamps import RESULTS, UNKNOWN, read_stamped, states_in, together

ROOT = Path(__file__).parents[1]
_MARK = re.compile(r"<!-- results: (.+?) -->(.*?)<!-- / -->", re.DOTALL)
_STATES = "states"


class FigureError(Exception):
    """A page asks for figures that no results have."""


@dataclass(frozen=True)
class Table:
    """A table: its titles, and its rows; blank first cells are those of the row before."""

    titles: list[str]
    rows: list[list[str]]

    def row(self, pattern: str) -> list[list[str]]:
        """Return the rows that begin with a pattern. Raises FigureError where there are none."""
        found = [row for row in self.rows if re.match(rf"{pattern}(?: \| |$)", " | ".join(row).replace("`", ""))]
        if not found:
            raise FigureError(f"no row begins with {pattern!r}; there are: {', '.join(row[0] for row in self.rows)}")
        return found

    def column(self, title: str) -> int:
        """Return the place of a column. Raises FigureError where there is none."""
        if title not in self.titles:
            raise FigureError(f"no column is called {title!r}; there are: {', '.join(self.titles)}")
        return self.titles.index(title)


def tables_of(page: str) -> Iterator[tuple[str, Table]]:
    """Yield the tables of a page of Markdown, each with the heading above it."""
    path, lines = dict[int, str](), []
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            lines.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
            continue
        if len(lines) > 1:
            rows = lines[2:]
            for before, row in pairwise(rows):
                row[0] = row[0] or before[0]
            yield " > ".join(path.values()), Table(lines[0], rows)
        lines = []
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            path = {of: title for of, title in {**path, level: line.lstrip("# ")}.items() if 1 < of <= level}


def table_of(file: str, heading: str, number: int) -> Table:
    """Return a table of a page of results. Raises FigureError where there is none."""
    path = RESULTS / file
    if not path.exists():
        raise FigureError(f"there are no results {file}")
    tables = list(tables_of(path.read_text(encoding="utf-8")))
    below = [table for above, table in tables if above == heading or above.endswith(f"> {heading}") or not heading]
    if len(below) < number:
        titles = ", ".join(dict.fromkeys(above for above, _ in tables))
        raise FigureError(f"{file} has no table {number} below {heading!r}; it has tables below: {titles}")
    return below[number - 1]


def named(text: str) -> tuple[str, str | None]:
    """Return what is named, and its other name if it has one."""
    name, equals, other = text.partition(" = ")
    return name.strip(), other.strip() if equals else None


def figures(call: str) -> str:
    """Return the figures that a comment asks for."""
    words = shlex.split(call)
    options = dict(word.split("=", 1) for word in words if re.match(r"(rows|columns|cell|table|round|times)=", word))
    file, *headings = [word for word in words if word.split("=", 1)[0] not in options]
    heading = " ".join(headings)
    if file.endswith(".json"):
        return rounded(value_of(file, heading), options)
    table = table_of(file, heading, int(options.get("table", 1)))
    if "cell" in options:
        row, column = options["cell"].rsplit("; ", 1)
        return rounded(table.row(row)[0][table.column(column)].split(" (")[0].strip("*` "), options)
    return f"\n\n{shown(table, options.get('rows'), options.get('columns'))}\n"


def value_of(file: str, keys: str) -> str:
    """Return a number of a JSON file of results. Raises FigureError where there is none."""
    _, value = read_stamped(RESULTS / file)
    for key in keys.split(" > "):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, ValueError, TypeError):
            there = ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__
            raise FigureError(f"{file} has no {keys!r}: no {key!r} among {there}") from None
    return str(value)


def rounded(value: str, options: Mapping[str, str]) -> str:
    """Return a number multiplied and rounded as asked for."""
    if not options.keys() & {"round", "times"}:
        return value
    number = float(value.replace(",", "").rstrip(" %")) * float(options.get("times", 1))
    return f"{number:,.{options.get('round', 1)}f}"


def shown(table: Table, rows: str | None, columns: str | None) -> str:
    """Return a table as Markdown, with the rows and columns asked for."""
    chosen = [named(title) for title in columns.split("; ")] if columns else [(title, None) for title in table.titles]
    places = [table.column(title) for title, _ in chosen]
    titles = [title if other is None else other for title, other in chosen]
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)]]
    for pattern, other in map(named, rows.split("; ") if rows else [".*"]):
        for row in table.row(pattern):
            cells = [row[place] for place in places]
            lines.append(cells if other is None else [other, *cells[1:]])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def filled(page: str) -> tuple[str, list[str], list[str]]:
    """Return a page with its figures, the states of the code behind them, and what could not be filled."""
    files = [RESULTS / shlex.split(call)[0] for call, _ in _MARK.findall(page) if call != _STATES]
    behind, problems = together(states_in(file) for file in files if file.exists()), []

    def fill(mark: re.Match[str]) -> str:
        call, text = mark[1], mark[2]
        try:
            text = stated(behind) if call == _STATES else figures(call)
        except FigureError as error:
            problems.append(f"<!-- results: {call} -->: {error}")
        return f"<!-- results: {call} -->{text}<!-- / -->"

    return _MARK.sub(fill, page), behind, problems


def stated(states: Sequence[str]) -> str:
    """Return a sentence with the states of the code."""
    named = [f"{UNKNOWN} (before states were kept)" if state == UNKNOWN else state for state in states]
    return f"\nThe figures of this page were made by the {_states(named)} of the code.\n"


def _states(states: Sequence[str]) -> str:
    return f"state {states[0]}" if len(states) == 1 else f"states {', '.join(states)}"


def pages() -> list[Path]:
    """Return the pages that may ask for figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill or check every page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 if a page would change")
    check = parser.parse_args(arguments).check
    wrong = 0
    for path in pages():
        before = path.read_text(encoding="utf-8")
        after, behind, problems = filled(before)
        wrong += len(problems) + (check and after != before)
        if behind:
            print(f"{path.relative_to(ROOT)}: {_states(behind)}{', would change' * (check and after != before)}")
        for problem in problems:
            print(f"{path.relative_to(ROOT)}: {problem}", file=sys.stderr)
        if not check and after != before:
            path.write_text(after, encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
