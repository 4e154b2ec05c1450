"""Rows of files as documents: passages with ids of their own, and rows of any table as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphwright.data.decoding import suffix_of
from graphwright.data.document import Document, Skipped, metadata_text
from graphwright.data.folders import ReadOptions
from graphwright.data.formats.format import UnreadableError
from graphwright.data.formats.parsing.chat_json import chats_of
from graphwright.data.records.captions import TableTypes
from graphwright.data.records.delimited import TEXT_FIELDS, TableRecord, read_table
from graphwright.data.records.objects import (
    Object,
    object_file,
    object_row,
    passage_with_object,
    unwrapped,
    with_rows,
)
from graphwright.data.records.read import SUFFIXES, field_names, json_objects, json_value, links_of, read_records
from graphwright.data.records.record import Field, Record, file_type
from graphwright.data.records.references import with_names
from graphwright.data.records.table import Note
from graphwright.errors import DataError
from graphwright.text.characters import clean

ROW_SUFFIXES = (*SUFFIXES, ".csv", ".tsv")  # of files of rows, documents with ids of their own
MAX_PASSAGE = 20_000  # maximum characters of a row that is one passage; a longer one is an article, and is split

_ID_FIELDS = ("id", "_id", "doc_id", "docid", "idx")
_CORPUS = re.compile(r"(?:^|[/_])corpus\.[^/]*$")  # of a data set, whose judgements name the ids of its rows
_TITLE_FIELDS = ("title",)
_SENTENCE_TITLE_FIELDS = ("title", "name")
_OF_QUESTIONS = ("gold_ids", "supporting_facts", "question_decomposition", "answers", "topic_entities")
_OF_EXTRACTIONS = ("triples", "extracted_triples")
_ENVELOPES = ("data", "items", "results", "records", "rows", "value", "values", "list", "entries", "result")
_MAX_FIELD = 1_000  # characters of a text that is a field of the record of its row
_MAX_BROKEN = 100  # broken rows before the first good one, after which a file is not one of passages


def has_rows(path: Path) -> bool:
    """Return whether a file is one of rows, whose documents have ids of their own."""
    return suffix_of(path) in ROW_SUFFIXES


def read_rows(path: Path, name: str, options: ReadOptions | None = None) -> Iterator[tuple[int, Document | Skipped]]:
    """Yield each row of a file with its line number, as a document or as `Skipped` with the reason.

    `name` begins the ids of rows that have none of their own, or a number (see `_Rows`). The text is that of
    `options.text_columns`, else of a column named text or the like; a row without one becomes a sentence: "column:
    value" for each column, which are its metadata too. What is nested in a JSON object follows in lines of its own. A
    `.json` file of one object, or of the messages of a chat, is one document with the id `name` and number 0. A file
    without any document gives one `Skipped`. Raises DataError if more than ten rows and more than one in a hundred are
    broken.
    """
    options = options or ReadOptions()
    value = with_names(with_rows(json_value(path))) if suffix_of(path) == ".json" else None
    try:
        whole = _whole(value, name, options, path)
    except UnreadableError as error:
        whole = [Skipped(str(path), str(error), True)]
    if whole:
        yield from ((0, part) for part in whole)
        return
    tabular = suffix_of(path) in (".csv", ".tsv")
    rows = _Rows(name, options, bool(_CORPUS.search(name)), not tabular, kind=_type_of_rows(value, name))
    fields = (*TEXT_FIELDS, *options.text_columns)
    records: Iterator[tuple[int, dict[str, Any] | Note | str]] = (
        read_table(path) if tabular else read_records(path, fields) if value is None else json_objects(value, fields)
    )
    broken: list[tuple[int, Skipped]] = []
    documents = 0
    for number, record in records:
        row = rows.read(number, record)
        if isinstance(row, str):
            # A record without a text is not a passage; a line that is not a record may have been one.
            broken.append((number, Skipped(f"{path}:{number}", row, not isinstance(record, dict))))
            if documents:
                yield broken[-1]
            elif len(broken) > _MAX_BROKEN:
                break
            continue
        if not documents:
            yield from broken
        documents += 1
        yield number, row if row.text.strip() else Skipped(f"{path}:{number}", "empty")
    if not documents:
        unread = any(skipped.unread for _, skipped in broken)
        yield 0, Skipped(str(path), f"no documents: {broken[0][1].reason}" if broken else "empty", unread)
    elif len(broken) > 10 and len(broken) * 100 > documents + len(broken):
        first = "; ".join(f"{skipped.path}: {skipped.reason}" for _, skipped in broken[:3])
        raise DataError(
            f"{path}: {len(broken):,} of {documents + len(broken):,} rows cannot be read, more than one in a hundred. "
            f"The first: {first}. Repair or remove these rows; up to one in a hundred are skipped and listed."
        )


def _whole(value: Any, name: str, options: ReadOptions, path: Path) -> Sequence[Document | Skipped]:
    """Return a `.json` file of one object, or of the messages of chats, as a document each; none for rows."""
    stem, parts = file_type(name), chats_of(value, path)
    if not parts and isinstance(value, dict) and not _holds_rows(value, (*TEXT_FIELDS, *options.text_columns)):
        parts = list(filter(None, (object_file(value, stem),)))
    fields = value if isinstance(value, dict) else {}
    title = _title(fields, _SENTENCE_TITLE_FIELDS) or stem
    return [
        Document(
            f"{name}#{number}" if len(parts) > 1 else name, part.text, part.title or title, _metadata(fields),
            file=True, headings=part.headings, places=part.places, records=part.records,
        ) for number, part in enumerate(parts, start=1) if part.text
    ]  # fmt: skip


def _holds_rows(value: Object, names: Sequence[str]) -> bool:
    """Return whether an object is a row with a text, or holds only rows, or rows with a text beside other members."""
    if any(_field(value, (name,)) for name in names):
        return True
    arrays = [part for part in value.values() if isinstance(part, list) and part and isinstance(part[0], dict)]
    if len(arrays) != 1:
        return False
    return len(value) == 1 or any(_field(arrays[0][0], (name,)) for name in (*names, *_OF_QUESTIONS, *_OF_EXTRACTIONS))


def _type_of_rows(value: Any, name: str) -> str:
    """Return the type of the rows of a file: the key of all of them if it names them (not "data"), else its name."""
    key = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else ""
    return file_type(name) if not key or key.lower() in _ENVELOPES else key


def _records_of(record: TableRecord, text: str, kind: str) -> tuple[Record, ...]:
    """Return a table row's record, with places of its cells; none of a row of id, title and text alone: a passage."""
    sentence, own = record.sentence
    fields = own.fields
    if sentence != text:
        fields = tuple(_said(field, text) for field in fields if len(field.text) <= _MAX_FIELD)
        if all(name.lower() in (*_ID_FIELDS, *_TITLE_FIELDS, *TEXT_FIELDS) for name in record):
            fields = ()
    return (Record(kind, fields, 0, len(text), own.is_copy),) if fields else ()


