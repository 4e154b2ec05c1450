"""Build the tables of a run, leaderboard, steps, breakdowns, for terminals and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphwright.evaluate.report.figures import (
    amount,
    answer_metric,
    clean,
    corrected_p,
    failed_wholly,
    is_share,
    llm_tokens,
    main_error,
    milliseconds,
    p_value,
    ranked,
    score,
    signed,
)
from graphwright.evaluate.report.reading import heading, judge_name, judge_sentence, reading

__all__ = ["Cell", "Column", "Table", "brief", "groupings", "leaderboard", "markdown", "terminal"]

Summary = Mapping[str, Any]
Table = list[list[str]]
"""Cells in rows, the header first."""

_METRICS = 4  # metrics on a terminal besides the primary one
_NAME, _GAP = 32, 3  # characters of a name, which may be wrapped, and between two columns of a terminal
_NONE = "–"
_MAIN = "main metric"


@dataclass(frozen=True)
class Cell:
    """A figure as text, its value, its interval if known, and a note."""

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column of the leaderboard. `best`: "most", "least", or "" where no value is better than another.

    `marked`: whether the best value is highlighted; otherwise `best` only gives the order of sorting.
    """

    name: str
    about: str
    group: str
    best: str
    cells: tuple[Cell, ...]
    marked: bool = True

    def winners(self) -> frozenset[int]:
        """Return the rows whose written value is the best; none where all are equal."""
        known = {at: cell for at, cell in enumerate(self.cells) if cell.value is not None}
        if not self.best or not self.marked or len({cell.text for cell in known.values()}) < 2:
            return frozenset()
        best = (max if self.best == "most" else min)(known.values(), key=lambda cell: cell.value or 0.0)
        return frozenset(at for at, cell in known.items() if cell.text == best.text)


def leaderboard(summary: Summary) -> list[Column]:
    """Return the columns of the leaderboard, their cells in the order of `ranked`.

    First the primary metric and its difference to the baseline, then costs, then the other metrics. Columns without
    any value are left out; a method that failed on every question has no values.
    """
    primary = summary["primary"]
    metrics = {metric["name"]: metric for metric in summary["metrics"]}
    others = [metric for name, metric in metrics.items() if name != primary]
    columns = [_metric(summary, metrics.get(primary, {"name": primary})), _difference(summary)]
    columns += [*_costs(summary), *(_metric(summary, metric) for metric in others)]
    failed = [failed_wholly(summary["methods"][name]) for name in ranked(summary)]
    columns = [
        replace(column, cells=tuple(Cell(_NONE) if no else cell for cell, no in zip(column.cells, failed, strict=True)))
        for column in columns
    ]
    return [column for column in columns if any(cell.value is not None for cell in column.cells)]


def _metric(summary: Summary, metric: Mapping[str, str]) -> Column:
    name = metric["name"]
    percent = is_share(summary, name)
    cells = tuple(_metric_cell(summary, summary["methods"][method], name, percent) for method in ranked(summary))
    group = _MAIN if name == summary["primary"] else metric.get("kind", "")
    return Column(name + (", %" if percent else ""), metric.get("about", ""), group, "most", cells)


def _metric_cell(summary: Summary, method: Mapping[str, Any], name: str, percent: bool) -> Cell:
    metric = method["metrics"].get(name)
    if metric is None:
        return Cell(_NONE)
    low, high = metric.get("low"), metric.get("high")
    notes = [] if low is None else [f"95 % interval {score(low, percent)}–{score(high, percent)}"]
    against = (method.get("against_baseline") or {}).get(name)
    if against is not None:
        p = corrected_p(against)
        difference = f"{signed(against['difference'], percent)} against {summary['baseline']}"
        notes.append(difference if p is None else f"{difference}, {p_value(p)}")
    return Cell(score(metric["mean"], percent), metric["mean"], low, high, "; ".join(notes))


def _difference(summary: Summary) -> Column:
    primary, baseline = summary["primary"], summary["baseline"]
    percent = is_share(summary, primary)
    cells = []
    for method in ranked(summary):
        against = (summary["methods"][method].get("against_baseline") or {}).get(primary)
        if against is None or failed_wholly(summary["methods"].get(baseline, {})):
            cells.append(Cell("" if method == baseline else _NONE))
            continue
        p, text = corrected_p(against), signed(against["difference"], percent)
        note = "" if p is None else f"{p_value(against['p'])} before the correction"
        cells.append(Cell(text if p is None else f"{text} ({p_value(p)})", against["difference"], note=note))
    about = f"Difference in {primary} to {baseline}; p of the paired permutation test, corrected for many comparisons."
    return Column(f"against {baseline}", about, _MAIN, "", tuple(cells))


