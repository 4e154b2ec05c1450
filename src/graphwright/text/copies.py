"""Copies of texts: the same sentences under another header, footer or date."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from graphwright.text.dates import date_text
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import WORD, words

KEYS = 2  # number of keys of a text
_MIN_SIZE = 24  # bytes of the letters and digits in the sentences that two copies share
_MIN_SHARE = 0.6  # of the letters and digits of each copy that are in shared sentences
_ENDS = tuple(".!?…。！？।۔")
_MAX_LINE = 120  # characters of a header or footer


class Sentence(NamedTuple):
    """The words of a sentence, without case and punctuation, or those of a line that looks like a header or footer."""

    words: tuple[str, ...]
    is_line: bool


@lru_cache(maxsize=1_000)
def normal_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text; a line without a final full stop, or with a date, may be a header or footer.

    >>> [(" ".join(sentence.words), sentence.is_line) for sentence in normal_sentences("Page 3\\n\\nAsk Ida!")]
    [('page 3', True), ('ask ida', False)]
    """
    found, line = list[Sentence](), list[tuple[int, int]]()
    for span, following in pairwise((*sentence_spans(text), (len(text), len(text)))):
        line.append(span)
        if following[0] == len(text) or "\n" in text[span[1] : following[0]]:
            start, end = line[0][0], span[1]
            short = end - start <= _MAX_LINE
            is_line = short and (not text.endswith(_ENDS, start, end) or bool(date_text(text[start:end])))
            found += [Sentence(_words(text[a:b]), is_line) for a, b in ([(start, end)] if is_line else line)]
            line = []
    return tuple(sentence for sentence in found if sentence.words)


def _words(sentence: str) -> tuple[str, ...]:
    return tuple(WORD.findall(sentence.casefold()))


def copy_keys(text: str) -> list[int]:
    """Return the hashes of the longest two sentences of a text: int32, 0 for none. Copies share one of them."""
    distinct = {found for start, end in sentence_spans(text) if (found := _words(text[start:end]))}
    longest = sorted(distinct, key=lambda sentence: (-_size([sentence]), sentence))[:KEYS]
    keys = [(zlib.crc32(" ".join(sentence).encode("utf-8", "replace")) or 1) - 2**31 for sentence in longest]
    return keys + [0] * (KEYS - len(keys))


def is_copy(first: str, second: str, question: Collection[str] = ()) -> bool:
    """Return whether one of two texts can stand for both.

    They share most of their letters in equal sentences, and differ in headers and footers before and after these.
    `question`: words of a question; if one of them is only in the headers and footers, these are asked for.

    >>> body = "The crane was inspected by Ida Holm. It lifts 40 tonnes."
    >>> is_copy(f"Copy 1\\n\\n{body}", f"{body}\\n\\nPrinted on 4 May"), is_copy(body, body.replace("40", "50"))
    (True, False)
    """
    texts = normal_sentences(first), normal_sentences(second)
    shared = Counter(s.words for s in texts[0]) & Counter(s.words for s in texts[1])
    size = _size(shared.elements())
    if size < _MIN_SIZE or any(size < _MIN_SHARE * _size(s.words for s in text) for text in texts):
        return False
    others = [sentence for text in texts for sentence in text if sentence.words not in shared]
    if not all(_is_run([s.words in shared for s in text]) for text in texts) or not all(s.is_line for s in others):
        return False
    return not question or _words_of(s.words for s in others).isdisjoint(set(question) - _words_of(shared))


def is_part(part: str, whole: str) -> bool:
    """Return whether a text without its headers and footers stands in another, wherever that begins and ends.

    >>> is_part("Page 3\\n\\nThe crane lifts 40 tonnes. Ask Ida.", "It is new. The crane lifts 40 tonnes. Ask Ida.")
    True
    """
    own, known = normal_sentences(part), Counter(sentence.words for sentence in normal_sentences(whole))
    shared = [sentence.words in known for sentence in own]
    size = _size(sentence.words for sentence in own if sentence.words in known)
    enough = size >= max(_MIN_SIZE, _MIN_SHARE * _size(sentence.words for sentence in own))
    return enough and _is_run(shared) and all(is_shared or s.is_line for s, is_shared in zip(own, shared, strict=True))


def _size(sentences: Iterable[tuple[str, ...]]) -> int:
    return sum(len(word.encode("utf-8", "replace")) for sentence in sentences for word in sentence)


def _is_run(flags: list[bool]) -> bool:
    return sum(a and not b for a, b in zip(flags, [*flags[1:], False], strict=True)) == 1


def _words_of(sentences: Iterable[tuple[str, ...]]) -> set[str]:
    return {word for sentence in sentences for word in words(" ".join(sentence))}
