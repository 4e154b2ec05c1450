"""Write the features of candidate queries for questions about tables, and which give the answer.

    python scripts/table_data.py SOURCE DATA OUT [--part 0 --parts 1] --tables FOLDER

SOURCE and its DATA: `wikitables` the folder of WikiTableQuestions, with questions.jsonl.gz and csv/ unpacked from
tables.tar.gz; `overnight` its questions.jsonl.gz, each asked of a world of random cells; `written` the folder
scripts/parser/written, each question asked of its table with shuffled columns; `prose` a file of SQuAD's questions,
which no table answers. Each question is asked of its table, often among others; and, with nothing right, of other
tables, and of its own without a column that the answer needs; `--tables` is the folder that the other tables are from.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from denotations import correct
from table_asked import Asked, named
from table_overnight import overnight_questions
from table_prose import prose_questions
from table_written import written_questions
from tables import Rows, answer_texts, facts_of, read_questions, read_table

from graphwright.models.embedded.amounts import MiniLMAmounts
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.tables.candidates import Candidate
from graphwright.operators.query.tables.features import result_key
from graphwright.operators.query.tables.links import question_words
from graphwright.operators.query.tables.parser import TableQueryParser, table_agreement

_SIZE, _SAID = 0, 4  # dense features: how many steps a candidate takes, and how much of the question it explains
_NAMELESS = ("rows", "table", "data", "sheet1", "records", "list")


class Entry(NamedTuple):
    """What training keeps of a question, and the type and name of a column that its answer needs."""

    kept: dict[str, Any]
    column: tuple[str, str] | None


def word_frequency(questions: Sequence[str]) -> dict[str, float]:
    """Return the share of questions that have each word, of words in at least three."""
    counts: Counter[str] = Counter()
    for question in questions:
        counts.update({word.text for word in question_words(question)})
    return {word: count / len(questions) for word, count in counts.items() if count >= 3}


def type_name(table: Rows, draw: Random) -> str:
    """Return what a table is called: by its first column of text, or by no name of its own."""
    names = [name for name in table.names if table.rows and not any(map(str.isdigit, table.rows[0].get(name, "0")))]
    return names[0].lower() + draw.choice(("", "s")) if names and draw.random() < 0.6 else draw.choice(_NAMELESS)


def wikitables_questions(data: Path, draw: Random) -> Iterator[Asked]:
    """Yield the training questions of WikiTableQuestions."""
    reading = cache(read_table)
    for row in read_questions(data, "train"):
        table = reading(data / row["table"])
        yield Asked(
            row["id"], "wikitables", row["table"], row["question"], row["answers"], {type_name(table, draw): table}
        )


class Extraction:
    """Candidates of questions with their features.

    Of those that are right the one is believed that explains most of the question, with the fewest steps.
    """

    def __init__(self, frequency: dict[str, float]) -> None:
        self.parser = TableQueryParser(MiniLM(), MiniLMAmounts())
        self.frequency = frequency

    def entry(self, asked: Asked, others: dict[str, Rows], answerable: bool = True) -> Entry:
        """Return the candidates of a question over its tables and others; none is right if it is not answerable."""
        facts = facts_of(others | asked.tables)
        vector = self.parser.encoder.encode([asked.question])[0]
        parts: dict[str, list[Any]] = defaultdict(list)
        candidates: list[tuple[str, Candidate]] = []
        start = 0
        for found in self.parser.candidates(asked.question, vector, Execution(facts), self.frequency):
            keys = [result_key(candidate) for candidate in found.candidates]
            known = {key: candidate for key, candidate in zip(keys, found.candidates, strict=True)}
            possible = answerable and found.table.type in asked.tables
            right = {
                key: possible and correct(answer_texts(candidate.result, facts), asked.answers)
                for key, candidate in known.items()
            }
            parts["right"] += [
                right[key] and is_checked(candidate, asked)
                for key, candidate in zip(keys, found.candidates, strict=True)
            ]
            parts["keys"] += [(len(parts["vectors"]), key) for key in keys]
            headers = found.features.headers
            parts["headers"].append(np.where(headers >= 0, headers + start, -1).astype(np.int16))
            start += len(found.vectors)
            parts["dense"].append(found.features.dense.astype(np.float16))
            parts["parts"].append(found.features.parts)
            parts["vectors"].append(found.vectors.astype(np.float16))
            parts["of_table"].append(np.full(len(headers), len(parts["ngrams"]), np.int16))
            parts["ngrams"].append(found.features.ngrams)
            parts["rest"].append(found.features.rest.astype(np.float16))
            candidates += [(found.table.type, candidate) for candidate in found.candidates]
        made = {name: np.concatenate(parts[name]) for name in ("dense", "parts", "headers", "vectors", "of_table")}
        agreed = table_agreement(asked.question, [candidate for _, candidate in candidates], self.parser.amounts)
        numbers: dict[Any, int] = {}
        kept = made | {
            "id": asked.id, "source": asked.source, "table": asked.group, "answerable": answerable,
            "results": np.array([numbers.setdefault(key, len(numbers)) for key in parts["keys"]], np.int32),
            "right": np.array(parts["right"], bool), "ngrams": parts["ngrams"], "rest": np.array(parts["rest"]),
            "question": vector.astype(np.float16), "agreed": agreed.astype(np.float16),
        }  # fmt: skip
        believed = np.where(kept["right"], made["dense"][:, _SAID] - made["dense"][:, _SIZE] / 100, -np.inf)
        column = _needed(asked, *candidates[int(believed.argmax())]) if kept["right"].any() else None
        return Entry(kept, column)


def is_checked(candidate: Candidate, asked: Asked) -> bool:
    """Return whether a query is right over tables with other cells too."""
    return all(
        correct(answer_texts(Execution(facts).result(candidate.query), facts), answers)
        for facts, answers in asked.checks
    )


def _needed(asked: Asked, table: str, candidate: Candidate) -> tuple[str, str] | None:
    """Return the column that a candidate answers with, or the first that it compares or orders by."""
    columns = [candidate.answer, candidate.order, *(given.column for given in candidate.given)]
    if candidate.given and candidate.answer == 0:
        columns = [given.column for given in candidate.given]
    names = asked.tables[table].names  # columns of other tables come after them
    used = [column for column in columns if 0 <= column < len(names)]
    return (table, names[used[0]]) if used else None


def without(table: Rows, column: str) -> Rows:
    """Return a table without a column."""
    names = [name for name in table.names if name != column]
    return Rows(names, [{name: row[name] for name in names if name in row} for row in table.rows])


def variants(asked: Asked, extraction: Extraction, pool: list[Rows], draw: Random) -> Iterator[dict[str, Any]]:
    """Yield entries of a question: with its tables, and without what it asks for."""

    def others(low: int, high: int) -> dict[str, Rows]:
        count = draw.randrange(low, high + 1)
        return named([(type_name(table, draw), table) for table in draw.sample(pool, count)])

    if not asked.answers:
        yield extraction.entry(asked, others(1, 4) if asked.source == "prose" else {}, answerable=False).kept
        return
    more = others(1, 3) if draw.random() < 0.4 else {}
    entry = extraction.entry(asked, more)
    yield entry.kept
    if draw.random() < 0.35:
        yield extraction.entry(asked._replace(tables={}), others(1, 4), answerable=False).kept
    elif entry.column and draw.random() < 0.6:
        table, column = entry.column
        less = asked.tables | {table: without(asked.tables[table], column)}
        if less[table].names:
            yield extraction.entry(asked._replace(tables=less), more, answerable=False).kept


def main() -> None:
    """Write one pickle of a list with an entry for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", choices=("wikitables", "overnight", "written", "prose"))
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=Path, required=True, help="the folder of WikiTableQuestions")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1)
    args = parser.parse_args()
    trained = read_questions(args.tables, "train")
    draw = Random(args.source)
    frequency = word_frequency([row["question"] for row in trained])
    pool = [read_table(args.tables / path) for path in draw.sample(sorted({row["table"] for row in trained}), 150)]
    reading = {"wikitables": wikitables_questions, "overnight": overnight_questions,
               "written": written_questions, "prose": prose_questions}[args.source]  # fmt: skip
    started = time.time()
    extraction = Extraction(frequency)
    questions = list(reading(args.data, draw))
    draw.shuffle(questions)
    entries = [e for asked in questions[args.part :: args.parts] for e in variants(asked, extraction, pool, draw)]
    with args.out.open("wb") as file:
        pickle.dump({"entries": entries, "frequency": frequency}, file)
    reached = np.mean([entry["right"].any() for entry in entries if entry["answerable"]] or [0])
    count = np.mean([len(entry["right"]) for entry in entries])
    print(f"{len(entries)} entries, {count:.0f} candidates each, {reached:.1%} of those with an answer have a right "
          f"one, {time.time() - started:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
