"""Places of a text in its file: names of ranges, rectangles, and their stored form."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from graphwright.text.places import Box, Places, decoded_places, stored_cuts

numbers = st.integers(0, 10_000)


@st.composite
def places(draw: st.DrawFn) -> Places:
    starts = tuple(accumulate(draw(st.lists(st.integers(0, 500), max_size=8))))
    labels = tuple(draw(st.lists(st.text(max_size=5), min_size=len(starts), max_size=len(starts))))
    lines = sorted(draw(st.lists(st.tuples(st.integers(0, 2**30), *[numbers] * 5), max_size=8)))
    kind = draw(st.sampled_from(["page", "cell", ""]))
    sections = draw(st.lists(st.tuples(st.integers(0, 500), st.text(max_size=3)), max_size=3))
    return Places(
        kind, starts, draw(st.sampled_from([labels, ()])), tuple(map(Box._make, lines)), "ab", tuple(sorted(sections))
    )


@given(places())
def test_stored_places_round_trip(made: Places) -> None:
    assert decoded_places(made.encoded()) == made


def test_document_without_places_stores_nothing() -> None:
    assert decoded_places(b"") is None


def test_range_is_named_by_first_and_last_place() -> None:
    pages = Places("page", (5, 100, 250))
    assert pages.of(0, 5) == "" and pages.of(0, 6) == "page 1" and pages.of(99, 100) == "page 1"
    assert pages.of(99, 101) == "pages 1-2" and pages.of(0, 9999) == "pages 1-3"
    assert pages.of(5, 5) == "page 1" and pages.name(2) == "page 3"


def test_code_range_is_named_by_enclosing_definition() -> None:
    code = Places("line", (0, 10, 20, 30), sections=((10, "A"), (20, "A.f"), (30, "A.g"), (40, "")))
    assert [code.of(*span) for span in ((0, 5), (12, 14), (20, 30), (20, 31), (10, 41), (5, 12))] == [
        "line 1",
        "line 2 of A",
        "line 3 of A.f",
        "lines 3-4 of A",
        "lines 2-4",
        "lines 1-2",
    ]


def test_sentence_ends_at_cells_and_definitions_not_pages() -> None:
    starts = (0, 10, 20, 30)
    for made, cuts in (
        (Places("cell", starts), (10, 20)),
        (Places("", starts, ("A1:B1", "A2:B2", "A3:B3", "A4:B4")), (10, 20)),
        (Places("page", starts), ()),
        (Places("line", starts, sections=((0, "a"), (12, "a.b"), (25, ""))), (12,)),
    ):
        assert made.cuts(0, 25) == stored_cuts(made.encoded(), 0, 25) == cuts
    assert stored_cuts(b"", 0, 9) == ()
