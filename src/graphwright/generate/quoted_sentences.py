"""Sentences of passages, and quotations of several in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.models.protocols import PassageText
from graphwright.text.sentences import is_statement, sentence_spans

Kind = Literal["sentence", "heading", "row", "header"]

_MAX_BLOCK, _MAX_GAP = 12, 8  # lines of a block; characters between a colon and the line end
_LEVELS = " › "  # between the headings in the title of a passage
_NO_HEADING = re.compile(r"[\d:<>@\n]|^[-*+•·‣▪–—] ")


class Sentence(NamedTuple):
    """A sentence, or several in a row, of passage number `passage`, by characters of its text.

    `part`: the number of the row, cell, slide or definition of the passage in which it lies. `kind`: a sentence, a
    heading, a row of a table, or a line of the header of a mail. `block`: how many of the following sentences belong
    to it: the lines of the command or list that it announces with a colon.
    """

    passage: int
    start: int
    end: int
    part: int = 0
    kind: Kind = "sentence"
    block: int = 0


def sentences_of(passage: PassageText, number: int = 0) -> list[Sentence]:
    """Return the sentences of passage `number`, split at its cuts; a row or a header is one.

    >>> sentences_of(PassageText("", "river: Mur\\nkm: 464", (11,)))[1]
    Sentence(passage=0, start=11, end=18, part=1, kind='sentence', block=0)
    >>> passage = PassageText("Rivers", "Rivers\\n\\nThe Mur is one.\\nriver: Mur; km: 464.", rows=((24, 44),))
    >>> [sentence.kind for sentence in sentences_of(passage)]
    ['heading', 'sentence', 'row']
    """
    titles = {part.casefold() for part in passage.title.split(_LEVELS)}
    sentences: list[Sentence] = []
    for part, (first, last) in enumerate(pairwise((0, *passage.cuts, len(passage.text)))):
        spans = list(_spans(passage, first, last))
        kinds = _kinds(passage.text[first:last], [(s - first, e - first, kind) for s, e, kind in spans], titles)
        blocks = (_block(passage.text, [span[:2] for span in spans[at:]]) for at in range(len(spans)))
        places = zip(spans, kinds, blocks, strict=True)
        sentences += [Sentence(number, start, end, part, kind, block) for (start, end, _), kind, block in places]
    return sentences


def _block(text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Return the number of lines that the first span announces with a colon, up to an empty line after them."""
    if not text[: spans[0][1]].endswith((":", "：")) or "\n" not in text[spans[0][1] :][:_MAX_GAP]:
        return 0
    gaps = (text[end:start].count("\n") for (_, end), (start, _) in pairwise(spans[1 : _MAX_BLOCK + 1]))
    return min(len(spans) - 1, 1 + sum(1 for _ in takewhile(lambda lines: lines < 2, gaps)))


def _spans(passage: PassageText, first: int, last: int) -> Iterator[tuple[int, int, Kind]]:
    """Yield the sentences, rows and headers of a part of a passage."""
    lines: list[tuple[int, int, Kind]] = [(*row, "row") for row in passage.rows]
    lines += [(*header, "header") for header in passage.headers]
    lines += [(*heading, "heading") for heading in passage.headings]
    within = sorted(line for line in lines if first <= line[0] and line[1] <= last)
    for start, end, kind in (*within, (last, last, "row")):
        for span in sentence_spans(passage.text[first:start]):
            yield first + span[0], first + span[1], "sentence"
        if start < end:
            yield start, end, kind
        first = end


def _kinds(text: str, spans: Sequence[tuple[int, int, Kind]], titles: set[str]) -> list[Kind]:
    """Return the kind of each span of a text: whether a sentence is a heading.

    A heading is one of the `titles`, or a short line of words without a full stop that stands alone before a text and
    does not follow a colon.
    """
    kinds: list[Kind] = []
    following = False  # whether a sentence or a row follows
    for at in range(len(spans) - 1, -1, -1):
        start, end, kind = spans[at]
        part = text[start:end]
        gap = text[end : spans[at + 1][0]] if at + 1 < len(spans) else ""
        before = text[spans[at - 1][1] - 1 : start] if at else "\n\n"
        alone = gap.count("\n") > 1 and before.count("\n") > 1 and not before.startswith(":")
        bare = kind == "sentence" and not is_statement(part) and not _NO_HEADING.search(part)
        is_heading = (part.casefold() in titles and len(spans) > 1) or (alone and bare and following)
        kinds.append("heading" if kind == "sentence" and is_heading else kind)
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
    A sentence that announces a block has all of it, and a line of a block the sentence that announces it.
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
    announced = [at for at in range(max(first - _MAX_BLOCK, 0), last + 1) if at + sentences[at].block >= first]
    announced = [at for at in announced if sentences[at].block and not used.intersection(range(at, first))]
    return min((first, *announced)), max((last, *(at + sentences[at].block for at in announced)))