def _costs(summary: Summary) -> Iterator[Column]:
    methods = [summary["methods"][name] for name in ranked(summary)]

    def column(
        name: str,
        about: str,
        value: Callable[[Mapping[str, Any]], float | None],
        write: Callable[[float], str] = amount,
        marked: bool = True,
    ) -> Column:
        values = [value(method) for method in methods]
        cells = tuple(Cell(_NONE) if value is None else Cell(write(value), float(value)) for value in values)
        return Column(name, about, "cost", "least", cells, marked)

    yield column("p50 ms", "Half of the questions took no longer.", lambda of: of["milliseconds"]["p50"], milliseconds)
    yield column("p95 ms", "19 of 20 questions took no longer.", lambda of: of["milliseconds"]["p95"], milliseconds)
    yield column("encoder tokens", "Tokens that encoders read, mean of a question.", lambda of: of.get("tokens"))
    if any(map(llm_tokens, methods)):
        yield column("LLM tokens", "Tokens of language models, prompts and replies, mean of a question.", llm_tokens)
    if any(method.get("cost") for method in methods):
        yield column("money", "Mean of a question, in the currency of the prices given.", lambda of: of.get("cost"))
    calls = "Calls of any model, encoders too, mean of a question."
    yield column("model calls (encoders too)", calls, lambda of: of.get("calls"))
    peak = "Peak memory of the whole process while the method ran, with the index, all models, and leftovers."
    yield column("peak MB", peak, lambda of: of.get("peak_mb"), marked=False)


def terminal(summary: Summary, width: int = 120) -> tuple[str, Table]:
    """Return the report for a terminal of `width` columns: a heading with sentences on the result, and a table.

    The table always has the primary metric, the difference to the baseline and the median time; then, where they
    fit, the interval of the metric, the 95th percentile of time, money, tokens, four more metrics, and other costs.
    """
    columns = leaderboard(summary)
    metrics = [column for column in columns if column.best == "most"]
    costs = {column.name: column for column in columns if column.best == "least"}
    shown = [*metrics[:1], *(column for column in columns if not column.best)]
    shown += [costs["p50 ms"]] if "p50 ms" in costs else []
    intervals = metrics[:1] if _fits(_cells(summary, shown, metrics[:1]), width) else []
    optional = [costs[name] for name in ("p95 ms", "money", "LLM tokens") if name in costs]
    optional += [*metrics[1 : _METRICS + 1], *(column for name, column in costs.items() if name != "peak MB")]
    for column in optional:
        if column not in shown and _fits(_cells(summary, [*shown, column], intervals), width):
            shown.append(column)
    shown.sort(key=lambda column: (column.best == "least", column.best == "most" and column not in metrics[:1]))
    rest = sum(column not in shown for column in metrics)
    more = f"{rest} more metric{'s are' if rest > 1 else ' is'} in report.md." if rest else ""
    sentences = [heading(summary), *reading(summary), judge_sentence(summary), more]
    return " ".join(filter(None, sentences)), _cells(summary, shown, intervals)


def _fits(table: Table, width: int) -> bool:
    name, *others = (max(map(len, cells)) for cells in zip(*table, strict=True))
    return min(name, _NAME) + sum(_GAP + other for other in others) <= width


def _cells(summary: Summary, columns: Sequence[Column], intervals: Sequence[Column]) -> Table:
    """Return the table of some columns, some of them with their intervals."""
    table = [["method", *(column.name for column in columns)]]
    for at, name in enumerate(ranked(summary)):
        failed = summary["methods"][name].get("failed")
        label = f"{name} ({failed:,} failed)" if failed else name
        table.append([label, *(_cell_text(column, at, column in intervals) for column in columns)])
    return table


def _cell_text(column: Column, at: int, interval: bool) -> str:
    cell = column.cells[at]
    if not interval or cell.low is None or cell.high is None:
        return cell.text
    percent = column.name.endswith("%")
    return f"{cell.text} ({score(cell.low, percent)}–{score(cell.high, percent)})"


def brief(summary: Summary) -> str:
    """Return the first part of `markdown`: a heading, sentences on the result, and the leaderboard."""
    return "\n\n".join(_first_parts(summary)) + "\n"


def _first_parts(summary: Summary) -> list[str]:
    columns = leaderboard(summary)
    metrics = [column for column in columns if column.best == "most"]
    legend = "Means over questions; times of one question in milliseconds."
    if summary.get("statistics") is not False:
        legend = (
            "Means over questions with 95 % intervals; times of one question in milliseconds; "
            "p of paired permutation tests, corrected for many comparisons."
        )
    return [
        f"# {_escaped(heading(summary))}",
        _escaped(" ".join(filter(None, [*reading(summary), judge_sentence(summary)]))),
        _markdown(_cells(summary, columns, metrics)),
        legend,
    ]


