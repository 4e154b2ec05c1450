"""WordPiece tokens of uncased BERT models, as the library `tokenizers` gives them.

That library brings 40 MB, among them clients of a model hub, and takes 30 ms of each start; words are looked up in a
table of those seen before, so that Python is as fast.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

_UNKNOWN = "[UNK]"
_SPECIAL = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")  # a token also where a text has it
_MAX_CHARACTERS = 100  # of a word; a longer one is unknown
_MAX_WORDS = 1 << 15  # that are remembered
_PLAIN = re.compile(r"[\t\n\r -~]*")
_PLAIN_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_WORD = re.compile("[^ ]+")
_CHINESE = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f]"
)
_SYMBOLS = frozenset("$+<=>^`|~")  # of ASCII, which count as punctuation


class Tokens(NamedTuple):
    """Tokens of a text: their ids, and from where to where each stands, if asked for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class _Characters(dict[int, str]):
    """What each character becomes: small letters without accents; spaces around what is a word by itself."""

    def __missing__(self, code: int) -> str:
        self[code] = text = self._normal(chr(code))
        return text

    @staticmethod
    def _normal(character: str) -> str:
        kind = unicodedata.category(character)
        if character in "\t\n\r":
            return " "
        if kind == "Cs":  # a lone surrogate, which has no UTF-8
            return " ? "
        if kind in ("Cc", "Cf", "Co") or character == "\ufffd":
            return ""
        if character.isspace():
            return " "
        text = ""
        for part in unicodedata.normalize("NFD", character):
            kind = unicodedata.category(part)
            if kind != "Mn":
                text += f" {part} " if kind[0] == "P" or part in _SYMBOLS else part.lower()
        return f" {text} " if _CHINESE.match(character) else text


class WordPiece:
    """Tokeniser of a vocabulary: the longest beginning of a word, then the longest of what is left (Wu et al. 2016).

    >>> WordPiece({"[UNK]": 0, "gr": 1, "##az": 2, "!": 3}).encode("Gráz! Ö", spans=True)
    Tokens(ids=[1, 2, 3, 0], offsets=[(0, 2), (2, 4), (4, 5), (6, 7)])
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self.vocabulary = vocabulary
        self._characters = _Characters()
        self._word = lru_cache(_MAX_WORDS)(self._divided)

    def encode(self, text: str, spans: bool = False) -> Tokens:
        """Return the tokens of a text, without those that stand around it."""
        tokens, begin = Tokens([], []), 0
        for special in _SPECIAL.finditer(text):
            self._add(text[begin : special.start()], begin, tokens, spans)
            tokens.ids.append(self.vocabulary[special[0]])
            tokens.offsets.append(special.span())
            begin = special.end()
        self._add(text[begin:], begin, tokens, spans)
        return tokens

    def _add(self, text: str, begin: int, tokens: Tokens, spans: bool) -> None:
        """Add the tokens of a text without special ones, which begins there in the whole text."""
        is_plain = text.isascii() and _PLAIN.fullmatch(text) is not None
        if not spans:
            words = _PLAIN_WORD.findall(text.lower()) if is_plain else text.translate(self._characters).split()
            for word in words:
                tokens.ids.extend(self._word(word)[0])
            return
        parts = [] if is_plain else [self._characters[ord(character)] for character in text]
        origin = [at for at, part in enumerate(parts) for _ in part]
        found = _PLAIN_WORD.finditer(text.lower()) if is_plain else _WORD.finditer("".join(parts))
        for match in found:
            ids, places = self._word(match[0])
            tokens.ids.extend(ids)
            at = match.start()
            if is_plain:
                at += begin
                tokens.offsets.extend([(at + first, at + end) for first, end in places])
            else:
                tokens.offsets.extend(
                    [(begin + origin[at + first], begin + origin[at + end - 1] + 1) for first, end in places]
                )

    def _divided(self, word: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a word's pieces, and their places in it; of a word with an unknown piece one token."""
        ids, places, begin = list[int](), list[tuple[int, int]](), 0
        while begin < len(word) <= _MAX_CHARACTERS:
            prefix = "##" if begin else ""
            end = next((end for end in range(len(word), begin, -1) if prefix + word[begin:end] in self.vocabulary), 0)
            if not end:
                break
            ids.append(self.vocabulary[prefix + word[begin:end]])
            places.append((begin, end))
            begin = end
        return (ids, places) if begin == len(word) else ([self.vocabulary[_UNKNOWN]], [(0, len(word))])
