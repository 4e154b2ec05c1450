"""The questions written for training: each query is read and gives an answer over its table."""

from pathlib import Path
from random import Random

from table_written import read_written, shuffled, written_questions

_FILE = Path(__file__).parents[2] / "scripts" / "parser" / "written.txt"


def test_written_questions_each_has_an_answer_over_its_own_table() -> None:
    asked = {question for _, _, questions in read_written(_FILE) for question, _ in questions}
    answered = {each.question for each in written_questions(_FILE, Random(0)) if each.answers}
    assert len(asked) >= 150
    assert answered == asked


def test_shuffled_table_has_the_same_cells_in_each_column() -> None:
    _, table, _ = next(iter(read_written(_FILE)))
    other = shuffled(table, Random(0))
    for name in table.names:
        assert sorted(row[name] for row in table.rows) == sorted(row[name] for row in other.rows)
