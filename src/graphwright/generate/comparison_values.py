"""Values of the two sides of a comparison in passages, and the features of pairs of them."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import product
from typing import NamedTuple

import numpy as np

from graphwright.data.document import cut_at
from graphwright.generate.comparison_heads import DATE, Tagged, masked
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.embedded.reader_answers import ReaderOutput, title_length
from graphwright.models.protocols import Floats, PassageText
from graphwright.operators.run import Run
from graphwright.text.sentences import sentence_spans
from graphwright.text.values import FoundValue, difference, values_in
from graphwright.text.words import words

PAIR_FEATURES = 18
_MAX_VALUES = 16  # of a side
_NAMING = 3  # passages that are read for a name
_MAX_WORD = 40  # characters of a word before a name
_WORD = re.compile(r"\w+")
_NEXT, _LAST = re.compile(r"[ \u00a0-](\w+)"), re.compile(r"(\w+)[ \u00a0-]$")
_CLAUSE = re.compile(r"[,;:()\[\]\n]|\. ")


class SideValue(NamedTuple):
    """A value that a passage gives for a side."""

    passage: int
    start: int  # of its sentence
    end: int
    found: FoundValue
    written: str
    text: str  # the words around it, without the name of the side
    before: str  # those before it alone
    named: bool  # whether the sentence or the title names the side, or the passage names no other
    number: int  # how many values the passage has before


class Pair(NamedTuple):
    """Values of both sides that can be compared, and by how much the first exceeds the second, in its unit."""

    first: SideValue
    second: SideValue
    apart: float


def names_of_sides(question: str, tagged: Tagged, passages: Sequence[PassageText]) -> tuple[str, str] | None:
    """Return the sides as passages name them, the longest run of own words of each; None if one is not named."""
    texts = [f"{passage.title}\n{passage.text}".lower() for passage in passages]
    sides = [question[side.start : side.end] for side in tagged.sides]
    shared = set.intersection(*(set(_WORD.findall(side.lower())) for side in sides))
    first, second = (_longest_run(side, texts, shared) for side in sides)
    return (first, second) if first and second and first.lower() != second.lower() else None


def _longest_run(side: str, texts: Sequence[str], shared: set[str]) -> str:
    spans = [match.span() for match in _WORD.finditer(side)]
    runs = [side[spans[a][0] : spans[b][1]] for a in range(len(spans)) for b in range(a, len(spans))]
    for run in sorted(runs, key=len, reverse=True):
        own = _WORD.findall(run.lower())
        is_name = words(own[0]) and set(own) - shared
        if is_name and any(_places(run.lower(), text) for text in texts):
            return run
    return ""


def _places(name: str, text: str) -> list[int]:
    """Return where a text has a name as whole words; both in lower case."""
    return [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


def passages_naming(names: tuple[str, str], passages: Sequence[PassageText]) -> list[int]:
    """Return the numbers of the first passages whose title or text has a name, at most three for each, in order."""
    texts = [f"{passage.title}\n{passage.text}".lower() for passage in passages]
    naming = ([at for at, text in enumerate(texts) if _places(name.lower(), text)] for name in names)
    return sorted({at for numbers in naming for at in numbers[:_NAMING]})


def values_of_sides(
    names: tuple[str, str], passages: Sequence[PassageText], asked: Set[str] = frozenset()
) -> list[list[SideValue]]:
    """Return the values that passages give for each of two sides, those of sentences that name it first.

    `asked`: the words of the question without its sides, which may be part of a name: "drill" in "the A10 drill".
    """
    result: list[list[SideValue]] = [[], []]
    for number, passage in enumerate(passages):
        for side, value in _values_of(names, number, passage, asked):
            result[side].append(value)
    return [sorted(values, key=lambda value: (not value.named, value.passage))[:_MAX_VALUES] for values in result]


def _values_of(
    names: tuple[str, str], number: int, passage: PassageText, asked: Set[str]
) -> list[tuple[int, SideValue]]:
    """Return the values of a passage with the side that they belong to.

    It is the side that the sentence names last before the value, else next after it, else the one that the title names,
    else the one that was named last before the sentence.
    """
    lower, title, names = passage.text.lower(), passage.title.lower(), (names[0].lower(), names[1].lower())
    places = sorted((at, side, len(name)) for side, name in enumerate(names) for at in _places(name, lower))
    places = [p for p in places if not any(q[0] <= p[0] < q[0] + q[2] and q[2] > p[2] for q in places)]
    places = _with_neighbours(places, lower, asked)
    in_title = [side for side, name in enumerate(names) if _places(name, title)]
    if len(in_title) == 2:  # both, or one within the other
        in_title = [side for side in in_title if names[1 - side] in names[side]]
    sides = {side for _, side, _ in places}
    values, count = list[tuple[int, SideValue]](), 0
    for start, end in cut_at(passage.text, sentence_spans(passage.text), [row for row, _ in passage.rows]):
        found = [f._replace(start=f.start + start, end=f.end + start) for f in values_in(passage.text[start:end])]
        within = [place for place in places if start <= place[0] < end]
        found = [f for f in found if not any(at <= f.start < at + size for at, _, size in within)]
        before = [place for place in places if place[0] < start]
        for at, each in enumerate(found):
            near = [p for p in within if p[0] < each.start][-1:] or [p for p in within if p[0] >= each.start][:1]
            if not (given := [p[1] for p in near] or in_title or [p[1] for p in before[-1:]]):
                continue
            texts = _clause(passage.text, start, end, found, at, within)
            named, shown = bool(near or in_title or len(sides) == 1), passage.text[each.start : each.end]
            values.append((given[0], SideValue(number, start, end, each, shown, *texts, named, count + at)))
        count += len(found)
    return values


def _with_neighbours(places: list[tuple[int, int, int]], text: str, asked: Set[str]) -> list[tuple[int, int, int]]:
    """Return places of names with what is beside each: words that the question has, too, for both sides alike.

    The word before a name belongs to it ("the ferry Alma"): it says nothing of the value that follows. The word after
    it may be what is asked for, and belongs to the name only if the text has other words of the question.
    """
    named = list[tuple[int, int, int]]()
    for at, side, size in places:
        before = _LAST.search(text, max(at - _MAX_WORD, 0), at)
        start = before.start() if before and set(words(before[1])) & asked else at
        named.append((start, side, at + size - start))
    places, wider = named, list[tuple[int, int, int]]()
    for at, side, size in places:
        after = _NEXT.match(text, at + size)
        known = set(words(after[1])) & asked if after else set[str]()
        wider.append((at, side, after.end() - at if after and known else size))
    rest = text
    for at, _, size in wider:
        rest = rest.replace(text[at : at + size], " ")
    return wider if asked & set(words(rest)) else places


def _clause(
    text: str, start: int, end: int, found: Sequence[FoundValue], at: int, names: Sequence[tuple[int, int, int]]
) -> tuple[str, str]:
    """Return the words around a value, up to other values, without names of the sides, and those before it."""
    each = found[at]
    first = max((f.end for f in found if f.end <= each.start), default=start)
    last = min((f.start for f in found if f.start >= each.end), default=end)
    rest = text[each.end : last]
    cut = _CLAUSE.search(rest)
    rest = rest[: cut.start()] if cut and last < end else rest
    head = text[first : each.start]
    for place, _, size in names:
        if first <= place and place + size <= each.start:
            head = head.replace(text[place : place + size], "")
        rest = rest.replace(text[place : place + size], "")
    shown = text[each.start : each.end] if each.value.kind == DATE else each.value.unit
    whole = " ".join(f"{head} {shown} {rest}".split())
    return whole, " ".join(f"{head} {shown}".split()) if any(map(str.isalpha, head)) else whole


def pairs_of(values: Sequence[Sequence[SideValue]]) -> list[Pair]:
    """Return the pairs of values of both sides that can be compared.

    A number without a unit has that of the next one of its sentence, as in "6 and 8 euros".
    """
    rows = []
    for first, second in product(*values):
        if (first.passage, first.start) == (second.passage, second.start):
            first, second = _with_unit_of(first, second), _with_unit_of(second, first)
        apart = difference(first.found.value, second.found.value)
        if apart is not None and (first.passage, first.found.start) != (second.passage, second.found.start):
            rows.append(Pair(first, second, apart))
    return rows


def _with_unit_of(value: SideValue, other: SideValue) -> SideValue:
    own = value.found.value
    if own.unit or not own.kind == other.found.value.kind == "number" or other.number != value.number + 1:
        return value
    return value._replace(found=value.found._replace(value=own._replace(unit=other.found.value.unit)))


def words_asked(question: str, tagged: Tagged) -> set[str]:
    """Return the words of a question without its sides."""
    return set(words(masked(question, tagged))) - {"x", "y"}


def pair_rows(
    question: str, tagged: Tagged, pairs: Sequence[Pair], passages: Sequence[PassageText],
    readings: Sequence[Sequence[ReaderOutput]], run: Run,
) -> Floats:  # fmt: skip
    """Return the features of pairs of values: float32[n, PAIR_FEATURES]; `readings`: for each side, about it alone."""
    asked = masked(question, tagged)
    texts = list(dict.fromkeys(text for pair in pairs for value in pair[:2] for text in (value.text, value.before)))
    vectors = run.encode(MiniLM(), [asked, *texts])
    place = {text: at + 1 for at, text in enumerate(texts)}
    cosines = vectors @ vectors[0]
    asked_words = words_asked(question, tagged)
    begins = [
        np.array([_begin(value, passages, {reading.passages[0]: reading for reading in read}) for value in values])
        for read, values in zip(readings, zip(*(pair[:2] for pair in pairs), strict=True), strict=True)
    ]
    shares = [logs - logs.max() for logs in begins]
    rows = []
    for pair, log, share in zip(pairs, np.transpose(begins), np.transpose(shares), strict=True):
        a, b = (place[value.text] for value in pair[:2])
        heads = [cosines[place[value.before]] for value in pair[:2]]
        shared = [_overlap(asked_words, value.text) for value in pair[:2]]
        leading = [_overlap(asked_words, value.before) for value in pair[:2]]
        a_unit, b_unit = (value.found.value.unit for value in pair[:2])
        rows.append((
            cosines[a] + cosines[b], min(cosines[a], cosines[b]), float(vectors[a] @ vectors[b]),
            sum(heads), min(heads), min(shared), max(shared), min(leading), max(leading),
            log.sum(), log.min(),
            a_unit == b_unit, pair.first.found.value.kind == DATE, pair.first.named + pair.second.named,
            np.log1p(pair.first.number + pair.second.number), pair.first.number == pair.second.number,
            share.sum(), share.min(),
        ))  # fmt: skip
    return np.array(rows, np.float32).reshape(len(rows), PAIR_FEATURES)


def _overlap(asked: set[str], text: str) -> float:
    return len(asked & set(words(text))) / max(1, len(asked))


def _begin(value: SideValue, passages: Sequence[PassageText], readings: dict[int, ReaderOutput]) -> float:
    """Return the log-probability, tenths of it, that an answer begins within a value's characters."""
    reading = readings.get(value.passage)
    if reading is None:
        return -1.0
    shift = title_length(passages[value.passage])
    at = reading.places[:, 1]
    inside = (at >= value.found.start + shift) & (at < value.found.end + shift)
    return float(np.log(reading.begins[inside].sum() + 1e-5)) / 10


def about(question: str, tagged: Tagged, side: int) -> str:
    """Return a question without its other side."""
    other = tagged.sides[1 - side]
    return " ".join(f"{question[: other.start]} {question[other.end :]}".split())
