"""Words as they are indexed, in several scripts; repeated phrases and frequent terms."""

import pytest

from graphwright.text.words import (
    FIRST_WORDS,
    NOT_NAMES,
    STOP_WORDS,
    frequent_terms,
    identifiers,
    repeated_phrases,
    terms,
    word_spans,
    words,
)


def test_words_of_many_scripts_are_split() -> None:
    assert words("Łódź, ÉCOLE d'Été") == words("łódź, école D'ÉTÉ")
    assert words("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert words("где Москва") == ["где", "москва"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GNU的tar命令", ["gnu", "的", "tar", "命令"]),  # Latin words stay whole beside Chinese ones
        ("ＧＮＵ ﾌｧｲﾙ", ["gnu", "ファ", "ァイ", "イル"]),  # full and half width
        ("파일을", ["파일", "일을"]),  # a particle is written with its noun
        ("हिन्दी में", ["हिन्दी", "में"]),  # vowel signs are part of the word
        ("ที่นี่", ["ที่นี่"]),  # a pair of characters, each with its signs
        ("والمُستَخدِم ٢٠٢٤", ["مستخدم", "2024"]),  # points, article and digits
        ("إعداد اعداد", ["اعداد", "اعداد"]),
        ("λόγος ΛΌΓΟΣ", ["λογοσ", "λογοσ"]),
        ("שָׁלוֹם", ["שלום"]),
        ("Ёлка й", ["елка", "и"]),
    ],
)
def test_words_are_folded_and_split_by_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_text_and_question_share_words() -> None:
    text = "シンボリックリンクの所有者を変更する"
    assert set(words("所有者を変更")) <= set(words(text))


def test_unspaced_name_may_begin_anywhere() -> None:
    text = "What is हिन्दी and 東京タワー, AT&T?"
    expected = ["What", "is", "हिन्दी", "and", *"東京タワー", "AT&T"]
    assert [text[start:end] for start, end in word_spans(text)] == expected


def test_stop_words_are_lower_case_and_not_names() -> None:
    assert all(word == word.lower() for word in STOP_WORDS | NOT_NAMES)
    assert {word.lower() for word in FIRST_WORDS} <= NOT_NAMES


def test_repeated_phrases_have_first_place() -> None:
    text = "The wind farm stands in Iowa. Each wind farm has turbines; a farm is large."
    assert repeated_phrases(text) == [("wind farm", 4)]
    assert repeated_phrases("Wind farm. Wind farm.") == []  # capitals mark names


def test_frequent_terms_keep_longest_run() -> None:
    assert frequent_terms("機械学習と機械学習") == [(0, "機械学習"), (5, "機械学習")]


def test_terms_exclude_hiragana_and_begin_korean_words() -> None:
    assert frequent_terms("設定する。設定です。する") == [(0, "設定"), (5, "設定")]
    assert frequent_terms("파일을 열고 파일이 닫힙니다. 열립니다.") == [(0, "파일"), (7, "파일")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("中华人民共和国成立于1949年。中华人民共和国的首都是北京。", {"中华人民共和国"}),
        ("北京大学很大，他们从北京来到北京大学。", {"北京大学", "北京"}),
        ("山田太郎は京都大学を卒業し、横浜市立病院の医師になった。", {"山田太郎", "京都大学", "横浜市立病院"}),
        ("東京大学と京都大学の学長", {"東京大学", "京都大学"}),  # not the part that they share
        ("현대자동차는 울산에 있다. 현대자동차의 공장", {"현대자동차"}),
        ("มหาวิทยาลัยเชียงใหม่ใหญ่ เขาสอนที่มหาวิทยาลัยเชียงใหม่", {"มหาวิทยาลัยเชียงใหม่"}),
        ("ราชธานีเก่า ครองราชย์ ย้ายราชธานี", {"ราชธานี"}),  # no letter without its mark
    ],
)
def test_frequent_terms_name_in_script_without_spaces_is_whole(text: str, expected: set[str]) -> None:
    assert {term for _, term in frequent_terms(text)} == expected


def test_terms_have_their_places() -> None:
    assert frequent_terms("whale ship whale") == [(0, "whale"), (6, "ship"), (11, "whale")]


@pytest.mark.parametrize(
    "name",
    [
        "ERR_CONN_RESET",
        "--no-verify",
        "-Xmx",
        "C++",
        "v2.3.1",
        "CVE-2031-4477",
        "A-104/B",
        "/etc/hosts",
        "~/.config",
        "getUserById",
        "0x1f",
        "x.y.Error",
        "№-7",
        "Łódź-1",
        "DIN-EN-60",
        "a@b.org",
        "E-17",
        ".gitignore",
        "#12",
    ],
)
@pytest.mark.parametrize("text", ["{}", "Use {}, please.", "See `{0}`; or (“{0}”)?", "{}: failed"])
def test_terms_of_text_have_identifier_as_alone(name: str, text: str) -> None:
    assert set(identifiers(name)) and set(identifiers(name)) <= set(identifiers(text.format(name)))
    assert set(terms(name)) <= set(terms(text.format(name)))


@pytest.mark.parametrize(
    "text",
    [
        "Where is Graz?",
        "NATO",
        "well-known and/or Jean-Luc, e.g. U.S.",
        "TCP/IP",
        "1,000.5",
        "O'Neill",
        "東京都",
        "",
        "end. Next",
    ],
)
def test_terms_of_plain_words_are_words(text: str) -> None:
    assert terms(text) == words(text) and not identifiers(text)


def test_terms_of_near_identifiers_differ() -> None:
    near = ("v2.3.1", "v2.3.10", "A-104/B", "A-104/C", "ERR_RESET", "ERR_POOL_RESET", "--verify", "--no-verify", "C+")
    assert len({terms(name)[-1] for name in near} | {identifiers(name)[0] for name in near}) >= len(near)
    assert len({identifiers(name)[0] for name in near}) == len(near)
