"""Tables of facts and their columns, those of another table that a column leads to included."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query.query import OfType, Path, Step
from graphwright.operators.query.reached import reached
from graphwright.search.facts import Facts
from graphwright.text.names import name_words
from graphwright.text.values import DATE, NUMBER, TEXT

_PROSE = 90  # mean characters of a cell above which a column is running text
_FEW = 3  # distinct texts of a column that a question may ask for by the name of the column alone
_SHOWN, _CUT = 4, 24  # texts of a column that describe it, and characters of each
_JOINED = 8  # columns of other tables that a table has at most
_TABLES = 50  # tables up to which columns are joined
_HELD = 0.6  # share of the texts of a column that a key of another table must have
_SEPARATOR = re.compile("[,;/|]")
_KEY = 0.95  # share of distinct cells from which a column may be a key


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: its name and words, the path to its cells, and shares of cells.

    `numbers`, `dates`, `distinct`: the shares of its cells that are so; `missing`: of the rows, those without a cell;
    `values`: its distinct texts, if they are few; `shown`: some of them; `length`: the mean number of characters of a
    distinct text; `lists`: whether some of its cells are lists, as "Danish, German"; `table`: the type of the table
    that its cells stand in, if it is another; `has_other_ways`: whether several columns lead there; `group`: its
    number among the groups of columns that share rows.
    """

    name: str
    words: tuple[str, ...]
    path: Path
    numbers: float
    dates: float
    distinct: float
    missing: float = 0.0
    values: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    length: float = 0.0
    lists: bool = False
    table: str = ""
    has_other_ways: bool = False
    group: int = 0

    @property
    def kind(self) -> int:
        """NUMBER, DATE or TEXT: what half of the cells or more are."""
        return NUMBER if self.numbers >= 0.5 else DATE if self.dates >= 0.5 else TEXT

    @property
    def is_prose(self) -> bool:
        """Whether the cells are running text, which a passage answers from and no query does."""
        return self.length > _PROSE

    @property
    def is_joined(self) -> bool:
        """Whether the cells stand in another table."""
        return len(self.path) > 1

    @property
    def described(self) -> str:
        """The name with some cells."""
        return f"{self.name}: {', '.join(text[:_CUT] for text in self.shown)}"


@dataclass(frozen=True, eq=False)
class Table:
    """The records of one type: its name, number of rows and columns."""

    type: str
    rows: int
    columns: tuple[Column, ...]

    def leads_to(self, column: int) -> tuple[str, int]:
        """Return the other table that the cells of a column stand in, and the own column that leads there."""
        own = self.columns[column]
        return own.table, next(at for at, other in enumerate(self.columns) if other.path == own.path[:1])


class Joined(NamedTuple):
    """A column of another table that one leads to, with the numbers of that table and of the column in it."""

    table: int
    place: int
    column: Column


def table_of(facts: Facts, number: int, rows: int, fields: Ints) -> Table:
    """Return a table with its columns in the order of the record with most fields, and those that it lacks.

    `fields: int64[4, f]`: type, name, text and record of each field.
    """
    assert facts.records is not None
    own = fields[:, fields[0] == number]
    records, begin, row, counts = np.unique(own[3], return_index=True, return_inverse=True, return_counts=True)
    fullest = own[1, own[3] == records[counts.argmax()]] if len(records) else own[1]
    used, first = np.unique(np.concatenate((fullest, own[1])), return_index=True)
    names = facts.records.names.take(used[np.argsort(first)])
    groups = _groups(np.unique([own[1, begin[row]], own[1]], axis=1)) if len(records) else {}
    columns = (
        replace(_column(facts, number, rows, name), group=groups[at])
        for name, at in zip(names, used[np.argsort(first)].tolist(), strict=True)
    )
    return Table(facts.records.types[number], rows, tuple(columns))


def _groups(pairs: Ints) -> dict[int, int]:
    """Return the group of each name: names of one row are in one group. `pairs`: names of one row, int64[2, p].

    Several groups are lists of different files that only share the name of their table.
    """
    group = {name: name for name in np.unique(pairs).tolist()}
    for one, other in pairs.T.tolist():
        if (left := group[one]) != (right := group[other]):
            group = {name: left if own == right else own for name, own in group.items()}
    return group


def _column(facts: Facts, table: int, rows: int, name: str) -> Column:
    records = facts.records
    assert records is not None
    relation, values = facts.relation(name), facts.values(name)
    fields = relation.field(np.arange(len(relation)))
    own = fields >= 0
    own[own] = records.type[records.record[fields[own]]] == table
    cells = max(1, int(own.sum()))
    numbers, dates = (float((values.kind[own] == kind).sum()) / cells for kind in (NUMBER, DATE))
    texts = facts.texts(np.unique(relation.objects[own]))
    filled = len(np.unique(relation.subjects[own]))
    return Column(
        name,
        tuple(name_words(name)),
        (Step(name),),
        numbers,
        dates,
        distinct=len(texts) / cells,
        missing=1 - filled / max(1, rows),
        values=tuple(texts) if len(texts) <= _FEW else (),
        shown=tuple(texts[:_SHOWN]),
        length=sum(map(len, texts)) / max(1, len(texts)),
        lists=max(numbers, dates) < 0.5 and has_lists(texts),
    )


