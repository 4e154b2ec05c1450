"""Words, numbers and dates of a question, and their links to the tables, columns and cells of facts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from graphwright.data.records.record import CLAUSE, DOCUMENT
from graphwright.operators.query.tables.columns import Table, joined, table_of
from graphwright.search.facts import Facts
from graphwright.text.names import name_words
from graphwright.text.values import Value, value_of
from graphwright.text.words import words as terms

_MARKS = ".,?!;:\"'()[]"
_HOUR = re.compile(r"(\d{1,2}) ?([ap]m)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)


class Word(NamedTuple):
    """A word of a question in normal form, and the number of the token between spaces that it stands in."""

    text: str
    token: int


class Amount(NamedTuple):
    """A number or date that a question names: its words [start, end) and its text."""

    start: int
    end: int
    text: str
    is_date: bool
    amount: float

    @property
    def bits(self) -> int:
        """Its words as bits."""
        return span_bits(self.start, self.end)


def span_bits(start: int, end: int) -> int:
    """Return the words [start, end) as bits."""
    return (1 << end) - (1 << start)


def all_bits(bits: Iterable[int]) -> int:
    """Return the words that any of some bits have."""
    return reduce(or_, bits, 0)


def question_words(question: str) -> tuple[Word, ...]:
    """Return the words of a question with the tokens that they stand in."""
    return tuple(Word(word, at) for at, token in enumerate(question.split()) for word in name_words(token))


def amounts_of(question: str, words: Sequence[Word]) -> list[Amount]:
    """Return the numbers and dates of a question, the longest at each place.

    >>> [amount.text for amount in amounts_of("after May 3, 1999 or 4?", question_words("after May 3, 1999 or 4?"))]
    ['May 3, 1999', '4']
    """
    tokens = question.split()
    found: list[Amount] = []
    at = 0
    while at < len(tokens):
        for end in range(min(at + 4, len(tokens)), at, -1):
            value, text = _amount(tokens[at:end])
            span = [i for i, word in enumerate(words) if at <= word.token < end]
            shorter = [_amount(tokens[at + 1 : end])[0], _amount(tokens[at : end - 1])[0]]
            if value is not None and span and value not in shorter and (end == at + 1 or value.kind == "date"):
                found.append(Amount(span[0], span[-1] + 1, text, value.kind == "date", value.amount))
                at = end - 1
                break
        at += 1
    return found


def _amount(tokens: Sequence[str]) -> tuple[Value | None, str]:
    """Return the value of some tokens, and their text without punctuation around it."""
    text = _plain_number(" ".join(tokens).strip(_MARKS))
    return value_of(text), text


def _plain_number(text: str) -> str:
    """Return a number in digits if a text is an ordinal in digits, an hour, or a number that Unicode names.

    >>> _plain_number("3rd"), _plain_number("Seven"), _plain_number("twelve"), _plain_number("May 3rd")
    ('3', '7', '12', 'May 3rd')
    >>> _plain_number("10am"), _plain_number("3 pm")
    ('10:00 am', '3:00 pm')
    """
    if match := _HOUR.fullmatch(text):
        return f"{match[1]}:00 {match[2]}"
    if match := _ORDINAL.fullmatch(text):
        return match[1]
    if text.isalpha() and text.isascii():
        for kind in ("DIGIT", "PARENTHESIZED NUMBER"):
            with suppress(KeyError):
                return f"{unicodedata.numeric(unicodedata.lookup(f'{kind} {text.upper()}')):.0f}"
    return text


@lru_cache(1 << 14)
def trigrams(word: str) -> frozenset[str]:
    """Return the runs of three letters of a word, its ends marked."""
    padded = f"^{word}$"
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Dice coefficient of two sets."""
    return _dice(len(first & second), len(first) + len(second))


def _dice(shared: int, both: int) -> float:
    return 2 * shared / max(1, both)


