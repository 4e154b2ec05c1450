"""Questions with their answers and the passages that hold them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphwright.data.decoding import clean, lines
from graphwright.data.jsonfiles import json_records
from graphwright.errors import DataError

__all__ = ["QuestionRecord", "check_gold", "read_beir", "read_questions", "write_questions"]

_TEXT = ("question", "query", "text")
_ID = ("id", "_id")
_ANSWERS = ("answers", "answer")
_GOLD = ("gold_ids", "gold")
_TYPE = ("type", "qtype")


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A question; `answers` are alternatives, `gold` the ids of the documents that hold the evidence.

    `metadata` keeps what else its record holds, as JSON gave it; questions read from relevance judgements
    have their grades there as `relevance`, document id to grade.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    type: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    line: int = field(default=0, compare=False)  # of the file that it was read from; 0 for none


def read_questions(path: Path | str) -> list[QuestionRecord]:
    """Read questions from JSON lines, or a JSON array, one record each.

    Fields: `id`, `question` (or `query`, `text`), and if known `answers` (or `answer`), `gold_ids`,
    `type`. Raises DataError with the line where a record cannot be read or repeats an id.
    """
    path = existing(path)
    found: list[QuestionRecord] = []
    first: dict[str, int] = {}
    for number, record in json_records(path, _TEXT):
        question = _question(record) if isinstance(record, dict) else record
        if isinstance(question, str):
            raise DataError(f"{path}:{number}: {question}. Repair or remove this line.")
        if question.id in first:
            raise DataError(
                f"{path}:{number}: the id {question.id!r} was already used in line {first[question.id]}. "
                "Give each question its own."
            )
        first[question.id] = number
        found.append(replace(question, line=number))
    if not found:
        raise DataError(f"{path}: no questions in it. Expected JSON lines with id and question.")
    return found


def write_questions(path: Path | str, questions: Iterable[QuestionRecord]) -> None:
    """Write questions as JSON lines that `read_questions` reads back, what their metadata hold among the fields."""
    lines = []
    for asked in questions:
        known = {"id": asked.id, "question": asked.text, "answers": asked.answers, "gold_ids": asked.gold}
        more = {"type": asked.type} if asked.type else {}
        lines.append(json.dumps({**asked.metadata, **known, **more}, ensure_ascii=False) + "\n")
    Path(path).write_text("".join(lines), encoding="utf-8")


def _question(record: dict[str, Any]) -> QuestionRecord | str:
    """Make a question of a record, or say what is wrong with it."""
    given = {name: _first(record, names) for name, names in _FIELDS.items()}
    identity, text = (record.get(given[name]) for name in ("id", "text"))
    if not isinstance(identity, str | int) or identity == "":
        return f"no id; it has {', '.join(list(record)[:8]) or 'no fields'}"
    if not isinstance(text, str) or not text.strip():
        return f"question {identity!r} has no text; one of {', '.join(_TEXT)} is read"
    answers, gold = (_strings(record.get(given[name])) for name in ("answers", "gold"))
    if answers is None or gold is None:
        name = given["answers" if answers is None else "gold"]
        return f"question {identity!r}: {name} is not a list of texts: {str(record[name])[:40]}"
    kind = record.get(given["type"])
    rest = {key: value for key, value in record.items() if key not in given.values()}
    return QuestionRecord(
        str(identity), clean(text).strip(), answers, gold, kind if isinstance(kind, str) else "", rest
    )


_FIELDS = {"id": _ID, "text": _TEXT, "answers": _ANSWERS, "gold": _GOLD, "type": _TYPE}


def _first(record: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((name for name in names if record.get(name) is not None), "")


def _strings(value: object) -> tuple[str, ...] | None:
    """Take a list of texts or numbers, or a single one; None if it is anything else."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str | int | float) for item in values):
        return None
    return tuple(dict.fromkeys(clean(str(item)) for item in values))


def read_beir(folder: Path | str, split: str = "") -> list[QuestionRecord]:
    """Read the judged questions of a folder in BEIR's form, in the order of its `queries.jsonl`.

    Judgements are `qrels.tsv` beside it, or `qrels/<split>.tsv`; without a split, test, then dev, then
    train. `gold` holds the documents judged above 0, `metadata["relevance"]` every grade. Raises
    DataError with file and line where one cannot be read, or where judged questions are missing.
    """
    folder = existing(folder)
    judged_in = _qrels_file(folder, split)
    judged = _judgements(judged_in)
    questions = read_questions(folder / "queries.jsonl")
    if absent := judged.keys() - {question.id for question in questions}:
        raise DataError(
            f"{judged_in}: {len(absent):,} of {len(judged):,} judged questions are not in "
            f"{folder / 'queries.jsonl'}: {_some(absent)}. Both must come from the same set."
        )
    return [
        QuestionRecord(
            question.id,
            question.text,
            question.answers,
            tuple(document for document, grade in judged[question.id].items() if grade > 0),
            question.type,
            {**question.metadata, "relevance": judged[question.id]},
        )
        for question in questions
        if question.id in judged
    ]


def _qrels_file(folder: Path, split: str) -> Path:
    names = [f"qrels/{name}.tsv" for name in ((split,) if split else ("test", "dev", "train"))]
    names += [] if split else ["qrels.tsv"]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: no relevance judgements; none of {', '.join(names)} is there.")


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    """Read `question, document, grade`, with or without a header, or TREC's four columns."""
    judged: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines(path), start=1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not cells:
            continue
        grade = cells[-1].strip()
        if len(cells) in (3, 4) and grade.lstrip("-").isdecimal():
            judged.setdefault(cells[0].strip(), {})[cells[-2].strip()] = int(grade)
        elif number > 1:
            raise DataError(
                f"{path}:{number}: not a judgement: {line[:60]!r}. Expected question, document and a whole "
                "number, parted by tabs."
            )
    if not judged:
        raise DataError(f"{path}: no judgements in it. Expected question, document and grade on each line.")
    return judged


def check_gold(questions: Iterable[QuestionRecord], corpus: Collection[str]) -> list[tuple[str, str]]:
    """Return (question id, document id) of the gold documents that the corpus does not hold.

    Collections have a few, such as judged documents without text. More than one in a hundred means that
    the corpus is another one: raises DataError naming them.
    """
    gold = [(question.id, document) for question in questions for document in question.gold]
    missing = [(question, document) for question, document in gold if document not in corpus]
    if len(missing) * 100 > len(gold):
        named = _some(f"{document!r} (question {question!r})" for question, document in missing)
        raise DataError(
            f"{len(missing):,} of {len(gold):,} gold ids are not among the {len(corpus):,} documents of the "
            f"corpus: {named}. Read the corpus that belongs to these questions."
        )
    return missing


def _some(values: Iterable[str]) -> str:
    """Write out the first five."""
    ordered = list(values)
    return ", ".join(ordered[:5]) + (f" and {len(ordered) - 5:,} more" if len(ordered) > 5 else "")


def existing(path: Path | str) -> Path:
    """Return the path, or raise DataError if nothing is there."""
    found = Path(path)
    if not found.exists():
        raise DataError(f"no such file or folder: {found}. Paths start from {Path.cwd()}.")
    return found
