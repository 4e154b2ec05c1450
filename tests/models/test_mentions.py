"""The mention detector: words and how they are written, names in any case, windows of long texts, the same vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.models.embedded.encoder import MiniLM, token_ids
from graphwright.models.embedded.mentions import CASE, SURFACE, TYPES, read_mentions, surface_features, words_of
from graphwright.models.protocols import Usage

TEXT = "Ludwig Boltzmann taught physics at the University of Graz until 1890, and Anna Meyer sang in Vienna."


def found(text: str, title: int = 0) -> list[tuple[str, str]]:
    (reading,) = read_mentions([text], [title])
    return [(text[name.start : name.end], name.type) for name in reading.names]


@pytest.mark.parametrize("text", [TEXT, TEXT.lower(), TEXT.upper()], ids=["as written", "lower", "upper"])
def test_mentions_are_found_in_any_case(text):
    names = {name.lower(): kind for name, kind in found(text)}
    expected = {"ludwig boltzmann": "person", "university of graz": "organisation", "anna meyer": "person"}
    assert expected.items() <= names.items() and names["vienna"] == "place" and names["1890"] == "date"


def test_mention_vectors_equal_encoder_vectors():
    texts = [TEXT, "Graz\nGraz lies on the Mur.", "", "x"]
    vectors = np.stack([reading.vector for reading in read_mentions(texts, [0, 5, 0, 0])])
    assert np.abs(vectors - MiniLM().encode(texts)).max() < 1e-3


def test_title_gives_context_without_mentions():
    text = "Ludwig Boltzmann\nHe taught physics in Graz, Austria."
    assert found(text, 17) == [("Graz", "place"), ("Austria", "place")]


@pytest.mark.parametrize("separator", [". ", " "], ids=["sentences", "one sentence"])
def test_mentions_beyond_first_window_are_found(separator):
    text = f"Notes\n{separator.join(['the weather was good and nothing else happened'] * 80)}{separator}{TEXT}"
    assert len(token_ids([text], 256)[0][0]) == 256
    assert ("Ludwig Boltzmann", "person") in found(text, 6) and ("Vienna", "place") in found(text, 6)


def test_mention_detection_counts_one_pass():
    usage = Usage()
    read_mentions([TEXT, "Graz"], [0, 0], usage)
    assert usage.texts == 2 and usage.tokens == sum(len(ids) for ids, _ in token_ids([TEXT, "Graz"], 256))


@given(st.text(max_size=400), st.text(max_size=20))
def test_mentions_of_any_text_are_ordered(text, title):
    whole = f"{title}\n{text}"
    (reading,) = read_mentions([whole], [len(title) + 1])
    ends = [len(title) + 1]
    for name in reading.names:
        assert ends[-1] <= name.start < name.end <= len(whole) and name.type in TYPES
        ends.append(name.end)


@given(st.text(max_size=60))
def test_words_cover_tokens_in_order(text):
    ((_, tokens),) = token_ids([text], 256, spans=True)
    words = words_of(text, tokens)
    assert len(words.spans) == len(words.tokens) and sorted(words.spans) == words.spans
    assert surface_features(text, words.spans, 0).shape == (len(words.spans), SURFACE)


def test_capitals_without_contrast_are_no_feature():
    spans = words_of(TEXT, token_ids([TEXT], 256, spans=True)[0][1]).spans
    assert surface_features(TEXT, spans, 0)[:, :CASE].any()
    for text in (TEXT.lower(), TEXT.upper()):
        assert not surface_features(text, spans, 0)[:, :CASE].any()