class _Nearest(dict[str, tuple[float, int]]):
    """The likeness of any word to the word of a question that is most like it, and the number of the latter, negative.

    Many columns have the same words, each of which is compared once.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        self._grams = [trigrams(word.text) for word in words]

    def __missing__(self, part: str) -> tuple[float, int]:
        own = trigrams(part)
        best = self[part] = max(((likeness(g, own), -i) for i, g in enumerate(self._grams)), default=(0.0, 0))
        return best


_LONGEST = 10  # words of a span that is looked up as a cell
_REACHED = 2  # tables that are searched because columns of others lead there
_LIKE = 0.55  # likeness of two words by their trigrams, from which one may mean the other
_RARE = 0.02  # share of training questions up to which a word alone may name part of a cell


class Cell(NamedTuple):
    """A distinct text of a column: the numbers of its table and column, its text, and how many rows have it."""

    table: int
    column: int
    text: str
    rows: int


class Link(NamedTuple):
    """A span of words [start, end) that names cells of a column.

    `kind`: "cell" the whole text, "part" words within it, "like" a word near one of its words, "number" its value.
    `text`: what the column is compared with; `share`: of the rows that have it.
    """

    start: int
    end: int
    column: int
    kind: str
    text: str
    share: float

    @property
    def bits(self) -> int:
        """Its words as bits."""
        return span_bits(self.start, self.end)


@dataclass(frozen=True)
class Links:
    """What a question names of one table."""

    words: tuple[Word, ...]
    cells: tuple[Link, ...]
    amounts: tuple[Amount, ...]
    headers: tuple[tuple[float, int], ...]  # of each column: the share of its name in the question, its words as bits
    type: tuple[float, int] = (0.0, 0)  # the same of the name of its type


class TableIndex:
    """The tables of facts, and their cells by words; whole documents and clauses have no columns here."""

    def __init__(self, facts: Facts) -> None:
        self.tables: tuple[Table, ...] = ()
        self._by_form: dict[str, list[Cell]] = defaultdict(list)
        self._forms_of: dict[str, set[str]] = defaultdict(set)
        self._joined: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        self._last: tuple[tuple[str, int], dict[str, float], dict[int, Links]] = ("", 0), {}, {}
        records = facts.records
        if records is None or not len(records):
            return
        field_type = records.type[records.record].astype(np.int64)
        described = [number for number, name in enumerate(records.types) if name in (DOCUMENT, CLAUSE)]
        whole = ~records.is_copy[records.record] & ~np.isin(field_type, described)
        fields = np.stack((field_type, records.name, records.text, records.record)).astype(np.int64)[:, whole]
        distinct, counts = np.unique(fields[:3], axis=1, return_counts=True)
        rows = np.bincount(records.type[~records.is_copy], minlength=len(records.types))
        tables = [table_of(facts, number, int(rows[number]), fields) for number in range(len(records.types))]
        places = [{c.name: i for i, c in enumerate(table.columns)} for table in tables]
        cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        for (table, name, text), count in zip(distinct.T.tolist(), counts.tolist(), strict=True):
            column = places[table][records.names[name]]
            cells[table, column].append(text)
            self._add(Cell(table, column, records.texts[text], count))
        others = joined(tables, {column: np.array(texts) for column, texts in cells.items()})
        self.tables = tuple(
            replace(table, columns=(*table.columns, *(each.column for each in own)))
            for table, own in zip(tables, others, strict=True)
        )
        for number, (table, own) in enumerate(zip(tables, others, strict=True)):
            for at, (other, column, _) in enumerate(own, len(table.columns)):
                self._joined[number, other][column] = at

    def _add(self, cell: Cell) -> None:
        words = name_words(cell.text)
        form = " ".join(words)
        self._by_form[form].append(cell)
        for word in words:
            self._forms_of[word].add(form)

    @cached_property
    def _words(self) -> dict[str, list[tuple[str, int]]]:
        """The words of cells by their trigrams, with the number of trigrams of each."""
        words: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for word in self._forms_of:
            grams = trigrams(word) if len(word) > 2 else ()
            for gram in grams:
                words[gram].append((word, len(grams)))
        return words

    @cached_property
    def _weights(self) -> list[dict[str, float]]:
        """The weights of the words of each table's columns; a word of n names, as of a joint header, counts 1/n²."""
        names = [Counter(word for column in table.columns for word in set(column.words)) for table in self.tables]
        return [{word: count**-2 for word, count in own.items()} for own in names]

    def links(self, question: str, frequency: dict[str, float], most: int = 3) -> dict[int, Links]:
        """Return what a question names of each of the tables that it names most of; that of the last one is kept."""
        asked, kept_frequency, found = self._last
        if asked != (question, most) or kept_frequency is not frequency:
            found = self._found(question, frequency, most)
            self._last = (question, most), frequency, found
        return found

    def _found(self, question: str, frequency: dict[str, float], most: int) -> dict[int, Links]:
        words = question_words(question)
        amounts = tuple(amounts_of(question, words))
        linked: dict[int, list[Link]] = defaultdict(list)
        for table, link in self._cells(words, frequency):
            linked[table].append(link)
        direct = {table: tuple(found) for table, found in linked.items()}
        for (table, other), places in self._joined.items():
            linked[table] += [x._replace(column=places[x.column]) for x in direct.get(other, ()) if x.column in places]
        nearest = _Nearest(words)
        chosen = self._chosen(words, nearest, linked, frequency, most)
        return {
            t: Links(words, tuple(linked[t]), amounts, self._headers(t, nearest), self._type(t, nearest))
            for t in chosen
        }

    def _chosen(
        self,
        words: Sequence[Word],
        nearest: _Nearest,
        linked: dict[int, list[Link]],
        frequency: dict[str, float],
        most: int,
    ) -> list[int]:
        """Return the tables of which most is named (rare words count more), and up to two that their columns reach."""
        tables = [number for number, table in enumerate(self.tables) if table.columns]
        if len(tables) <= most:
            return tables
        weight = [-np.log(frequency.get(word.text, 1e-5)) for word in words]
        scores = {}
        for number in tables:
            headers = (named for _, named in self._headers(number, nearest))
            bits = all_bits((self._type(number, nearest)[1], *headers, *(link.bits for link in linked[number])))
            scores[number] = sum(w for i, w in enumerate(weight) if bits >> i & 1)
        chosen = sorted(tables, key=lambda t: -scores[t])[:most]
        reached = {other for table, other in self._joined if table in chosen} - set(chosen)
        return [*chosen, *sorted(reached, key=lambda t: -scores[t])[:_REACHED]]

    def _type(self, table: int, nearest: _Nearest) -> tuple[float, int]:
        return self._named(nearest, name_words(self.tables[table].type), {})

    def _headers(self, table: int, nearest: _Nearest) -> tuple[tuple[float, int], ...]:
        weights = self._weights[table]
        return tuple(self._named(nearest, column.words, weights) for column in self.tables[table].columns)

    @staticmethod
    def _named(nearest: _Nearest, name: Sequence[str], weights: Mapping[str, float]) -> tuple[float, int]:
        """Return how much of a name a question says, and with which words, as bits."""
        total, bits = 0.0, 0
        for part in name:
            best = nearest[part]
            if best[0] >= _LIKE:
                total, bits = total + best[0] * weights.get(part, 1.0), bits | 1 << -best[1]
        return total / max(1e-9, sum(weights.get(part, 1.0) for part in name)), bits

    def _cells(self, words: Sequence[Word], frequency: dict[str, float]) -> Iterator[tuple[int, Link]]:
        """Yield links of spans of words to cells: whole texts, parts of them, and words like theirs."""
        texts = [word.text for word in words]
        seen: set[tuple[int, int, str]] = set()
        reach = 0
        for start in range(len(texts)):
            longest = 0
            for end in range(min(start + _LONGEST, len(texts)), start, -1):
                for cell in self._named_by(texts[start:end], frequency):
                    yield cell.table, self._link(start, end, cell, "cell", cell.text)
                    longest = max(longest, end)
            yield from self._parts(texts, start, reach, frequency, seen)
            reach = max(reach, longest)

    def _named_by(self, span: Sequence[str], frequency: dict[str, float]) -> Sequence[Cell]:
        """Return the cells with these words as their text, or with the last of them in the singular."""
        if cells := self._by_form.get(" ".join(span)):
            return cells
        last = terms(span[-1]) if len(span) > 1 or frequency.get(span[0], 0.0) <= _RARE else []
        return self._by_form.get(" ".join([*span[:-1], *last]), []) if last else []

    def _parts(
        self, texts: list[str], start: int, reach: int, frequency: dict[str, float], seen: set[tuple[int, int, str]]
    ) -> Iterator[tuple[int, Link]]:
        """Yield links of the longest span at a place that stands within cells, or of a word like one of theirs."""
        word, is_rare = texts[start], frequency.get(texts[start], 0.0) <= _RARE
        span, end, forms = self._longest(texts, start)
        if end == start + 1 and not (is_rare and start >= reach):
            return
        kind = "part" if word in self._forms_of else "like"
        if kind == "like":
            span, forms = self._similar(word)
        counts: dict[tuple[int, int], int] = defaultdict(int)
        for form in forms:
            for cell in self._by_form[form] if form != span or kind == "like" else ():
                counts[cell.table, cell.column] += cell.rows
        for (table, column), count in counts.items():
            if (table, column, span) not in seen:
                seen.add((table, column, span))
                yield table, self._link(start, end, Cell(table, column, span, count), kind, span)

    def _longest(self, texts: list[str], start: int) -> tuple[str, int, set[str]]:
        """Return the longest span from a word that stands within cells, its end, and the forms of these cells."""
        span, end, forms = texts[start], start + 1, self._forms_of.get(texts[start], set())
        while forms and end < len(texts):
            longer = f"{span} {texts[end]}"
            within = {form for form in forms if f" {longer} " in f" {form} "}
            if not within:
                break
            span, end, forms = longer, end + 1, within
        return span, end, forms

    def _similar(self, word: str) -> tuple[str, set[str]]:
        """Return the word of cells that is most like a word, with the forms of its cells; none if none is."""
        grams = trigrams(word) if len(word) > 3 else ()
        shared = Counter(near for gram in grams for near in self._words.get(gram, ()))
        best = max(((_dice(n, len(grams) + size), near) for (near, size), n in shared.items()), default=(0.0, ""))
        return (best[1], self._forms_of[best[1]]) if best[0] >= _LIKE else ("", set())

    def _link(self, start: int, end: int, cell: Cell, kind: str, text: str) -> Link:
        return Link(start, end, cell.column, kind, text, cell.rows / max(1, self.tables[cell.table].rows))


