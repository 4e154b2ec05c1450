"""Format figures for people: percentages, times, counts and p values, and the order of methods in a report."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "LEVEL",
    "amount",
    "answer_metric",
    "clean",
    "corrected_p",
    "counted",
    "failed_wholly",
    "in_words",
    "is_share",
    "isolated",
    "joined",
    "llm_tokens",
    "main_error",
    "metric_names",
    "milliseconds",
    "number",
    "operator_name",
    "p_value",
    "ranked",
    "relative_time",
    "score",
    "signed",
]

LEVEL = 0.05
"""Significance level of the corrected p values."""

Summary = Mapping[str, Any]

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# Code points that neither XML nor UTF-8 can hold.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


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
    return bool(method.get("failed")) and method["failed"] >= method.get("questions", 0)


def main_error(method: Mapping[str, Any]) -> str:
    """Return the most frequent error of a method, "" where none is known."""
    errors: Mapping[str, int] = method.get("errors") or {}
    return max(errors, key=lambda text: errors[text], default="")


def metric_names(summary: Summary) -> list[str]:
    """Return the names of the metrics that at least one method has, the primary one first."""
    names = dict.fromkeys([summary["primary"], *(metric["name"] for metric in summary["metrics"])])
    return [name for name in names if any(name in method["metrics"] for method in summary["methods"].values())]


def answer_metric(summary: Summary) -> str | None:
    """Return the metric that describes the answers best, None where no answer metric is a share."""
    of_answers = {metric["name"] for metric in summary["metrics"] if metric.get("kind") == "answer"}
    names = [name for name in metric_names(summary) if name in of_answers and is_share(summary, name)]
    return next((name for name in (summary["primary"], "hits@1", "token f1", *names) if name in names), None)


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


def corrected_p(against: Mapping[str, Any]) -> float | None:
    """Return the p value of a difference, corrected where a corrected one is known; None where it was not tested."""
    p = against.get("corrected")
    p = against.get("p") if p is None else p
    return None if p is None else float(p)


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
    """Return a mean count, a size or a sum of money.

    >>> amount(0), amount(0.00312), amount(1.5), amount(14), amount(12345.6)
    ('0', '0.0031', '1.5', '14', '12,346')
    """
    if value >= 99.5 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.1f}"


def number(value: float) -> str:
    """Return a coordinate with at most two decimals.

    >>> number(3.0), number(0.126), number(-0.001)
    ('3', '0.13', '0')
    """
    return "0" if abs(value) < 0.005 else f"{value:.2f}".rstrip("0").rstrip(".")


def relative_time(ratio: float, other: str) -> str:
    """Return how a time compares with that of another method; `ratio` is the quotient of the two.

    >>> relative_time(1.6, "ppr"), relative_time(12.2, "ppr"), relative_time(0.5, "ppr"), relative_time(1.02, "ppr")
    ('1.6 times as long as ppr', '12 times as long as ppr', '50 % of the time of ppr', 'about as long as ppr')
    """
    if 0.9 < ratio < 1 / 0.9:
        return f"about as long as {other}"
    if ratio > 1:
        return f"{ratio:.1f} times as long as {other}" if ratio < 10 else f"{ratio:,.0f} times as long as {other}"
    share = f"{100 * ratio:.0f}" if ratio >= 0.1 else f"{100 * ratio:.1f}"
    return f"{share} % of the time of {other}"


def joined(names: Sequence[str]) -> str:
    """Return names as an enumeration.

    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, small counts in words.

    >>> counted(3, "method"), counted(1, "method"), counted(1000, "question")
    ('three methods', 'one method', '1,000 questions')
    """
    return f"{in_words(count)} {noun}{'' if count == 1 else 's'}"


def in_words(count: int) -> str:
    """Return a count, small ones in words.

    >>> in_words(7), in_words(1000)
    ('seven', '1,000')
    """
    return _WORDS[count] if 0 <= count < len(_WORDS) else f"{count:,}"


def operator_name(operator: str) -> str:
    """Return an operator's name without its arguments.

    >>> operator_name("VectorSearch(VectorIndex(9 × 4, 1f)) % 20"), operator_name("(Keep() | STeX(k=(1, 2)) % 10) % 9")
    ('VectorSearch', 'Keep | STeX')
    """
    bare, before = operator, ""
    while bare != before:  # innermost arguments first
        bare, before = re.sub(r"(?<=[\w=,])\s?\([^()]*\)", "", bare), bare
    names = re.findall(r"[^\W\d][\w.]*", bare)
    return (" | ".join(names[:2]) + (" …" if len(names) > 2 else "")) if names else operator[:24]


def isolated(name: str) -> str:
    """Return a name for a sentence; one written from right to left is isolated from the text around it.

    >>> isolated("ppr"), len(isolated("\u05e9\u05d9"))
    ('ppr', 4)
    """
    from_right = any(unicodedata.bidirectional(letter) in {"R", "AL", "AN"} for letter in name)
    return f"\u2068{name}\u2069" if from_right else name


def llm_tokens(method: Mapping[str, Any]) -> float:
    """Return the tokens of language models per question, those of prompts and of replies."""
    return float(method.get("prompt_tokens") or 0) + float(method.get("completion_tokens") or 0)


def clean(text: str) -> str:
    """Return a text with invalid code points replaced: control characters and unpaired surrogates.

    >>> clean("a\\x00b\\ud800") == "a\\ufffdb\\ufffd"
    True
    """
    return _INVALID.sub("\ufffd", text)
