"""The sentence reader: what it quotes, how much, and what it never quotes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import HashEncoder, SentenceReader

ENCODER = HashEncoder()
QUESTION = "Which abbey did Ermengarde found in Alsace?"
PASSAGES = [
    "Bread\nBread is baked from dough. It is one of the oldest foods.",
    "Ermengarde of Tours\nErmengarde was the daughter of Hugh. She founded the abbey of Erstein in Alsace.",
    "Alsace\nAlsace lies on the Rhine. The abbey of Alsace is old.",
]


def quoted(question: str, passages: list[str], **options: float) -> list[str]:
    spans = SentenceReader(ENCODER, **options).read(question, passages)  # type: ignore[arg-type]
    return [passages[s.passage][s.start : s.end] for s in spans]


def test_the_sentence_that_holds_the_words_comes_first() -> None:
    assert quoted(QUESTION, PASSAGES, most=1) == ["She founded the abbey of Erstein in Alsace."]


def test_no_more_than_asked_and_each_adds_a_word_that_is_missing() -> None:
    found = [quoted(QUESTION, PASSAGES, most=most, least=-1.0) for most in (1, 2, 3, 9)]
    assert [len(f) for f in found] == sorted(len(f) for f in found) and len(found[0]) == 1
    assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(found))
    assert len(found[-1]) == len(set(found[-1]))
    # It shares no word with the question, so it never adds one.
    assert "Bread is baked from dough." not in found[-1]
    twice = ["The abbey stood in Alsace.", "The abbey stood in Alsace, they say."]
    assert len(quoted("Which abbey stood in Alsace?", twice)) == 1


def test_below_least_nothing_is_quoted() -> None:
    vectors = ENCODER.encode(["Where is Graz?", "Graz is in Austria."])
    cosine = float(vectors[0] @ vectors[1])
    assert quoted("Where is Graz?", ["Graz is in Austria."], least=cosine - 0.01) == ["Graz is in Austria."]
    assert quoted("Where is Graz?", ["Graz is in Austria."], least=cosine + 0.01) == []
    assert quoted("zzz?", PASSAGES) == []


@pytest.mark.parametrize("passages", [[], [""], ["", " \n "], ["Title\n"], ["\n\n"]])
def test_nothing_to_read_is_nothing_read(passages: list[str]) -> None:
    assert all(text.strip() for text in quoted("Title?", passages))
    assert quoted("Graz?", ["", *PASSAGES[:0], "Graz is here."]) == ["Graz is here."]


def test_a_title_counts_for_its_sentences_but_is_not_quoted() -> None:
    passages = ["Lyon\nIt lies on the Rhone.", "Graz\nIt lies on the Mur."]
    assert quoted("Where is Graz?", passages, most=1) == ["It lies on the Mur."]
    assert quoted("Where is Graz?", ["Graz"]) == ["Graz"]  # alone, a line is the text


def test_the_kind_of_thing_that_is_asked_for_decides_between_equals() -> None:
    passages = ["The bridge was built early. The bridge was built 1525."]
    assert quoted("When was the bridge built?", passages, most=1, least=0.0, kind=9.0) == ["The bridge was built 1525."]
    who = ["The bridge was built slowly. The bridge was built by Anna."]
    assert quoted("Who built the bridge?", who, most=1, least=0.0, kind=9.0) == ["The bridge was built by Anna."]


def test_first_passages_are_preferred_as_much_as_rank_says() -> None:
    passages = ["Graz is far away from here by train.", "Graz is here."]
    first = [quoted("Graz is?", passages, most=1, least=0.0, rank=rank) for rank in (0.0, 9.0)]
    assert first == [["Graz is here."], ["Graz is far away from here by train."]]


SENTENCES = st.sampled_from(
    ["Graz is here.", "Łódź lies far.", "Is it so?", "No", "A. B. Cole sang.", "東京は首都。", ""]
)
TITLES = st.sampled_from(["Graz", "Łódź (city)", "東京", "", "12"])


@given(st.lists(st.tuples(TITLES, st.lists(SENTENCES, max_size=4)), max_size=4), st.integers(1, 4))
def test_spans_are_exact_distinct_sentences_after_the_title(given: list[tuple[str, list[str]]], most: int) -> None:
    passages = [f"{title}\n{' '.join(texts)}" if title else " ".join(texts) for title, texts in given]
    spans = SentenceReader(ENCODER, most=most, least=-1.0).read("Is Graz, Cole or 東京 far?", passages)
    assert len(spans) <= most and len({(s.passage, s.start) for s in spans}) == len(spans)
    for span in spans:
        title, texts = given[span.passage]
        text = passages[span.passage][span.start : span.end]
        assert text and text == text.strip()
        if title and " ".join(texts).strip():
            assert span.start > len(title) and text in " ".join(texts)


@pytest.mark.parametrize("title", ["Apple Inc.", "What's Up, Doc?"])
def test_a_title_that_ends_as_a_sentence_does_is_not_quoted(title: str) -> None:
    assert title not in quoted(f"What is {title}", [f"{title}\nIt is made of several things by people."], least=-1.0)


def test_a_question_is_read_with_the_sentence_after_it_and_not_quoted() -> None:
    faq = "Questions\nWho may fly the Kestrel?\nOnly those with a licence.\nHow long does it last?\nSix hours at most."
    assert quoted("Who may fly the Kestrel?", [faq], most=1) == ["Only those with a licence."]
    assert quoted("How long does it last?", [faq], most=1) == ["Six hours at most."]
    asked = 'Try\ngraphwright ask "Who founded the abbey?"'
    assert quoted("Who founded the abbey?", [asked], least=-1.0) == []
