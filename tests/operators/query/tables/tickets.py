"""A small index of two tables: tickets and employees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.search.facts import Facts

TICKETS = [
    {"ticket": "T-001", "status": "open", "owner": "Ada", "hours": "12", "opened": "2026-01-10"},
    {"ticket": "T-002", "status": "closed", "owner": "Ben", "hours": "30", "opened": "2026-02-11"},
    {"ticket": "T-003", "status": "open", "owner": "Ada", "hours": "7", "opened": "2026-03-12"},
    {"ticket": "T-004", "status": "waiting", "owner": "Cleo", "hours": "18", "opened": "2026-04-13"},
    {"ticket": "T-005", "status": "open", "owner": "Ben", "hours": "21"},
]
EMPLOYEES = [
    {"Name": "Ada", "Department": "Sales", "Salary": "52,000", "Start date": "2019-03-01"},
    {"Name": "Ben", "Department": "Support", "Salary": "41,000", "Start date": "2021-07-15"},
    {"Name": "Cleo", "Department": "Support", "Salary": "43,500", "Start date": "2018-01-10"},
]


def facts_of(tables: Mapping[str, Sequence[Mapping[str, str]]]) -> Facts:
    """Return facts with tables by the names of their types."""
    facts = Facts.of_rows([row for rows in tables.values() for row in rows])
    assert facts.records is not None
    types = np.repeat(np.arange(len(tables)), [len(rows) for rows in tables.values()]).astype(np.int32)
    return Facts(replace(facts.columns, records=replace(facts.records, types=TextColumn.of(tables), type=types)))


def ticket_facts() -> Facts:
    """Return the facts of both tables."""
    return facts_of({"tickets": TICKETS, "employees": EMPLOYEES})
