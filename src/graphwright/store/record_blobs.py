"""Records of documents as they are stored: one block of bytes a document, read back as columns for many at once."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from graphwright.data.records.record import Record
from graphwright.errors import StoreError
from graphwright.graph.columns import TextColumn, terminate
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Ids32
from graphwright.graph.records import RecordColumns, sorted_forms
from graphwright.store.chunk_columns import divided, parted
from graphwright.text.names import normal_form
from graphwright.text.values import is_value

_SECTIONS = 7  # rows of records, rows of fields, flags of texts, then strings: types, names, texts, forms of texts
_HEADER = 4 * (_SECTIONS + 1)  # bytes: a checksum and the size of each section
_LETTER = re.compile(r"[^\W\d_]")
_MAX_FORM = 200  # characters; a longer text is found by no name


def encoded_records(records: Sequence[Record]) -> bytes:
    """Return the records of a document as they are stored; fields without a text are left out."""
    types, names, texts = dict[str, int](), dict[str, int](), dict[str, int]()
    rows, cells = array("i"), array("i")
    for record in records:
        fields = [field for field in record.fields if field.text.strip()]
        kind = types.setdefault(record.type, len(types))
        rows.extend((kind, record.start, record.end, record.is_copy, len(fields)))
        for name, text, start, end in fields:
            cells.extend((names.setdefault(name, len(names)), texts.setdefault(text, len(texts)), start, end))
    forms = [normal_form(text) if len(text) <= _MAX_FORM else "" for text in texts]
    pairs = zip(texts, forms, strict=True)
    is_name = bytes(_LETTER.search(form) is not None and not is_value(text) for text, form in pairs)
    sections = [rows.tobytes(), cells.tobytes(), is_name]
    sections += [
        terminate(text.replace("\0", "\ufffd") for text in strings) for strings in (types, names, texts, forms)
    ]
    sizes, content = array("i", map(len, sections)).tobytes(), b"".join(sections)
    return array("I", [zlib.crc32(content, zlib.crc32(sizes))]).tobytes() + sizes + content if records else b""


def is_damaged(stored: bytes) -> bool:
    """Return whether the bytes of a document's records are not as `encoded_records` wrote them."""
    checksum = zlib.crc32(stored[_HEADER:], zlib.crc32(stored[4:_HEADER]))
    return bool(stored) and stored[:4] != array("I", [checksum]).tobytes()


def read_records(
    stored: TextColumn, passages: Callable[[Ints, Ints], Ids32], nodes: Callable[[TextColumn], Ints]
) -> RecordColumns:
    """Read the records of documents, given the bytes of each. Raises StoreError for bytes that are damaged.

    `passages`: gives the passage of each record, by its document and where it begins. `nodes`: gives the node of each
    normal form, -1 for none.
    """
    owner = np.flatnonzero(np.diff(stored.offsets))
    try:
        rows, cells, is_name, *strings = divided(stored.gather(owner), _SECTIONS, range(_SECTIONS), before=4)
        row, cell = _numbers(rows, 5), _numbers(cells, 4)
        types, names, texts, forms = map(_numbered, strings)
        in_row = np.repeat(np.arange(len(owner)), np.diff(rows.offsets) // 20)
        in_cell = np.repeat(np.arange(len(owner)), np.diff(cells.offsets) // 16)
        span, text = row[:, 1:3].astype(np.int64), texts.number[texts.begin[in_cell] + cell[:, 1]]
        form = forms.every.gather(texts.first)
        node = np.where(is_name.data[texts.first] != 0, nodes(form), -1).astype(np.int32)
        ordered, form_text = sorted_forms(form)
        return RecordColumns(
            types=types.distinct,
            type=types.number[types.begin[in_row] + row[:, 0]],
            chunk=passages(owner[in_row], span[:, 0]),
            span=span,
            is_copy=row[:, 3] != 0,
            names=names.distinct,
            texts=texts.distinct,
            record=np.repeat(np.arange(len(row), dtype=np.int32), row[:, 4]),
            name=names.number[names.begin[in_cell] + cell[:, 0]],
            text=text,
            field_span=cell[:, 2:].astype(np.int64),
            node=node[text],
            forms=ordered,
            form_text=form_text,
        )
    except (ValueError, IndexError) as error:
        raise StoreError(f"The stored records are damaged ({error}); add the documents again.") from error


class _Numbered(NamedTuple):
    """Strings of documents: all of them, the distinct ones, and where the strings of each document begin."""

    every: TextColumn
    distinct: TextColumn
    number: Ids32
    first: Ints
    begin: Ints


def _numbered(blobs: TextColumn) -> _Numbered:
    every, borders = parted(blobs)
    number, first = every.numbered()
    return _Numbered(every, every.gather(first), number, first, borders[:-1])


def _numbers(blobs: TextColumn, width: int) -> Ids32:
    return np.frombuffer(blobs.data.tobytes(), np.int32).reshape(-1, width)
