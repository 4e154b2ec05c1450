"""Sentence splitting: spans, abbreviations, scripts, and text without punctuation."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphwright.text.sentences import LONGEST, sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


WORDS = ["Dr.", "U.S.", "a", "The", "end", "3.14", "No.", "-", "1.", "😀", "é", "Ω", "ไทย", "3. Oktober", "x" * 700]
SPACES = [" ", "  ", "\n", "\n\n", "\u3000", "\xa0", "\u200a", "\x1c"]
STOPS = [".", "...", "?!", "…", '"', "”", ")", "(", "[3]", "。", "」", "「日本", "।", "؟", ";", "．", "」と", "z. B."]
PIECES = st.sampled_from([*WORDS, *SPACES, *STOPS])
texts = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))


@given(texts)
@example("a." + " " * 5000 + "b")
@example("word " * 1000)
@example("\ufeff.")
def test_sentence_spans_cover_all_characters_once(text: str) -> None:
    spans = sentence_spans(text)
    covered = [position for start, end in spans for position in range(start, end)]
    assert covered == sorted(set(covered))
    assert {i for i, char in enumerate(text) if not char.isspace()} <= set(covered)
    for start, end in spans:
        assert start < end <= start + LONGEST
        assert not text[start].isspace() and not text[end - 1].isspace()


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith met Mrs. Jones at St. Mary's.", "They spoke."],
        ["J. R. R. Tolkien wrote it.", "George W. Bush did not."],
        ["He joined the U.S. Army in Washington, D.C. and left.", "It was in the U.S.", "The end."],
        ["It costs $3.50, i.e. much.", "See No. 5 and Fig. 2, e.g. Table 3.", "No.", "Really?", "Yes!"],
        ["Acme Inc. was sold to Widget Co. Ltd. in Jan. 1990.", "It closed at 5 p.m. on Monday."],
        ["He was born c. 1480 (d. 1545) in Rome.", "Then vs. now."],
        ['"Stop!" he cried.', '"Why?"', "She said “No.”", "(It was late.)", "Wait... what?", "Well…"],
        ["It was built in 1990.[3]", "Then it burned.[4][5]", "Nobody knows."],
        ["Vitamin C.", "The other is vitamin D.", "I think so."],
        ["1. First we go.", "2. Then we stay."],
        ['Her album "Brava! ".', "The song."],
    ],
)
def test_english_abbreviations_end_no_sentence(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["Das gilt z. B. in Wien, d. h. im Osten.", "Am 3. Oktober 1990 kam u. a. Anna.", "Im 19. Jahrhundert nicht."],
        ["Siehe Abb. 3 und ggf. Kapitel 4.", "Die Optionen inkl. Beispielen usw. stehen unten."],
        ["Mme Curie et M. Dupont, p. ex. Paris.", "Voir p. 5."],
        ["La Sra. López, p. ej. Ana, llegó.", "¿Cuándo?", "Véase pág. 5 y núm. 3."],
        ["Il dott. Rossi e la sig. Bianchi, ecc. ecc.", "Fine."],
        ["To jest np. Kraków, tj. miasto.", "Kościół św. Anny."],
        ["См. рис. 5, т. е. Москву.", "Проф. Иванов пишет."],
    ],
)
def test_foreign_abbreviations_end_no_sentence(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京は首都です。「本当？」はい！", ["東京は首都です。", "「本当？」", "はい！"]),
        ("「はい。」と答えた。終わり。", ["「はい。」と答えた。", "終わり。"]),
        ("版は２．５です．次です．", ["版は２．５です．", "次です．"]),
        ("Τι είναι; Αρχείο. Γιατί;", ["Τι είναι;", "Αρχείο.", "Γιατί;"]),
        ("the swan song (κύκνειον ᾆσμα; Latin: carmen cygni)", ["the swan song (κύκνειον ᾆσμα; Latin: carmen cygni)"]),
        ("یہ کتاب ہے۔ کیوں؟", ["یہ کتاب ہے۔", "کیوں؟"]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("ما هذا؟ هذا كتاب.", ["ما هذا؟", "هذا كتاب."]),
        ("Bishop of Elmham.The date is unknown.", ["Bishop of Elmham.", "The date is unknown."]),
        ("the wing . an experimental study . it was", ["the wing .", "an experimental study .", "it was"]),
        ("all lower case here. so it goes. dr. who", ["all lower case here.", "so it goes.", "dr. who"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_other_scripts_and_lower_case_are_split(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_wrapped_lines_are_joined_and_separate_lines_are_not() -> None:
    text = (
        "CHAPTER I\nMarley's Ghost\n\n"
        "Marley was dead, to begin with. There is no doubt whatever about\n"
        "that. The register of his burial was signed by the clergyman, the\n"
        "clerk, the undertaker and, as chief mourner, by Scrooge\n\n"
        "and then there was nothing more\n\n"
        "- first point\n- second point\n"
    )
    assert sentences(text) == [
        "CHAPTER I",
        "Marley's Ghost",
        "Marley was dead, to begin with.",
        "There is no doubt whatever about\nthat.",
        "The register of his burial was signed by the clergyman, the\n"
        "clerk, the undertaker and, as chief mourner, by Scrooge",
        "and then there was nothing more",
        "- first point",
        "- second point",
    ]


def test_short_line_with_full_stop_ends_sentence() -> None:
    terms = ["author: the person who wrote the program at the very first.", "mentor: one who helps.", "sponsor: one."]
    long = f"uploader: {'one who may send packages to the archive, ' * 3}and no other person."
    for lines in (terms, [long, *terms], [*terms, long]):
        assert sentences("\n".join(lines)) == lines
    wrapped = "They were bound for the isle of dr.\nmoreau, and it took ca.\nfive weeks at sea."
    assert sentences(wrapped) == [wrapped]
    full = "It runs on the systems of Acme (formerly known as Widg.\nworks), and on all others of that kind."
    assert sentences(full) == [full]


def test_text_without_stops_is_cut_at_lines_then_words() -> None:
    lines = "\n".join("and so on it goes, a line of fifty or sixty letters" for _ in range(60))
    assert all(piece.startswith("and so") for piece in sentences(lines))
    assert all(len(piece) % 5 == 4 for piece in sentences("word " * 1000))
    assert list(map(len, sentences("x" * 2500))) == [1000, 1000, 500]


@pytest.mark.parametrize("unit", [".", '."', "a.", "\n", " ", "a\n", '"', "x", ". ", "[1]", ".[1"], ids=repr)
def test_sentence_time_is_linear(unit: str) -> None:
    begun = time.perf_counter()
    sentence_spans("a" + unit * 200_000 + "b")
    assert time.perf_counter() - begun < 10  # what is quadratic takes minutes
