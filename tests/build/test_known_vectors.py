"""What is taken from an earlier snapshot: vectors are found by their texts wherever they stand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphwright.build.known_vectors import BlockEncoder
from graphwright.graph.columns import TextColumn
from graphwright.models import HashEncoder
from graphwright.models.protocols import Usage
from graphwright.search.vector_pages import text_keys

texts = st.lists(st.sampled_from(["", "a", "b", "ab", "aa", "ba", "Łódź", "long text of some words", "long text"]))


@given(texts, texts, texts)
def test_new_vectors_of_known_texts_are_reused(known: list[str], now: list[str], later: list[str]) -> None:
    usage, rows = Usage(), None
    encode, expected = BlockEncoder(HashEncoder(8), usage, None), HashEncoder(8)
    for strings in (known, now, later):
        # Columns may be parts of larger ones.
        whole = TextColumn.of(["x", *strings])
        rows = encode.new("names", TextColumn(whole.data, whole.offsets[1:]), rows)
        assert np.array_equal(np.asarray(rows), expected.encode(strings).astype(np.float16).reshape(-1, 8))
    assert usage.texts == len({*known, *now, *later})


def test_text_keys_of_many_texts_differ() -> None:
    keys = text_keys(TextColumn.of(map(str, range(10_000))))
    assert len(np.unique(keys[:, 0])) == len(np.unique(keys[:, 1])) == 10_000
