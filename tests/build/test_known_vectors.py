"""What is taken from an earlier snapshot: equal texts are found wherever they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphwright.build.known_vectors import positions
from graphwright.graph.columns import TextColumn

texts = st.lists(st.sampled_from(["", "a", "b", "ab", "aa", "ba", "Łódź", "long text of some words", "long text"]))


@given(texts, texts, texts, texts, texts)
def test_known_vector_positions_match_equal_texts(
    begin: list[str], removed: list[str], added: list[str], end: list[str], other: list[str]
) -> None:
    for known, now in ((begin + removed + end, begin + added + end), (begin, other), (begin, begin)):
        # Columns may be parts of larger ones.
        whole = TextColumn.of(["x", *known])
        found = positions(TextColumn(whole.data, whole.offsets[1:]), TextColumn.of(now)).tolist()
        assert [known[at] if at >= 0 else None for at in found] == [text if text in known else None for text in now]
