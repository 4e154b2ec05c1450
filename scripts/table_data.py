"""Write the features of candidate queries for questions about tables, and which give the answer.

    python scripts/table_data.py DATA OUT [--split train] [--part 0 --parts 1]

DATA holds WikiTableQuestions: questions.jsonl.gz and csv/ unpacked from tables.tar.gz. A table is called by its first
column, or by no name of its own; with `--distractors` some questions are asked of two tables, so that the choice of the
table is learned.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from benchmarks.denotations import correct
from benchmarks.tables import Rows, answer_texts, facts_of, read_questions, read_table

from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.tables.features import result_key
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.operators.query.tables.question import question_words
from graphwright.operators.query.tables.scorer import TableScorer

_NAMELESS = ("rows", "table", "data", "sheet1", "records", "list")


def word_frequency(questions: list[dict[str, Any]]) -> dict[str, float]:
    """Return the share of questions that have each word, of words in at least three."""
    counts: Counter[str] = Counter()
    for row in questions:
        counts.update({word.text for word in question_words(row["question"])})
    return {word: count / len(questions) for word, count in counts.items() if count >= 3}


def type_name(table: Rows, draw: Random) -> str:
    """Return what a table is called: by its first column of text, or by no name of its own."""
    names = [name for name in table.names if table.rows and not any(map(str.isdigit, table.rows[0].get(name, "0")))]
    return names[0].lower() + draw.choice(("", "s")) if names and draw.random() < 0.6 else draw.choice(_NAMELESS)


def entry_of(
    row: dict[str, Any], tables: list[Rows], parser: TableQueryParser, frequency: dict[str, float], draw: Random
) -> dict[str, Any]:
    """Return the candidates of a question over some tables, of which the first has the answer."""
    types = [type_name(table, draw) for table in tables]
    if len(set(types)) < len(types):
        types = [f"{name} {at}" for at, name in enumerate(types)]
    facts = facts_of(dict(zip(types, tables, strict=True)))
    vector = parser.encoder.encode([row["question"]])[0]
    parts: dict[str, list[Any]] = defaultdict(list)
    known: dict[Any, bool] = {}
    start = 0
    for number, found in enumerate(parser.candidates(row["question"], vector, facts, frequency)):
        for candidate in found.candidates:
            key = (number, result_key(candidate))
            if key not in known:
                known[key] = number == 0 and correct(answer_texts(candidate.result, facts), row["answers"])
            parts["right"].append(known[key])
            parts["keys"].append(key[1])
        headers = found.features.headers
        parts["headers"].append(np.where(headers >= 0, headers + start, -1).astype(np.int16))
        start += len(found.vectors)
        parts["dense"].append(found.features.dense.astype(np.float16))
        parts["parts"].append(found.features.parts)
        parts["vectors"].append(found.vectors.astype(np.float16))
        parts["ngrams"].append(found.features.ngrams)
    numbers: dict[Any, int] = {}
    results = np.array([numbers.setdefault(key, len(numbers)) for key in parts["keys"]], np.int32)
    made = {name: np.concatenate(parts[name]) for name in ("dense", "parts", "headers", "vectors")}
    return made | {
        "id": row["id"], "table": row["table"], "results": results, "right": np.array(parts["right"], bool),
        "ngrams": parts["ngrams"][0], "question": vector.astype(np.float16),
    }  # fmt: skip


def main() -> None:
    """Write one pickle of a list with an entry for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--distractors", type=float, default=0.0)
    args = parser.parse_args()
    frequency = word_frequency(read_questions(args.data, "train"))
    enumerating = TableQueryParser(MiniLM(), TableScorer({}))
    entries = []
    started = time.time()
    questions = read_questions(args.data, args.split)[args.part :: args.parts][: args.limit]
    for row in questions:
        draw = Random(row["id"])
        paths = [row["table"]]
        if draw.random() < args.distractors:
            paths.append(draw.choice([other["table"] for other in questions if other["table"] != row["table"]]))
        tables = [read_table(args.data / path) for path in paths]
        entries.append(entry_of(row, tables, enumerating, frequency, draw))
    with args.out.open("wb") as file:
        pickle.dump({"entries": entries, "frequency": frequency}, file)
    reached = np.mean([entry["right"].any() for entry in entries])
    count = np.mean([len(entry["right"]) for entry in entries])
    seconds = time.time() - started
    print(f"{len(entries)} questions, {count:.0f} candidates each, {reached:.1%} with a right one, {seconds:.0f} s")


if __name__ == "__main__":
    main()