def ngrams(links: Links) -> list[str]:
    """Return the words, pairs and triples of a question, as they are and with linked words replaced by their kind."""
    words = [word.text for word in links.words]
    masked = _masked(links)
    return list(dict.fromkeys([*_runs(words, 2), *(f"m {run}" for run in _runs(masked, 3))]))


def _runs(words: Sequence[str], longest: int) -> Iterator[str]:
    padded = ["^", *words, "$"]
    for length in range(1, longest + 1):
        for start in range(len(padded) - length + 1):
            yield " ".join(padded[start : start + length])


def _masked(links: Links) -> list[str]:
    """Return the words of a question with linked cells, amounts and names of columns replaced by their kind."""
    kinds: list[str] = [word.text for word in links.words]
    for _, bits in links.headers:
        for at in range(len(kinds)):
            if bits >> at & 1:
                kinds[at] = "<column>"
    for amount in links.amounts:
        for at in range(amount.start, amount.end):
            kinds[at] = "<date>" if amount.is_date else "<number>"
    for link in links.cells:
        if link.kind in ("cell", "part"):
            for at in range(link.start, link.end):
                kinds[at] = "<cell>"
    return [kind for at, kind in enumerate(kinds) if at == 0 or not kind.startswith("<") or kind != kinds[at - 1]]
