"""Render the page of a run: one HTML file that loads nothing, from the templates beside this module."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from graphwright.evaluate.report.charts import Chart, Curve, Mark, Scale, curves, scatter
from graphwright.evaluate.report.figures import (
    LEVEL,
    amount,
    answer_metric,
    clean,
    failed_wholly,
    is_share,
    llm_tokens,
    metric_names,
    milliseconds,
    number,
    operator_name,
    p_value,
    ranked,
    score,
    signed,
)
from graphwright.evaluate.report.losses import losses
from graphwright.evaluate.report.questions import QuestionResults
from graphwright.evaluate.report.reading import heading, judge_name, reading, searched
from graphwright.evaluate.report.tables import Column, groupings, leaderboard

__all__ = ["environment", "page"]

Summary = Mapping[str, Any]
Value = Callable[[Mapping[str, Any]], float | None]
Lines = dict[str, list[tuple[Any, Mapping[str, Any]]]]
"""Values of an option with the methods that have them, by curve."""

_BIDI_OVERRIDES = re.compile("[\u202a-\u202e]")  # would reverse the text after them
_BREAKS = re.compile(r"(?<=[^\s(])(?=\()|(?<=[,/|_])(?=[^\s,/|_])")
_ELSEWHERE = {"methods", "metrics", "sweeps", "judge", "command", "statistics"}  # parts that other sections show
_FAILURES = 20  # rows of the table of failures
_MEMORY, _CLOSE = "peak memory of the process, MB", 1.05  # ratio below which memory is not worth a chart
_RATIO = 15  # of an option's largest value to its smallest, from which on its axis is logarithmic
_COLOURS = 8
_SMALL = 0.002  # smallest share of a bar that is drawn
_BETWEEN = "between steps"
_GROUPINGS = {
    "type": "By type of question",
    "hops": "By number of hops",
    "answers": "By number of accepted answers",
    "entities": "By number of entities that are given",
}


def page(summary: Summary, manifest: Mapping[str, Any], results: QuestionResults, runs: Mapping[str, str]) -> str:
    """Return the page. `manifest`: empty where unknown; `runs`: the TREC run of each method with a ranking."""
    selected = results.selected()
    failures = list(results.failures())
    names = ranked(summary)
    context = {
        "summary": summary,
        "names": names,
        "metrics": metric_names(summary),
        "style": Markup(_asset("page.css")),
        "script": Markup(_asset("page.js")),
        "policy": _policy(),
        "heading": heading(summary).rstrip("."),
        "reading": reading(summary),
        "facts_line": _facts_line(summary),
        **_board(summary),
        "tradeoffs": _tradeoffs(summary),
        "not_drawn": list(_not_drawn(summary)),
        "time": _time(summary),
        "losses": losses(summary),
        "answer_metric": answer_metric(summary),
        "sweeps": _sweeps(summary),
        "breakdowns": _breakdowns(summary),
        "judge": summary.get("judge"),
        "results": results,
        "selected": selected,
        "data": results.data(selected),
        "failures": failures[:_FAILURES],
        "more_failures": max(len(failures) - _FAILURES, 0),
        "command": summary.get("command") or manifest.get("command"),
        "facts": list(_facts({**manifest, **summary})),
        "runs": runs,
        "percent": {name: is_share(summary, name) for name in metric_names(summary)},
        "level": LEVEL,
    }
    return environment().get_template("page.html.j2").render(context)


@cache
def environment() -> Environment:
    """Return the environment of the templates: every text is escaped, and characters that a browser may
    misread are removed."""
    loader = PackageLoader(__package__)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_finalized)
    environment.filters |= {
        "cut": lambda text, size=300: text if len(text) <= size else text[: size - 1] + "…",
        "milliseconds": milliseconds,
        "number": number,
        "operator_name": operator_name,
        "p_value": p_value,
        "score": score,
        "signed": signed,
        "soft_breaks": lambda name: Markup("<wbr>").join(
            escape(part) for part in re.split(r"(?<=[a-z])(?=[A-Z])", name)
        ),
        "thousands": lambda count: f"{count:,}",
        "named": _named,
    }
    environment.globals |= {"judge_name": judge_name}
    return environment


def _finalized(value: Any) -> Any:
    """Return a value as a template prints it."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _visible(value)
    return number(value) if isinstance(value, float) else value


