"""Tables of a run: the leaderboard, for terminals and as Markdown; means by groups of questions; figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from graphwright.errors import counted, cut
from graphwright.graph.columns import natural

Summary = Mapping[str, Any]

_MAX_NAMED = 3  # failed methods in a sentence
_MAX_ERROR = 160  # characters of an error
# Code points that neither XML nor UTF-8 can hold, and those that reverse the text after them.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NO_STATISTICS = 'Intervals and tests of differences need scipy: pip install "graphwright[stats]".'


def ranked(summary: Summary) -> list[str]:
    """Return methods, best first: by the primary metric, then the faster; then those without it or that failed."""
    methods = summary["methods"]

    def key(name: str) -> tuple[bool, bool, float, float]:
        method = methods[name]
        metric = method["metrics"].get(summary["primary"])
        mean = -round(metric["mean"], 9) if metric else 0.0
        return metric is None, failed_wholly(method), mean, method["milliseconds"]["p50"]

    return sorted(methods, key=key)


def failed_wholly(method: Mapping[str, Any]) -> bool:
    """Return whether a method failed on every question, so that its metrics mean nothing."""
    return bool(0 < method["questions"] == method["failed"])


def metric_names(summary: Summary) -> list[str]:
    """Return the names of the metrics that at least one method has, the primary one first."""
    names = dict.fromkeys([summary["primary"], *(metric["name"] for metric in summary["metrics"])])
    return [name for name in names if any(name in method["metrics"] for method in summary["methods"].values())]


def is_share(summary: Summary, metric: str) -> bool:
    """Return whether a metric lies between 0 and 1 for all methods, and so is written in percent."""
    methods = summary["methods"].values()
    return all(0 <= method["metrics"][metric]["mean"] <= 1 for method in methods if metric in method["metrics"])


def score(value: float, percent: bool) -> str:
    """Return a metric's value without a unit."""
    return f"{100 * value:.1f}" if percent else f"{value:.3f}"


def signed(value: float, percent: bool) -> str:
    """Return a difference with its sign.

    >>> signed(0.147, True), signed(-0.0392, True), signed(0.0, True)
    ('+14.7', '−3.9', '±0.0')
    """
    text = score(abs(value), percent)
    sign = "±" if not float(text) else "+" if value > 0 else "−"
    return sign + text


def p_value(p: float) -> str:
    """Return a p value with its symbol."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def milliseconds(value: float) -> str:
    """Return a time in milliseconds with two significant digits, or as a whole number.

    >>> milliseconds(0.0123), milliseconds(3.24), milliseconds(41.7), milliseconds(12345.6)
    ('0.01', '3.2', '42', '12,346')
    """
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def amount(value: float) -> str:
    """Return a mean count or a sum of money.

    >>> amount(0), amount(0.00312), amount(1.5), amount(14), amount(12345.6)
    ('0', '0.0031', '1.5', '14', '12,346')
    """
    if value >= 99.5 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.1f}"


def clean(text: str) -> str:
    """Return a text with invalid code points replaced, and with those that change the direction of writing."""
    return _INVALID.sub("\ufffd", text)


def heading(summary: Summary) -> str:
    """Return the compared methods and the data as a sentence."""
    data, methods = summary["data"], list(summary["methods"])
    compared = f"{methods[0]} measured" if len(methods) == 1 else f"{len(methods)} methods compared"
    if data["over"] == "documents":
        place = f"over the {counted(data['documents'], 'document')} of {data['name']}"
    else:
        size = f"{counted(data['nodes'], 'node')} and {counted(data['edges'], 'edge')}"
        place = f"over the graph of {data['name']}, {size}"
        place = place if data["over"] == "graph" else f"of {data['name']} over an index of {size}"
    return f"{compared} on {counted(data['questions'], 'question')} {place}."


def remarks(summary: Summary) -> Iterator[str]:
    """Yield sentences on the failed methods, with the most frequent error, and on missing intervals and tests."""
    failed = {name: method for name, method in summary["methods"].items() if method["failed"]}
    for name, method in list(failed.items())[:_MAX_NAMED]:
        main_error = max(method["errors"], key=method["errors"].__getitem__, default="")
        error = cut(" ".join(main_error.split()).rstrip("."), _MAX_ERROR)
        if failed_wholly(method):
            yield f"{name} failed on every question, so that nothing is known of its quality: {error}."
        else:
            most = ", most often" if len(method["errors"]) > 1 else ""
            yield f"{name} failed on {counted(method['failed'], 'question')}, counted as 0{most}: {error}."
    if len(failed) > _MAX_NAMED:
        yield f"{len(failed) - _MAX_NAMED} more failed on some or all questions."
    if not summary["statistics"]:
        yield _NO_STATISTICS


Table = list[list[str]]  # cells in rows, the header first

# Signs that mean something in Markdown; an underscore inside a word, or a # after the beginning, does not.
_MARKS = re.compile(r"[\\`*\[\]|]|(?<!\w)_|_(?!\w)|^#|<(?=\S)|^>")
_GAP = 3  # characters between two columns of a terminal
NONE = "–"


class Column(NamedTuple):
    """A column of the leaderboard: each method's text, also with interval. `main`: in every table, with intervals."""

    name: str
    texts: list[str]
    full: list[str]
    main: bool = False


def leaderboard(summary: Summary) -> list[Column]:
    """Return the columns with any value: primary metric, difference to the baseline, judge's verdicts, costs, more."""
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
    ("LLM tokens", lambda of: of["prompt_tokens"] + of["completion_tokens"], amount),
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
    return {name: dict(sorted(groups.items(), key=lambda item: natural(item[0]))) for name, groups in sizes.items()}


def group_means(summary: Summary, metric: str, grouping: str) -> dict[str, list[float | None]]:
    """Return a metric's mean for each method and group, in the order of `groupings`; None where there is none."""
    groups = groupings(summary)[grouping]
    breakdowns = {name: summary["methods"][name]["breakdown"].get(grouping, {}) for name in ranked(summary)}
    return {
        name: [breakdown[group]["metrics"].get(metric) if group in breakdown else None for group in groups]
        for name, breakdown in breakdowns.items()
    }


def markdown_table(rows: Table) -> str:
    """Return a table as Markdown, its texts escaped."""
    header, *body = [[escaped(cell) for cell in cells] for cells in rows]
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def escaped(text: str) -> str:
    """Escape a text for Markdown, also for a table."""
    return _MARKS.sub(r"\\\g<0>", " ".join(clean(text).split()))
