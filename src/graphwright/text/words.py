"""Words of a text: as they are written, and as they are indexed and compared."""

from __future__ import annotations

import re
import unicodedata

from graphwright.text.stopwords import STOP_WORDS

__all__ = ["COMPOUND", "UNSPACED", "WORD", "words"]

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
