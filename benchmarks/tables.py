"""Accuracy of the offline query parser on questions about tables (WikiTableQuestions).

    python benchmarks/tables.py DATA [--half second] [--weights FILE]

DATA holds questions.jsonl.gz and csv/ unpacked from tables.tar.gz. Questions are those of the development part, whose
tables are not trained on; `--half first` are those of tables that were looked at during development.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from benchmarks.denotations import correct

from graphwright.graph.columns import TextColumn
from graphwright.operators.query.execution import Result, execute
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.operators.query.tables.scorer import TableScorer
from graphwright.search.facts import Facts


class Rows(NamedTuple):
    """A table: the names of its columns, and its rows."""

    names: list[str]
    rows: list[dict[str, str]]


def read_table(path: Path) -> Rows:
    """Return a CSV file of WikiTableQuestions, whose first row names the columns."""
    with path.open(newline="") as file:
        table = list(csv.reader(file, escapechar="\\", doublequote=False))
    names: list[str] = []
    for at, cell in enumerate(table[0]):
        name = " ".join(cell.split()) or f"column {at + 1}"
        names.append(name if name not in names else f"{name} {at + 1}")
    return Rows(names, [dict(zip(names, (" ".join(c.split()) for c in row), strict=False)) for row in table[1:]])


def facts_of(tables: Mapping[str, Rows]) -> Facts:
    """Return facts with tables by the names of their types."""
    facts = Facts.of_rows([row for table in tables.values() for row in table.rows])
    assert facts.records is not None
    type_of = np.repeat(np.arange(len(tables)), [len(table.rows) for table in tables.values()]).astype(np.int32)
    return Facts(replace(facts.columns, records=replace(facts.records, types=TextColumn.of(tables), type=type_of)))


def answer_texts(result: Result, facts: Facts) -> list[str]:
    """Return the answers that a result of a query states."""
    if isinstance(result, np.ndarray):
        return facts.texts(result)
    if isinstance(result, bool):
        return ["yes" if result else "no"]
    return (
        []
        if result is None
        else [f"{result:.6f}".rstrip("0").rstrip(".") if isinstance(result, float) else str(result)]
    )


def read_questions(data: Path, split: str) -> list[dict[str, Any]]:
    """Return the questions of a split."""
    with gzip.open(data / "questions.jsonl.gz", "rt") as file:
        return [row for row in map(json.loads, file) if row["split"] == split]


def is_first_half(table: str) -> bool:
    """Return whether a development table is in the half that is looked at during development."""
    return crc32(table.encode()) % 2 == 0


def main() -> None:
    """Print accuracy, that of the third with the largest probability, and times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=("first", "second", "both"), default="second")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    asked = [
        r
        for r in read_questions(args.data, "dev")
        if args.half == "both" or is_first_half(r["table"]) == (args.half == "first")
    ]
    query_parser = TableQueryParser(scorer=TableScorer.load(args.weights))
    right, sure, seconds = [], [], []
    for row in asked[: args.limit]:
        facts = facts_of({"rows": read_table(args.data / row["table"])})
        started = time.perf_counter()
        queries = query_parser.parse(row["question"], facts)
        seconds.append(time.perf_counter() - started)
        answers = answer_texts(execute(queries[0].query, facts), facts) if queries else []
        right.append(correct(answers, row["answers"]))
        sure.append(queries[0].probability if queries else 0.0)
    order = np.argsort(-np.array(sure), kind="stable")
    held = np.array(right)[order]
    third = len(held) // 3
    print(
        f"{len(right)} questions: accuracy {held.mean():.3f}; of the surest third {held[:third].mean():.3f}, "
        f"mean probability {np.mean(sure):.3f}, of that third {np.array(sure)[order][:third].mean():.3f}; "
        f"time p50 {np.percentile(seconds, 50) * 1000:.0f} ms, p95 {np.percentile(seconds, 95) * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
