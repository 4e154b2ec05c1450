"""Examples of rows for the embedded reader: a question about a table, and a row that answers it or does not.

The questions are those that the parser over tables learns from: `parser/written`, with queries, and the training
questions of WikiTableQuestions whose answer is one cell of the only row that has another cell which the question names.
Each is asked of that row, of it without the cell that answers, and of another row of its table.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from reader_data import NONE, SPAN, Example, Text
from table_data import without
from table_written import read_written, shuffled
from tables import Rows, facts_of, read_questions, read_table

from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Where
from graphwright.operators.query.tables.reading import row_text

WRITTEN = Path(__file__).parent / "parser" / "written"
LOOKUP = re.compile(r"\((?P<rows>[^(]+ where [^(<>!~]+)\)\.(?:\[(?P<quoted>[^]]+)\]|(?P<plain>[\w ]+))")
REPEATS = 3  # tables with other cells, of a written question
LEAST = 4  # letters and digits of a cell that names its row
UNTITLED = 0.2  # share of rows without the name of their table


def row_examples(data: Path, work: Path, draw: Random) -> Iterator[Example]:
    """Yield the rows of all questions; `data`: WikiTableQuestions, whose tables are unpacked in `work`."""
    folder = work / "wikitablequestions"
    if not folder.is_dir():
        shutil.unpack_archive(data / "tables.tar.gz", folder)
        shutil.copy(data / "questions.jsonl.gz", folder)
    for written in read_written(WRITTEN):
        for _ in range(REPEATS if len(written.tables) == 1 else 0):
            table = shuffled(written.tables[written.name], draw)
            facts = facts_of({written.name: table})
            for question, query in written.asked:
                if match := LOOKUP.fullmatch(query):
                    rows = parse_notation(match["rows"])
                    assert isinstance(rows, Where)
                    at = (Execution(facts).things(rows) - facts.first_record).tolist()
                    if 0 < len(at) <= 3:
                        yield from _asked(question, written.name, table, at, match["quoted"] or match["plain"], draw)
    for row in read_questions(folder, "train"):
        table = read_table(folder / row["table"])
        if (found := _found(row["question"], row["answers"], table)) is not None:
            yield from _asked(row["question"], "", table, [found[0]], found[1], draw)


def _found(question: str, answers: list[str], table: Rows) -> tuple[int, str] | None:
    """Return the row and the column of a cell that is the answer, where the question names another cell of the row."""
    if len(answers) != 1:
        return None
    asked, answer = _words(question), _words(answers[0])
    cells = [{name: _words(cell) for name, cell in row.items()} for row in table.rows]
    named = [
        at
        for at, row in enumerate(cells)
        if any(len(cell) >= LEAST + 2 and cell in asked and cell != answer for cell in row.values())
    ]
    if len(named) != 1:
        return None
    columns = [name for name, cell in cells[named[0]].items() if cell == answer]
    return (named[0], columns[0]) if len(columns) == 1 and answer not in asked else None


def _words(text: str) -> str:
    return " ".join(["", *re.findall(r"[^\W_]+", text.lower()), ""])


def _asked(question: str, title: str, table: Rows, at: list[int], column: str, draw: Random) -> Iterator[Example]:
    name = "" if draw.random() < UNTITLED else title
    row = table.rows[draw.choice(at)]
    text, place = row_text(row, column)
    if place is not None:
        yield Example(question, (Text.of(name, text, [place]),), SPAN)
    if less := without(table, column).names:
        yield Example(question, (Text(name, row_text({name: row.get(name, "") for name in less}, "")[0]),), NONE)
    if others := [other for number, other in enumerate(table.rows) if number not in at]:
        yield Example(question, (Text(name, row_text(draw.choice(others), "")[0]),), NONE)
