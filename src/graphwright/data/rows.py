"""Passages that come as rows: JSON lines, JSON arrays, CSV and TSV tables."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from graphwright.data.base import Document, Skipped, text_of
from graphwright.data.decoding import clean, lines, suffix_of
from graphwright.data.jsonfiles import Numbered, json_records
from graphwright.data.links import links_of
from graphwright.errors import DataError

__all__ = ["ID_FIELDS", "PASSAGE", "TEXT_FIELDS", "read_rows"]

ID_FIELDS = ("id", "_id", "doc_id", "docid", "idx")
TEXT_FIELDS = (
    "text", "contents", "content", "body", "passage", "paragraph", "paragraphs", "document", "abstract",
)  # fmt: skip
PASSAGE = 20_000
"""Characters up to which a row is a passage, kept whole; a longer one is an article, and is split."""

_MANY = 100  # broken rows before the first good one after which a file is not one of passages
_FIELD = 2**31 - 1  # characters in a field of a table; the csv module's own limit is 131,072
_limit = threading.Lock()

Record = Mapping[str, Any]


def read_rows(path: Path, name: str) -> Iterator[tuple[int, Document | Skipped]]:
    """Yield each row of a file with its line number, as a document or as what was wrong with it.

    An id is the row's own, else `name#line`. A file in which no row is a passage gives one `Skipped`
    for all of it. Raises DataError if more than ten rows and more than one in a hundred are broken.
    """
    broken: list[tuple[int, Skipped]] = []
    good = 0
    number = 0
    for number, record in _records(path):
        found = _document(record, f"{name}#{number}") if isinstance(record, dict) else str(record)
        if isinstance(found, str):
            # A record without a text is none of ours; what is no record may have been one.
            broken.append((number, Skipped(f"{path}:{number}", found, not isinstance(record, dict))))
            if good:
                yield broken[-1]
            elif len(broken) > _MANY:
                break
            continue
        if not good:
            yield from broken
        good += 1
        empty = not found.text.strip()
        yield number, Skipped(f"{path}:{number}", "empty") if empty else found
    if not good:
        unread = any(skipped.unread for _, skipped in broken)
        yield 0, Skipped(str(path), f"no passages: {broken[0][1].reason}" if broken else "empty", unread)
    elif len(broken) > 10 and len(broken) * 100 > good + len(broken):
        raise _too_many(path, [skipped for _, skipped in broken], good + len(broken))


def _too_many(path: Path, broken: Sequence[Skipped], rows: int) -> DataError:
    first = "; ".join(f"{skipped.path}: {skipped.reason}" for skipped in broken[:3])
    return DataError(
        f"{path}: {len(broken):,} of {rows:,} rows cannot be read, more than one in a hundred. The first: "
        f"{first}. Repair or remove these rows; up to one in a hundred are skipped and named."
    )


def _records(path: Path) -> Numbered:
    """Yield line numbers with the records of a file, or with what is wrong there."""
    if suffix_of(path) in (".csv", ".tsv"):
        return _table(path, "\t" if suffix_of(path) == ".tsv" else "")
    return json_records(path, TEXT_FIELDS)


def _table(path: Path, delimiter: str) -> Numbered:
    """Read a table whose first line names the columns; without a delimiter, the header tells it."""
    source = lines(path)
    header = next(source, "")
    delimiter = delimiter or max(",;\t|", key=lambda mark: _columns(header, mark))
    reader = csv.reader((f"{line}\n" for line in chain((header,), source)), delimiter=delimiter)
    columns: list[str] = []
    while True:
        number = reader.line_num + 1
        with _limit:  # the csv module has one limit for the process: raised for this row only
            before = csv.field_size_limit(_FIELD)
            try:
                row = next(reader, None)
            finally:
                csv.field_size_limit(before)
        if row is None:
            return
        if not columns:
            columns = [cell.strip().lstrip("\ufeff") for cell in row]
        elif len(row) > len(columns):
            yield number, f"{len(row)} cells in a table of {len(columns)} columns"
        elif row:
            yield number, dict(zip(columns, row, strict=False))


def _columns(header: str, delimiter: str) -> tuple[bool, int]:
    cells = next(csv.reader((header,), delimiter=delimiter), [])
    return any(cell.strip().lower() in TEXT_FIELDS for cell in cells), len(cells)


def _field(record: Record, names: Sequence[str]) -> str | None:
    """Return the record's own key for the first of these names it has, in whatever case."""
    for name in names:
        if record.get(name) is not None:
            return name
    lowered = {str(key).strip().lower(): key for key in record}
    known = (lowered[name] for name in names if name in lowered)
    return next((key for key in known if record[key] is not None), None)


def _document(record: dict[str, Any], fallback: str) -> Document | str:
    """Make a document of a record, or say what it lacks."""
    id_field, title_field = _field(record, ID_FIELDS), _field(record, ("title",))
    named = (_field(record, (name,)) for name in TEXT_FIELDS)
    text_field = next((field for field in named if field and _is_text(record[field])), None)
    if text_field is None:
        fields = ", ".join(str(key)[:40] for key in list(record)[:8])
        return f"no field named text, contents or the like; it has {fields or 'none'}"
    title = record[title_field] if title_field else ""
    title = " ".join(clean(title).split()) if isinstance(title, str) else ""
    given = record[id_field] if id_field else None
    identity = str(given) if isinstance(given, str | int | float) else ""
    value = record[text_field]
    text = clean(value if isinstance(value, str) else ("\n\n" if "para" in text_field else " ").join(value))
    links_field = _field(record, ("links",))
    links = links_of(record[links_field]) if links_field else ()
    used = {id_field, title_field, text_field, links_field if links else None}
    return Document(
        id=clean(identity).strip() or fallback,
        text=text if text.strip() else title,  # an entry of nothing but its title can still be found
        title=title,
        metadata=_metadata({key: value for key, value in record.items() if key not in used}),
        whole=len(text) <= PASSAGE,
        links=links,
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value)
    )


def _metadata(record: Record) -> dict[str, str]:
    """Keep the scalars of a record, those under `metadata` included, as text."""
    nested = record.get("metadata")
    scalars = {**nested, **record} if isinstance(nested, dict) else record
    return {
        clean(str(key)): clean(text_of(value))
        for key, value in scalars.items()
        if isinstance(value, str | int | float) and value != ""
    }
