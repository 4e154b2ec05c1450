"""Questions written for training, with the queries that answer them, over small tables whose columns are shuffled."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from table_asked import Asked
from tables import Rows, answer_texts, facts_of

from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.search.facts import Facts

_REPEATS = 3  # how often each question is asked
_CHECKS = 2  # further times that only check queries
_TRIES = 40  # shuffles to find a table over which a question has the answer yes
_GROUPS = ("details", "figures", "general", "record", "2024", "current")  # upper rows of headers in two

_BORDER = re.compile(r"(\[[^]]+\]|\w+) [<>]=? (\d[\d.]*)")  # a column and the number that it is compared with


class Written(NamedTuple):
    """Tables by their names, pairs of a question and its query, and questions that the tables do not answer."""

    tables: dict[str, Rows]
    asked: list[tuple[str, str]]
    unanswerable: list[str]

    @property
    def name(self) -> str:
        """The name of the first table."""
        return next(iter(self.tables))


def read_written(folder: Path) -> Iterator[Written]:
    """Yield the tables of the files of a folder with their questions.

    A table is a line "# name" and lines of a CSV file; further tables that are asked together with it begin with lines
    "## name". Lines "? question | query" and "! question" (not answerable) follow.
    """
    for path in sorted(folder.glob("*.txt")):
        for block in f"\n{path.read_text()}".split("\n# ")[1:]:
            lines = block.splitlines()
            asked = [tuple(map(str.strip, line[1:].split("|"))) for line in lines if line.startswith("?")]
            content = "\n".join(line for line in lines if line and line[0] not in "?!")
            tables = dict(_table(part.splitlines()) for part in content.split("\n## "))
            yield Written(
                tables, [(q, query) for q, query in asked], [x[1:].strip() for x in lines if x.startswith("!")]
            )


def _table(lines: list[str]) -> tuple[str, Rows]:
    header, *rows = csv.reader(lines[1:])
    return lines[0].strip(), Rows(header, [dict(zip(header, row, strict=True)) for row in rows])


def shuffled(table: Rows, draw: Random) -> Rows:
    """Return a table with the cells of each column but the first in another order."""
    columns = [[row[name] for row in table.rows] for name in table.names]
    for column in columns[1:]:
        draw.shuffle(column)
    return Rows(table.names, [dict(zip(table.names, row, strict=True)) for row in zip(*columns, strict=True)])


def resized(table: Rows, draw: Random) -> Rows:
    """Return some rows of a table in their order, or all with up to six times as many more, whose cells are drawn.

    The first cell of a row that is added, where no two rows have the same, is made of words of two, with other digits.
    """
    if len(table.rows) < 2 or draw.random() < 0.5:
        count = draw.randint(min(2, len(table.rows)), len(table.rows))
        return Rows(table.names, [table.rows[at] for at in sorted(draw.sample(range(len(table.rows)), count))])
    cells = {name: [row.get(name, "") for row in table.rows] for name in table.names}
    more = [
        {name: draw.choice(cells[name]) for name in table.names} for _ in range(draw.randint(4, 6 * len(table.rows)))
    ]
    key = cells[table.names[0]]
    if len(set(key)) == len(key):
        more = [row | {table.names[0]: _mixed(draw.sample(key, 2), draw)} for row in more]
        known = set(key)
        more = list({row[table.names[0]]: row for row in more}.values())
        more = [row for row in more if row[table.names[0]] not in known]
    return Rows(table.names, [*table.rows, *more])


def bordered(tables: dict[str, Rows], queries: Sequence[str], draw: Random) -> dict[str, Rows]:
    """Return tables with cells at the borders of what queries compare with, as 30 for "> 30".

    Without them nothing tells "more than" from "at least".
    """
    made = {name: Rows(table.names, [dict(row) for row in table.rows]) for name, table in tables.items()}
    for column, value in dict.fromkeys(border for query in queries for border in _BORDER.findall(query)):
        for table in made.values():
            if (name := column.strip("[]")) in table.names:
                draw.choice(table.rows)[name] = value
    return made


def _mixed(texts: Sequence[str], draw: Random) -> str:
    """Return the beginning of one text and the end of another, with other digits."""
    one, other = map(str.split, texts)
    half = (len(one) + 1) // 2
    words = " ".join([*one[:half], *other[half:]])
    return re.sub(r"\d", lambda _: str(draw.randint(1, 9)), words)


def headed(table: Rows, group: str, draw: Random) -> dict[str, str]:
    """Return new names of neighbouring columns, as those under a header in two rows have them."""
    start = draw.randrange(1, max(2, len(table.names) - 1))
    return {name: f"{group} / {name}" for name in table.names[start : start + draw.randint(2, 4)]}


def _renamed(tables: dict[str, Rows], names: dict[str, str]) -> dict[str, Rows]:
    """Return tables whose columns have new names."""
    made = {}
    for title, table in tables.items():
        rows = [{names.get(name, name): cell for name, cell in row.items()} for row in table.rows]
        made[title] = Rows([names.get(name, name) for name in table.names], rows)
    return made


def written_questions(folder: Path, draw: Random) -> Iterator[Asked]:
    """Yield each question some times, with other cells each time, where its query gives an answer.

    The first time it is asked of its table, then of shuffled ones of other sizes, some with a header in two rows. The
    other times are its checks. Questions without an answer come with no answers.
    """
    for written in read_written(folder):
        worlds = [written.tables, *(_varied(written.tables, draw) for _ in range(_REPEATS + _CHECKS - 1))]
        worlds.append(bordered(written.tables, [query for _, query in written.asked], draw))
        facts = [facts_of(world) for world in worlds]
        known = [[_answers(query, own) for own in facts] for _, query in written.asked]
        names = headed(written.tables[written.name], draw.choice(_GROUPS), draw)
        for repeat in range(_REPEATS):
            is_headed = repeat == _REPEATS - 1 and len(written.tables) == 1
            asked = [_renamed(world, names) for world in worlds] if is_headed else worlds
            checks = [facts_of(world) for world in asked] if is_headed else facts
            for (question, query), answers in zip(written.asked, known, strict=True):
                others = [(f, a) for f, a in zip(checks, answers, strict=True) if a and f is not checks[repeat]]
                if all(answer == ["no"] for answer in answers):
                    others += _affirming(written.tables, query, names if is_headed else {}, draw)
                if answers[repeat]:
                    made = _asked(written, repeat, question, answers[repeat], asked[repeat])
                    yield made._replace(checks=tuple(others))
            for question in written.unanswerable:
                yield _asked(written, repeat, question, [], asked[repeat])


def _answers(query: str, facts: Facts) -> list[str]:
    return answer_texts(Execution(facts).result(parse_notation(query)), facts)


def _affirming(
    tables: dict[str, Rows], query: str, names: dict[str, str], draw: Random
) -> list[tuple[Facts, list[str]]]:
    """Return shuffled tables over which the answer is yes, so that no other query that gives no is held for right."""
    for _ in range(_TRIES):
        world = {name: shuffled(table, draw) for name, table in tables.items()}
        if (answers := _answers(query, facts_of(world))) == ["yes"]:
            return [(facts_of(_renamed(world, names)), answers)]
    return []


def _varied(tables: dict[str, Rows], draw: Random) -> dict[str, Rows]:
    """Return tables with shuffled cells; a table alone in another size."""
    made = {name: shuffled(table, draw) for name, table in tables.items()}
    return {name: resized(table, draw) for name, table in made.items()} if len(made) == 1 else made


def _asked(written: Written, repeat: int, question: str, answers: list[str], tables: dict[str, Rows]) -> Asked:
    return Asked(f"{written.name} {repeat} {question}", "written", written.name, question, answers, tables)
