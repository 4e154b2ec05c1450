"""Tables of papers as published, and ours beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import Record, table

FOLDER = Path(__file__).parent
PAPERS = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
NOTHING = "-"


class NotMeasured(Exception):
    """A table for which there are no figures yet; the text says what makes them."""


@dataclass(frozen=True)
class Published:
    """A table or figure of a paper: what it shows, and the numbers printed, by row and column.

    `missing`: why there is nothing of ours, where there is not. `ours`: where other benchmarks measure it, see
    `from_results`.
    """

    name: str
    about: str
    columns: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = ""
    ours: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Ours:
    """Our figures by row and column.

    Rows have the paper's names where they are the paper's; others follow them. `about`: the data, and what stands for
    what.
    """

    about: str
    rows: Mapping[str, Mapping[str, Any]]

    @property
    def columns(self) -> list[str]:
        """The columns of all rows, in order."""
        return list(dict.fromkeys(name for row in self.rows.values() for name in row))


def published(paper: str) -> dict[str, Published]:
    """Return the tables and figures of a paper by name."""
    content = tomllib.loads((FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))
    return {entry["name"]: _published(entry, content) for entry in content["tables"]}


def title(paper: str) -> str:
    """Return the name of a paper's method."""
    name: str = tomllib.loads((FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))["title"]
    return name


def _published(entry: Record, content: Record) -> Published:
    columns, rows = tuple(entry.get("columns", ())), {}
    for line in entry.get("rows", "").strip().splitlines():
        name, *cells = (cell.strip() for cell in line.split(" | "))
        if len(cells) != len(columns):
            raise ValueError(f"{entry['name']}, {name}: {len(cells)} numbers in {len(columns)} columns")
        rows[name] = tuple(cells)
    groups = tuple(_cells(group, content) for group in entry.get("ours", ()))
    return Published(entry["name"], entry["about"], columns, rows, entry.get("missing", ""), groups)


def _cells(group: Record, content: Record) -> Record:
    """Return a group of cells with its source, its rows and its labels."""
    source, rows = content["sources"][group["source"]], group.get("rows", {"": ""})
    return {
        "row": "{row}",
        "column": "{column}",
        "times": 1,
        **source,
        **group,
        "rows": content["names"][rows] if isinstance(rows, str) else rows,
        "about": [source.get("about", ""), group.get("about", "")],
    }


def shown(value: object) -> str:
    """Return a value as a cell: three digits or more of a number, thousands apart; nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}".rstrip("0").rstrip(".")


def section(shown_table: Published, results: Mapping[str, Record]) -> str:
    """Return a table as Markdown: the published numbers, then ours of each model beside them.

    `results`: by model ("offline", or the name of a language model), the record of Ours, or {"missing": what to run}.
    """
    measured = {model: Ours(of["about"], of["rows"]) for model, of in results.items() if "rows" in of}
    parts = [f"### {shown_table.name}", f"**Published.** {shown_table.about}"]
    for model, ours in measured.items():
        parts.append(f"**Ours, {model}.** {ours.about}")
    parts += [f"**Ours, {model}:** {of['missing']}" for model, of in results.items() if "missing" in of]
    extra = [name for ours in measured.values() for name in ours.rows if name not in shown_table.rows]
    names = list(dict.fromkeys([*shown_table.rows, *extra]))
    own = [(model, ours, column) for model, ours in measured.items() for column in ours.columns]
    header = ["", *(f"paper: {column}" for column in shown_table.columns), *_own_header(own)]
    blank = (NOTHING,) * len(shown_table.columns)
    body = [
        [name, *shown_table.rows.get(name, blank), *(shown(ours.rows.get(name, {}).get(c)) for _, ours, c in own)]
        for name in names
    ]
    return "\n\n".join([*parts, *([table(header, body)] if body else [])])


def _own_header(own: Sequence[tuple[str, Ours, str]]) -> list[str]:
    several = len({model for model, _, _ in own}) > 1
    return [f"{model}: {column}" if several else f"ours: {column}" for model, _, column in own]
