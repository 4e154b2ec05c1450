"""Write the report of a run: a self-contained page, Markdown, CSV and TREC runs."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from graphwright.errors import cut
from graphwright.evaluate.charts import Chart, Mark, Scale, curves, scatter
from graphwright.evaluate.figures import (
    LEVEL,
    amount,
    clean,
    failed_wholly,
    heading,
    is_share,
    llm_tokens,
    metric_names,
    milliseconds,
    number,
    operator_name,
    p_value,
    ranked,
    reading,
    score,
)
from graphwright.evaluate.results import question_data, write_csv, write_runs
from graphwright.evaluate.tables import Column, group_means, groupings, leaderboard, markdown
from graphwright.files import write_text

Summary = Mapping[str, Any]
Lines = dict[str, list[tuple[Any, Mapping[str, Any]]]]
"""Values of an option with the methods that have them, by curve."""
Point = tuple[tuple[float, float, float], str]
"""A figure with the ends of its interval, and its text."""

_BREAKS = re.compile(r"(?<=[^\s(])(?=\()|(?<=[,/|_])(?=[^\s,/|_])|(?<=[a-z])(?=[A-Z])")
_ELSEWHERE = {"methods", "metrics", "sweeps", "judge", "statistics"}  # parts that other sections show
_MAX_FAILURES = 20  # rows of the table of failures
_MAX_COLOURS = 8
_MIN_SHARE = 0.002  # of a bar that is drawn
_BETWEEN = "between steps"
_GROUPINGS = {
    "type": "By type of question",
    "hops": "By number of hops",
    "answers": "By number of accepted answers",
    "entities": "By number of given entities",
}


def write_report(
    out: str | Path,
    summary: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    questions: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write `report.html`, `report.md`, `results.csv` and `runs/*.trec` into a run's folder.

    `summary`: the contents of `summary.json`. `rows`: the results of the run; a row may have, as "judged", the
    Verdict of a judge on its answer. `questions`: "text", "answers" and "gold" of each
    question by its id. Each file is written atomically, the page last, and replaces an earlier one.
    """
    out, rows = Path(out), list(rows)
    out.mkdir(parents=True, exist_ok=True)
    runs = write_runs(out / "runs", rows)
    write_csv(out / "results.csv", rows, metric_names(summary))
    write_text(out / "report.md", markdown(summary))
    write_text(out / "report.html", page(summary, rows, questions, runs))


def page(
    summary: Summary,
    rows: Sequence[Mapping[str, Any]],
    questions: Mapping[str, Mapping[str, Any]],
    runs: Mapping[str, str],
) -> str:
    """Return the page. `rows` and `questions` as in `write_report`; `runs`: the TREC run of each ranking method."""
    metrics = metric_names(summary)
    columns = leaderboard(summary)
    failures = [(row["method"], questions[row["question"]]["text"], row["error"]) for row in rows if "error" in row]
    context = {
        "summary": summary,
        "names": ranked(summary),
        "metrics": metrics,
        "style": Markup(_asset("page.css")),
        "script": Markup(_asset("page.js")),
        "policy": _policy(),
        "heading": heading(summary).rstrip("."),
        "reading": reading(summary),
        "columns": columns,
        "winners": [column.winners() for column in columns],
        "intervals": [_interval_styles(column) for column in columns],
        "column_groups": [(name, len(list(group))) for name, group in groupby(columns, lambda column: column.group)],
        "tradeoffs": {} if len(summary["methods"]) < 2 else {m: list(_tradeoffs(summary, m)) for m in metrics},
        "time": _time(summary),
        "recalls": _recalls(summary),
        "sweeps": _sweeps(summary),
        "breakdowns": {m: [_breakdown(summary, m, *item) for item in groupings(summary).items()] for m in metrics},
        "judge": summary.get("judge"),
        "questions": question_data(summary, rows, questions),
        "failures": failures[:_MAX_FAILURES],
        "more_failures": max(len(failures) - _MAX_FAILURES, 0),
        "facts": list(_facts(summary)),
        "runs": runs,
        "percent": {name: is_share(summary, name) for name in metrics},
        "level": LEVEL,
    }
    return environment().get_template("page.html.j2").render(context)


@cache
def environment() -> Environment:
    """Return the environment of the templates: every text is escaped and cleaned."""
    loader = PackageLoader(__package__)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_finalized)
    environment.filters |= {function.__name__: function for function in (milliseconds, number, p_value, score, cut)}
    environment.filters |= {"thousands": lambda count: f"{count:,}", "named": _named}
    return environment


