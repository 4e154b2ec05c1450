"""Splitting of documents into chunks: sizes, overlap, headings, long sentences and rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document, Heading, estimate_tokens, split
from graphwright.data.records.record import Record
from graphwright.errors import OptionError
from graphwright.text.sentences import sentence_spans


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def characters(texts: Sequence[str]) -> list[int]:
    return [sum(not char.isspace() for char in text) for text in texts]


WORDS = st.lists(st.sampled_from(["Alpha", "beta", "gamma,", "日本", "x" * 50]), min_size=1, max_size=30)
SENTENCE = WORDS.map(lambda words: " ".join(words) + ". ")
HEADING = st.sampled_from(["\n\nHeading One\n\n", "\n\nTwo\n\n\nThree\n\n", "\n", "  "])
TEXTS = st.one_of(st.text(), st.lists(st.one_of(SENTENCE, HEADING), max_size=25).map("".join))


@given(TEXTS, st.integers(1, 40), st.integers(0, 39), st.sampled_from([words, characters, estimate_tokens]))
def test_split_any_text_keeps_laws_of_chunks(text: str, budget: int, overlap: int, count) -> None:
    overlap = min(overlap, budget - 1)
    document = Document("d", text)
    chunks = split(document, count, budget=budget, overlap=overlap)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.document == "d" and chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
    covered = {position for chunk in chunks for position in range(chunk.start, chunk.end)}
    assert {i for i, char in enumerate(text) if not char.isspace()} <= covered
    # These counters add up over sentences, so the count of a chunk is that of its sentences.
    assert all(tokens <= budget for tokens in count([chunk.text for chunk in chunks]))
    for item, two in pairwise(chunks):
        assert item.start < two.start and item.end < two.end
        assert count([text[two.start : item.end]])[0] <= overlap
    assert chunks == split(document, count, budget=budget, overlap=overlap)


def test_split_overlap_is_last_whole_sentences() -> None:
    text = " ".join(f"Sentence {number} has five words." for number in range(12))
    chunks = split(Document("d", text), words, budget=20, overlap=11)
    begins = {start for start, _ in sentence_spans(text)}
    assert all(chunk.start in begins for chunk in chunks)
    shared = [text[two.start : item.end].count(".") for item, two in pairwise(chunks)]
    assert set(shared) == {2}


def test_split_heading_stays_with_its_text() -> None:
    text = "One two three four five. Six seven eight.\n\nA Heading\n\nNine ten eleven. Twelve."
    texts = [chunk.text for chunk in split(Document("d", text), words, budget=12, overlap=4)]
    assert texts == ["One two three four five. Six seven eight.", "A Heading\n\nNine ten eleven. Twelve."]
    texts = [chunk.text for chunk in split(Document("d", text), words, budget=24, overlap=4)]
    assert texts == [text]
    text = "One two three.\n\nA Heading\n\nFour five six seven eight nine ten eleven."  # too long to go with it
    texts = [chunk.text for chunk in split(Document("d", text), words, budget=9, overlap=4)]
    assert texts == ["One two three.\n\nA Heading", "Four five six seven eight nine ten eleven."]


def test_split_sentence_above_budget_is_cut_between_words() -> None:
    pieces = [chunk.text for chunk in split(Document("d", "word " * 100), words, budget=30, overlap=0)]
    assert set(" ".join(pieces).split()) == {"word"} and len(pieces) == 4
    pieces = [chunk.text for chunk in split(Document("d", "x" * 100), characters, budget=30, overlap=0)]
    assert "".join(pieces) == "x" * 100 and max(map(len, pieces)) <= 30


def test_split_row_that_ends_like_an_initial_is_a_sentence() -> None:
    rows = [f"Article: wood screw S{n}; weight: {n} g; price: {n}.00 EUR; stored in: Hall B." for n in range(9)]
    text = "\n".join(rows)
    starts = [text.index(row) for row in rows]
    records = tuple(Record("screws", (), start, start + len(row)) for start, row in zip(starts, rows, strict=True))
    chunks = split(Document("d", text, records=records), words, budget=30, overlap=0)
    assert [row for chunk in chunks for row in chunk.text.split("\n")] == rows


def test_split_whole_document_is_one_chunk() -> None:
    text = " A passage. " * 500
    (chunk,) = split(Document("d", text, whole=True), budget=5, overlap=0)
    assert (chunk.start, chunk.end, chunk.text) == (0, len(text), text)
    assert split(Document("d", " ", whole=True)) == []


@pytest.mark.parametrize(("budget", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_split_overlap_above_budget_raises(budget: int, overlap: int) -> None:
    with pytest.raises(OptionError, match=f"budget={budget}, overlap={overlap}"):
        split(Document("d", "text"), budget=budget, overlap=overlap)


MANUAL = """Manual

It is short.

Installing

Read this first.

Linux

Use the package.

macOS

Use the disk image."""
SECTIONS = [("Manual", 1), ("Installing", 2), ("Linux", 3), ("macOS", 3)]


def manual(title: str = "Manual") -> Document:
    return Document("d", MANUAL, title, headings=tuple(Heading(MANUAL.index(t), level, t) for t, level in SECTIONS))


@pytest.mark.parametrize(
    ("budget", "headings"),
    [(6, ["", "Installing", "Installing › Linux", "Installing › macOS"]), (20, ["", "Installing"])],
)
def test_split_chunk_carries_headings_above_it(budget: int, headings: list[str]) -> None:
    chunks = split(manual(), budget=budget, overlap=0)
    assert [chunk.heading for chunk in chunks] == headings
    assert all(chunk.text == MANUAL[chunk.start : chunk.end] for chunk in chunks)


def test_split_heading_other_than_title_is_kept() -> None:
    assert split(manual("The book"), budget=6, overlap=0)[2].heading == "Manual › Installing › Linux"


@given(
    st.lists(st.tuples(st.sampled_from(["Head", "head two", "x"]), st.integers(1, 4)), max_size=6), st.integers(2, 30)
)
def test_split_headings_do_not_change_covered_text(sections: list[tuple[str, int]], budget: int) -> None:
    text, headings = "", []
    for title, level in sections:
        headings.append(Heading(len(text), level, title))
        text += f"{title}\nSome words follow here, and they go on. Then it ends.\n"
    chunks = split(Document("d", text, headings=tuple(headings)), budget=budget, overlap=budget // 3)
    covered = {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    assert all(at in covered for at, sign in enumerate(text) if not sign.isspace())
    for chunk in chunks:
        titles = [title for title, _ in sections]
        assert all(part in titles for part in chunk.heading.split(" › ") if part)


def test_split_dated_sections_begin_chunks_and_name_them() -> None:
    text = "Weir\n\n2.4 (2024-05-01)\n\nIt opens.\n\n2.3 (2022-03-04)\n\nIt shuts.\n\nCosts\n\nTen."
    names = {"Weir": 1, "2.4 (2024-05-01)": 2, "2.3 (2022-03-04)": 2, "Costs": 3}
    headings = tuple(Heading(text.index(name), level, name) for name, level in names.items())
    chunks = split(Document("a", text, headings=headings))
    assert [chunk.heading for chunk in chunks] == ["Weir › 2.4 (2024-05-01)", "Weir › 2.3 (2022-03-04)"]
    undated = tuple(heading._replace(title=heading.title[:3]) for heading in headings)
    assert len(split(Document("a", text, headings=undated))) == 1
