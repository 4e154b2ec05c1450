"""The stored form of characters: composed, visible and plain, without loss of what numbers mean."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.text.characters import clean, file_name, raised, unhyphenated


@given(st.text(st.characters(codec=None), max_size=50))
def test_clean_any_text_can_be_stored(text: str) -> None:
    done = clean(text)
    done.encode("utf-8")
    assert clean(done) == done and "\r" not in done and "\0" not in done
    plain = text.isascii() and text.isprintable()
    assert not plain or done == text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("con\ufb01guration of the o\ufb03ce", "configuration of the office"),
        ("Wert\u00adpapier pass\u200bword a\u2060b", "Wertpapier password ab"),
        ("250\u202fMbit/s on 4\u00a0May, four\u2011teen", "250 Mbit/s on 4 May, four-teen"),
        (unicodedata.normalize("NFD", "회의록 Zoë"), "회의록 Zoë"),
        ("H₂O, CO₂, 10³, 10⁻⁶", "H2O, CO2, 10^3, 10^-6"),
        ("25 m², 1998¹, harbour²", "25 m², 1998^1, harbour^2"),
        ("می\u200cخواهم Auf\u200clage 👩\u200d💻", "می\u200cخواهم Auflage 👩\u200d💻"),
        ("ＡＢＣ１２３、ﾃﾞｰﾀ", "ABC123、データ"),
        ("\u200fالعدد\u200e 12\u202c", "العدد 12"),
        ("\ufee2\ufea4\ufee3", "محم"),
        ("㎏ Ⅳ 𝐸", "kg IV E"),
    ],
)
def test_clean_variants_of_a_text_get_one_form(text: str, stored: str) -> None:
    assert clean(text) == stored


@pytest.mark.parametrize(
    ("before", "text", "written"),
    [
        ("10", "3", "^3"),
        ("25 m", "2", "²"),
        ("1", "st", "st"),
        ("harbour", "4", "^4"),
        ("", "1", "¹"),
        ("10", "−3", "^-3"),
    ],
)
def test_raised_number_is_no_digit_of_the_text_before(before: str, text: str, written: str) -> None:
    assert raised(before, text) == written


@given(st.text(max_size=20))
def test_file_name_decomposed_name_gets_the_same_id(name: str) -> None:
    assert file_name(unicodedata.normalize("NFD", name)) == file_name(unicodedata.normalize("NFC", name))


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("the har-\n  bour office", "the harbour\noffice"),
        ("eine Wertpapier-\nbank.\nSo", "eine Wertpapierbank.\nSo"),
        ("by-\nlaws and by-laws", "by-laws\nand by-laws"),  # written with its hyphen elsewhere
        ("well-\nknown, known well", "well-known,\nknown well"),  # both parts are words
        ("run --no-\nverify, a-b-\nc, 12-\npage, Graz-\nOst", None),  # options, codes, names
        ("a list -\nof things\n-\nhere", None),
    ],
)
def test_unhyphenated_joins_divided_words_only(text: str, joined: str | None) -> None:
    assert unhyphenated(text) == (text if joined is None else joined)