def _finalized(value: Any) -> Any:
    """Return a value as a template prints it."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value)
    return number(value) if isinstance(value, float) else value


def _named(name: str) -> Markup:
    """Return a name isolated from the text around it, with places for line breaks.

    >>> _named("ppr(restart=0.5)")
    Markup('<bdi>ppr<wbr>(restart=0.5)</bdi>')
    """
    parts = Markup("<wbr>").join(escape(clean(part)) for part in _BREAKS.split(name))
    return Markup("<bdi>{}</bdi>").format(parts)


def _asset(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8").strip()


def _policy() -> str:
    """Return the content security policy: the page loads nothing, and runs its own script only."""
    digest = base64.b64encode(hashlib.sha256(_asset("page.js").encode()).digest()).decode()
    allowed = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _interval_styles(column: Column) -> list[str]:
    """Return the style of each cell's interval bar, on a scale from the lowest to the highest end in the column."""
    ends = [end for cell in column.cells for end in (cell.low, cell.high) if end is not None]
    low, span = min(ends, default=0.0), max(ends, default=0.0) - min(ends, default=0.0)
    styles = []
    for cell in column.cells:
        values = {"low": cell.low, "high": cell.high, "mean": cell.value}
        places = [f"--{name}:{number(100 * (v - low) / span)}%" for name, v in values.items() if v is not None and span]
        styles.append(";".join(places) if len(places) == 3 else "")
    return styles


def _tradeoffs(summary: Summary, metric: str) -> Iterator[Chart]:
    """Yield a chart of quality over each cost in which methods differ: time, and tokens."""
    methods = {
        name: method
        for name, method in summary["methods"].items()
        if metric in method["metrics"] and not failed_wholly(method)
    }
    with_llm = any(map(llm_tokens, methods.values()))
    tokens: Callable[[Mapping[str, Any]], float] = llm_tokens if with_llm else lambda method: method["tokens"]
    kind = "tokens of language models" if with_llm else "tokens that encoders read"
    for scale, value in (
        (Scale("median milliseconds per question", milliseconds, log=True), lambda m: m["milliseconds"]["p50"]),
        (Scale(f"{kind}, of a question", amount, log=True), tokens),
    ):
        costs = {name: value(method) for name, method in methods.items()}
        if len(set(map(scale.write, costs.values()))) < 2:
            continue
        marks = [
            Mark(
                name,
                costs[name],
                *_interval(method["metrics"][metric]),
                f"{name}\n{_metric_text(summary, metric, method)}, {scale.write(costs[name])} {scale.name}",
            )
            for name, method in methods.items()
        ]
        yield scatter(marks, scale, _metric_scale(summary, metric), baseline=summary["baseline"])


