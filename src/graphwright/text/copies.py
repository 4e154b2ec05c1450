"""Copies of texts: the same sentences under another header, footer or date."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable

from graphwright.text.sentences import sentence_spans
from graphwright.text.words import WORD, words

KEYS = 2
"""Number of keys of a text."""
_MIN_WORDS = 6  # of the sentences that two copies share
_MIN_SHARE = 0.6  # of the words of each copy that are in shared sentences
Sentence = tuple[str, ...]


def normal_sentences(text: str) -> list[Sentence]:
    """Return the sentences and short lines of a text as words, without case and punctuation.

    >>> normal_sentences("Page 3\\n\\nIt lifts 40\\ntonnes. Ask Ida!")
    [('page', '3'), ('it', 'lifts', '40', 'tonnes'), ('ask', 'ida')]
    """
    sentences = (tuple(WORD.findall(text[start:end].casefold())) for start, end in sentence_spans(text))
    return [sentence for sentence in sentences if sentence]


def copy_keys(text: str) -> list[int]:
    """Return the hashes of the longest two sentences of a text: int32, 0 for none. Copies share one of them."""
    longest = sorted(set(normal_sentences(text)), key=lambda sentence: (-len(sentence), sentence))[:KEYS]
    keys = [(zlib.crc32(" ".join(sentence).encode()) or 1) - 2**31 for sentence in longest]
    return keys + [0] * (KEYS - len(keys))


def is_copy(first: str, second: str, question: Collection[str] = ()) -> bool:
    """Return whether one of two texts can stand for both.

    They share most of their words in equal sentences; the others stand before and after these, such as headers,
    footers and dates. A sentence between them that differs states something else. `question`: words of a question; if
    one of them is only in the other sentences, these are asked for.

    >>> body = "The crane was inspected by Ida Holm. It lifts 40 tonnes."
    >>> is_copy(f"Copy 1\\n\\n{body}", f"{body}\\n\\nPrinted on 4 May"), is_copy(body, body.replace("40", "50"))
    (True, False)
    >>> is_copy(f"Copy 1\\n\\n{body}", f"{body}\\n\\nPrinted on 4 May", words("When was it printed?"))
    False
    """
    texts = normal_sentences(first), normal_sentences(second)
    shared = Counter(texts[0]) & Counter(texts[1])
    size = sum(len(sentence) * count for sentence, count in shared.items())
    if size < _MIN_WORDS or any(size < _MIN_SHARE * sum(map(len, text)) for text in texts):
        return False
    if not all(_is_run([sentence in shared for sentence in text]) for text in texts):
        return False
    others = _words_of(sentence for text in texts for sentence in text if sentence not in shared)
    return others.isdisjoint(set(question) - _words_of(shared)) if question else True


def _is_run(flags: list[bool]) -> bool:
    """Return whether the true flags are neighbours."""
    return sum(a and not b for a, b in zip(flags, [*flags[1:], False], strict=True)) == 1


def _words_of(sentences: Iterable[Sentence]) -> set[str]:
    return {word for sentence in sentences for word in words(" ".join(sentence))}
