"""Merge of the records of documents into columns, in the order of the documents' ids and texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Ids32
from graphwright.graph.records import RecordColumns, sorted_forms
from graphwright.kernels.strings import distinct
from graphwright.search.name_index import NameIndex
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.record_blobs import read_records
from graphwright.text.values import is_value


def merged_records(
    chunks: ChunkColumns, entities: TextColumn, resolved: Callable[[TextColumn], TextColumn]
) -> RecordColumns | None:
    """Return the records of the documents that have a passage, None if there are none.

    `entities`: the normal form of each entity, whose nodes follow the passages; `resolved`: replaces merged forms.
    """
    with_passages = np.flatnonzero(chunks.chunk_counts)
    stored = chunks.records.gather(with_passages)
    if not len(stored.data):
        return None
    read = read_records(stored)
    document = with_passages[read.document]
    number = numbers_of(entities, resolved(read.forms))
    node = np.where(read.is_name & (number >= 0), len(chunks) + number, -1).astype(np.int32)
    return RecordColumns(
        read.types, read.type, _chunk(chunks, document, read.span[:, 0]), read.span, read.is_copy, read.names,
        read.texts, read.record, read.name, read.text, read.field_span, node[read.text], *sorted_forms(read.forms),
    )  # fmt: skip


def linked_records(
    records: RecordColumns | None, number: Ints, index: NameIndex, node_of: Callable[[str], int]
) -> RecordColumns | None:
    """Return the records of documents that are combined with an imported graph.

    `number`: the number of each node of the documents' graph in the combined one; `index`: the names of the imported
    graph; `node_of`: the combined number of the node that a form names, -1 for none. A text that names no entity of
    the documents may name a node of the graph.
    """
    if records is None:
        return None
    forms, of_text = records.forms, records.form_text
    if not index.normalised:
        forms, of_text = records.texts, np.arange(len(records.texts), dtype=np.int32)
    node_of_text = np.full(len(records.texts), -1)
    both = TextColumn.joined((index.forms, forms))
    shared, _ = distinct(both.data, both.offsets)
    known = np.zeros(len(both), bool)
    known[shared[: len(index.forms)]] = True
    for at in np.flatnonzero(known[shared[len(index.forms) :]]).tolist():
        text = int(of_text[at])
        node_of_text[text] = -1 if is_value(records.texts[text]) else node_of(forms[at])
    node = np.where(records.node < 0, node_of_text[records.text], number[records.node])
    return replace(records, node=node.astype(np.int32))


def numbers_of(known: TextColumn, texts: TextColumn) -> Ints:
    """Return the position of each text in a column of distinct texts, -1 where it is absent.

    >>> numbers_of(TextColumn.of(["a", "b"]), TextColumn.of(["b", "c", ""])).tolist()
    [1, -1, -1]
    """
    both = TextColumn.joined((known, texts))
    number, first = distinct(both.data, both.offsets)
    at = np.asarray(first, np.int64)[number[len(known) :]]
    return np.where(at < len(known), at, -1)


def _chunk(chunks: ChunkColumns, document: Ints, start: Ints) -> Ids32:
    """Return the passage of each record: the last that begins before it does, or the first of its document."""
    first = np.searchsorted(chunks.document, np.arange(len(chunks.ids)))
    size = int(max(chunks.start.max(initial=0), start.max(initial=0))) + 1
    keys = chunks.document.astype(np.int64) * size + chunks.start
    at = np.searchsorted(keys, document * size + start, side="right") - 1
    return np.maximum(at, first[document]).astype(np.int32)
