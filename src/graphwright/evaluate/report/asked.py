"""The questions one by one, as a part of the page: a list to search, and two methods side by side on one of them.

A page of all results would be too large to open. So of every question the list has its text and what each method
reached; the rest is there for as many as fit, those on which the methods differ most.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile
from typing import Any

from graphwright.evaluate.report.choice import metrics_of
from graphwright.evaluate.report.figures import shared
from graphwright.evaluate.report.markup import Markup, embedded, named, section, tag
from graphwright.evaluate.report.order import ranked
from graphwright.evaluate.report.reading import over

__all__ = ["Asked"]

Row = Mapping[str, Any]

_ROOM = 12_000_000  # bytes of results that the page has room for
_LISTED = 8  # metrics that the list can be read by
_DOCUMENTS, _PIECES, _CITED, _SHORT, _GOLD, _STEPS = 10, 5, 5, 5, 30, 40
_PLACES = {"documents": "Documents", "graph": "Nodes"}  # what is ranked
_FAILED = 20  # that the page lists
_TEXT, _ANSWER, _LINE = 1000, 800, 240  # characters of a question, of an answer, and of anything else


class Asked:
    """Takes results one by one, and gives the part of the page that shows them; in memory stays little of each."""

    def __init__(
        self, summary: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]], room: int = _ROOM
    ) -> None:
        self._summary, self._questions, self._room = summary, questions, room
        self._methods = {name: at for at, name in enumerate(ranked(summary))}
        self._metrics = metrics_of(summary)
        self._listed = self._metrics[:_LISTED]
        self._operators: dict[str, int] = {}
        self._errors: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._known: dict[str, dict[str, Any]] = {}
        self._file = TemporaryFile()  # noqa: SIM115
        self._at: dict[tuple[str, int], tuple[int, int]] = {}

    def close(self) -> None:
        """Let go of the file that holds the results meanwhile."""
        self._file.close()

    def add(self, row: Row) -> None:
        """Take a result; one of a method that the summary does not have is passed over."""
        method = self._methods.get(row["method"])
        if method is None:
            return
        if row["question"] not in self._known:
            self._known[row["question"]] = self._question(row)
        known = self._known[row["question"]]
        metrics = row.get("metrics") or {}
        known["v"][method] = [_rounded(metrics.get(name), 3) for name in self._listed]
        if row.get("error"):
            known["e"].append(method)
            self._errors[row["method"]][_cut(row["error"], _ANSWER)] += 1
        line = embedded(self._brief(row)).encode()
        self._at[row["question"], method] = self._file.tell(), len(line)
        self._file.write(line)

    def _question(self, row: Row) -> dict[str, Any]:
        of = self._questions.get(row["question"], {})
        gold = list(of.get("gold") or row.get("gold") or ())
        return {
            "i": row["question"],
            "t": _cut(of.get("text") or row["question"], _TEXT),
            "a": [_cut(text) for text in (of.get("answers") or ())[:_SHORT]],
            "g": gold[:_GOLD],
            "n": [len(of.get("answers") or ()), len(gold)],
            "k": row.get("type") or "",
            "h": row.get("hops"),
            "e": [],
            "v": [None] * len(self._methods),
        }

    def _brief(self, row: Row) -> dict[str, Any]:
        """Return what the page shows of a result."""
        documents = row.get("documents") or ()
        place = {document: rank for rank, (document, _) in enumerate(documents, 1)}
        gold = list(self._questions.get(row["question"], {}).get("gold") or row.get("gold") or ())
        metrics = row.get("metrics") or {}
        evidence = row.get("evidence") or ()
        brief = {
            "m": [_rounded(metrics.get(name), 4) for name in self._metrics],
            "d": [[_cut(document), _rounded(score, 4)] for document, score in documents[:_DOCUMENTS]],
            "r": [place.get(document, 0) for document in gold[:_GOLD]],
            "n": [len(documents), len(evidence)],
            "p": [[_cut(_titled_once(one["text"])), _rounded(one.get("score"), 4)] for one in evidence[:_PIECES]],
            "a": _answer(row.get("answer"), row.get("judged")),
            "s": [self._step(step) for step in (row.get("steps") or ())[:_STEPS]],
            "c": [_rounded(row.get(name), 6) for name in ("seconds", "tokens", "calls", "cost", "peak_mb")]
            + [(row.get("prompt_tokens") or 0) + (row.get("completion_tokens") or 0)],
        }
        return brief | ({"x": _cut(row["error"], _ANSWER)} if row.get("error") else {})

    def _step(self, step: Mapping[str, Any]) -> list[Any]:
        operator = self._operators.setdefault(_cut(step["operator"]), len(self._operators))
        notes = [_cut(note) for note in (step.get("notes") or ())[:3]]
        return [
            operator,
            _rounded(1000 * step["seconds"], 3),
            _rounded(step.get("held"), 3),
            *([notes] if notes else []),
        ]

    def section(self) -> Markup:
        """Return the part of the page, with the data that its script shows."""
        chosen = self._chosen()
        about = (
            "Choose two methods and a question to see side by side what each found. A method misses a question on "
            "which it reaches nothing in the chosen metric. "
            if len(self._methods) > 1
            else "Choose a question to see what was found. "
        )
        if len(chosen) < len(self._known):
            about += (
                f"The list has all {len(self._known):,} questions; to keep this page small, {len(chosen):,} of them "
                f"can be opened, those on which the methods differ most. All results are in results.jsonl."
            )
        return section(
            "questions",
            "Question by question",
            about,
            tag("p", "This part needs JavaScript; all results are in results.jsonl beside this page.", class_="no-js"),
            tag("div", id="asked", class_="needs-js"),
            tag("script", self._data(chosen), type="application/json", id="data"),
        )

    def _chosen(self) -> list[str]:
        """Return the questions that fit, failed ones and those on which methods differ most first."""
        sizes: dict[str, int] = dict.fromkeys(self._known, 0)
        for (question, _), (_, size) in self._at.items():
            sizes[question] += size + 1
        found, left = [], self._room
        for question in sorted(self._known, key=lambda one: self._interest(self._known[one])):
            left -= sizes[question]
            if left < 0:
                break
            found.append(question)
        return found

    def _interest(self, known: Mapping[str, Any]) -> tuple[bool, float, float]:
        values = [one[0] for one in known["v"] if one is not None and one[0] is not None]
        if not values:
            return not known["e"], 0.0, 0.0
        mean = sum(values) / len(values)
        return not known["e"], min(values) - max(values), -sum((value - mean) ** 2 for value in values)

    def _data(self, chosen: Sequence[str]) -> Markup:
        """Return all that the script shows, as JSON."""
        number = {question: at for at, question in enumerate(self._known)}
        rows = [f'"{number[q]}":[{",".join(self._held(q, at) for at in self._methods.values())}]' for q in chosen]
        order = list(self._methods)
        head = {
            "methods": order,
            "baseline": self._methods.get(self._summary["baseline"], 0),
            "metrics": self._metrics,
            "percent": [shared(self._summary, name) for name in self._metrics],
            "listed": len(self._listed),
            "places": _PLACES.get(over(self._summary), "Ranking"),
            "operators": list(self._operators),
            "questions": list(self._known.values()),
        }
        return Markup(f'{embedded(head)[:-1]},"rows":{{{",".join(rows)}}}}}')

    def _held(self, question: str, method: int) -> str:
        if (question, method) not in self._at:
            return "null"
        start, size = self._at[question, method]
        self._file.seek(start)
        return self._file.read(size).decode()

    @property
    def errors(self) -> dict[str, dict[str, int]]:
        """What went wrong, by method: each error with how often it did."""
        return {name: dict(counts) for name, counts in self._errors.items()}

    def failures(self) -> Markup | None:
        """Return a table of the questions that methods failed on, None where there are none."""
        rows: list[Markup] = []
        names = list(self._methods)
        for known in self._known.values():
            text = tag("td", tag("bdi", known["t"][:_LINE]))
            rows += [tag("tr", tag("td", named(names[at])), text, self._said(known, at)) for at in known["e"]]
        if not rows:
            return None
        head = tag("tr", [tag("th", name, scope="col") for name in ("method", "question", "error")])
        shown = tag("table", tag("thead", head), tag("tbody", rows[:_FAILED]), class_="failures")
        more = tag("p", f"And {len(rows) - _FAILED:,} more.") if len(rows) > _FAILED else None
        return section("failures", "Questions with errors", "Each counts as 0 in every metric.", shown, more)

    def _said(self, known: Mapping[str, Any], method: int) -> Markup:
        return tag("td", tag("code", json.loads(self._held(known["i"], method))["x"]))


def _answer(answer: Mapping[str, Any] | None, judged: tuple[float, str] | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    citations = answer.get("citations") or ()
    return {
        "t": _cut(answer.get("text") or "", _ANSWER),
        "s": [_cut(text) for text in (answer.get("answers") or ())[:_SHORT]],
        "f": bool(answer.get("found", True)),
        "j": None if judged is None else [_rounded(judged[0], 3), _cut(judged[1])],
        "n": len(citations),
        "c": [
            [_cut(one.get("document") or ""), one.get("start"), one.get("end"), _cut(one.get("text") or "")]
            + [_cut(" → ".join(map(str, one["path"])))] * bool(one.get("path"))
            for one in citations[:_CITED]
        ],
    }


def _titled_once(text: str) -> str:
    """Return a passage's text without a first line that its next one begins with."""
    while True:
        first, _, rest = text.partition("\n")
        if not first.strip() or not rest.startswith(first) or rest[len(first) : len(first) + 1].isalnum():
            return text
        text = rest


def _cut(text: str, most: int = _LINE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _rounded(value: float | None, digits: int) -> float | int | None:
    if value is None or not math.isfinite(value):  # JSON has no word for infinity
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded
