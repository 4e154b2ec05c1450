"""Questions written for training, with the queries that answer them, over small tables whose columns are shuffled."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from table_asked import Asked
from tables import Rows, answer_texts, facts_of

from graphwright.operators.query.execution import execute
from graphwright.operators.query.parse_notation import parse_notation

_REPEATS = 2  # how often each question is asked
_CHECKS = 2  # further times that only check queries


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


def written_questions(folder: Path, draw: Random) -> Iterator[Asked]:
    """Yield each question some times, with other cells each time, where its query gives an answer.

    The other times are its checks. Questions without an answer come with no answers.
    """
    for written in read_written(folder):
        worlds = [written.tables, *(_shuffled(written.tables, draw) for _ in range(_REPEATS + _CHECKS - 1))]
        facts = [facts_of(world) for world in worlds]
        for question, query in written.asked:
            answers = [answer_texts(execute(parse_notation(query), own), own) for own in facts]
            for repeat in range(_REPEATS):
                checks = tuple(
                    (f, a) for at, (f, a) in enumerate(zip(facts, answers, strict=True)) if a and at != repeat
                )
                if answers[repeat]:
                    yield _asked(written, repeat, question, answers[repeat], worlds[repeat])._replace(checks=checks)
        for question in written.unanswerable:
            yield from (_asked(written, repeat, question, [], worlds[repeat]) for repeat in range(_REPEATS))


def _shuffled(tables: dict[str, Rows], draw: Random) -> dict[str, Rows]:
    return {name: shuffled(table, draw) for name, table in tables.items()}


def _asked(written: Written, repeat: int, question: str, answers: list[str], tables: dict[str, Rows]) -> Asked:
    return Asked(f"{written.name} {repeat} {question}", "written", written.name, question, answers, tables)