def _said(field: Field, text: str) -> Field:
    """Return a field with its place in a text that says all of it, or its name and its value; else without a place."""
    lead = 0 if field.text == text else len(field.name) + 2
    start = text.find(field.text if not lead else f"{field.name}: {field.text}") + lead
    return Field(field.name, field.text, start, start + len(field.text)) if start >= lead else Field(*field[:2])


@dataclass(frozen=True)
class _Rows:
    """The rows of one file.

    A row without an id is `name#line`. A row whose id is the number 3, which another file may have too, is `name#3`,
    unless the file has `plain_ids` or the options name the column of ids. Any other row keeps its own id. `nested`:
    rows are objects of JSON. `kind`: the type of records of rows without a title.
    """

    name: str
    options: ReadOptions
    plain_ids: bool
    nested: bool
    kind: str
    types: TableTypes = field(default_factory=TableTypes)

    def read(self, number: int, record: dict[str, Any] | Note | str) -> Document | str:
        """Return the document of a record or note, or the reason why it is none; such a reason stays as it is."""
        if isinstance(record, Note):
            return Document(f"{self.name}#{number}", clean(record.text), whole=True)
        try:
            return (
                self.document(number, unwrapped(record) if self.nested else record)
                if isinstance(record, dict)
                else record
            )
        except UnreadableError as error:  # of a row with millions of values
            return str(error)

    def document(self, number: int, record: dict[str, Any]) -> Document | str:
        """Return the document of a record, or the reason why it is none."""
        if self.options.id_column and not _field(record, (self.options.id_column,)):
            return f"no id in a column {self.options.id_column!r}; it has {field_names(record)}"
        if self.options.text_columns:
            return self._of_columns(number, record)
        text_field = next((key for key in _keys(tuple(record), TEXT_FIELDS) if _is_text(record[key])), None)
        if text_field is not None:
            return self._passage(number, record, text_field)
        if record.get("question") and not record.keys().isdisjoint(_OF_QUESTIONS):
            return "questions to evaluate on, not documents"
        if not record.keys().isdisjoint(_OF_EXTRACTIONS):
            return "extractions, not documents; 'graphwright evaluate --extraction openie' reads them"
        return self._sentence(number, record, tuple(record))

    def _of_columns(self, number: int, record: dict[str, Any]) -> Document | str:
        """Return a row by the columns that hold its text."""
        columns = [field for name in self.options.text_columns if (field := _field(record, (name,)))]
        if not columns:
            return f"no column {' or '.join(map(repr, self.options.text_columns))}; it has {field_names(record)}"
        if len(columns) == 1 and _is_text(record[columns[0]]):
            return self._passage(number, record, columns[0])
        return self._sentence(number, record, columns)

    def _passage(self, number: int, record: dict[str, Any], text_field: str) -> Document:
        title_field = _field(record, _TITLE_FIELDS)
        title = _title(record, _TITLE_FIELDS)
        value = record[text_field]
        text = clean(value if isinstance(value, str) else ("\n\n" if "para" in text_field else " ").join(value))
        links_field = _field(record, ("links",))
        links = links_of(record[links_field]) if links_field else ()
        id_field, identity = self._id(number, record, _ID_FIELDS)
        used = {id_field, title_field, text_field, links_field if links else ""} - {""}
        others = {key: value for key, value in record.items() if key not in used}
        text = text if text.strip() else title  # an entry with only a title can still be retrieved
        records: tuple[Record, ...] = ()
        if self.nested and others:
            own = {key: value for key, value in record.items() if key not in (text_field, links_field)}
            text, records = passage_with_object(text, own, self.kind)
        elif isinstance(record, TableRecord):
            records = _records_of(record, text, self.types.of(record.row.head, self.kind))
        return Document(
            id=identity,
            text=text,
            title=title,
            metadata=_metadata(others),
            whole=len(text) <= MAX_PASSAGE,
            links=tuple(dict.fromkeys(map(self._qualified, links))),
            records=records,
        )

    def _sentence(self, number: int, record: dict[str, Any], columns: Sequence[str]) -> Document | str:
        """Return a row as a sentence of some columns; all are its metadata."""
        records: tuple[Record, ...] = ()
        if isinstance(record, TableRecord):
            text = record.only(columns)
            records = _records_of(record, text, self.types.of(record.row.head, self.kind))
        else:
            part = object_row({column: record[column] for column in columns}, self.kind)
            text, records = part.text, part.records
        if not text and any(isinstance(value, dict | list) for value in record.values()):
            return f"no value that is a text or a number; it has {field_names(record)}"
        # Ids may repeat in a table, so a column of ids is used only if the options name it.
        _, identity = self._id(number, record, ())
        return Document(
            id=identity,
            text=text,
            title=_title(record, _SENTENCE_TITLE_FIELDS),
            metadata=_metadata(record),
            whole=len(text) <= MAX_PASSAGE,
            records=records,
        )

    def _id(self, number: int, record: Object, fields: tuple[str, ...]) -> tuple[str, str]:
        """Return the field of a row's own id, "" if it has none, and the id of its document."""
        named = self.options.id_column
        field = _field(record, (named,) if named else fields)
        value = record[field] if field else None
        row_id = clean(str(value)).strip() if isinstance(value, str | int | float) else ""
        if not row_id:
            return field, f"{self.name}#{number}"
        return field, row_id if named else self._qualified(row_id)

    def _qualified(self, key: str) -> str:
        """Return the document id of a row with this id: a number gets the file's name, as other files may repeat it."""
        return f"{self.name}#{key}" if key.isdecimal() and not self.plain_ids and not self.options.id_column else key


def _field(record: Object, names: tuple[str, ...]) -> str:
    """Return the record's own key for the first of these names that it has, in any case; else an empty string."""
    return next((key for key in _keys(tuple(record), names) if record[key] is not None), "")


@lru_cache(maxsize=256)
def _keys(keys: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys for these names, in any case; the keys of the rows of a file are mostly the same."""
    known = {str(key).strip().lower(): key for key in keys} | {key: key for key in keys}
    found = (known.get(name, known.get(name.lower())) for name in names)
    return tuple(key for key in found if key is not None)


def _title(record: Object, names: tuple[str, ...]) -> str:
    value = record.get(_field(record, names))
    return " ".join(clean(value).split()) if isinstance(value, str) else ""


def _is_text(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(part, str) for part in value)
    return isinstance(value, str)


def _metadata(record: Object) -> dict[str, str]:
    """Return the scalars of a record, including those under `metadata`, as text."""
    nested = record.get("metadata")
    scalars: Mapping[str, Any] = {**nested, **record} if isinstance(nested, dict) else record
    return {
        clean(str(key)): clean(metadata_text(value))
        for key, value in scalars.items()
        if isinstance(value, str | int | float) and value != ""
    }
