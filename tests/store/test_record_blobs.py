"""Records as they are stored: all of many documents read back, and damage that is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.records.record import Field, Record
from graphwright.errors import StoreError
from graphwright.graph.columns import TextColumn
from graphwright.graph.records import RecordColumns
from graphwright.store.record_blobs import encoded_records, is_damaged, read_records
from graphwright.text.names import normal_form
from graphwright.text.values import is_value

text = st.text(max_size=6)
place = st.integers(0, 2**31 - 1)
fields = st.builds(Field, text, text, place, place)
records = st.builds(Record, text, st.lists(fields, max_size=4).map(tuple), place, place, st.booleans())
ROW = Record("cities", (Field("name", "Graz", 0, 4), Field("founded", "1128", 5, 9)), 0, 9)


def read_back(documents: list[list[Record]]) -> RecordColumns:
    """Read records of which each is in the passage of its document's number, and each form is a node."""
    stored = TextColumn.of_bytes([encoded_records(some) for some in documents])
    return read_records(stored, lambda document, start: document.astype(np.int32), lambda forms: np.arange(len(forms)))


def clean(value: str) -> str:
    return value.replace("\0", "\ufffd")


@given(st.lists(st.lists(records, max_size=4), max_size=4))
def test_stored_records_read_back(documents: list[list[Record]]) -> None:
    read = read_back(documents)
    rows = [(at, record) for at, some in enumerate(documents) for record in some]
    assert read.chunk.tolist() == [at for at, _ in rows]
    assert read.types.take(read.type) == [clean(record.type) for _, record in rows]
    assert read.span.tolist() == [[record.start, record.end] for _, record in rows]
    assert read.is_copy.tolist() == [record.is_copy for _, record in rows]
    cells = [(row, field) for row, (_, record) in enumerate(rows) for field in record.fields if field.text.strip()]
    assert read.record.tolist() == [row for row, _ in cells]
    assert read.names.take(read.name) == [clean(field.name) for _, field in cells]
    assert read.texts.take(read.text) == [clean(field.text) for _, field in cells]
    assert read.field_span.tolist() == [[field.start, field.end] for _, field in cells]
    assert list(read.forms) == [normal_form(read.texts[at]) for at in read.form_text.tolist()]
    assert len(set(read.texts)) == len(read.texts)


def test_values_name_nothing() -> None:
    read = read_back([[ROW]])
    assert dict(zip(read.texts.take(read.text), read.node.tolist(), strict=True)) == {"Graz": 0, "1128": -1}
    assert is_value("1128")


def test_damaged_records_are_noticed() -> None:
    stored = encoded_records([ROW])
    assert not is_damaged(stored) and not is_damaged(b"")
    for at in range(len(stored)):
        assert is_damaged(stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :])
    with pytest.raises(StoreError, match="damaged"):
        read_records(TextColumn.of_bytes([stored[:-3]]), lambda document, start: document, lambda forms: forms)