def has_lists(texts: Sequence[str]) -> bool:
    """Return whether two or more distinct texts are lists of which half of the items stand in others too.

    >>> has_lists(["Danish", "Danish, German", "Urdu; German"]), has_lists(["Ortiz, Ana", "Berg, Nils"])
    (True, False)
    """
    items = [{item.strip() for item in _SEPARATOR.split(text)} for text in texts]
    counts = Counter(item for own in items for item in own)
    several = [counts[item] > 1 for own in items if len(own) > 1 for item in own]
    return sum(len(own) > 1 for own in items) > 1 and sum(several) >= len(several) / 2


def joined(tables: Sequence[Table], cells: dict[tuple[int, int], Ints]) -> list[list[Joined]]:
    """Return for each table the columns that its own lead to; none among more than 50 tables.

    A column leads to those of another table of which another column, with distinct cells, has its texts. `cells`: the
    ascending distinct texts of each column of each table.
    """
    found: list[list[Joined]] = [[] for _ in tables]
    for first, second in permutations(range(len(tables)), 2) if len(tables) <= _TABLES else ():
        found[first] += _reached(tables, cells, first, second)
    return [columns[:_JOINED] for columns in found]


def _reached(tables: Sequence[Table], cells: dict[tuple[int, int], Ints], first: int, second: int) -> Iterator[Joined]:
    """Yield the columns of the second table that a column of the first leads to, the first one of several."""
    table, other = tables[first], tables[second]
    ways = [
        (foreign, key, named)
        for (at, foreign), (key, named) in product(enumerate(table.columns), enumerate(other.columns))
        if _refers(foreign, named, other.rows) and _held(cells[first, at], cells[second, key])
    ]
    own = {column.name for column in table.columns}
    for foreign, key, named in ways[:1]:
        for place, column in enumerate(other.columns):
            if place != key and column.name not in own and column.group == named.group:
                path = (*foreign.path, Step(named.name, True), *column.path)
                distinct = min(column.distinct, other.rows / max(1, table.rows), 1.0)
                there = replace(column, path=path, distinct=distinct, table=other.type, has_other_ways=len(ways) > 1)
                yield Joined(second, place, replace(there, group=foreign.group))


def _refers(foreign: Column, key: Column, rows: int) -> bool:
    """Return whether a column may name rows by a key: texts, or numbers in columns of equal names."""
    alike = foreign.name.casefold() == key.name.casefold()
    return rows > 1 and key.distinct >= _KEY and (alike or (foreign.kind == TEXT and key.kind == TEXT))


def _held(texts: Ints, keys: Ints) -> bool:
    """Return whether most of some texts, but not all of one only, are among the keys."""
    at = np.searchsorted(keys, texts).clip(max=max(0, len(keys) - 1))
    return len(texts) > 1 and len(keys) > 1 and float(np.mean(keys[at] == texts)) >= _HELD


@dataclass(frozen=True, eq=False)
class Cells:
    """The cell of each of some ascending rows in each column, -1 for none; None for a column with several in a row."""

    rows: Ints
    columns: tuple[Ints | None, ...]

    @classmethod
    def of(cls, facts: Facts, table: Table, rows: Ints) -> Cells:
        """Return the cells of a table, made once for a snapshot; `rows`: those of the table."""
        return facts.kept(("cells", OfType(table.type)), lambda: cls._read(facts, table, rows))

    @classmethod
    def _read(cls, facts: Facts, table: Table, rows: Ints) -> Cells:
        columns: list[Ints | None] = []
        for column in table.columns:
            pairs = reached(facts, rows, column.path)
            cells = np.full(len(rows), -1, np.int64)
            cells[np.searchsorted(rows, pairs.starts)] = pairs.ends
            columns.append(cells if len(pairs.starts) == len(np.unique(pairs.starts)) else None)
        return cls(rows, tuple(columns))

    def places(self, rows: Ints) -> Ints | None:
        """Return the places of some rows here; None if one of them is not here."""
        at = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
        return at if np.array_equal(self.rows[at], rows) else None

    def distinct(self, places: Ints, column: int) -> Ints | None:
        """Return the ascending distinct cells of the rows at some places in a column; None if they are not known."""
        cells = self.columns[column]
        if cells is None:
            return None
        found = cells[places]
        return sorted_distinct(found[found >= 0])