def markdown(summary: Summary) -> str:
    """Return the report as Markdown: result, leaderboard, failures, judge, steps, breakdowns."""
    parts = _first_parts(summary)
    failures = _failures(summary)
    if len(failures) > 1:
        parts += ["## Questions with errors", "Each counts as 0 in every metric.", _markdown(failures, code=1)]
    for title, table in _judged(summary):
        parts += [f"## {_escaped(title)}", _markdown(table)]
    steps = _steps(summary)
    if len(steps) > 1:
        legend = (
            "“Held” is the recall after a step, in percent: the share of gold documents or accepted answers that its "
            "result contains. In the row of the answer it is the metric named there."
        )
        parts += ["## Steps", legend, _markdown(steps, code=1)]
    for name, table in _breakdowns(summary):
        parts += [f"## {_escaped(summary['primary'])} by {_escaped(name)}", _markdown(table)]
    return "\n\n".join(parts) + "\n"


def _failures(summary: Summary) -> Table:
    rows = [
        [name, main_error(method) or _NONE, f"{method['failed']:,}", f"{method['questions']:,}"]
        for name, method in summary["methods"].items()
        if method.get("failed")
    ]
    return [["method", "most frequent error", "failed", "questions"], *rows]


def _judged(summary: Summary) -> Iterator[tuple[str, Table]]:
    judge = summary.get("judge") or {}
    right = judge.get("accuracy") or {}
    by = judge_name(judge)
    if right:
        order = sorted(right, key=lambda name: -right[name]["mean"])
        rows = [[name, _share(right[name]), f"{right[name].get('questions', 0):,}"] for name in order]
        yield f"Answers found right, by {by}", [["method", "right, %", "questions"], *rows]
    wins = {name: rates for name, rates in (judge.get("wins") or {}).items() if rates}
    if wins:
        dimensions = list(dict.fromkeys(dimension for rates in wins.values() for dimension in rates))
        rows = [
            [name, *(_share(rates[dimension]) if dimension in rates else _NONE for dimension in dimensions)]
            for name, rates in wins.items()
        ]
        yield f"Win rate against {judge.get('against')}, %, by {by}", [["method", *dimensions], *rows]


def _share(rate: Mapping[str, float]) -> str:
    text = score(rate["mean"], True)
    known = rate.get("low") is not None and rate.get("high") is not None
    return f"{text} ({score(rate['low'], True)}–{score(rate['high'], True)})" if known else text


def _steps(summary: Summary) -> Table:
    metric = answer_metric(summary)
    rows = []
    for name in ranked(summary):
        method = summary["methods"][name]
        for step in method["steps"]:
            times = [milliseconds(step[time]) for time in ("p50", "p95", "mean")]
            share = _NONE if step.get("held") is None else score(step["held"], True)
            rows.append([name, step["operator"], *times, share])
        if method["steps"] and metric in method["metrics"]:
            value = score(method["metrics"][metric]["mean"], True)
            rows.append([name, f"answer: {metric}", *[_NONE] * 3, value])
    return [["method", "step", "p50 ms", "p95 ms", "mean ms", "held, %"], *rows]


def _breakdowns(summary: Summary) -> Iterator[tuple[str, Table]]:
    primary, methods = summary["primary"], summary["methods"]
    percent = is_share(summary, primary)
    for name, groups in groupings(summary).items():
        table = [["method", *(f"{group} ({count:,})" for group, count in groups.items())]]
        for method in ranked(summary):
            of_groups = methods[method].get("breakdown", {}).get(name, {})
            means = [of_groups.get(group, {}).get("metrics", {}).get(primary) for group in groups]
            table.append([method, *(_NONE if mean is None else score(mean, percent) for mean in means)])
        yield name, table


def groupings(summary: Summary) -> dict[str, dict[str, int]]:
    """Return the ways in which questions are grouped: for each, the groups with their numbers of questions."""
    sizes: dict[str, dict[str, int]] = {}
    for method in summary["methods"].values():
        for name, groups in method.get("breakdown", {}).items():
            counts = sizes.setdefault(name, {})
            for group, of in groups.items():
                counts[group] = max(counts.get(group, 0), of["questions"])
    return {name: dict(sorted(groups.items(), key=lambda item: _natural(item[0]))) for name, groups in sizes.items()}


def _natural(text: str) -> list[tuple[float, str]]:
    """Return a sort key by which 2 comes before 10, and numbers before words."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (float("inf"), part) for part in parts if part]


def _markdown(rows: Table, code: int = -1) -> str:
    """Return a table as Markdown; the cells of column `code` are code."""
    header, *body = [
        [_code(cell) if at == code and row > 0 else _escaped(cell) for at, cell in enumerate(cells)]
        for row, cells in enumerate(rows)
    ]
    left = max(code, 0) + 1
    lines = [header, ["---"] * left + ["---:"] * (len(header) - left), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _code(text: str) -> str:
    text = " ".join(clean(text).split()).replace("|", "\\|")
    fence, space = ("``", " ") if "`" in text else ("`", "")
    return f"{fence}{space}{text}{space}{fence}"


def _escaped(text: str) -> str:
    """Escape a text for Markdown, also for a table."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(clean(text).split()))
