"""Sentences of passages, and quotations of several in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.models.protocols import PassageText
from graphwright.operators.state import Citation
from graphwright.text.sentences import ASKS, is_statement, sentence_spans

Kind = Literal["sentence", "line", "heading", "row", "header", "command"]

_MAX_BLOCK, _MAX_GAP = 12, 8  # lines of a block; characters between a colon and the line end
_BLOCK_WORDS = 60  # of a block that is quoted whole where one of its lines is
_LIKELY, _RIVAL, _MIN_RIVAL = 0.5, 0.5, 3  # a likely answer's score; share of it, and words, of one in its place
_LEVELS = " › "  # between the headings in the title of a passage
_NO_HEADING = re.compile(r"[\d:<>@\n]|^[-*+•·‣▪–—] ")
_WRAPPED, _WORDS = 45, 5  # characters and words of a line that is continued in the next one
_ENDS = ("", *".!?…。！？")
_BULLET = re.compile(r"^[-*+•·‣▪–—]\s+")
_MARK = re.compile(r"([-*+•·‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
_ITEM = re.compile(rf"{_MARK.pattern}|[^\W\d_][^:.!?\n]{{0,40}}: |\w+(?:[ -]\w+)?\. \w|\S*[\d_`]\S* \S")
_TABLE_LINE = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"(?:#|//)\s")
_RULE_LINE = re.compile(r"[|:+=\s-]*-[|:+=\s-]*")


class Sentence(NamedTuple):
    """A sentence, or several in a row, of passage number `passage`, by characters of its text.

    `part`: the number of the row, cell, slide, definition, paragraph or item in which it lies; an item begins on a line
    with a mark, a label or a code ("2. It is", "Heating: it is", "E-12 is"); a heading and the paragraph below it are
    one part. A "line" is short, without a full stop, and stands alone; a "header" is of a mail; a
    "command" is a line of code after the comment on it. `block`: how many of the following sentences belong to it: the
    lines of a command, list or table that it announces.
    """

    passage: int
    start: int
    end: int
    part: int = 0
    kind: Kind = "sentence"
    block: int = 0


@lru_cache(256)  # an answer asks for those of each passage several times
def sentences_of(passage: PassageText, number: int = 0) -> tuple[Sentence, ...]:
    """Return the sentences of passage `number`, split at its cuts; a row or a header is one.

    >>> sentences_of(PassageText("", "river: Mur\\nkm: 464", (11,)))[1]
    Sentence(passage=0, start=11, end=18, part=1, kind='line', block=0)
    >>> passage = PassageText("Rivers", "Rivers\\n\\nThe Mur is one.\\nriver: Mur; km: 464.", rows=((24, 44),))
    >>> [sentence.kind for sentence in sentences_of(passage)]
    ['heading', 'sentence', 'row']
    """
    titles = {part.casefold() for part in passage.title.split(_LEVELS)}
    sentences: list[Sentence] = []
    part = 0
    for first, last in pairwise((0, *passage.cuts, len(passage.text))):
        spans = list(_spans(passage, first, last))
        kinds = _kinds(passage.text[first:last], [(s - first, e - first, kind) for s, e, kind in spans], titles)
        blocks = _blocks(passage.text[:last], spans, kinds)
        for (start, end, _), kind, block in zip(spans, kinds, blocks, strict=True):
            gap = passage.text[sentences[-1].end : start] if start > spans[0][0] else ""
            is_paragraph = gap.count("\n") > 1 and sentences[-1].kind != "heading"
            part += is_paragraph or ("\n" in gap and bool(_ITEM.match(passage.text, start)))
            sentences.append(Sentence(number, start, end, part, kind, block))
        part += 1
    return tuple(sentences)


def _blocks(text: str, spans: Sequence[tuple[int, int, Kind]], kinds: Sequence[Kind]) -> list[int]:
    """Return for each span the number of spans after it that it announces: its lines, items and their own blocks.

    A block ends at an empty line, a list after its last item, the answer to a question with its line, and what a
    comment announces at the next one.
    """
    blocks = [0] * len(spans)
    gaps = [text[end:start].count("\n") for (_, end, _), (start, _, _) in pairwise(spans)] + [2]
    marks = [_mark(text[start:end]) for start, end, _ in spans]
    for at in range(len(spans) - 2, -1, -1):
        if kinds[at] == "command":
            ends = (end for end in range(at + 1, len(spans)) if gaps[end - 1] != 1 or kinds[end] == "command")
            blocks[at] = min(next(ends, len(spans)) - at - 1, _MAX_BLOCK)
            continue
        if not _announces(text, spans[at : at + 2], kinds[at : at + 2], gaps[at], gaps[at - 1] if at else 2):
            continue
        end, most = at + 1, int(not text.endswith(ASKS, 0, spans[at][1]))
        while end < len(spans) and end - at <= _MAX_BLOCK:
            end += 1 + blocks[end]
            if gaps[end - 1] > most and not (end < len(spans) and marks[end] and marks[end] == marks[at + 1]):
                break
        blocks[at] = min(end, len(spans)) - at - 1
    return blocks


def _mark(text: str) -> str:
    """Return the form of the mark of a list item, "" for other text: digits are 0, letters a."""
    mark = _MARK.match(text)
    return re.sub(r"[A-Za-z]", "a", re.sub(r"\d+", "0", mark[1])) if mark else ""


def _announces(text: str, spans: Sequence[tuple[int, int, Kind]], kinds: Sequence[Kind], gap: int, before: int) -> bool:
    """Return whether the first of two spans announces the second.

    It ends with a colon; or it is a question on a line of its own; or it is the first line of a table, above a rule; or
    it is a line without a full stop at the start of a paragraph, and a list begins in the next line; or it is such a
    line after a statement, with an empty line before and after it, and another such line follows. A header of a mail
    announces nothing. `gap`, `before`: line ends after it and before it.
    """
    if kinds[0] == "header":
        return False
    (start, end, _), (other, last, _) = spans
    if text.endswith((":", "：", *(ASKS if before else ())), start, end):
        return "\n" in text[end:][:_MAX_GAP]
    if kinds[0] == "row":
        return kinds[1] == "row" and _RULE_LINE.fullmatch(text[other:last]) is not None
    if before > 1 and gap == 1 and _mark(text[other:last]) and not is_statement(text[start:end]):
        return not _mark(text[start:end])
    bare = not any(is_statement(text[a:b]) or _mark(text[a:b]) for a, b in ((start, end), (other, last)))
    follows = text[max(start - 2 * _MAX_GAP, 0) : start].rstrip()[-1:] in _ENDS
    return bare and gap > 1 and before > 1 and follows and not {"row", "header"}.intersection(kinds)


def _spans(passage: PassageText, first: int, last: int) -> Iterator[tuple[int, int, Kind]]:
    lines: list[tuple[int, int, Kind]] = [(*row, "row") for row in passage.rows]
    if not passage.rows:
        lines += [(*match.span(), "row") for match in _TABLE_LINE.finditer(passage.text)]
    lines += [(*header, "header") for header in passage.headers]
    lines += [(*heading, "heading") for heading in passage.headings]
    within = sorted(line for line in lines if first <= line[0] and line[1] <= last)
    for start, end, kind in (*within, (last, last, "row")):
        for begin, stop, own in _commented(passage.text[first:start]):
            yield first + begin, first + stop, own
        if start < end:
            yield start, end, kind
        first = end


def _commented(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Yield the spans of sentences; a comment on a line of its own and the next line are one command."""
    begin = -1  # of a comment whose line is to come
    ended = 0
    for start, end in sentence_spans(text):
        is_comment = _COMMENT.match(text, start) is not None
        if begin >= 0 and (is_comment or text[ended:start].count("\n") > 1):
            yield begin, ended, "sentence"
            begin = -1
        if is_comment and "\n" not in text[start:end]:
            begin = start
        elif is_comment or begin >= 0:
            yield start if begin < 0 else begin, end, "command"
            begin = -1
        else:
            yield start, end, "sentence"
        ended = end
    if begin >= 0:
        yield begin, ended, "sentence"


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
        gap = text[end : spans[at + 1][0]] if at + 1 < len(spans) else "\n\n"
        before = text[spans[at - 1][1] - 1 : start] if at else "\n\n"
        short = kind == "sentence" and not is_statement(part)
        alone = short and gap.count("\n") > 1 and before.count("\n") > 1
        bare = short and not _NO_HEADING.search(part)
        is_title = kind == "sentence" and part.casefold() in titles and len(spans) > 1
        is_heading = is_title or (alone and bare and following and not before.startswith(":"))
        kinds.append("heading" if is_heading else "line" if alone else kind)
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

    Only sentences are joined: to a sentence on both sides, to a heading after it. So the quotation begins with what
    answers: no sentence with at least half of a likely one's score precedes it. A sentence that announces a block has
    all of it. A line of a block has what stands before it, and the lines after it where the block is short; what a
    comment is on stands alone with it.
    """
    first, last = _announced(best, sentences, scores, lengths, used)
    length, start = sum(lengths[first : last + 1]), sentences[first]
    inner = {line for at, sentence in enumerate(sentences) for line in range(at + 1, at + 1 + sentence.block)}
    while start.kind in ("sentence", "heading"):
        sides = [
            side
            for end, side in ((last, last + 1), (first, first - 1))[: 1 if start.kind == "heading" else 2]
            if 0 <= side < len(sentences)
            and (sentences[side].passage, sentences[side].part) == (start.passage, start.part)
            and (sentences[side].kind, sentences[side].block) == ("sentence", 0)
            and (side in inner) == (end in inner)
            and side not in used
            and not (side < first and is_rival(scores[side], lengths[side], scores[best]))
            and length + lengths[side] <= words
        ]
        if not sides:
            break
        side = max(sides, key=lambda number: scores[number])
        first, last, length = min(first, side), max(last, side), length + lengths[side]
    return first, last


def is_rival(score: float, words: int, best: float) -> bool:
    """Return whether a sentence may answer in the place of a likely one, by both scores and its number of words.

    >>> is_rival(0.4, 9, 0.5), is_rival(0.2, 9, 0.5), is_rival(0.4, 2, 0.5), is_rival(0.2, 9, 0.3)
    (True, False, False, False)
    """
    return words >= _MIN_RIVAL and best >= _LIKELY and score >= _RIVAL * best


def _announced(
    best: int, sentences: Sequence[Sentence], scores: Scores, lengths: Sequence[int], used: set[int]
) -> tuple[int, int]:
    """Return the first and last sentence of the block that sentence `best` announces, or is a line of.

    Of a block with comments, what the comment is on is one by itself, unless what announces all may answer as well.
    """
    last = best + sentences[best].block
    command = (best, best)
    for at in range(max(best - _MAX_BLOCK, 0), best + 1):
        end = at + sentences[at].block
        if sentences[at].kind == "command" and end >= best:
            command = at, end
    within = sentences[command[0]].kind == "command"
    for at in range(max(best - _MAX_BLOCK, 0), best):
        end = at + sentences[at].block
        if end < best or used.intersection(range(at, end + 1)):
            continue
        if within and not is_rival(scores[at], lengths[at], scores[best]):
            continue
        if sum(lengths[at : end + 1]) <= _BLOCK_WORDS:
            return at, end
        if sum(lengths[at : last + 1]) <= _BLOCK_WORDS:
            return at, last
    return command if within else (best, last)


def shown(text: str) -> str:
    """Return a quotation as people read it: prose on one line, lines of a list, table or command on lines of their own.

    The bullet of an item that is quoted alone is left out.

    >>> shown("Check the\\nbackup:\\n\\n| Copy | Size |\\n|---|---|\\n| a | 3 MB |"), shown("It is\\ncold. It rains.")
    ('Check the backup:\\nCopy; Size\\na; 3 MB', 'It is cold. It rains.')
    """
    lines: list[str] = []
    ended, before = 0, ""
    for start, end in sentence_spans(text):
        part, gap = text[start:end], text[ended:start]
        if _TABLE_LINE.fullmatch(part):
            part = "" if _RULE_LINE.fullmatch(part) else "; ".join(filter(None, map(str.strip, part.split("|"))))
        is_line = not part.endswith((*_ENDS[1:], ":", "："))
        pieces = _lines(part) if is_line else [" ".join(part.split())]
        own = is_line or _mark(part) or not before.endswith(_ENDS[1:])
        if any(pieces) and lines and not (own and "\n" in gap):
            pieces[0] = f"{lines.pop()} {pieces[0]}"
        lines += filter(None, pieces)
        ended, before = end, part or before
    return _BULLET.sub("", lines[0]) if len(lines) == 1 else "\n".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text, joined where the first was wrapped: it is long, and the next word had no room.

    >>> _lines("curl -O https://tessel.example/tessel-4.2.tar.gz\\ntar xf tessel-4.2.tar.gz")
    ['curl -O https://tessel.example/tessel-4.2.tar.gz', 'tar xf tessel-4.2.tar.gz']
    """
    lines = [" ".join(line.split()) for line in text.splitlines()]
    width = max(map(len, lines), default=0)
    joined = lines[:1]
    for before, line in pairwise(lines):
        is_prose = len(before) >= _WRAPPED and len(before.split()) >= _WORDS
        if is_prose and len(before) + len(line.partition(" ")[0]) >= width:
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def quotations(citations: Sequence[Citation]) -> list[str]:
    """Return each quotation with its number; lists, tables and commands keep their lines."""
    return [f"{shown(cited.text)} [{number}]" for number, cited in enumerate(citations, 1)]
