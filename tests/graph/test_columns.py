"""Text columns: round trip and search by order."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import DataError
from graphwright.graph.columns import TextColumn, terminate

strings = st.lists(st.text(st.characters(), max_size=6), max_size=20)


@given(strings)
def test_text_column_returns_its_strings(values: list[str]) -> None:
    column = TextColumn.of(values)
    assert list(column) == values and column[:2] == values[:2] and len(column) == len(values)
    assert pickle.loads(pickle.dumps(column)) == column


@given(strings, st.text(max_size=3))
def test_text_column_search_finds_equal_strings_and_prefixes(values: list[str], sought: str) -> None:
    column = TextColumn.of(values)
    order = column.order()
    first, last = column.ends(sought, order)
    assert sorted(order[first:last].tolist()) == [i for i, v in enumerate(values) if v == sought]
    first, last = column.ends(sought, order, prefix=True)
    assert sorted(order[first:last].tolist()) == [i for i, v in enumerate(values) if v.startswith(sought)]


def test_text_column_keeps_lone_surrogates() -> None:
    assert TextColumn.of(["\ud800x"])[0] == "\ud800x"


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=6), max_size=20))
def test_terminated_strings_round_trip(values: list[str]) -> None:
    blob = terminate(iter(values))
    assert blob == b"".join(value.encode("utf-8", "surrogatepass") + b"\0" for value in values)
    column = TextColumn.terminated(blob)
    assert list(column) == values and column == TextColumn.of(values)
    assert (column.data.dtype, column.offsets.dtype) == (np.uint8, np.int64)


def test_terminated_string_with_nul_raises() -> None:
    with pytest.raises(DataError, match=r"String 1 holds a NUL.*'b\\x00c'"):
        terminate(["a", "b\0c"])


def test_terminated_block_cut_short_raises() -> None:
    with pytest.raises(DataError, match=r"b'Graz.x00Li' does not end in a NUL"):
        TextColumn.terminated(b"Graz\0Li")


@given(st.lists(strings, max_size=4))
def test_joined_columns_concatenate(parts: list[list[str]]) -> None:
    columns = [TextColumn.of(part) for part in parts]
    whole = [value for part in parts for value in part]
    assert list(TextColumn.joined(columns)) == whole
    # Columns that begin and end within their data.
    cut = [TextColumn(c.data, c.offsets[1:-1]) for c in columns if len(c) > 2]
    assert list(TextColumn.joined(cut)) == [value for part in parts if len(part) > 2 for value in part[1:-1]]


@given(
    st.lists(st.text(max_size=5), max_size=12), st.integers(-14, 14), st.integers(-14, 14), st.sampled_from([1, 2, -1])
)
def test_column_slices_equal_list_slices(strings: list[str], first: int, last: int, step: int) -> None:
    assert TextColumn.of(strings)[first:last:step] == strings[first:last:step]


@given(st.lists(st.text(max_size=4), max_size=12), st.text(max_size=4), st.booleans())
def test_column_bounds_equal_sorted_list_bounds(strings: list[str], key: str, prefix: bool) -> None:
    column = TextColumn.of(strings)
    order = column.order()
    texts = [strings[i] for i in order]
    matching = [i for i, text in enumerate(texts) if (text.startswith(key) if prefix else text == key)]
    first, last = column.ends(key, order, prefix=prefix)
    assert list(range(first, last)) == matching
    assert column.gather(order).ends(key, prefix=prefix) == (first, last)
    assert first == sum(text.encode("utf-8", "surrogatepass") < key.encode("utf-8", "surrogatepass") for text in texts)
