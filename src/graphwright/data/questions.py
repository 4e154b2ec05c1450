"""Questions with their answers and the passages that support them (gold)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphwright.data.decoding import clean, existing
from graphwright.data.records import Record, Records, field_names, read_records
from graphwright.errors import DataError

__all__ = [
    "QuestionRecord",
    "check_gold",
    "first_few",
    "plain_question",
    "questions_of",
    "read_questions",
    "texts_of",
    "write_questions",
]

_NAMES = {
    "id": ("id", "_id"),
    "text": ("question", "query", "text"),
    "answers": ("answers", "answer"),
    "gold": ("gold_ids", "gold"),
    "type": ("type", "qtype"),
}
"""Names of the fields of a question, the preferred one first."""


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A question; `answers` are alternatives, `gold` the ids of the documents that hold the evidence.

    `metadata` has the other fields of its record, as JSON. Questions with relevance judgements have their grades in
    `metadata["relevance"]`, document id to grade. `line` is that of the file, 0 for none.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    type: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    line: int = field(default=0, compare=False)


def read_questions(path: Path | str) -> list[QuestionRecord]:
    """Read questions from JSON lines, a JSON array or Parquet, one record each.

    Fields: `id`, `question` (or `query`, `text`), and if known `answers` (or `answer`), `gold_ids`,
    `type`. Raises DataError with the line of a record that cannot be read or repeats an id.
    """
    path = existing(path)
    return list(questions_of(path, read_records(path, _NAMES["text"]), plain_question))


Parse = Callable[[int, dict[str, Any]], QuestionRecord | str | None]
"""Turns a record and its line into a question, None to leave it out, or the reason why it cannot be read."""


def questions_of(path: Path, records: Records, parse: Parse) -> Iterator[QuestionRecord]:
    """Yield the questions that `parse` makes of the records of a file, with their lines.

    Raises DataError with the line of a record that cannot be read or repeats an id, or if there are no questions.
    """
    first: dict[str, int] = {}
    for number, record in records:
        question = parse(number, record) if isinstance(record, dict) else record
        if isinstance(question, str):
            raise DataError(f"{path}:{number}: {question}. Repair or remove this line.")
        if question is None:
            continue
        if question.id in first:
            raise DataError(
                f"{path}:{number}: the id {question.id!r} was already used in line {first[question.id]}. "
                "Give each question its own."
            )
        first[question.id] = number
        yield replace(question, line=number)
    if not first:
        raise DataError(f"{path}: no questions in it. Expected JSON lines with id and question.")


def write_questions(path: Path | str, questions: Iterable[QuestionRecord]) -> None:
    """Write questions as JSON lines that `read_questions` reads back; metadata become fields of their own."""
    lines = []
    for question in questions:
        fields = {"id": question.id, "question": question.text, "answers": question.answers, "gold_ids": question.gold}
        kind = {"type": question.type} if question.type else {}
        lines.append(json.dumps({**question.metadata, **fields, **kind}, ensure_ascii=False) + "\n")
    Path(path).write_text("".join(lines), encoding="utf-8")


def plain_question(number: int, record: dict[str, Any]) -> QuestionRecord | str:
    """Return the question of a record in our own format, or the reason why it cannot be read."""
    fields = {name: _field(record, names) for name, names in _NAMES.items()}
    identity, text = record.get(fields["id"]), record.get(fields["text"])
    if not isinstance(identity, str | int) or identity == "":
        return f"no id; it has {field_names(record)}"
    if not isinstance(text, str) or not text.strip():
        return f"question {identity!r} has no text; one of {', '.join(_NAMES['text'])} is read"
    answers, gold = texts_of(record.get(fields["answers"])), texts_of(record.get(fields["gold"]))
    if answers is None or gold is None:
        name = fields["answers" if answers is None else "gold"]
        return f"question {identity!r}: {name} is not a list of texts: {str(record[name])[:40]}"
    kind = record.get(fields["type"])
    metadata = {key: value for key, value in record.items() if key not in fields.values()}
    return QuestionRecord(
        str(identity), clean(text).strip(), answers, gold, kind if isinstance(kind, str) else "", metadata
    )


def _field(record: Record, names: Iterable[str]) -> str:
    return next((name for name in names if record.get(name) is not None), "")


def texts_of(value: object) -> tuple[str, ...] | None:
    """Return a list of texts or numbers, or a single one, as distinct texts; None for any other value."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str | int | float) for item in values):
        return None
    return tuple(dict.fromkeys(clean(str(item)) for item in values if item != ""))


def check_gold(
    questions: Iterable[QuestionRecord], corpus: Collection[str], source: Path | str = "", remedy: str = ""
) -> list[tuple[str, str]]:
    """Return (question id, document id) of the gold documents that are not in the corpus.

    Collections lack a few, such as judged documents without text. More than one in a hundred means that the
    questions belong to another corpus: raises DataError with `source`, the file of the questions, and the first ids.
    """
    total, missing = 0, []
    for question in questions:
        total += len(question.gold)
        missing += [(question, document) for document in question.gold if document not in corpus]
    if len(missing) * 100 > total:
        first = first_few(f"{document!r} ({_place(question)})" for question, document in missing)
        raise DataError(
            f"{source}{': ' if source else ''}{len(missing):,} of {total:,} gold ids are not among the {len(corpus):,} "
            f"documents of the corpus: {first}. {remedy or 'Read the corpus that belongs to these questions.'}"
        )
    return [(question.id, document) for question, document in missing]


def _place(question: QuestionRecord) -> str:
    return f"question {question.id!r}" + (f", line {question.line}" if question.line else "")


def first_few(values: Iterable[str]) -> str:
    """Return the first five values, and the number of the others."""
    ordered = list(values)
    return ", ".join(ordered[:5]) + (f" and {len(ordered) - 5:,} more" if len(ordered) > 5 else "")
