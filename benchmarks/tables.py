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
from denotations import correct

from graphwright.graph.columns import TextColumn
from graphwright.models import MiniLM, MiniLMAmounts
from graphwright.operators.query.execution import Execution, Result
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
    if isinstance(result, float):
        return [f"{result:.6f}".rstrip("0").rstrip(".")]
    return [] if result is None else [str(result)]


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
    questions = read_questions(args.data, "dev")
    halves = {"first": (True,), "second": (False,), "both": (True, False)}[args.half]
    asked = [row for row in questions if is_first_half(row["table"]) in halves][: args.limit]
    query_parser = TableQueryParser(MiniLM(), MiniLMAmounts(), TableScorer.load(args.weights))
    answers = [answered(query_parser, args.data, row) for row in asked]
    right, probability, seconds = (np.array(column) for column in zip(*answers, strict=True))
    order = np.argsort(-probability, kind="stable")[: len(asked) // 3]
    print(
        f"{len(asked)} questions: accuracy {right.mean():.3f}, mean probability {probability.mean():.3f}; of the "
        f"surest third {right[order].mean():.3f}, {probability[order].mean():.3f}; "
        f"processor time p50 {np.percentile(seconds, 50) * 1000:.0f} ms, p95 {np.percentile(seconds, 95) * 1000:.0f} ms"
    )


def answered(parser: TableQueryParser, data: Path, row: dict[str, Any]) -> tuple[bool, float, float]:
    """Return whether the best query gives the answer, its probability, and the seconds of processor time."""
    facts = facts_of({"rows": read_table(data / row["table"])})
    started = time.process_time()
    queries = parser.parse(row["question"], facts)
    seconds = time.process_time() - started
    if not queries:
        return False, 0.0, seconds
    best = queries[0]
    return correct(answer_texts(Execution(facts).result(best.query), facts), row["answers"]), best.probability, seconds


if __name__ == "__main__":
    main()
