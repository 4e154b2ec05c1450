"""Write the results of single questions: as data of the page, as a CSV table, and as TREC runs.

A page with all results would be too large to open. Its list has the text of every question and the score of each
method; details are included while they fit, first for the questions on which the methods differ most.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from graphwright.errors import cut
from graphwright.evaluate.figures import clean, is_share, metric_names, ranked
from graphwright.evaluate.judges import Verdict
from graphwright.files import whole, write_text

Row = Mapping[str, Any]

_MAX_DETAILS = 12_000_000  # bytes of results on the page
_MAX_METRICS = 8  # in the list
_MAX_DOCUMENTS, _MAX_ITEMS, _MAX_CITATIONS, _MAX_ANSWERS = 10, 5, 5, 5
_MAX_GOLD, _MAX_STEPS, _MAX_NOTES = 30, 40, 3
_MAX_QUESTION, _MAX_ANSWER = 1000, 800  # characters
_COSTS = ("seconds", "model_seconds", "texts", "tokens", "calls", "prompt_tokens", "completion_tokens", "cost")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # not allowed as file names on some systems
_UNSAFE = re.compile("[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


@dataclass(frozen=True)
class QuestionData:
    """The data of the page's script as JSON, and the numbers of questions in its list and with details."""

    json: Markup
    listed: int
    detailed: int


def script_json(value: Any) -> Markup:
    """Return a value as JSON that is safe inside a script element.

    >>> print(script_json({"text": "</script><b>"}))
    {"text":"\\u003c/script\\u003e\\u003cb\\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def question_data(
    summary: Mapping[str, Any],
    rows: Iterable[Row],
    questions: Mapping[str, Mapping[str, Any]],
    room: int = _MAX_DETAILS,
) -> QuestionData:
    """Return the results of all questions. `questions`: text, answers and gold by id; `room`: bytes of details."""
    methods, metrics = ranked(summary), metric_names(summary)
    results: dict[str, dict[str, Row]] = {}
    for row in rows:
        results.setdefault(row["question"], {})[row["method"]] = row
    listed = [
        _listed(name, questions[name], [by_method.get(method) for method in methods], metrics)
        for name, by_method in results.items()
    ]
    operators: dict[str, int] = {}
    details: list[str] = []
    for at in sorted(range(len(listed)), key=lambda at: _interest(listed[at])):
        by_method = results[listed[at]["i"]]
        gold = questions[listed[at]["i"]]["gold"]
        result = [
            _result(by_method[method], gold, metrics, operators) if method in by_method else None for method in methods
        ]
        text = f'"{at}":{script_json(result)}'
        room -= len(text.encode())
        if room < 0:
            break
        details.append(text)
    head = {
        "methods": methods,
        "baseline": methods.index(summary["baseline"]),
        "metrics": metrics,
        "percent": [is_share(summary, name) for name in metrics],
        "listed": len(metrics[:_MAX_METRICS]),
        "places": "Nodes" if summary["data"]["over"] == "graph" else "Documents",
        "operators": list(operators),
        "questions": listed,
    }
    data = Markup(f'{script_json(head)[:-1]},"rows":{{{",".join(details)}}}}}')
    return QuestionData(data, len(listed), len(details))


def _listed(name: str, question: Mapping[str, Any], rows: list[Row | None], metrics: list[str]) -> dict[str, Any]:
    """Return the entry of a question in the list, with the values and errors of each method."""
    about = next(row for row in rows if row is not None)
    answers, gold = question["answers"], question["gold"]
    return {
        "i": name,
        "t": cut(question["text"], _MAX_QUESTION),
        "a": [cut(text) for text in answers[:_MAX_ANSWERS]],
        "g": gold[:_MAX_GOLD],
        "n": [len(answers), len(gold)],
        "k": about["type"],
        "h": about["hops"],
        "e": [at for at, row in enumerate(rows) if row is not None and "error" in row],
        "v": [
            None if row is None else [_rounded(row["metrics"].get(metric), 3) for metric in metrics[:_MAX_METRICS]]
            for row in rows
        ],
    }


def _interest(question: Mapping[str, Any]) -> tuple[bool, float, float]:
    """Return a sort key: failures first, then the questions on which the methods differ most."""
    values = [metrics[0] for metrics in question["v"] if metrics is not None and metrics[0] is not None]
    if not values:
        return not question["e"], 0.0, 0.0
    mean = sum(values) / len(values)
    return not question["e"], min(values) - max(values), -sum((value - mean) ** 2 for value in values)


def _result(row: Row, gold: Iterable[str], metrics: list[str], operators: dict[str, int]) -> dict[str, Any]:
    """Return the part of a result that the page shows; `operators` numbers the steps' operators."""
    documents, evidence = row["documents"], row["evidence"]
    rank = {document: at for at, (document, _) in enumerate(documents, 1)}
    result = {
        "m": [_rounded(row["metrics"].get(name), 4) for name in metrics],
        "d": [[cut(document), _rounded(score, 4)] for document, score in documents[:_MAX_DOCUMENTS]],
        "r": [rank.get(document, 0) for document in gold][:_MAX_GOLD],
        "n": [len(documents), len(evidence)],
        "p": [[cut(item["text"]), _rounded(item["score"], 4)] for item in evidence[:_MAX_ITEMS]],
        "a": None if row["answer"] is None else _answer(row["answer"], row.get("judged")),
        "s": [
            [
                operators.setdefault(cut(step["operator"]), len(operators)),
                _rounded(1000 * step["seconds"], 3),
                _rounded(step["held"], 3),
                [cut(note) for note in step.get("notes", ())[:_MAX_NOTES]],
            ]
            for step in row["steps"][:_MAX_STEPS]
        ],
        "c": [_rounded(row[name], 6) for name in ("seconds", "tokens", "calls", "cost")],
        "l": row["prompt_tokens"] + row["completion_tokens"],
    }
    return result | ({"x": cut(row["error"], _MAX_ANSWER)} if "error" in row else {})


