"""Images of arrays: the same rows after any history, at places that seldom move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.graph.columns import TextColumn
from graphwright.search.image import Dense, Image

names = st.sets(st.text("abcß", min_size=1, max_size=3), max_size=30).map(sorted)


def dense(names: list[str], owners: list[int] | None = None) -> Dense:
    """Return chunks with names, as many aliases with repeats, and edges between them."""
    n = len(names)
    numbers = np.array(owners or [], np.int32)
    return {
        "passages.names": TextColumn.of(names),
        "passages.copy_keys": np.arange(2 * n, dtype=np.int32).reshape(n, 2),
        "entities": TextColumn.of(f"e{name}" for name in names),
        "aliases": TextColumn.of(name[:1] for name in names),
        "alias_node": np.arange(n, 2 * n),
        "heads": numbers,
        "tails": numbers[::-1].copy(),
        "edge_chunk": np.where(numbers % 2 == 0, numbers, -1).astype(np.int32),
        "passages.keys": np.arange(n, dtype=np.uint64),
    }


def same(first: Dense, second: Dense) -> bool:
    """Return whether the arrays of both are equal, and of the same types."""
    return first.keys() == second.keys() and all(
        value == other if isinstance(value, TextColumn) else value.dtype == other.dtype and np.array_equal(value, other)
        for value, other in ((first[name], second[name]) for name in first)
    )


@given(st.lists(st.tuples(names, st.lists(st.integers(0, 10**6), max_size=40)), min_size=1, max_size=5))
def test_image_after_any_history_gives_the_last_arrays(history: list[tuple[list[str], list[int]]]) -> None:
    image = None
    for listed, numbers in history:
        arrays = dense(listed, [number % len(listed) for number in numbers] if listed else [])
        image = Image.of(arrays, image) or Image.of(arrays)
        assert image is not None
        image = Image.read(image.arrays)  # as from a file
        assert same(image.dense(), arrays)


def test_image_of_one_more_row_moves_few_places() -> None:
    listed = [f"{at:04d}" for at in range(0, 2000, 2)]
    before = Image.of(dense(listed))
    after = Image.of(dense(sorted([*listed, "0777"])), before)
    assert before is not None and after is not None
    places = before.spaces["chunk"].place, np.delete(after.spaces["chunk"].place, 389)
    assert (places[0] != places[1]).sum() <= 4
    heaps = (image.arrays["passages.names heap"] for image in (before, after))
    assert np.not_equal(*heaps).sum() == 4


def test_image_keeps_no_text_of_removed_rows() -> None:
    before = Image.of(dense(["apple", "melon", "secret"]))
    after = Image.of(dense(["apple", "melon"]), before)
    assert after is not None and b"secret" not in after.arrays["passages.names heap"].tobytes()


def test_image_without_room_is_none() -> None:
    before = Image.of(dense(["a"]))
    assert Image.of(dense([f"{at:03d}" for at in range(100)]), before) is None


@pytest.mark.parametrize("missing", ["heads", "aliases"])
def test_image_of_other_arrays_than_before_is_none(missing: str) -> None:
    arrays = dense(["a", "b"])
    assert Image.of({name: value for name, value in arrays.items() if name != missing}, Image.of(arrays)) is None
