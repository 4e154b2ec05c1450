"""The questions written for training: each query is read and gives an answer over its tables."""

from pathlib import Path
from random import Random

from table_written import read_written, shuffled, written_questions

_FOLDER = Path(__file__).parents[2] / "scripts" / "parser" / "written"


def test_written_questions_each_has_an_answer_over_its_own_table() -> None:
    asked = {(w.name, question) for w in read_written(_FOLDER) for question, _ in w.asked}
    answered = {(each.group, each.question) for each in written_questions(_FOLDER, Random(0)) if each.answers}
    assert len(asked) >= 1000
    assert answered == asked


def test_written_questions_without_an_answer_are_marked() -> None:
    marked = {(w.name, question) for w in read_written(_FOLDER) for question in w.unanswerable}
    without = {(each.group, each.question) for each in written_questions(_FOLDER, Random(0)) if not each.answers}
    assert len(marked) >= 150
    assert without == marked


def test_shuffled_table_has_the_same_cells_in_each_column() -> None:
    table = next(iter(next(read_written(_FOLDER)).tables.values()))
    other = shuffled(table, Random(0))
    for name in table.names:
        assert sorted(row[name] for row in table.rows) == sorted(row[name] for row in other.rows)
