"""Questions with a long text each: UltraDomain and SQuALITY."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphwright.data.document import Document
from graphwright.data.formats.format import Extracted
from graphwright.data.formats.html import html_text
from graphwright.data.question_sets.multihop import Pool, converted_questions, pooled_dataset
from graphwright.data.question_sets.questions import Dataset, Source
from graphwright.data.records.read import Record, Records, checked
from graphwright.errors import DataError
from graphwright.text.characters import clean

_EMPTY_LINE = re.compile(r"\n\s*\n")


@dataclass
class _Book:
    input: str
    context: str
    meta: dict[str, Any] | None = None


def ultradomain(source: Source, records: Records, name: str) -> Dataset:
    """Read questions that carry a whole text, often a book; a text with several questions is one document."""
    pool = Pool(limit=0)
    ids: dict[str, str] = {}  # of each text, even if its title differs the next time

    def questions(number: int, record: Record) -> Iterator[Record]:
        book = checked(_Book, record, f"{source.path}:{number}")
        if book.context not in ids:
            ids[book.context] = pool.add(str((book.meta or {}).get("title") or ""), book.context)
        metadata = {key: value for key, value in record.items() if key not in ("context", "input", "label", "_id")}
        yield metadata | {
            "id": record.get("_id") or f"{source.name}-{number}",
            "question": book.input,
            "gold_ids": [ids[book.context]],
            "type": record.get("label") or record.get("dataset"),
        }

    return pooled_dataset(source, name, converted_questions(source.path, records, questions), pool, [])


@dataclass
class _Response:
    response_text: str


@dataclass
class _StoryQuestion:
    question_text: str
    responses: list[_Response] = field(default_factory=list)


@dataclass
class _StoryMetadata:
    passage_id: str | int


@dataclass
class _Story:
    metadata: _StoryMetadata
    document: str
    questions: list[_StoryQuestion]


def squality(source: Source, records: Records, name: str) -> Dataset:
    """Read stories with questions. The answers are summaries written by people; gold is the story."""
    pool = Pool(limit=0)

    def questions(number: int, record: Record) -> Iterator[Record]:
        where = f"{source.path}:{number}"
        story = checked(_Story, record, where)
        identity = str(story.metadata.passage_id)
        if identity in pool.documents:
            raise DataError(f"{where}: the story {identity!r} came before. Repair or remove this line.")
        pool.documents[identity] = _story_document(identity, story.document)
        for number_in_story, question in enumerate(story.questions, 1):
            yield {
                "id": f"{identity}-{number_in_story}",
                "question": question.question_text,
                "answers": [response.response_text for response in question.responses],
                "gold_ids": [identity],
            }

    return pooled_dataset(source, name, converted_questions(source.path, records, questions), pool, [])


def _story_document(identity: str, story: str) -> Document:
    """Return a story with each paragraph in one line; some versions of the data set have HTML."""
    page = html_text(story) if "</p>" in story else Extracted(clean(story))
    paragraphs = (" ".join(part.split()) for part in _EMPTY_LINE.split(page.text))
    return Document(identity, "\n\n".join(paragraph for paragraph in paragraphs if paragraph), page.title)
