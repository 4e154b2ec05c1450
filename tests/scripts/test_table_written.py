"""The questions written for training: each query is read and gives an answer over its tables."""

from pathlib import Path
from random import Random

import pytest
import table_written
from hypothesis import given
from hypothesis import strategies as st
from table_written import bordered, read_written, resized, shuffled, written_questions
from tables import Rows

_FOLDER = Path(__file__).parents[2] / "scripts" / "parser" / "written"


def test_written_questions_each_has_an_answer_over_its_own_table_or_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, times in (("_REPEATS", 1), ("_CHECKS", 0), ("_TRIES", 1)):  # those of training take a minute
        monkeypatch.setattr(table_written, name, times)
    asked = {(w.name, question) for w in read_written(_FOLDER) for question, _ in w.asked}
    marked = {(w.name, question) for w in read_written(_FOLDER) for question in w.unanswerable}
    assert len(asked) >= 1000 and len(marked) >= 150
    made = [((each.group, each.question), bool(each.answers)) for each in written_questions(_FOLDER, Random(0))]
    assert {key for key, is_answered in made if is_answered} == asked
    assert {key for key, is_answered in made if not is_answered} == marked


def test_shuffled_table_has_the_same_cells_in_each_column() -> None:
    table = next(iter(next(read_written(_FOLDER)).tables.values()))
    other = shuffled(table, Random(0))
    for name in table.names:
        assert sorted(row[name] for row in table.rows) == sorted(row[name] for row in other.rows)


@given(st.randoms())
def test_resized_table_has_some_rows_or_all_and_more_with_new_keys(draw: Random) -> None:
    table = next(iter(next(read_written(_FOLDER)).tables.values()))
    other = resized(table, draw)
    keys = [row[table.names[0]] for row in other.rows]
    assert len(other.rows) >= 2
    assert len(set(keys)) == len(keys)
    assert [row for row in other.rows if row in table.rows] == other.rows[: len(table.rows)]
    assert all(row[name] in {r[name] for r in table.rows} for row in other.rows for name in table.names[1:])


@given(st.randoms())
def test_bordered_tables_have_the_numbers_that_queries_compare_with(draw: Random) -> None:
    table = Rows(["line", "length km"], [{"line": f"L{n}", "length km": str(n)} for n in range(4)])
    made = bordered({"lines": table}, ["count(lines where [length km] > 30)", 'lines where line = "L1"'], draw)["lines"]
    assert [row["length km"] for row in made.rows].count("30") == 1
    assert [row["line"] for row in made.rows] == [row["line"] for row in table.rows]
