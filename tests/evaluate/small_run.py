"""A small run made by hand: results of methods on questions, and the summary that belongs to them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphwright.evaluate.report import write_report

METRICS = ("recall@5", "ndcg@10", "exact match")
HOSTILE = (
    "</script><b>bold</b>",
    'it\'s a "quote" & <i>',
    "\u202egnirts a",
    "שיטה",
    "🦊 fox",
    "line\u2028end\x00\x07",
    "a|b`c*d_e[f](g)#",
    "x" * 300,
    "../../etc/passwd",
    "half \ud800 pair",
)
OPERATORS = ("LinkEntities()", "VectorSearch(VectorIndex(9 × 4, 1f)) % 20", "ToPassages()")
HELD = (None, 0.9, 0.6)

Row = dict[str, Any]


def row(method: str, question: str, *, recall: float = 0.5, seconds: float = 0.01, **more: Any) -> Row:
    at = int(question[1:])
    return {
        "method": method,
        "question": question,
        "type": "bridge" if at % 2 else "comparison",
        "hops": 1 + at % 3,
        "answers": 1,
        "entities": at % 2,
        "gold": [f"d{at}", "d 1"],
        "documents": [["d 1", 0.75], [f"d{at}", 0.5], ["d9", 0.25]],
        "evidence": [{"text": "Mur flows into Drava", "score": 0.8}, {"text": "Graz lies on Mur", "score": None}],
        "answer": {
            "text": "River 1, as it seems.",
            "short": ["River 1"],
            "found": True,
            "citations": [
                {"document": "d 1", "chunk": "d 1#0", "start": 2, "end": 9, "text": "River 1", "path": ["a", "r", "b"]}
            ],
        },
        "metrics": {"recall@5": recall, "ndcg@10": recall / 2, "exact match": float(at % 2)},
        "seconds": seconds,
        "model_seconds": seconds / 2,
        "texts": 1,
        "tokens": 14,
        "calls": 1,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost": 0.0,
        "steps": [
            {
                "operator": operator,
                "seconds": seconds / 4,
                "model_seconds": 0.0,
                "tokens": 0,
                "held": record,
                "notes": [],
            }
            for operator, record in zip(OPERATORS, HELD, strict=True)
        ],
        **more,
    }


def rows(methods: Sequence[str] = ("vector", "ppr", "bm25"), count: int = 6) -> list[Row]:
    drawn = random.Random(7)
    return [
        row(method, question, recall=drawn.choice((0.0, 0.5, 1.0)), seconds=0.01 * (1 + at))
        for at, method in enumerate(methods)
        for question in map("q{}".format, range(count))
    ]


def summary(record: Sequence[Row], **more: Any) -> dict[str, Any]:
    """Return the summary of results; the first method is the baseline."""
    by: dict[str, list[Row]] = {}
    for item in record:
        by.setdefault(item["method"], []).append(item)
    baseline = next(iter(by))
    return {
        "graphwright": "0.1.0",
        "commit": "abc123",
        "data": {
            "name": "rivers",
            "over": "documents",
            "documents": 9,
            "nodes": 20,
            "edges": 30,
            "questions": len(by[baseline]),
        },
        "encoder": "hash",
        "extractor": "lexical",
        "settings": {"seed": 0, "titles": True},
        "baseline": baseline,
        "primary": "recall@5",
        "machine": {"processors": 2},
        "started": "2025-01-02T03:04:05+00:00",
        "metrics": [{"name": name, "about": f"What {name} is.", "kind": "retrieval"} for name in METRICS],
        "methods": {name: _method(name, some, by[baseline], name == baseline) for name, some in by.items()},
        "statistics": True,
        **more,
    }


def _method(name: str, record: Sequence[Row], base: Sequence[Row], is_baseline: bool) -> dict[str, Any]:
    means = {metric: mean([item["metrics"][metric] for item in record]) for metric in METRICS}
    bases = {metric: mean([item["metrics"][metric] for item in base]) for metric in METRICS}
    milliseconds = {end: 1000 * record[0]["seconds"] for end in ("p50", "p95", "mean")}
    groups: dict[str, list[Row]] = {}
    for item in record:
        groups.setdefault(item["type"], []).append(item)
    steps = record[0]["steps"]
    return {
        "method": name,
        "options": {},
        "expression": " >> ".join(OPERATORS),
        "questions": len(record),
        "failed": sum("error" in item for item in record),
        "errors": dict(Counter(item["error"] for item in record if "error" in item)),
        "metrics": {
            metric: {"mean": value, "low": max(value - 0.1, 0), "high": min(value + 0.1, 1)}
            for metric, value in means.items()
        },
        "against_baseline": None
        if is_baseline
        else {
            metric: {"difference": means[metric] - bases[metric], "p": 0.01, "corrected": 0.02} for metric in METRICS
        },
        "milliseconds": milliseconds,
        "model_milliseconds": milliseconds,
        **{key: mean([item[key] for item in record]) for key in ("tokens", "calls", "cost")},
        **{key: mean([item[key] for item in record]) for key in ("prompt_tokens", "completion_tokens")},
        "steps": [
            {"operator": step["operator"], "p50": 2.5, "p95": 3.5, "mean": 2.5, "held": step["held"]} for step in steps
        ],
        "breakdown": {
            "type": {
                group: {
                    "questions": len(some),
                    "metrics": {metric: mean([item["metrics"][metric] for item in some]) for metric in METRICS},
                }
                for group, some in groups.items()
            }
        },
    }


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_set(folder: Path, corpus: Iterable[Mapping[str, Any]], asked: Iterable[Mapping[str, Any]]) -> Path:
    """Write a data set of documents and questions into a new folder, and return the folder."""
    folder.mkdir(parents=True)
    write_lines(folder / "corpus.jsonl", corpus)
    write_lines(folder / "questions.jsonl", asked)
    return folder


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def written(out: Path, record: Sequence[Row], of: Mapping[str, Any] | None = None) -> str:
    """Write the report and return its Markdown."""
    write_report(out, of or summary(record), record)
    return (out / "report.md").read_text(encoding="utf-8")
