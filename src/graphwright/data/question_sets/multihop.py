"""HotpotQA, 2WikiMultiHopQA, MuSiQue: the passages that a file's questions carry, each once, are the corpus."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from graphwright.data.decoding import stem
from graphwright.data.document import Document
from graphwright.data.question_sets.questions import (
    Dataset,
    QuestionRecord,
    Source,
    check_gold,
    dataset_of,
    questions_of,
    texts_of,
)
from graphwright.data.records.read import Record, Records, checked, read_records
from graphwright.data.records.rows import MAX_PASSAGE
from graphwright.errors import DataError, counted
from graphwright.text.characters import clean
from graphwright.text.words import WORD

QUESTION_FIELDS = ("question", "query", "text", "input", "document")  # tell a record from an object with records

_PARAGRAPHS = ("paragraphs", "contexts")
_SENTENCES = ("sentences", "content")
_ANSWERS = ("answer", "answers", "answer_aliases", "gold_ans", "reference", "possible_answers")
_USED = (*_PARAGRAPHS, *_ANSWERS, "_id", "id", "question", "context", "type")
_HOPS = re.compile(r"\dhop\d?(?=__)")
_MAX_SLUG = 40  # characters of the title in an id
_NO_EVIDENCE = "Take a file whose contexts hold the evidence; of HotpotQA distractor, not fullwiki."

PassageId = Callable[[str, str], str]  # a function that returns the id of the document with this title and text


def passage_id(title: str, text: str) -> str:
    """Return an id made of the title and a checksum of title and text, the same in every file.

    White space does not count, as copies differ in it. A passage without a text has its title as the text.

    >>> passage_id("Mur (river)", "It flows.") == passage_id("Mur  (river)", " It flows. ")
    True
    >>> passage_id("Mur (river)", "It flows.")
    'mur-river-6ff56d895041'
    """
    content = "\0".join("".join(part.split()) for part in (title, text if text.strip() else title))
    digest = blake2b(content.encode("utf-8", "replace"), digest_size=6).hexdigest()
    slug = "-".join(WORD.findall(title.lower()))[:_MAX_SLUG].strip("-")
    return f"{slug}-{digest}" if slug else digest


@dataclass
class Pool:
    """Distinct passages as documents, in order of their first occurrence.

    `empty` are the ids of passages without a text: one with a title is a document of its title, one without is left
    out. Documents of at most `limit` characters are passages, and never split.
    """

    limit: int = MAX_PASSAGE
    documents: dict[str, Document] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)

    def add(self, title: str, text: str) -> str:
        """Add a passage; return its id."""
        identity = passage_id(title, text)
        if identity not in self.documents:
            title, body = " ".join(clean(title).split()), clean(text)
            if not body.strip():
                self.empty.add(identity)
                body = title
            if body:
                self.documents[identity] = Document(identity, body, title, whole=len(body) <= self.limit)
        return identity


def has_contexts(record: Record) -> bool:
    """Return whether a record is a question with its passages, rather than one of our own that names its gold."""
    if "question" not in record or "gold_ids" in record:
        return False
    has_paragraphs = any(isinstance(record.get(name), list) for name in _PARAGRAPHS)
    return has_paragraphs or isinstance(record.get("context"), list | dict)


def read_over(
    path: Path, id_of: PassageId, records: Records | None = None, *, unmarked: bool = True
) -> tuple[list[QuestionRecord], list[str]]:
    """Return the questions of a file over a corpus, and remarks on them.

    Questions in our own format name documents by id. For those that carry passages, `id_of` is called with every
    passage; gold are the ids of passages marked as evidence, and with `unmarked` also of passages without a mark.
    `records` are the records of the file, if it was opened already.
    """
    unanswerable = []

    def convert(number: int, record: Record) -> Iterator[Record]:
        plain = _plain(path, number, record, id_of, unmarked) if has_contexts(record) else record
        if plain is not record and record.get("answerable") is False:  # made so by the authors of MuSiQue
            unanswerable.append(number)
        else:
            yield plain

    questions = converted_questions(path, read_records(path, QUESTION_FIELDS) if records is None else records, convert)
    left_out = f"{counted(len(unanswerable), 'question')} made to have no answer (answerable: false), left out."
    return questions, [left_out] if unanswerable else []


def converted_questions(
    path: Path, records: Records, convert: Callable[[int, Record], Iterator[Record]]
) -> list[QuestionRecord]:
    """Read questions by converting records to our own format, each under the line of its record."""

    def converted() -> Records:
        for number, record in records:
            if isinstance(record, str):
                yield number, record
            else:
                yield from ((number, dict(plain)) for plain in convert(number, record))

    return list(questions_of(path, converted()))


def _plain(path: Path, number: int, record: Record, id_of: PassageId, unmarked: bool) -> Record:
    """Return a record with passages as a question in our own format."""
    where = f"{path}:{number}"
    identity = next((str(record[name]) for name in ("_id", "id") if record.get(name) not in (None, "")), None)
    identity = f"{stem(path)}-{number}" if identity is None else identity
    plain = {name: value for name, value in record.items() if name not in _USED}
    kind, steps = record.get("type"), record.get("question_decomposition")
    if isinstance(steps, list):
        plain["hops"] = len(steps)
        hops = _HOPS.match(identity)
        kind = kind or (hops[0] if hops else f"{len(steps)}hop")
    return plain | {
        "id": identity,
        "question": record.get("question"),
        "answers": _answers(record, where),
        "gold_ids": _gold(record, where, id_of, unmarked),
        "type": kind or "",
    }


@dataclass
class _Paragraph:
    """A passage of MuSiQue, or one with its text as `text`; `is_supporting` is None for an unmarked one."""

    title: str | None = None
    paragraph_text: str | None = None
    text: str | None = None
    is_supporting: bool | None = None


def _gold(record: Record, where: str, id_of: PassageId, unmarked: bool) -> list[str]:
    name = next((name for name in _PARAGRAPHS if isinstance(record.get(name), list)), None)
    if name is None:
        return _supporting(record, where, id_of)
    gold: dict[str, None] = {}
    for paragraph in checked(list[_Paragraph], record[name], where, name):
        identity = id_of(paragraph.title or "", paragraph.paragraph_text or paragraph.text or "")
        if paragraph.is_supporting or (unmarked and paragraph.is_supporting is None):
            gold[identity] = None
    return [*gold]


def _supporting(record: Record, where: str, id_of: PassageId) -> list[str]:
    """Read the `context` of titles and sentences; gold are the passages whose title a supporting fact names."""
    rows = _rows(record["context"], "title", _SENTENCES)
    by_title: dict[str, list[str]] = {}
    for title, sentences in checked(list[tuple[str, list[str]]], rows, where, "context"):
        by_title.setdefault(title, []).append(id_of(title, joined(sentences)))
    rows = _rows(record.get("supporting_facts") or [], "title", ("sent_id",))
    facts = checked(list[tuple[str, Any]], rows, where, "supporting_facts")
    titles = dict.fromkeys(title for title, _ in facts)
    # A title that is not among the passages becomes gold that no corpus has; the check of the gold counts it.
    return [identity for title in titles for identity in by_title.get(title, [f"{title} (not in the context)"])]


def _rows(value: object, first: str, others: Sequence[str]) -> object:
    """Return pairs for rows that are objects, or one object of two columns; any other value unchanged."""

    def second(row: Record) -> Any:
        return next((row[name] for name in others if name in row), None)

    if isinstance(value, dict):
        columns = [value.get(first) or [], second(value) or []]
        return list(zip_longest(*columns)) if all(isinstance(column, list) for column in columns) else value
    if isinstance(value, list):
        return [(row.get(first), second(row)) if isinstance(row, dict) else row for row in value]
    return value


def joined(sentences: Sequence[str]) -> str:
    """Return sentences as one text, with a space between two that have none.

    >>> joined(["One.", " Two.", "Three."])
    'One. Two. Three.'
    """
    parts = [sentence for sentence in sentences if sentence]
    spaced = (b if a[-1].isspace() or b[0].isspace() else f" {b}" for a, b in pairwise(parts))
    return "".join([*parts[:1], *spaced])


def _answers(record: Record, where: str) -> list[str]:
    answers: list[str] = []
    for name in _ANSWERS:
        value = record.get(name)
        if name == "possible_answers" and isinstance(value, str):  # in PopQA a list written as JSON
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        texts = texts_of(value)
        if texts is None:
            raise DataError(f"{where}: {name} is not a list of texts: {str(value)[:40]}. Repair or remove this record.")
        answers += (answer.strip() for answer in texts)
    return [answer for answer in answers if answer]


def multihop(source: Source, records: Records, name: str) -> Dataset:
    """Read questions with their passages; gold are those that a supporting fact names, or that are marked so."""
    pool = Pool()
    questions, remarks = read_over(source.path, pool.add, records, unmarked=False)
    return pooled_dataset(source, name, questions, pool, remarks)


def pooled_dataset(
    source: Source, name: str, given: Sequence[QuestionRecord], pool: Pool, remarks: list[str]
) -> Dataset:
    """Check and return the data set, with other questions if some were named."""
    questions, path, remarks = given, source.path, list(remarks)
    if pool.empty:
        remarks.append(f"{counted(len(pool.empty), 'context')} without a text: a title only, or nothing.")
    if source.questions is not None:
        path = source.questions
        questions, more = read_over(path, passage_id)
        remarks += more
    remarks += check_gold(questions, pool.documents, path, "" if source.questions else _NO_EVIDENCE)
    documents, files = tuple(pool.documents.values()), tuple(dict.fromkeys((source.path, path)))
    about = f"over {counted(len(documents), 'document')}"
    return dataset_of(source, name, questions, about, remarks, corpus=source.path, pool=documents, files=files)
