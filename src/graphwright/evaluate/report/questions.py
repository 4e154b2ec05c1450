"""Collect the results of single questions for the page: a list to search, and two methods side by side.

A page of all results would be too large to open. The list has the text of every question and the score of each method;
details are included for as many questions as fit, those on which the methods differ most first.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import Any

from markupsafe import Markup

from graphwright.evaluate.report.figures import is_share, metric_names, ranked
from graphwright.evaluate.report.reading import searched

__all__ = ["QuestionResults", "script_json"]

Row = Mapping[str, Any]

_ROOM = 12_000_000  # bytes of results on the page
_LISTED = 8  # metrics that the list can show
_DOCUMENTS, _ITEMS, _CITATIONS, _ANSWERS, _GOLD, _STEPS, _NOTES = 10, 5, 5, 5, 30, 40, 3
_TEXT, _ANSWER, _LINE = 1000, 800, 240  # characters of a question, of an answer, and of anything else
_COSTS = ("seconds", "tokens", "calls", "cost", "peak_mb")
_RANKED_KIND = {"documents": "Documents", "graph": "Nodes"}
_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def script_json(value: Any) -> Markup:
    """Return a value as JSON that is safe inside a script element.

    >>> print(script_json({"text": "</script><b>"}))
    {"text":"\\u003c/script\\u003e\\u003cb\\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


class QuestionResults:
    """Results added one by one; little of each stays in memory, the rest is in a temporary file."""

    def __init__(
        self, summary: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]], room: int = _ROOM
    ) -> None:
        """Start empty. `questions`: text, answers and gold by id. `room`: bytes of results on the page."""
        self._summary, self._questions, self._room = summary, questions, room
        self._methods = {name: at for at, name in enumerate(ranked(summary))}
        self._metrics = metric_names(summary)
        self._operators: dict[str, int] = {}
        self._errors: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._known: dict[str, dict[str, Any]] = {}
        self._file = TemporaryFile()  # noqa: SIM115
        self._at: dict[tuple[str, int], tuple[int, int]] = {}

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def add(self, row: Row) -> None:
        """Add a result; one of a method that the summary does not have is ignored."""
        method = self._methods.get(row["method"])
        if method is None:
            return
        if row["question"] not in self._known:
            self._known[row["question"]] = self._question(row)
        known = self._known[row["question"]]
        metrics = row.get("metrics") or {}
        known["v"][method] = [_rounded(metrics.get(name), 3) for name in self._metrics[:_LISTED]]
        if row.get("error"):
            known["e"].append(method)
            self._errors[row["method"]][_cut(row["error"], _ANSWER)] += 1
        line = script_json(self._result(row)).encode()
        self._at[row["question"], method] = self._file.tell(), len(line)
        self._file.write(line)

    def _gold(self, row: Row) -> list[str]:
        return list(self._questions.get(row["question"], {}).get("gold") or row.get("gold") or ())

    def _question(self, row: Row) -> dict[str, Any]:
        question, gold = self._questions.get(row["question"], {}), self._gold(row)
        answers = question.get("answers") or ()
        return {
            "i": row["question"],
            "t": _cut(question.get("text") or row["question"], _TEXT),
            "a": [_cut(text) for text in answers[:_ANSWERS]],
            "g": gold[:_GOLD],
            "n": [len(answers), len(gold)],
            "k": row.get("type") or "",
            "h": row.get("hops"),
            "e": [],
            "v": [None] * len(self._methods),
        }

    def _result(self, row: Row) -> dict[str, Any]:
        """Return the part of a result that the page shows."""
        documents, evidence = row.get("documents") or (), row.get("evidence") or ()
        rank = {document: at for at, (document, _) in enumerate(documents, 1)}
        metrics = row.get("metrics") or {}
        llm_tokens = (row.get("prompt_tokens") or 0) + (row.get("completion_tokens") or 0)
        result = {
            "m": [_rounded(metrics.get(name), 4) for name in self._metrics],
            "d": [[_cut(document), _rounded(score, 4)] for document, score in documents[:_DOCUMENTS]],
            "r": [rank.get(document, 0) for document in self._gold(row)[:_GOLD]],
            "n": [len(documents), len(evidence)],
            "p": [[_cut(_titled_once(item["text"])), _rounded(item.get("score"), 4)] for item in evidence[:_ITEMS]],
            "a": _answer(row.get("answer"), row.get("judged")),
            "s": [self._step(step) for step in (row.get("steps") or ())[:_STEPS]],
            "c": [*(_rounded(row.get(name), 6) for name in _COSTS), llm_tokens],
        }
        return result | ({"x": _cut(row["error"], _ANSWER)} if row.get("error") else {})

    def _step(self, step: Mapping[str, Any]) -> list[Any]:
        operator = self._operators.setdefault(_cut(step["operator"]), len(self._operators))
        notes = [_cut(note) for note in (step.get("notes") or ())[:_NOTES]]
        figures = [_rounded(1000 * step["seconds"], 3), _rounded(step.get("held"), 3)]
        return [operator, *figures, *([notes] if notes else [])]

    def selected(self) -> list[str]:
        """Return the questions with details, as many as fit: failed ones, then those with the largest differences."""
        sizes: dict[str, int] = dict.fromkeys(self._known, 0)
        for (question, _), (_, size) in self._at.items():
            sizes[question] += size + 1
        questions, room = [], self._room
        for question in sorted(self._known, key=lambda name: _interest(self._known[name])):
            room -= sizes[question]
            if room < 0:
                break
            questions.append(question)
        return questions

    def __len__(self) -> int:
        return len(self._known)

    def data(self, selected: Sequence[str]) -> Markup:
        """Return the data of the page's script as JSON."""
        number = {question: at for at, question in enumerate(self._known)}
        rows = [f'"{number[q]}":[{",".join(self._stored(q, at) for at in self._methods.values())}]' for q in selected]
        head = {
            "methods": list(self._methods),
            "baseline": self._methods.get(self._summary["baseline"], 0),
            "metrics": self._metrics,
            "percent": [is_share(self._summary, name) for name in self._metrics],
            "listed": len(self._metrics[:_LISTED]),
            "places": _RANKED_KIND.get(searched(self._summary), "Ranking"),
            "operators": list(self._operators),
            "questions": list(self._known.values()),
        }
        return Markup(f'{script_json(head)[:-1]},"rows":{{{",".join(rows)}}}}}')

    def _stored(self, question: str, method: int) -> str:
        if (question, method) not in self._at:
            return "null"
        start, size = self._at[question, method]
        self._file.seek(start)
        return self._file.read(size).decode()

    @property
    def errors(self) -> dict[str, dict[str, int]]:
        """Errors of each method with their counts."""
        return {name: dict(counts) for name, counts in self._errors.items()}

    def failures(self) -> Iterator[tuple[str, str, str]]:
        """Yield method, question and error of each failure."""
        names = list(self._methods)
        for known in self._known.values():
            for at in known["e"]:
                yield names[at], known["t"][:_LINE], json.loads(self._stored(known["i"], at))["x"]


