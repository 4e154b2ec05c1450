"""WordPiece against the library that it replaces."""

from __future__ import annotations

import random

import pytest
from tokenizers import Tokenizer

from graphwright.models.embedded.encoder import ENCODER, weights_file
from graphwright.models.embedded.wordpiece import WordPiece

CHARACTERS = "abcXYZ é–ü'’“”.,-_[]#+ßİΣςᾴñ中国日本語かな한국\u200d\u00ad\ufeff\t\n\x0b\x1f\x85\u2028ก็ำहिन्दी😀€½ﬁ…①"
TEXTS = ["", " ", "x" * 99 + "y", "x" * 100, "x" * 101 + " y", "[MASK] a [SEP]b[cls]", "Cafés, naïve: U+0301 e\u0301x"]


@pytest.fixture(scope="module")
def theirs() -> Tokenizer:
    return Tokenizer.from_file(str(weights_file("tokenizer.json", ENCODER)))


@pytest.fixture(scope="module")
def ours(theirs: Tokenizer) -> WordPiece:
    return WordPiece(theirs.get_vocab())


@pytest.mark.parametrize("spans", [False, True])
def test_tokens_of_any_text_are_those_of_the_library(theirs: Tokenizer, ours: WordPiece, spans: bool) -> None:
    choose = random.Random(0)
    made = ["".join(choose.choices(CHARACTERS, k=choose.randrange(60))) for _ in range(1000)]
    for text in [*TEXTS, *made]:
        expected = theirs.encode(text, add_special_tokens=False)
        tokens = ours.encode(text, spans)
        assert tokens.ids == expected.ids, text
        assert tokens.offsets == (expected.offsets if spans else tokens.offsets), text


def test_each_character_becomes_what_the_library_makes_of_it(theirs: Tokenizer, ours: WordPiece) -> None:
    # Elsewhere a few characters differ by the version of Unicode.
    codes = [*range(0x20, 0x370), *range(0x384, 0x530), *range(0x1E00, 0x2E40), *range(0x3000, 0x3100)]
    for text in (f"a{chr(code)}b" for code in codes):
        assert ours.encode(text).ids == theirs.encode(text, add_special_tokens=False).ids, ascii(text)


def test_lone_surrogate_counts_as_a_question_mark(ours: WordPiece) -> None:
    assert ours.encode("a \ud800b", spans=True).ids == ours.encode("a ?b").ids
