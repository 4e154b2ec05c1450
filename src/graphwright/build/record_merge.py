"""Merge of the records of documents into columns, in the order of the documents' ids and texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Ids32
from graphwright.graph.records import RecordColumns, sorted_forms
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.record_blobs import read_records
from graphwright.text.copies import KEYS

_PLAIN = ("chunk", "span", "is_copy", "field_span", "node")  # fields whose values are the same beside other records


def merged_records(
    chunks: ChunkColumns, entities: TextColumn, resolved: Callable[[TextColumn], TextColumn]
) -> RecordColumns | None:
    """Return records of documents with a passage, or None. `entities`: forms by node; `resolved`: merged ones."""
    with_passages = np.flatnonzero(chunks.chunk_counts)
    stored = chunks.records.gather(with_passages)
    if not len(stored.data):
        return None

    def nodes(forms: TextColumn) -> Ints:
        number = entities.positions(resolved(forms))
        return np.where(number >= 0, len(chunks) + number, -1)

    records = read_records(stored, lambda document, start: _chunk(chunks, with_passages[document], start), nodes)
    of_copies = _copies(chunks)[chunks.document[records.chunk]]
    return replace(records, is_copy=records.is_copy | of_copies) if of_copies.any() else records


def _copies(chunks: ChunkColumns) -> NDArray[np.bool_]:
    """Return which documents are of a file with the passages of an earlier one: bool[d]. Equal rows are no copies."""
    copies = np.zeros(len(chunks.ids), bool)
    _, key, counts = np.unique(chunks.numbers("copy_keys", KEYS).values[:, 0], return_inverse=True, return_counts=True)
    if counts.max(initial=0) < 2:
        return copies
    single = np.bincount(chunks.document[counts[key] < 2], minlength=len(chunks.ids)) > 0
    files: dict[str, list[int]] = defaultdict(list)
    for document, name in enumerate(chunks.ids):
        file, _, row = name.rpartition("#")
        files[file if row.isdecimal() else name].append(document)
    content: dict[tuple[str, ...], str] = {}
    begin = np.searchsorted(chunks.document, np.arange(len(copies) + 1))
    for file, documents in files.items():
        if not single[documents].any():
            passages = np.concatenate([np.arange(begin[document], begin[document + 1]) for document in documents])
            if content.setdefault(tuple(chunks.text.take(passages)), file) != file:
                copies[documents] = True
    return copies


def joined_records(parts: Sequence[RecordColumns]) -> RecordColumns | None:
    """Return the records of all parts in order, None without a part; nodes and passages are numbered alike in all."""
    if len(parts) < 2:
        return parts[0] if parts else None
    types, type_of, _ = numbered_together([part.types for part in parts])
    names, name_of, _ = numbered_together([part.names for part in parts])
    texts, text_of, first = numbered_together([part.texts for part in parts])
    begin = np.cumsum([0, *map(len, parts)])
    forms, form_text = sorted_forms(
        TextColumn.joined([part.forms.gather(np.argsort(part.form_text)) for part in parts]).gather(first)
    )
    return RecordColumns(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _PLAIN},
        types=types,
        type=np.concatenate([numbers[part.type] for numbers, part in zip(type_of, parts, strict=True)]),
        names=names,
        texts=texts,
        record=np.concatenate([at + part.record for at, part in zip(begin[:-1].tolist(), parts, strict=True)]),
        name=np.concatenate([numbers[part.name] for numbers, part in zip(name_of, parts, strict=True)]),
        text=np.concatenate([numbers[part.text] for numbers, part in zip(text_of, parts, strict=True)]),
        forms=forms,
        form_text=form_text,
    )


def numbered_together(columns: Sequence[TextColumn]) -> tuple[TextColumn, list[Ids32], Ints]:
    """Return the distinct strings of columns, the number of each string of each, and the first of each number."""
    every = TextColumn.joined(columns)
    number, first = every.numbered()
    parts = np.split(number, np.cumsum([len(column) for column in columns])[:-1])
    return every.gather(first), parts, first


def _chunk(chunks: ChunkColumns, document: Ints, start: Ints) -> Ids32:
    """Return the passage of each record: the last that begins before it does, or the first of its document."""
    first = np.searchsorted(chunks.document, np.arange(len(chunks.ids)))
    size = int(max(chunks.start.max(initial=0), start.max(initial=0))) + 1
    keys = chunks.document.astype(np.int64) * size + chunks.start
    at = np.searchsorted(keys, document * size + start, side="right") - 1
    return np.maximum(at, first[document]).astype(np.int32)