def _interest(known: Mapping[str, Any]) -> tuple[bool, float, float]:
    """Return a sort key: failures first, then the questions on which the methods differ most."""
    values = [metrics[0] for metrics in known["v"] if metrics is not None and metrics[0] is not None]
    if not values:
        return not known["e"], 0.0, 0.0
    mean = sum(values) / len(values)
    return not known["e"], min(values) - max(values), -sum((value - mean) ** 2 for value in values)


def _answer(answer: Mapping[str, Any] | None, judged: tuple[float, str] | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    citations = answer.get("citations") or ()
    return {
        "t": _cut(answer.get("text") or "", _ANSWER),
        "s": [_cut(text) for text in (answer.get("short") or ())[:_ANSWERS]],
        "f": bool(answer.get("found", True)),
        "j": None if judged is None else [_rounded(judged[0], 3), _cut(judged[1])],
        "n": len(citations),
        "c": [_citation(cited) for cited in citations[:_CITATIONS]],
    }


def _citation(cited: Mapping[str, Any]) -> list[Any]:
    place = [_cut(cited.get("document") or ""), cited.get("start"), cited.get("end"), _cut(cited.get("text") or "")]
    return place + [_cut(" → ".join(map(str, cited["path"])))] * bool(cited.get("path"))


def _titled_once(text: str) -> str:
    """Return a passage without a title that its text begins with anyway."""
    while True:
        first, _, rest = text.partition("\n")
        if not first.strip() or not rest.startswith(first) or rest[len(first) : len(first) + 1].isalnum():
            return text
        text = rest


def _cut(text: str, max_characters: int = _LINE) -> str:
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


def _rounded(value: float | None, digits: int) -> float | int | None:
    if value is None or not math.isfinite(value):  # JSON has no infinity
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded
