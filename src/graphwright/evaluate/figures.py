"""Format figures for people, order the methods of a report, and name what failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphwright.errors import counted, cut

Summary = Mapping[str, Any]

_MAX_NAMED = 3  # failed methods in a sentence
_MAX_ERROR = 160  # characters of an error
# Code points that neither XML nor UTF-8 can hold, and those that reverse the text after them.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NO_STATISTICS = 'Intervals and tests of differences need scipy: pip install "graphwright[stats]".'


def ranked(summary: Summary) -> list[str]:
    """Return the methods' names by the primary metric, best first; of equals the faster one first.

    Methods that failed on every question follow, and those without the metric come last.
    """
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


def main_error(method: Mapping[str, Any]) -> str:
    """Return the most frequent error of a method, "" where it has none."""
    errors: Mapping[str, int] = method["errors"]
    return max(errors, key=lambda text: errors[text], default="")


def metric_names(summary: Summary) -> list[str]:
    """Return the names of the metrics that at least one method has, the primary one first."""
    names = dict.fromkeys([summary["primary"], *(metric["name"] for metric in summary["metrics"])])
    return [name for name in names if any(name in method["metrics"] for method in summary["methods"].values())]


def is_share(summary: Summary, metric: str) -> bool:
    """Return whether a metric lies between 0 and 1 for all methods, and so is written in percent."""
    methods = summary["methods"].values()
    return all(0 <= method["metrics"][metric]["mean"] <= 1 for method in methods if metric in method["metrics"])


def score(value: float, percent: bool) -> str:
    """Return a metric's value without a unit.

    >>> score(0.9336, True), score(2.5, False)
    ('93.4', '2.500')
    """
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
    """Return a p value with its symbol.

    >>> p_value(0.0004), p_value(0.0132)
    ('p < 0.001', 'p = 0.013')
    """
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


def llm_tokens(method: Mapping[str, Any]) -> float:
    """Return the tokens of language models per question, those of prompts and of replies."""
    return float(method["prompt_tokens"] + method["completion_tokens"])


def clean(text: str) -> str:
    """Return a text with invalid code points replaced, and with those that change the direction of writing.

    >>> clean("a\\x00b\\ud800") == "a\\ufffdb\\ufffd"
    True
    """
    return _INVALID.sub("\ufffd", text)


def heading(summary: Summary) -> str:
    """Return the compared methods and the data as a sentence.

    >>> data = {"name": "rivers", "questions": 100, "over": "documents", "documents": 9}
    >>> heading({"methods": {"ppr": 0, "bm25": 0}, "data": data})
    '2 methods compared on 100 questions over the 9 documents of rivers.'
    """
    data, methods = summary["data"], list(summary["methods"])
    compared = f"{methods[0]} measured" if len(methods) == 1 else f"{len(methods)} methods compared"
    if data["over"] == "documents":
        place = f"over the {counted(data['documents'], 'document')} of {data['name']}"
    else:
        size = f"{counted(data['nodes'], 'node')} and {counted(data['edges'], 'edge')}"
        place = f"over the graph of {data['name']}, {size}"
        place = place if data["over"] == "graph" else f"of {data['name']} over an index of {size}"
    return f"{compared} on {counted(data['questions'], 'question')} {place}."


def remarks(summary: Summary) -> list[str]:
    """Return sentences on failures, and on intervals and tests if they are missing."""
    return [*_failures(summary["methods"]), *([] if summary["statistics"] else [_NO_STATISTICS])]


def _failures(methods: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the failed methods: the number of failures and the most frequent error."""
    failed = {name: method for name, method in methods.items() if method["failed"]}
    for name, method in list(failed.items())[:_MAX_NAMED]:
        error = cut(" ".join(main_error(method).split()).rstrip("."), _MAX_ERROR)
        if failed_wholly(method):
            yield f"{name} failed on every question, so that nothing is known of its quality: {error}."
        else:
            most = ", most often" if len(method["errors"]) > 1 else ""
            yield f"{name} failed on {counted(method['failed'], 'question')}, counted as 0{most}: {error}."
    if len(failed) > _MAX_NAMED:
        yield f"{len(failed) - _MAX_NAMED} more failed on some or all questions."
