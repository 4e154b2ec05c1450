"""Typed values of relations that several tables write in their own ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphwright import Index
from graphwright.models import HashEncoder
from graphwright.operators.query.result import answer_of
from graphwright.search.facts import Facts
from graphwright.text.values import DATE, NUMBER, value_of

TABLES = {
    "north.csv": "day;paid\n13.01.2024;1.250,5\n02.03.2024;2.500\n",
    "south.csv": 'day,paid\n01/13/2024,"1,250.5"\n02/03/2024,2.500\n',
}


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, "utf-8")
    index = Index.create(tmp_path / "index", encoder=HashEncoder())
    index.add([tmp_path / name for name in TABLES])
    return Facts.of(index.graph)


def test_values_of_each_table_are_read_as_it_writes_them(facts: Facts) -> None:
    days, paid = facts.values("day"), facts.values("paid")
    assert set(days.kind.tolist()) == {DATE} and set(paid.kind.tolist()) == {NUMBER}
    assert paid.low.tolist() == [1250.5, 2500.0, 1250.5, 2.5]
    assert days.low[0] == days.low[2] and days.low[1] > days.low[3]


def test_values_at_positions_are_those_of_all(facts: Facts) -> None:
    chosen = facts.values("paid", np.array([3, 0]))
    assert chosen.low.tolist() == facts.values("paid").low[[3, 0]].tolist()


def facts_of(folder: Path, files: dict[str, str]) -> Facts:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    index = Index.create(folder / "index", encoder=HashEncoder())
    index.add([folder / name for name in files])
    return Facts.of(index.graph)


@pytest.mark.parametrize(("beside", "amounts"), [("12,5", [1500, 2250]), ("12.5", [1.5, 2.25]), ("05.2026", None)])
def test_values_of_undecided_column_are_read_as_other_columns_of_the_table(
    tmp_path: Path, beside: str, amounts: list[float] | None
) -> None:
    values = facts_of(tmp_path, {"rent.csv": f"rent;other\n1.500;{beside}\n2.250;{beside}\n"}).values("rent")
    low, high = amounts or [1.5, 2.25], amounts or [1500, 2250]
    assert (values.low.tolist(), values.high.tolist()) == (low, high)


def test_values_of_undecided_column_are_read_as_those_of_its_name_in_other_files(tmp_path: Path) -> None:
    files = {"east.csv": "place;rent\nGraz;1.500\nWels;2.250\n", "west.csv": "place;rent\nBonn;12,5\nJena;7,25\n"}
    assert sorted(facts_of(tmp_path, files).values("rent").low.tolist()) == [7.25, 12.5, 1500, 2250]


def test_dates_of_undecided_column_are_read_as_other_tables_of_the_file(tmp_path: Path) -> None:
    page = "| member | joined |\n|---|---|\n| Ida | 03/04/2026 |\n\n# Trips\n\n| trip | day |\n|---|---|\n| Fell | 05/28/2026 |\n"  # noqa: E501
    (joined,) = facts_of(tmp_path, {"club.md": f"# Members\n\n{page}"}).values("joined").low.tolist()
    assert joined == value_of("2026-03-04").amount


def test_sum_of_undecided_numbers_is_not_given(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, {"store.csv": "place;amount\nGraz;1.500\nWels;2.250\n"})
    assert answer_of("sum(store.amount)", facts).value is None
