"""Read our figures of the papers' tables from the results of other benchmarks, as `published/*.toml` describes them.

A table has groups of cells, `[[tables.ours]]`. The `path` of a group leads to its figures in the results: keys joined
by " > ". "{row}" and "{column}" stand for the keys in `rows` and `columns`, each of which is `NAME = key`, or for a
column `NAME = [key, factor]`. A key with "*" is a pattern. The labels `row` and `column` are made of the name and of
the keys that the patterns match: "{row}, {0}". Figures are multiplied by `times`; of a list of figures the mean is
taken. `source` names a table in `[sources]`: the `files`, the `command` that makes them, and what is said `about` them,
where a path in braces stands for what is there. `rows` may also name a table in `[names]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from harness import Record, read_results
from stamps import states_in, together

from published.tables import NotMeasured, Ours, Published


def read_table(of: Published, results: Path) -> Ours:
    """Return our figures of a table. Raises NotMeasured with the command that makes them where there are none."""
    rows: dict[str, dict[str, Any]] = {}
    about: dict[str, None] = {}
    for group in of.ours:
        content = _content(results, group["files"])
        for row, column, value in _cells(group, content):
            rows.setdefault(row, {})[column] = value
        about |= dict.fromkeys(_filled(text, content) for text in group["about"])
    if not rows:
        raise NotMeasured(f"not measured yet; run `python benchmarks/{of.ours[0]['command']}`.")
    return Ours(" ".join(filter(None, about)), rows)


def states_behind(of: Published, results: Path) -> list[str]:
    """Return the states of the code behind the figures of a table."""
    files = {path for group in of.ours for path in results.glob(group["files"])}
    return together(map(states_in, sorted(files)))


def _content(results: Path, files: str) -> Record:
    """Return the results in a file; of several files those of each by its name."""
    content: Record = read_results(results / files)
    if "*" in files:
        content = {path.stem: read_results(path) for path in sorted(results.glob(files)) if path.suffix == ".json"}
    for of in content.values():
        if isinstance(of, Mapping) and "called" in of:  # LEGO-GraphRAG: instances of the same expression
            own = of["systems"]
            own |= {name: own[called] for name, called in of["called"].items() if called in own}
    return content


def _cells(group: Record, content: Record) -> list[tuple[str, str, Any]]:
    """Return the row, the column and the value of each figure, in the order of what the first pattern matches."""
    cells = []
    for row, row_key in group["rows"].items():
        for column, entry in group["columns"].items():
            column_key, times = entry if isinstance(entry, list) else (entry, group["times"])
            keys = [key.format(row=row_key, column=column_key) for key in group["path"].split(" > ")]
            for matched, value in _values(content, " > ".join(keys).split(" > ")):
                if value is not None:
                    names = [f"{int(name):,}" if name.isdigit() else name for name in matched]
                    labels = (group["row"].format(*names, row=row), group["column"].format(*names, column=column))
                    cells.append((matched[:1], *labels, _scaled(value, times)))
    order = list(dict.fromkeys(matched for matched, *_ in cells))
    return [cell for _, *cell in sorted(cells, key=lambda cell: order.index(cell[0]))]  # type: ignore[misc]


def _values(value: Any, keys: Sequence[str], matched: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield what keys lead to, with the keys that matched the patterns among them."""
    if not keys:
        yield matched, value
        return
    key, *rest = keys
    inner = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, Mapping) else {}
    for name, of in inner.items():
        if str(name) == key:
            yield from _values(of, rest, matched)
        elif "*" in key and fnmatchcase(str(name), key):
            yield from _values(of, rest, (*matched, str(name)))


def _scaled(value: Any, times: float) -> Any:
    """Return a figure, or the mean of a list of figures, multiplied and rounded."""
    if isinstance(value, int) and times == 1:
        return value
    return round(float(np.mean(value)) * times, 1 if times == 100 else 4)


def _filled(text: str, content: Record) -> str:
    """Return a sentence with the values of the paths in braces."""

    def shown(path: re.Match[str]) -> str:
        return ", ".join(_joined(matched, value) for matched, value in _values(content, path[1].split(" > ")))

    return re.sub(r"\{(.+?)\}", shown, text)


def _joined(matched: Iterable[str], value: Any) -> str:
    return " ".join([*matched, *([] if isinstance(value, Mapping) else [f"{value:,}"])])