def _visible(text: str) -> str:
    return _BIDI_OVERRIDES.sub("\ufffd", clean(text))


def _named(name: str) -> Markup:
    """Return a name isolated from the text around it, with places for line breaks.

    >>> _named("ppr(restart=0.5)")
    Markup('<bdi>ppr<wbr>(restart=0.5)</bdi>')
    """
    parts = Markup("<wbr>").join(escape(_visible(part)) for part in _BREAKS.split(name))
    return Markup("<bdi>{}</bdi>").format(parts)


def _asset(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8").strip()


def _policy() -> str:
    """Return the content security policy: the page loads nothing, and runs its own script only."""
    digest = base64.b64encode(hashlib.sha256(_asset("page.js").encode()).digest()).decode()
    own = f"style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


def _facts_line(summary: Summary) -> str:
    extraction = summary.get("extractor") and searched(summary) == "documents"
    facts = [
        str(summary["started"])[:10] if summary.get("started") else "",
        f"vectors by {summary['encoder']}" if summary.get("encoder") else "",
        f"extraction by {summary['extractor']}" if extraction else "",
    ]
    return " · ".join(filter(None, facts))


def _board(summary: Summary) -> dict[str, Any]:
    """Return the columns of the leaderboard with their groups, winners and interval bars."""
    columns = leaderboard(summary)
    return {
        "columns": columns,
        "winners": [column.winners() for column in columns],
        "intervals": [_interval_styles(column) for column in columns],
        "column_groups": [(name, len(list(of))) for name, of in groupby(columns, key=lambda column: column.group)],
    }


def _interval_styles(column: Column) -> list[str]:
    """Return the style of each cell's interval bar, on a scale from the lowest to the highest end in the column."""
    lows = [cell.low for cell in column.cells if cell.low is not None]
    highs = [cell.high for cell in column.cells if cell.high is not None]
    low, high = min(lows, default=0.0), max(highs, default=0.0)

    def at(value: float) -> str:
        return f"{number(100 * (value - low) / (high - low))}%"

    return [
        f"--low:{at(cell.low)};--high:{at(cell.high)};--mean:{at(cell.value)}"
        if high > low and cell.low is not None and cell.high is not None and cell.value is not None
        else ""
        for cell in column.cells
    ]


def _costs(summary: Summary) -> list[tuple[str, Value, Callable[[float], str], bool]]:
    """Return the costs: name, value, format, and whether its axis is logarithmic."""
    with_llm = any(map(llm_tokens, summary["methods"].values()))
    tokens: Value = llm_tokens if with_llm else lambda of: of.get("tokens")
    what = "tokens of language models" if with_llm else "tokens that encoders read"
    return [
        ("median milliseconds per question", lambda of: of["milliseconds"]["p50"], milliseconds, True),
        (f"{what}, of a question", tokens, amount, True),
        (_MEMORY, lambda of: of.get("peak_mb"), amount, False),
    ]


def _tradeoffs(summary: Summary) -> dict[str, list[list[Chart]]]:
    """Return by metric the charts of quality over each cost; the first has a wide and a narrow form."""
    if len(summary["methods"]) < 2:
        return {}
    return {metric: list(_cost_charts(summary, metric)) for metric in metric_names(summary)}


def _cost_charts(summary: Summary, metric: str) -> Iterator[list[Chart]]:
    for at, (name, value, write, log) in enumerate(_costs(summary)):
        marks = [] if _alike(summary, name, value, write) else list(_marks(summary, metric, name, value, write))
        if not marks:
            continue
        x, y, baseline = Scale(name, write, log), _metric_scale(summary, metric), summary["baseline"]
        narrow = scatter(marks, x, y, baseline=baseline, kind="" if at else "narrow")
        yield [narrow] if at else [scatter(marks, x, y, baseline=baseline, size=(920, 440), kind="wide"), narrow]


def _marks(summary: Summary, metric: str, name: str, value: Value, write: Callable[[float], str]) -> Iterator[Mark]:
    for method, of in summary["methods"].items():
        scores, cost = of["metrics"].get(metric), value(of)
        if scores is not None and cost is not None and not failed_wholly(of):
            text = f"{metric} {_metric_text(summary, metric, scores['mean'])}, {write(cost)} {name}"
            yield Mark(method, cost, *_interval(scores), f"{method}\n{text}")


def _interval(metric: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval, the mean itself where there is none."""
    mean = metric["mean"]
    return mean, metric.get("low", mean), metric.get("high", mean)


def _metric_scale(summary: Summary, metric: str) -> Scale:
    if not is_share(summary, metric):
        return Scale(metric, lambda value: f"{value:g}")
    return Scale(f"{metric}, %", lambda value: f"{100 * value:.3g}", limits=(0.0, 1.0))


def _metric_text(summary: Summary, metric: str, value: float) -> str:
    percent = is_share(summary, metric)
    return score(value, percent) + (" %" if percent else "")


def _alike(summary: Summary, name: str, value: Value, write: Callable[[float], str]) -> bool:
    """Return whether all methods show the same cost, or for memory nearly the same."""
    values = [value(of) for of in summary["methods"].values()]
    known = [cost for cost in values if cost is not None]
    if name == _MEMORY and known and max(known) <= _CLOSE * min(known):
        return True
    return len({None if cost is None else write(cost) for cost in values}) < 2


def _not_drawn(summary: Summary) -> Iterator[str]:
    """Yield a sentence for each cost that has no chart."""
    for name, value, write, _ in _costs(summary):
        if _alike(summary, name, value, write):
            values = [cost for of in summary["methods"].values() if (cost := value(of)) is not None]
            ends = dict.fromkeys(write(end(values)) for end in (min, max)) if values else ()
            near = ", within 5 % of each other" if len(ends) > 1 else " for every method"
            range_ = f"{' to '.join(ends)}{near}." if values else "not measured."
            yield f"Not drawn: {name.partition(',')[0]}, {range_}"


def _time(summary: Summary) -> dict[str, Any] | None:
    """Return the bars of time with their legend, None where no step is known."""
    methods = {name: summary["methods"][name] for name in ranked(summary)}
    if not any(of["steps"] for of in methods.values()):
        return None
    weight: Counter[str] = Counter()
    for of in methods.values():
        for step in of["steps"]:
            weight[operator_name(step["operator"])] += step["mean"] / (_total(of) or 1.0)
    colours = {name: f"c{at}" for at, (name, _) in enumerate(weight.most_common(_COLOURS))}
    longest = max(map(_total, methods.values())) or 1.0
    return {"bars": {name: _bar(of, colours, longest) for name, of in methods.items()}, "colours": colours}


def _total(method: Mapping[str, Any]) -> float:
    steps = float(sum(step["mean"] for step in method["steps"]))
    return max(steps, float(method["milliseconds"].get("mean", steps)))


def _bar(method: Mapping[str, Any], colours: Mapping[str, str], longest: float) -> dict[str, Any]:
    """Return a method's bar: its length, its parts and its text."""
    total = _total(method)
    parts = [(operator_name(step["operator"]), step["operator"], step["mean"]) for step in method["steps"]]
    rest = total - sum(mean for *_, mean in parts)
    if rest > _SMALL * total:
        parts.append((_BETWEEN, _BETWEEN, rest))
    texts = ", ".join(f"{name} {milliseconds(mean)}" for name, _, mean in parts)
    drawn = [
        {
            "name": name,
            "colour": colours.get(name, "c-other"),
            "share": 100 * mean / total,
            "tip": f"{name}\n{milliseconds(mean)} ms, {100 * mean / total:.0f} % of the method"
            + (f"\n{operator[:300]}" if operator != name else ""),
        }
        for name, operator, mean in parts
        if mean > _SMALL * total
    ]
    label = f"{milliseconds(total)} ms: {texts}"
    return {"length": f"{total / longest:.4f}", "total": milliseconds(total), "label": label, "parts": drawn}


def _sweeps(summary: Summary) -> list[dict[str, Any]]:
    """Return for each varied option its curves of every metric and of time."""
    options: dict[str, list[Mapping[str, Any]]] = {}
    for sweep in summary.get("sweeps") or ():
        if len(sweep["points"]) > 1:
            options.setdefault(sweep["option"], []).append(sweep)
    return [_sweep(summary, option, of) for option, of in options.items()]


def _sweep(summary: Summary, option: str, sweeps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = _lines(summary, sweeps)

    def time(of: Mapping[str, Any]) -> tuple[float, float, float, str]:
        p50 = of["milliseconds"]["p50"]
        return p50, p50, p50, f"{milliseconds(p50)} ms"

    def quality(metric: str) -> Chart | None:
        def value(of: Mapping[str, Any]) -> tuple[float, float, float, str] | None:
            scores = of["metrics"].get(metric)
            if scores is None:
                return None
            return *_interval(scores), f"{metric} {_metric_text(summary, metric, scores['mean'])}"

        return _sweep_chart(option, lines, _metric_scale(summary, metric), value)

    unlimited = (0.0, float("inf"))
    scale = Scale("median milliseconds per question", lambda value: f"{value:,g}", limits=unlimited, zero=True)
    charts = {metric: quality(metric) for metric in metric_names(summary)}
    return {"option": option, "lines": list(lines), "charts": charts, "time": _sweep_chart(option, lines, scale, time)}


def _lines(summary: Summary, sweeps: Sequence[Mapping[str, Any]]) -> Lines:
    """Return the points of each curve: methods that differ in nothing but the option."""
    lines: Lines = {}
    for sweep in sweeps:
        for point in sweep["points"]:
            method = summary["methods"].get(point["name"])
            if method is not None:
                rest = {name: value for name, value in method.get("options", {}).items() if name != sweep["option"]}
                arguments = ", ".join(f"{name}={value}" for name, value in rest.items())
                name = f"{sweep['method']}({arguments})" if arguments else sweep["method"]
                lines.setdefault(name, []).append((point["value"], method))
    return lines


def _sweep_chart(
    option: str,
    lines: Lines,
    scale: Scale,
    measure: Callable[[Mapping[str, Any]], tuple[float, float, float, str] | None],
) -> Chart | None:
    """Return a curve for each line; values that are not numbers are categories, in the order given."""
    values = [value for points in lines.values() for value, _ in points]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    categories = [] if numeric else list(dict.fromkeys(map(_option_text, values)))
    drawn = []
    for name, points in lines.items():
        marks = []
        for value, method in points:
            point, text = measure(method), _option_text(value)
            if point is not None:
                x = float(value) if numeric else float(categories.index(text))
                marks.append(Mark(name, x, *point[:3], f"{name}, {option} = {text}\n{point[3]}"))
        drawn.append(Curve(name, tuple(sorted(marks, key=lambda mark: mark.x))))
    at = [mark.x for line in drawn for mark in line.marks]
    if not at:
        return None
    log = numeric and min(at) > 0 and max(at) / min(at) >= _RATIO
    return curves(drawn, Scale(option, lambda value: f"{value:,g}", log), scale, categories=categories)


def _option_text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _breakdowns(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Return by metric a table for each grouping of the questions."""
    groups = groupings(summary)
    if not groups:
        return {}
    return {
        metric: [_breakdown(summary, metric, name, counts) for name, counts in groups.items()]
        for metric in metric_names(summary)
    }


def _breakdown(summary: Summary, metric: str, name: str, groups: Mapping[str, int]) -> dict[str, Any]:
    percent = is_share(summary, metric)
    means: dict[str, list[float | None]] = {}
    for method in ranked(summary):
        of_groups = summary["methods"][method].get("breakdown", {}).get(name, {})
        means[method] = [of_groups.get(group, {}).get("metrics", {}).get(metric) for group in groups]
    columns = [{mean for mean in column if mean is not None} for column in zip(*means.values(), strict=True)]
    best = [max(column) if len(column) > 1 else None for column in columns]
    top = max((max(column) for column in columns if column), default=0.0) or 1.0
    rows = {
        method: [
            None
            if mean is None
            else {"text": score(mean, percent), "best": mean == most, "level": max(100 * mean / top, 0.0)}
            for mean, most in zip(row, best, strict=True)
        ]
        for method, row in means.items()
    }
    return {"name": name, "title": _GROUPINGS.get(name, f"By {name}"), "groups": groups, "rows": rows}


def _facts(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a nested mapping with their names."""
    for key, leaf in value.items():
        name = f"{before} {key}".strip().replace("_", " ")
        if not before and key in _ELSEWHERE:
            continue
        if isinstance(leaf, Mapping):
            yield from _facts(leaf, name)
        elif leaf not in (None, "", [], ()):
            yield name, _fact(leaf)


def _fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        sentences = all(str(item).endswith(".") for item in value)
        return (" " if sentences else ", ").join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
