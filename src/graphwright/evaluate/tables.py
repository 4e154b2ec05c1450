"""Build the tables of a run: the leaderboard, for terminals and as Markdown, and means by groups of questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphwright.evaluate.figures import (
    amount,
    clean,
    failed_wholly,
    heading,
    is_share,
    judge_sentence,
    llm_tokens,
    milliseconds,
    p_value,
    ranked,
    reading,
    score,
    signed,
)

Summary = Mapping[str, Any]
Table = list[list[str]]
"""Cells in rows, the header first."""

# Signs that mean something in Markdown; an underscore inside a word, or a # after the beginning, does not.
_MARKS = re.compile(r"[\\`*\[\]|]|(?<!\w)_|_(?!\w)|^#|<(?=\S)|^>")
_GAP = 3  # characters between two columns of a terminal
NONE = "–"
_MAIN = "main metric"


@dataclass(frozen=True)
class Cell:
    """A figure as text, its value, and its interval if known."""

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Column:
    """A column of the leaderboard."""

    name: str
    group: str
    cells: tuple[Cell, ...]

    def texts(self, *, intervals: bool) -> list[str]:
        """Return the figures as texts, with their intervals if asked for."""
        percent = self.name.endswith("%")
        return [
            f"{cell.text} ({score(cell.low, percent)}–{score(cell.high, percent)})"
            if intervals and cell.low is not None and cell.high is not None
            else cell.text
            for cell in self.cells
        ]


def leaderboard(summary: Summary) -> list[Column]:
    """Return the columns of the leaderboard, their cells in the order of `ranked`.

    First the primary metric and its difference to the baseline, then costs, then the other metrics. Columns without
    any value are left out; a method that failed on every question has no values.
    """
    metrics = sorted(summary["metrics"], key=lambda metric: metric["name"] != summary["primary"])
    primary, *others = (_metric(summary, metric) for metric in metrics)
    failed = [failed_wholly(summary["methods"][name]) for name in ranked(summary)]
    columns = [
        replace(
            column, cells=tuple(Cell(NONE) if bad else cell for cell, bad in zip(column.cells, failed, strict=True))
        )
        for column in (primary, _difference(summary), *_costs(summary), *others)
    ]
    return [column for column in columns if any(cell.value is not None for cell in column.cells)]


def _metric(summary: Summary, metric: Mapping[str, str]) -> Column:
    name = metric["name"]
    percent = is_share(summary, name)
    cells = tuple(_metric_cell(summary["methods"][method], name, percent) for method in ranked(summary))
    group = _MAIN if name == summary["primary"] else metric["kind"]
    return Column(name + (", %" if percent else ""), group, cells)


def _metric_cell(method: Mapping[str, Any], name: str, percent: bool) -> Cell:
    metric = method["metrics"].get(name)
    if metric is None:
        return Cell(NONE)
    return Cell(score(metric["mean"], percent), metric["mean"], metric.get("low"), metric.get("high"))


def _difference(summary: Summary) -> Column:
    primary, baseline = summary["primary"], summary["baseline"]
    percent, no_baseline = is_share(summary, primary), failed_wholly(summary["methods"][baseline])
    cells = []
    for method in ranked(summary):
        against = (summary["methods"][method]["against_baseline"] or {}).get(primary)
        if against is None or no_baseline:
            cells.append(Cell("" if method == baseline else NONE))
            continue
        text = signed(against["difference"], percent)
        text += f" ({p_value(against['corrected'])})" if "corrected" in against else ""
        cells.append(Cell(text, against["difference"]))
    return Column(f"against {baseline}", _MAIN, tuple(cells))


_COSTS: tuple[tuple[str, Callable[[Mapping[str, Any]], float], Callable[[float], str]], ...] = (
    ("p50 ms", lambda of: of["milliseconds"]["p50"], milliseconds),
    ("p95 ms", lambda of: of["milliseconds"]["p95"], milliseconds),
    ("encoder tokens", lambda of: of["tokens"], amount),
    ("LLM tokens", llm_tokens, amount),
    ("money", lambda of: of["cost"], amount),
    ("calls of models", lambda of: of["calls"], amount),
)


def _costs(summary: Summary) -> Iterator[Column]:
    """Yield the columns of costs; those of language models only where there are any."""
    methods = [summary["methods"][name] for name in ranked(summary)]
    for name, value, write in _COSTS:
        values = [value(method) for method in methods]
        if any(values) or name not in ("LLM tokens", "money"):
            yield Column(name, "cost", tuple(Cell(write(cost), float(cost)) for cost in values))


def terminal(summary: Summary, width: int = 120) -> tuple[str, Table]:
    """Return a heading with sentences on the result, and a table of the main columns and as many others as fit."""
    columns = leaderboard(summary)
    shown = [column for column in columns if column.group == _MAIN or column.name == "p50 ms"]
    for column in columns:
        table = _board(summary, [*shown, column])
        if column not in shown and sum(_GAP + max(map(len, cells)) for cells in zip(*table, strict=True)) <= width:
            shown.append(column)
    rest = len(columns) - len(shown)
    more = f"The report has {rest} more column{'' if rest == 1 else 's'}." if rest else ""
    sentences = [heading(summary), *reading(summary), judge_sentence(summary), more]
    return " ".join(filter(None, sentences)), _board(summary, shown)


def _board(summary: Summary, columns: list[Column], *, intervals: bool = False) -> Table:
    """Return the table of some columns; `intervals`: those of all metrics, not only of the primary one."""
    names = []
    for name in ranked(summary):
        failed = summary["methods"][name]["failed"]
        names.append(f"{name} ({failed:,} failed)" if failed else name)
    texts = [column.texts(intervals=intervals or column.group == _MAIN) for column in columns]
    return [["method", *(column.name for column in columns)], *map(list, zip(names, *texts, strict=True))]


def markdown(summary: Summary) -> str:
    """Return the report as Markdown: a heading, sentences on the result, and the leaderboard."""
    tests = ", with 95 % intervals; p of paired permutation tests, corrected for many comparisons"
    parts = [
        f"# {escaped(heading(summary))}",
        escaped(" ".join(filter(None, [*reading(summary), judge_sentence(summary)]))),
        markdown_table(_board(summary, leaderboard(summary), intervals=True)),
        f"Means over questions{tests if summary['statistics'] else ''}; times of one question in milliseconds.",
    ]
    return "\n\n".join(parts) + "\n"


def groupings(summary: Summary) -> dict[str, dict[str, int]]:
    """Return the ways in which questions are grouped: for each, the groups with their numbers of questions."""
    sizes: dict[str, dict[str, int]] = {}
    for method in summary["methods"].values():
        for name, groups in method["breakdown"].items():
            counts = sizes.setdefault(name, {})
            for group, figures in groups.items():
                counts[group] = max(counts.get(group, 0), figures["questions"])
    return {name: dict(sorted(groups.items(), key=lambda item: _natural(item[0]))) for name, groups in sizes.items()}


def group_means(summary: Summary, metric: str, grouping: str) -> dict[str, list[float | None]]:
    """Return a metric's mean for each method and group, in the order of `groupings`; None where there is none."""
    groups = groupings(summary)[grouping]
    breakdowns = {name: summary["methods"][name]["breakdown"].get(grouping, {}) for name in ranked(summary)}
    return {
        name: [breakdown[group]["metrics"].get(metric) if group in breakdown else None for group in groups]
        for name, breakdown in breakdowns.items()
    }


def _natural(text: str) -> list[tuple[float, str]]:
    """Return a sort key by which 2 comes before 10, and numbers before words."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (float("inf"), part) for part in parts if part]


def markdown_table(rows: Table) -> str:
    """Return a table as Markdown, its texts escaped."""
    header, *body = [[escaped(cell) for cell in cells] for cells in rows]
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def escaped(text: str) -> str:
    """Escape a text for Markdown, also for a table."""
    return _MARKS.sub(r"\\\g<0>", " ".join(clean(text).split()))
