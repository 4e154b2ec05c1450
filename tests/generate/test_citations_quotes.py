"""Quotes located in passages, despite differences in spelling and punctuation."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.generate.citations import Place, locate, supported, without_markers
from graphwright.text.words import words

TEXT = (
    "Lothair II was king of Lotharingia.  He said: “I shall not yield — never!”\n"
    "In 855 he married Teutberga, and in 862 Waldrada; Łódź and the café lay far from Straße 7."
)


def find(quote: str, text: str) -> tuple[int, int] | None:
    """The span of a quote in a single text."""
    place = locate(quote, 1, {1: text})
    return None if place is None else (place.start, place.end)


def at(quote: str, text: str = TEXT) -> str | None:
    span = find(quote, text)
    return None if span is None else text[slice(*span)]


texts = st.text(st.sampled_from("ab é“”'—-–  \n\u00a0ßŁİﬁ1.A\u0301"), min_size=1, max_size=60) | st.text(max_size=40)


@given(texts, texts, texts)
def test_locate_slice_of_text_returns_that_slice(before: str, quote: str, after: str) -> None:
    result = at(quote, f"{before} {quote} {after}")
    if not words(quote):
        assert result is None
    elif len(quote.strip()) >= 3:
        assert result == quote.strip()


@given(st.data(), st.text("ab1. ", max_size=30))
def test_locate_slice_with_cut_word_needs_whole_word(data: st.DataObject, text: str) -> None:
    start = data.draw(st.integers(0, len(text)))
    span = find(text[start : data.draw(st.integers(start, len(text)))], text)
    if span is not None:
        for edge in span:
            assert not text[max(edge - 1, 0) : edge + 1].isalnum() or edge in (0, len(text))


@given(texts, texts)
def test_locate_returns_span_of_text(quote: str, text: str) -> None:
    span = find(quote, text)
    assert span is None or 0 <= span[0] < span[1] <= len(text)


RETYPED = [
    lambda quote: "\n\t ".join(quote.split()),
    str.upper,
    lambda quote: quote.translate(str.maketrans("“”—", "\"'-")),
    lambda quote: unicodedata.normalize("NFD", quote),
    lambda quote: quote.replace("é", "\u00ade\u0301\u200b"),
    lambda quote: f"“{quote}…”",
]


@given(st.data(), st.sampled_from(RETYPED))
def test_locate_variant_typing_returns_exact_characters(data: st.DataObject, retype) -> None:  # type: ignore[no-untyped-def]
    first = data.draw(st.integers(0, 12))
    spans = [(w.start(), w.end()) for w in re.finditer(r"\S+", TEXT)]
    chosen = spans[first : data.draw(st.integers(first + 3, len(spans)))]
    quote = TEXT[chosen[0][0] : chosen[-1][1]]
    assert (at(retype(quote)) or "").strip("“”.!") == quote.strip("“”.!")


@pytest.mark.parametrize(
    ("quote", "result"),
    [
        ("In 855 he maried Teutberga, and in 862 Waldrada", "In 855 he married Teutberga, and in 862 Waldrada"),
        ("Lothair II was king of Lotharignia He said", "Lothair II was king of Lotharingia.  He said"),
        ("thair II was king of Lotharingi. He said", None),  # two words are cut
        ("In 855 he maried Teutberga, and in 862 Waldrata", None),  # two slips
        ("In 855 he carried Teutberga, and in 862 Waldrada", None),
        ("In 855 he married Waldrada, and in 862 Waldrada", None),
        ("In 856 he married Teutberga, and in 862 Waldrada", None),  # near, but another year
        ("said: “I shall yield — never!” In 855 he married Teutberga, and in 862 Waldrada", None),  # a denial less
        ("He was hardly ever seen in Lotharingia", None),
        ("he married Waldrada", None),
        ("marrid Teut", None),  # too short to be near
        ("ab", None),
        ("  \n ", None),
        ("", None),
        ("“”", None),
    ],
)
def test_locate_close_match_returns_text_and_rejects_false_match(quote: str, result: str | None) -> None:
    assert at(quote) == result


def test_locate_single_word_ignores_inside_of_words() -> None:
    assert find("Rome", "Romeo came to Rome.") == (14, 18)
    assert find("Rome", "Romeo came.") is None
    assert find("safe to enter", "It was unsafe to enter.") is None
    assert find("He can", "He cannot swim.") is None
    assert find("5 million people", "It has 3.5 million people.") is None
    assert find("costs 1,000", "It costs 1,000,000.") is None
    assert find("costs 1,000", "It costs 1,000.") == (3, 14)
    assert find("東京は", "今日の東京は雨。") == (3, 6)  # no spaces there


@pytest.mark.parametrize("quote", ["the", "of", "was the", "that they", "— of —"])
def test_locate_empty_quote_returns_none(quote: str) -> None:
    assert find(quote, f"It is said {quote} by all.") is None


@pytest.mark.parametrize("quote", ["1974", "Graz", "no king", "G-7"])
def test_locate_short_meaningful_quote_is_found(quote: str) -> None:
    assert at(quote, f"It is said {quote} by all.") == quote


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("He was acquitted of all the nine charges", "He was convicted of all the nine charges."),
        ("The bridge was safe for heavy carts", "The bridge was unsafe for heavy carts."),
        ("The profits increased in that year", "The profits decreased in that year."),
        ("The army marched to the north of it", "The army marched to the south of it."),
        ("It was an import of great value", "It was an export of great value."),
        ("His mother was king of the land", "His father was king of the land."),
        ("They never came to the old castle", "They lever came to the old castle."),
        ("They cannon leave the old castle", "They cannot leave the old castle."),
        ("There sailors were in the boat", "Three sailors were in the boat."),  # "there" says nothing: too near to all
        ("They were prescribed in the year", "They were proscribed in the year, then prescribed."),
        ("The temperature was 3 5 degrees", "The temperature was 3.5 degrees."),
        ("He received a letter from her", "He received a better from her."),
    ],
)
def test_locate_with_other_word_returns_none(quote: str, text: str) -> None:
    assert find(quote, text) is None and find(text, quote) is None


@pytest.mark.parametrize("typed", ["recieved", "receved", "receeived", "recezved"])
def test_locate_with_one_typing_error_is_found(typed: str) -> None:
    text = "In that year he received a letter."
    assert at(f"that year he {typed} a letter", text) == text[3:-1]


@given(st.data(), st.sampled_from(sorted(set(re.findall(r"[a-z]{5,}", TEXT.lower())))))
def test_locate_close_match_allows_one_missing_word(data: st.DataObject, other: str) -> None:
    spans = [(w.start(), w.end()) for w in re.finditer(r"[^\W_]+", TEXT)]
    start, end = data.draw(st.sampled_from(spans))
    quote = TEXT[:start] + other + TEXT[end:]
    assert (find(quote, TEXT) is None) == (TEXT[start:end].lower() != other)


def test_locate_quote_longer_than_passage_returns_none() -> None:
    assert find("Graz is in Austria and has a hundred bridges.", "Graz is in Austria") is None


def test_locate_in_other_passage_returns_that_passage() -> None:
    texts = {1: "Lyon lies on the Rhone.", 2: "graz lies on the mur.", 5: "They say that Graz lies on the Mur."}
    assert locate("Graz lies on the Mur", 2, texts) == Place(2, 0, 20)  # the one named, though another is more exact
    assert locate("Graz lies on the Mur", 1, texts) == Place(5, 14, 34)
    for number in (-1, 0, 3, 99, 10**30):
        assert locate("Lyon lies", number, texts) == Place(1, 0, 9)
    assert locate("Vienna lies on the Danube", 1, texts) is None
    assert locate("Vienna", 1, {}) is None


@given(texts, st.integers(-2, 5), st.dictionaries(st.integers(1, 4), texts, max_size=4))
def test_locate_returns_place_in_known_passage(quote: str, passage: int, given: dict[int, str]) -> None:
    place = locate(quote, passage, given)
    if place is not None:
        assert 0 <= place.start < place.end <= len(given[place.passage])
    elif passage in given:
        assert find(quote, given[passage]) is None


@pytest.mark.parametrize(
    ("answer", "numbers", "mended"),
    [
        ("A [1]. B [2].", [1, 2], "A [1]. B [2]."),
        ("A [1]. B [2][3].", [None, 1, 2], "A [unsupported]. B [1][2]."),
        ("A [1] and a [2], b [3].", [None, None, 1], "A [unsupported] and a, b [1]."),
        ("A. [1] B [2][1].", [None, 1], "A. [unsupported] B [1]."),
        ("A [1, 2; 3].", [2, None, 2], "A [2]."),
        ("A [0] b [4] c [ 1 ].", [1], "A [unsupported] b c [1]."),
        ("It was [sic] in [1945] [12].", [], "It was [sic] in [1945] [unsupported]."),
        ("[1] first", [None], "[unsupported] first"),
        ("", [], ""),
    ],
)
def test_markers_follow_kept_citations(answer: str, numbers: list[int | None], mended: str) -> None:
    text, unsupported = supported(answer, numbers)
    assert text == mended and len(unsupported) == mended.count("[unsupported]")


def test_unsupported_sentences_are_listed_without_markers() -> None:
    text = "Graz lies on the Mur [1]. Dr. Ott [4] was its mayor [2], says the town [1, 3]! It burned. [2] It stands [5]"
    marked, unsupported = supported(text, [1, None, 2])
    assert marked == (
        "Graz lies on the Mur [1]. Dr. Ott [unsupported] was its mayor, says the town [1, 2]! It burned. [unsupported] "
        "It stands [unsupported]"
    )
    assert unsupported == ("Dr. Ott", "It burned.", "It stands")
    assert without_markers(marked) == (
        "Graz lies on the Mur. Dr. Ott was its mayor, says the town! It burned. It stands"
    )


@given(st.text(st.sampled_from("ab [],;0123."), max_size=30), st.lists(st.none() | st.integers(1, 9), max_size=4))
def test_markers_never_name_dropped_citations(answer: str, numbers: list[int | None]) -> None:
    selected = {str(n) for n in numbers if n is not None}
    result = re.findall(r"\[(\d{1,3}(?:, \d{1,3})*)\]", supported(answer, numbers)[0])
    assert all(set(marker.split(", ")) <= selected for marker in result)


@pytest.mark.parametrize(
    ("answer", "bare"),
    [
        ("Mallory founded it. It stands on the Mur [1].", ["Mallory founded it."]),
        ("It stands on the Mur [1]. It burned in 1990. [1] It is red.", ["It is red."]),
        ("他创办了工厂。它位于河边[1]。", ["他创办了工厂。"]),
        ("# The mill\n\nWhat is known:\n- It stands on the Mur [1].\n- It burned.", ["- It burned."]),
        ("It stands on the Mur.", []),
    ],
)
def test_supported_sentence_without_marker_is_unsupported(answer: str, bare: list[str]) -> None:
    marked, unsupported = supported(answer, [1])
    assert marked == answer and list(unsupported) == bare


def test_supported_answer_without_citation_is_unsupported() -> None:
    assert supported("It burned. Did it?", [])[1] == ("It burned.",)