def _interval(metric: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval, the mean itself where there is none."""
    mean = metric["mean"]
    return mean, metric.get("low", mean), metric.get("high", mean)


def _metric_scale(summary: Summary, metric: str) -> Scale:
    if not is_share(summary, metric):
        return Scale(metric, lambda value: f"{value:g}")
    return Scale(f"{metric}, %", lambda value: f"{100 * value:.3g}", limits=(0.0, 1.0))


def _metric_text(summary: Summary, metric: str, method: Mapping[str, Any]) -> str:
    percent = is_share(summary, metric)
    return f"{metric} {score(method['metrics'][metric]['mean'], percent)}{' %' if percent else ''}"


def _time(summary: Summary) -> dict[str, Any] | None:
    """Return the bars of time with their legend, None where no step is known."""
    methods = {name: summary["methods"][name] for name in ranked(summary)}
    if not any(method["steps"] for method in methods.values()):
        return None
    weight: Counter[str] = Counter()
    for method in methods.values():
        for step in method["steps"]:
            weight[operator_name(step["operator"])] += step["mean"] / (_total(method) or 1.0)
    colours = {name: f"c{at}" for at, (name, _) in enumerate(weight.most_common(_MAX_COLOURS))}
    longest = max(map(_total, methods.values())) or 1.0
    return {"bars": {name: _bar(method, colours, longest) for name, method in methods.items()}, "colours": colours}


def _total(method: Mapping[str, Any]) -> float:
    steps = float(sum(step["mean"] for step in method["steps"]))
    return max(steps, float(method["milliseconds"]["mean"]))


def _bar(method: Mapping[str, Any], colours: Mapping[str, str], longest: float) -> dict[str, Any]:
    """Return a method's bar: its length, its parts and its text."""
    total = _total(method)
    parts = [(operator_name(step["operator"]), step["operator"], step["mean"]) for step in method["steps"]]
    parts.append((_BETWEEN, _BETWEEN, total - sum(mean for *_, mean in parts)))
    parts = [part for part in parts if part[2] > _MIN_SHARE * total]
    texts = ", ".join(f"{name} {milliseconds(mean)}" for name, _, mean in parts)
    drawn = [
        {
            "name": name,
            "colour": colours.get(name, "c-other"),
            "share": 100 * mean / total,
            "tip": f"{cut(operator)}\n{milliseconds(mean)} ms, {100 * mean / total:.0f} % of the method",
        }
        for name, operator, mean in parts
    ]
    label = f"{milliseconds(total)} ms: {texts}"
    return {"length": f"{total / longest:.4f}", "total": milliseconds(total), "label": label, "parts": drawn}


def _recalls(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Return the recall after each step of each method that has any."""
    recalls = {
        name: [
            {"name": operator_name(step["operator"]), "tip": cut(step["operator"]), "share": step["held"]}
            for step in summary["methods"][name]["steps"]
        ]
        for name in ranked(summary)
    }
    return {name: steps for name, steps in recalls.items() if any(step["share"] is not None for step in steps)}


def _sweeps(summary: Summary) -> list[dict[str, Any]]:
    """Return for each varied option its curves of every metric and of time."""
    options: dict[str, list[Mapping[str, Any]]] = {}
    for sweep in summary["sweeps"]:
        options.setdefault(sweep["option"], []).append(sweep)
    return [_sweep(summary, option, sweeps) for option, sweeps in options.items()]


def _sweep(summary: Summary, option: str, sweeps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines: Lines = {}
    for sweep in sweeps:
        arguments = ", ".join(f"{name}={value}" for name, value in sweep["with"].items())
        name = f"{sweep['method']}({arguments})" if arguments else sweep["method"]
        lines[name] = [(point["value"], summary["methods"][point["name"]]) for point in sweep["points"]]

    def time(method: Mapping[str, Any]) -> Point:
        p50 = method["milliseconds"]["p50"]
        return (p50, p50, p50), f"{milliseconds(p50)} ms"

    def quality(metric: str, method: Mapping[str, Any]) -> Point | None:
        if metric not in method["metrics"]:
            return None
        return _interval(method["metrics"][metric]), _metric_text(summary, metric, method)

    scale = Scale("median milliseconds per question", lambda value: f"{value:,g}", limits=(0.0, math.inf), zero=True)
    charts = {
        metric: _sweep_chart(option, lines, _metric_scale(summary, metric), partial(quality, metric))
        for metric in metric_names(summary)
    }
    return {"option": option, "lines": list(lines), "charts": charts, "time": _sweep_chart(option, lines, scale, time)}


def _sweep_chart(
    option: str, lines: Lines, scale: Scale, measure: Callable[[Mapping[str, Any]], Point | None]
) -> Chart | None:
    """Return a curve for each line over the values of an option, side by side: numbers ascending, others as given."""
    values = {str(value): value for points in lines.values() for value, _ in points}
    numeric = all(isinstance(value, int | float) for value in values.values())
    names = sorted(values, key=values.__getitem__) if numeric else list(values)
    drawn = []
    for name, points in lines.items():
        measured = sorted((names.index(str(value)), point) for value, method in points if (point := measure(method)))
        drawn.append(
            [Mark(name, at, *ends, f"{name}, {option} = {names[at]}\n{text}") for at, (ends, text) in measured]
        )
    return curves(drawn, option, names, scale) if any(drawn) else None


def _breakdown(summary: Summary, metric: str, name: str, groups: Mapping[str, int]) -> dict[str, Any]:
    """Return the table of a grouping of the questions: a cell for each method and group, the best ones marked."""
    means = group_means(summary, metric, name)
    columns = [{mean for mean in column if mean is not None} for column in zip(*means.values(), strict=True)]
    best = [max(column) if len(column) > 1 else None for column in columns]
    top = max((max(column) for column in columns if column), default=0.0) or 1.0
    percent = is_share(summary, metric)

    def cell(mean: float | None, most: float | None) -> dict[str, Any] | None:
        if mean is None:
            return None
        return {"text": score(mean, percent), "best": mean == most, "level": max(100 * mean / top, 0.0)}

    rows = {method: list(map(cell, row, best)) for method, row in means.items()}
    return {"name": name, "title": _GROUPINGS[name], "groups": groups, "rows": rows}


def _facts(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a nested mapping with their names."""
    for key, leaf in value.items():
        name = f"{before} {key}".strip().replace("_", " ")
        if not before and key in _ELSEWHERE:
            continue
        if isinstance(leaf, Mapping):
            yield from _facts(leaf, name)
        elif leaf not in (None, "", [], ()):
            yield name, " · ".join(map(str, leaf)) if isinstance(leaf, list | tuple) else str(leaf)
