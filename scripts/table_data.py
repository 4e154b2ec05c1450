"""Write the features of candidate queries for questions about tables, and which give the answer.

    python scripts/table_data.py DATA OUT [--split train] [--part 0 --parts 1]

DATA holds WikiTableQuestions: questions.jsonl.gz and csv/ unpacked from tables.tar.gz.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import pickle
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.denotations import correct
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.execution import Execution, Result
from graphwright.operators.query.table_candidates import Enumeration
from graphwright.operators.query.table_features import QuestionFeatures, result_key
from graphwright.operators.query.table_links import TableIndex, question_words
from graphwright.search.facts import Facts


def read_table(path: Path) -> Facts:
    """Return the facts of a CSV file of WikiTableQuestions, whose first row names the columns."""
    with path.open(newline="") as file:
        table = list(csv.reader(file, escapechar="\\", doublequote=False))
    names: list[str] = []
    for at, cell in enumerate(table[0]):
        name = " ".join(cell.split()) or f"column {at + 1}"
        names.append(name if name not in names else f"{name} {at + 1}")
    rows = [dict(zip(names, (" ".join(cell.split()) for cell in row), strict=False)) for row in table[1:]]
    return Facts.of_rows(rows, "rows")


def answer_texts(result: Result, facts: Facts) -> list[str]:
    """Return the answers that a result of a query states."""
    if isinstance(result, np.ndarray):
        return facts.texts(result.tolist())
    if isinstance(result, bool):
        return ["yes" if result else "no"]
    return [] if result is None else [f"{result:.6f}".rstrip("0").rstrip(".")]


def read_questions(data: Path, split: str) -> list[dict[str, Any]]:
    """Return the questions of a split."""
    with gzip.open(data / "questions.jsonl.gz", "rt") as file:
        return [row for row in map(json.loads, file) if row["split"] == split]


def word_frequency(questions: list[dict[str, Any]]) -> dict[str, float]:
    """Return the share of questions that have each word, of words in at least three."""
    counts: Counter[str] = Counter()
    for row in questions:
        counts.update({word.text for word in question_words(row["question"])})
    return {word: count / len(questions) for word, count in counts.items() if count >= 3}


def main() -> None:
    """Write one pickle of a list with an entry for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    frequency = word_frequency(read_questions(args.data, "train"))
    encoder = MiniLM()
    vector = cache(lambda text: encoder.encode([text])[0])
    read = cache(lambda name: TableIndex(read_table(args.data / name)))
    entries = []
    started = time.time()
    questions = sorted(read_questions(args.data, args.split), key=lambda row: row["table"])
    for row in questions[args.part :: args.parts][: args.limit]:
        index = read(row["table"])
        facts = index.facts
        for number, links in index.links(row["question"], frequency).items():
            table = index.tables[number]
            candidates = list(Enumeration(table, links, Execution(facts)))
            vectors = np.array([vector(column.name) for column in table.columns] + [vector(table.type)])
            features = QuestionFeatures(facts, table, links, vector(row["question"]), vectors, frequency).features(candidates)
            keys: dict[Any, int] = {}
            results = np.array([keys.setdefault(result_key(c), len(keys)) for c in candidates], np.int32)
            first = {int(r): at for at, r in reversed(list(enumerate(results)))}
            right = [correct(answer_texts(candidates[first[r]].result, facts), row["answers"]) for r in range(len(keys))]
            entries.append({
                "id": row["id"], "table": row["table"], "dense": features.dense.astype(np.float16), "parts": features.parts,
                "ngrams": features.ngrams, "headers": features.headers, "results": results,
                "right": np.array(right, bool)[results] if len(results) else np.zeros(0, bool),
                "question": vector(row["question"]).astype(np.float16), "vectors": vectors.astype(np.float16),
                "shapes": [" ".join(c.operators) for c in candidates],
            })
    with args.out.open("wb") as file:
        pickle.dump({"entries": entries, "frequency": frequency}, file)
    reached = np.mean([entry["right"].any() for entry in entries])
    count = np.mean([len(entry["right"]) for entry in entries])
    print(f"{len(entries)} questions, {count:.0f} candidates each, {reached:.1%} with a right one, {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
