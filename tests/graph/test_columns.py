"""Text columns: round trip and search by order."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from graphwright.graph.columns import TextColumn

strings = st.lists(st.text(st.characters(), max_size=6), max_size=20)


@given(strings)
def test_strings_come_back(values: list[str]) -> None:
    column = TextColumn.of(values)
    assert list(column) == values and column[:2] == values[:2] and len(column) == len(values)
    assert pickle.loads(pickle.dumps(column)) == column


@given(strings, st.text(max_size=3))
def test_search_finds_all_equal_strings_and_all_that_begin_so(values: list[str], sought: str) -> None:
    column = TextColumn.of(values)
    order = column.order()
    first, last = column.ends(sought, order)
    assert sorted(order[first:last].tolist()) == [i for i, v in enumerate(values) if v == sought]
    first, last = column.ends(sought, order, prefix=True)
    assert sorted(order[first:last].tolist()) == [i for i, v in enumerate(values) if v.startswith(sought)]


def test_lone_surrogates_survive() -> None:
    assert TextColumn.of(["\ud800x"])[0] == "\ud800x"
