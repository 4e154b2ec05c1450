"""Questions written for training, with the queries that answer them, over small tables whose columns are shuffled."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random

from table_asked import Asked
from tables import Rows, answer_texts, facts_of

from graphwright.operators.query.execution import execute
from graphwright.operators.query.parse_notation import parse_notation

_REPEATS = 3


def read_written(path: Path) -> Iterator[tuple[str, Rows, list[tuple[str, str]]]]:
    """Yield each table of a file with its type and its questions: pairs of a question and a query.

    A table is a line "# type", lines of a CSV file, and lines "? question | query".
    """
    for block in path.read_text().split("\n# ")[1:]:
        name, *lines = block.splitlines()
        header, *rows = list(csv.reader(line for line in lines if line and line[0] != "?"))
        asked = [(q.strip(), query.strip()) for q, query in (x[1:].split("|") for x in lines if x.startswith("?"))]
        yield name.strip(), Rows(header, [dict(zip(header, row, strict=True)) for row in rows]), asked


def shuffled(table: Rows, draw: Random) -> Rows:
    """Return a table with the cells of each column but the first in another order."""
    columns = [[row[name] for row in table.rows] for name in table.names]
    for column in columns[1:]:
        draw.shuffle(column)
    return Rows(table.names, [dict(zip(table.names, row, strict=True)) for row in zip(*columns, strict=True)])


def written_questions(path: Path, draw: Random) -> Iterator[Asked]:
    """Yield each question some times, with other cells each time, where its query gives an answer."""
    for name, table, asked in read_written(path):
        for repeat in range(_REPEATS):
            own = shuffled(table, draw) if repeat else table
            facts = facts_of({name: own})
            for question, query in asked:
                if answers := answer_texts(execute(parse_notation(query), facts), facts):
                    yield Asked(f"{name} {repeat} {question}", "written", name, question, answers, {name: own})
