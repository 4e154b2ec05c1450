"""Typed values of relations that several tables write in their own ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphwright import Index
from graphwright.models import HashEncoder
from graphwright.search.facts import Facts
from graphwright.text.values import DATE, NUMBER

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
