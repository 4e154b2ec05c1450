"""Scripts: where words begin and end in each, and letters that one word may be written with or without."""

from __future__ import annotations

import re
from itertools import pairwise

MARKS = (  # vowel signs and points, for a class of a pattern: parts of words that `\w` lacks
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic points
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"  # Devanagari
    "\u0981-\u0983\u09bc-\u09cd\u09d7\u09e2\u09e3\u0a01-\u0a03\u0a3c-\u0a51\u0a70-\u0a75"  # Bengali, Gurmukhi
    "\u0a81-\u0a83\u0abc-\u0acd\u0ae2\u0ae3\u0b01-\u0b03\u0b3c-\u0b57\u0b62\u0b63"  # Gujarati, Odia
    "\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c62\u0c63\u0c81-\u0c83\u0cbc-\u0cd6\u0ce2\u0ce3"  # Tamil to
    "\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d62\u0d63\u0d81-\u0d83\u0dca-\u0ddf"  # Kannada; Malayalam, Sinhala
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84"  # Thai, Lao, Tibetan
    "\u102b-\u103e\u1056-\u1059\u105e-\u1064\u17b4-\u17d3\u200c\u200d"  # Burmese, Khmer; joiners
)

_UNSPACED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"  # Hangul: words have spaces, but particles are written with them
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
UNSPACED = re.compile(f"[{_UNSPACED}]+")  # a run of a script in which spaces do not separate words

# The pattern of a letter of a script beyond Latin, Greek, Cyrillic and Armenian.
OTHER_SCRIPTS = "[\u0590-\u1cff\u2c00-\u2dff\u3005-\u3007\u3041-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
_RUN = f"[{_UNSPACED}]+|[^{_UNSPACED}]+"  # compiled at first use, which takes 3 ms
_CHARACTER = re.compile(f"[^{MARKS}][{MARKS}]*")
_ARTICLE = re.compile("(?:[وبكف]?ال|لل)(?=\\w{3})")
_POINTS = re.compile("[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u200c\u200d]+")
_FOLDED = str.maketrans("ςٱىیېکةھ", "σايييكهه") | {
    start + digit: str(digit) for start in (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50) for digit in range(10)
}
_NEEDS_FOLDING = re.compile("[\u03c2\u0590-\u0e5f\u200c\u200d]")


def runs(word: str) -> list[str]:
    """Return the runs of unspaced scripts in a word and the text between them.

    >>> runs("GNU的tar命令")
    ['GNU', '的', 'tar', '命令']
    """
    return re.findall(_RUN, word)


def characters(run: str) -> list[str]:
    """Return the visible characters of a run: each letter with its vowel signs and tone marks.

    >>> characters("日本"), len("ที่นี่"), characters("ที่นี่")
    (['日', '本'], 6, ['ที่', 'นี่'])
    """
    return _CHARACTER.findall(run)


def pairs(run: str) -> list[str]:
    """Return the pairs of neighbouring characters of a run of an unspaced script, or the run if it has but one.

    >>> pairs("東京都"), pairs("都")
    (['東京', '京都'], ['都'])
    """
    return [first + second for first, second in pairwise(characters(run))] or [run]


def without_article(word: str) -> str:
    """Return an Arabic word, folded, without the article and the particle that are written with it.

    >>> without_article("والملفات"), without_article("الله")
    ('ملفات', 'الله')
    """
    article = _ARTICLE.match(word) if word > "\u0600" else None
    return word if article is None else word[article.end() :]


def fold_letters(text: str) -> str:
    """Fold letters that one word may be written with: Arabic and Hebrew points, final sigma, digits of other scripts.

    Of Arabic, letters that differ by country or position are one. The text must be decomposed (NFKD).

    >>> fold_letters("مُحَمَّد"), fold_letters("٢٠٢٤"), fold_letters("λόγος")
    ('محمد', '2024', 'λόγοσ')
    """
    return _POINTS.sub("", text).translate(_FOLDED) if _NEEDS_FOLDING.search(text) else text
