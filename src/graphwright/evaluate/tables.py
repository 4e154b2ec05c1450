"""Build the tables of a run: the leaderboard, for terminals and as Markdown, and means by groups of questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from graphwright.evaluate.figures import (
    amount,
    clean,
    failed_wholly,
    heading,
    is_share,
    llm_tokens,
    milliseconds,
    p_value,
    ranked,
    remarks,
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


class Column(NamedTuple):
    """A column of the leaderboard: the text of each method in the order of `ranked`, and with its interval.

    `main`: part of every table, with intervals.
    """

    name: str
    texts: list[str]
    full: list[str]
    main: bool = False


def leaderboard(summary: Summary) -> list[Column]:
    """Return the columns of the leaderboard.

    First the primary metric, its difference to the baseline and the judge's verdicts, then costs, then the other
    metrics. Columns without any value are left out; a method that failed on every question has no values.
    """
    methods, primary = summary["methods"], summary["primary"]
    metrics = {
        name: _rates(summary, name, {m: of["metrics"][name] for m, of in methods.items() if name in of["metrics"]})
        for name in (metric["name"] for metric in summary["metrics"])
    }
    main = [metrics.pop(primary), _difference(summary)]
    if judge := summary.get("judge"):
        main.append(_rates(summary, "right", judge["accuracy"]))
    columns = [*(column._replace(main=True) for column in main), *_costs(summary), *metrics.values()]
    return [column for column in columns if any(text not in ("", NONE) for text in column.texts)]


def _column(summary: Summary, name: str, texts: Mapping[str, str], full: Mapping[str, str] | None = None) -> Column:
    """Return the texts of the methods; NONE for those that failed on every question."""
    failed = {method: failed_wholly(summary["methods"][method]) for method in ranked(summary)}
    shown, whole = ([NONE if failed[m] else of[m] for m in failed] for of in (texts, full or texts))
    return Column(name, shown, whole)


def _rates(summary: Summary, name: str, means: Mapping[str, Mapping[str, float]]) -> Column:
    """Return the means of methods, those of the others being NONE; in percent where all lie between 0 and 1."""
    percent = all(0 <= mean["mean"] <= 1 for mean in means.values())
    texts = dict.fromkeys(summary["methods"], NONE)
    texts |= {method: score(mean["mean"], percent) for method, mean in means.items()}
    ends = {m: [score(mean[end], percent) for end in ("low", "high")] for m, mean in means.items() if "low" in mean}
    full = texts | {method: f"{texts[method]} ({'–'.join(interval)})" for method, interval in ends.items()}
    return _column(summary, name + (", %" if percent else ""), texts, full)


def _difference(summary: Summary) -> Column:
    methods, primary, baseline = summary["methods"], summary["primary"], summary["baseline"]
    texts = dict.fromkeys(methods, NONE) | {baseline: ""}
    for name, method in methods.items():
        against = (method["against_baseline"] or {}).get(primary)
        if against is not None and not failed_wholly(methods[baseline]):
            tested = f" ({p_value(against['corrected'])})" if "corrected" in against else ""
            texts[name] = signed(against["difference"], is_share(summary, primary)) + tested
    return _column(summary, f"against {baseline}", texts)


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
    methods = summary["methods"]
    for name, value, write in _COSTS:
        texts = {method: write(value(figures)) for method, figures in methods.items()}
        if name not in ("LLM tokens", "money") or any(map(value, methods.values())):
            yield _column(summary, name, texts)


def terminal(summary: Summary, width: int = 120) -> tuple[str, Table]:
    """Return a heading with remarks, and a table of the main columns and as many others as fit."""
    columns = leaderboard(summary)
    shown = [column for column in columns if column.main or column.name == "p50 ms"]
    for column in columns:
        table = _board(summary, [*shown, column])
        if column not in shown and sum(_GAP + max(map(len, cells)) for cells in zip(*table, strict=True)) <= width:
            shown.append(column)
    rest = len(columns) - len(shown)
    more = [f"The report has {rest} more column{'' if rest == 1 else 's'}."] if rest else []
    return " ".join([heading(summary), *remarks(summary), *more]), _board(summary, shown)


def _board(summary: Summary, columns: list[Column], *, intervals: bool = False) -> Table:
    """Return the table of some columns; `intervals`: those of all metrics, not only of the main ones."""
    names = []
    for name in ranked(summary):
        failed = summary["methods"][name]["failed"]
        names.append(f"{name} ({failed:,} failed)" if failed else name)
    texts = [column.full if intervals or column.main else column.texts for column in columns]
    return [["method", *(column.name for column in columns)], *map(list, zip(names, *texts, strict=True))]


def markdown(summary: Summary) -> str:
    """Return the leaderboard as Markdown, after a heading and remarks."""
    tests = ", with 95 % intervals; p of paired permutation tests, corrected for many comparisons"
    parts = [
        f"# {escaped(heading(summary))}",
        escaped(" ".join(remarks(summary))),
        markdown_table(_board(summary, leaderboard(summary), intervals=True)),
        f"Means over questions{tests if summary['statistics'] else ''}; times of one question in milliseconds.",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


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
