"""Words: splitting of texts into words, stop words, and words that are not names."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["COMPOUND", "FIRST_WORDS", "NOT_NAMES", "STOP_WORDS", "UNSPACED", "WORD", "words"]

STOP_WORDS = frozenset(
    (
        "a about above after again against all also am an and any are as at be because been before being below"
        " between both but by can could did do does doing down during each few for from further had has have having"
        " he her hers him himself his how i if in into is it its itself just me more most my no nor not now of off on"
        " once only or other our out over own s same she should so some such t than that the their them then there"
        " these they this those through to too under until up us very was we were what when where which while who"
        " whom whose why will with would you your"
    ).split()
)
"""Words without information about a passage (stop words); `graphwright.text.words` drops them."""

NOT_NAMES = STOP_WORDS - frozenset("doing down himself itself me s same t".split()) | frozenset(
    (
        "according along although among another around back based besides beyond born despite directed dr early"
        " either elsewhere even eventually every finally first following former formerly founded hence here however"
        " including initially inside instead known last late later latter like located many may meanwhile moreover mr"
        " mrs ms much named near nearly neither nevertheless none often one onto originally others outside part"
        " people per perhaps previously produced rather recently released second several similarly since sir"
        " sometimes soon still subsequently therefore third though three throughout thus today together toward"
        " towards two unlike upon used usually well whereas whether within without written yet"
    ).split()
)
"""Words that are not names, although a sentence may begin with them and so write them with a capital."""

FIRST_WORDS = tuple(
    (
        "A An And Although After As At Before Both But By During Each For From He Her Here His How However I If In"
        " It Its Later Many Most My No On One Other Our She Since So Some Such That The Their Then There These They"
        " This Those Though Thus To Until We What When Where Which While Who Why With You Your"
    ).split()
)
"""Common first words of sentences: before one of them, even the full stop of an abbreviation ends a sentence."""


WORD = re.compile(r"\w+")
"""A run of letters, digits and underscores."""

COMPOUND = re.compile(r"\w+(?:[.'’&-]\w+)*")
"""A word as a reader sees it, with the signs inside it: "O'Neill", "AT&T", "co-operate", "3.5"."""

UNSPACED = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]+")
"""A run of a script without spaces between words: kana, Chinese characters, Thai, Lao, Burmese, Khmer."""

_INDEXED = re.compile(r"[^\W_]+(?:[.,](?=\d)\d+)*")  # a number keeps its separators: "1,000", "3.5"
_ACCENTS = re.compile("[\u0300-\u036f]+")


def words(text: str) -> list[str]:
    """Return the words of a text for matching: lower case, without accents, stop words and plural endings.

    Scripts without spaces give pairs of neighbouring characters.

    >>> words("Where were Łódź's 1,000 cafés and cities?"), words("東京都")
    (['łodz', '1,000', 'cafe', 'city'], ['東京', '京都'])
    """
    folded = text.lower()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", folded)))
    singular = [_singular(word) for word in _INDEXED.findall(folded) if word not in STOP_WORDS]
    return singular if folded.isascii() else [part for word in singular for part in _parts(word)]


def _singular(word: str) -> str:
    """Cut an English plural ending. Texts and queries are cut alike, so a wrong cut still matches itself."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _parts(word: str) -> list[str]:
    if not UNSPACED.search(word):
        return [word]
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]
