"""Sentences of passages, and quotations of several in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.models.protocols import PassageText
from graphwright.text.sentences import is_statement, sentence_spans

Kind = Literal["sentence", "heading", "row", "header"]

_HEADER = r"(?:From|To|Cc|Bcc|Reply-To|Date|Sent|Subject): "  # of a mail
_IS_HEADER = re.compile(_HEADER)
_LINE_END = re.compile(rf"\n\s*(?=\||{_HEADER})|(?<=\|)[^\S\n]*\n\s*")  # around a line that is a row or a header
_MAX_BARS = 2  # of a sentence; a row has more
_LEVELS = " › "  # between the headings in the title of a passage
_NO_HEADING = re.compile(r"[\d:<>@\n]|^[-*+•·‣▪–—] ")


class Sentence(NamedTuple):
    """A sentence, or several in a row, of passage number `passage`, by characters of its text.

    `part`: the number of the row, cell, slide or definition of the passage in which it lies. `kind`: a sentence, a
    heading, a row of a table, or a line of the header of a mail.
    """

    passage: int
    start: int
    end: int
    part: int = 0
    kind: Kind = "sentence"


def sentences_of(passage: PassageText, number: int = 0) -> list[Sentence]:
    """Return the sentences of passage `number`, split at its cuts and at lines of tables and mails.

    >>> sentences_of(PassageText("", "river: Mur\\nkm: 464", (11,)))[1]
    Sentence(passage=0, start=11, end=18, part=1, kind='sentence')
    >>> text = "Rivers\\n\\nThe Mur is one. | a | b |\\n\\n| Mur | 464 |"
    >>> [sentence.kind for sentence in sentences_of(PassageText("Rivers", text))]
    ['heading', 'sentence', 'row', 'row']
    """
    titles = {part.casefold() for part in passage.title.split(_LEVELS)}
    sentences: list[Sentence] = []
    for part, (first, last) in enumerate(pairwise((0, *passage.cuts, len(passage.text)))):
        text = passage.text[first:last]
        spans = [piece for span in sentence_spans(text) for piece in _lines(text, *span)]
        kinds = _kinds(text, spans, titles)
        sentences += [
            Sentence(number, first + start, first + end, part, kind)
            for (start, end), kind in zip(spans, kinds, strict=True)
        ]
    return sentences


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a sentence between its lines that are rows or headers."""
    for match in _LINE_END.finditer(text, start, end):
        if start < match.start():
            yield start, match.start()
        start = match.end()
    if start < end:
        yield start, end


def _kinds(text: str, spans: Sequence[tuple[int, int]], titles: set[str]) -> list[Kind]:
    """Return the kind of each span of a text.

    A heading is one of the `titles`, or a short line of words without a full stop that stands alone before a text and
    does not follow a colon.
    """
    kinds: list[Kind] = []
    following = False  # whether a sentence or a row follows
    for at in range(len(spans) - 1, -1, -1):
        start, end = spans[at]
        part = text[start:end]
        is_header = _IS_HEADER.match(part) is not None
        is_line = is_header or part.startswith("|") or part.count("|") > _MAX_BARS
        gap = text[end : spans[at + 1][0]] if at + 1 < len(spans) else ""
        before = text[spans[at - 1][1] - 1 : start] if at else "\n\n"
        alone = gap.count("\n") > 1 and before.count("\n") > 1 and not before.startswith(":")
        bare = not is_line and not is_statement(part) and not _NO_HEADING.search(part)
        if is_line:
            kinds.append("header" if is_header else "row")
        elif (part.casefold() in titles and len(spans) > 1) or (alone and bare and following):
            kinds.append("heading")
        else:
            kinds.append("sentence")
        following = not bare
    return kinds[::-1]


def around(passage: PassageText, start: int, end: int, words: int) -> tuple[int, int]:
    """Return the characters of the sentences around a span, with neighbouring sentences up to a number of words."""
    sentences = sentences_of(passage)
    within = [at for at, s in enumerate(sentences) if s.start < end and s.end > start]
    if not within:
        return start, end
    lengths = [len(passage.text[s.start : s.end].split()) for s in sentences]
    near = -np.abs(np.arange(len(sentences)) - within[0]).astype(float)
    first, last = widened(within[0], sentences, near, lengths, set(), words)
    return min(sentences[first].start, start), max(sentences[max(last, within[-1])].end, end)


def widened(
    best: int, sentences: Sequence[Sentence], scores: Scores, lengths: Sequence[int], used: set[int], words: int
) -> tuple[int, int]:
    """Return the first and last of the sentences around sentence `best`, in its part, with at most `words` words.

    Only sentences are joined: to a sentence on both sides, to a heading after it, to a line of a table or a mail never.
    """
    first = last = best
    length, part, kind = lengths[best], (sentences[best].passage, sentences[best].part), sentences[best].kind
    while kind in ("sentence", "heading"):
        sides = [
            side
            for side in ((last + 1,) if kind == "heading" else (last + 1, first - 1))
            if 0 <= side < len(sentences)
            and (sentences[side].passage, sentences[side].part) == part
            and sentences[side].kind == "sentence"
            and side not in used
            and length + lengths[side] <= words
        ]
        if not sides:
            break
        side = max(sides, key=lambda number: scores[number])
        first, last, length = min(first, side), max(last, side), length + lengths[side]
    return first, last