def _answer(answer: Mapping[str, Any], judged: Verdict | None) -> dict[str, Any]:
    return {
        "t": cut(answer["text"], _MAX_ANSWER),
        "s": [cut(text) for text in answer["short"][:_MAX_ANSWERS]],
        "f": answer["found"],
        "j": None if judged is None else [judged.value, cut(judged.why)],
        "n": len(answer["citations"]),
        "c": [
            [cut(cited["document"]), cited["start"], cited["end"], cut(cited["text"]), cut(" → ".join(cited["path"]))]
            for cited in answer["citations"][:_MAX_CITATIONS]
        ],
    }


def _rounded(value: float | None, digits: int) -> float | int | None:
    if value is None or not math.isfinite(value):  # JSON has no infinity
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded


def write_csv(path: Path, rows: Iterable[Row], metrics: Iterable[str]) -> None:
    """Write a line for each method and question; `gold` and `documents` are counts."""
    first = ("method", "question", "type", "hops", "answers", "entities", "gold", "documents", "found", "answer")
    with whole(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [*first, *metrics, *_COSTS, "error"], extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for row in rows:
            answer = row["answer"] or {}
            counts = {name: len(row[name]) for name in ("gold", "documents")}
            values = {**row, **row["metrics"], **counts, "found": answer.get("found"), "answer": answer.get("text")}
            table.writerow({name: clean(value) if isinstance(value, str) else value for name, value in values.items()})


def write_runs(folder: Path, rows: Iterable[Row]) -> dict[str, str]:
    """Write one TREC run for each method that ranks documents; return the names of the files by method."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        if row["documents"]:
            lines.setdefault(row["method"], []).extend(trec_lines(row))
    files = {method: run_file(method) for method in lines}
    for method, name in files.items():
        folder.mkdir(exist_ok=True)
        write_text(folder / name, "\n".join(lines[method]) + "\n")
    return files


def run_file(method: str) -> str:
    """Return the file name of a method's run: safe on every system, and different for different methods.

    >>> run_file("ppr"), run_file("ppr(restart=0.5)"), run_file("../a")
    ('ppr.trec', 'ppr-restart-0-5-e60ce1f8.trec', 'a-33a80bec.trec')
    """
    if _PLAIN.fullmatch(method) and not _RESERVED.fullmatch(method):
        return f"{method}.trec"
    words = "-".join(re.findall(r"[a-z0-9]+", method.lower()))[:60].rstrip("-") or "method"
    digest = hashlib.blake2b(method.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{words}-{digest}.trec"


def trec_lines(row: Row) -> Iterator[str]:
    """Yield the lines of a result: question, Q0, document, rank, score, method.

    Space inside a field is percent-encoded, because space separates fields.

    >>> row = {"method": "my ppr", "question": "q1", "documents": [["a b", 0.5], ["c", 0.25]]}
    >>> list(trec_lines(row))
    ['q1 Q0 a%20b 1 0.5 my%20ppr', 'q1 Q0 c 2 0.25 my%20ppr']
    """
    question, method = _trec_field(row["question"]), _trec_field(row["method"])
    for rank, (document, score) in enumerate(row["documents"], 1):
        yield f"{question} Q0 {_trec_field(document)} {rank} {score!r} {method}"


@lru_cache(maxsize=1 << 16)
def _trec_field(text: str) -> str:
    special = r"[\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]"
    return re.sub(special, lambda match: quote(match[0], safe="", errors="surrogatepass"), text) or "%00"
