"""Columns of tables: their kinds and missing cells, and columns of other tables that they lead to."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.query.tables.tickets import EMPLOYEES, TICKETS, facts_of, ticket_facts

from graphwright.operators.query.query import Step
from graphwright.operators.query.tables.columns import Column, Table
from graphwright.operators.query.tables.links import TableIndex


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def test_column_with_a_row_that_lacks_it_has_its_share_missing() -> None:
    tickets = TableIndex(ticket_facts()).tables[0]
    assert _column(tickets, "opened").missing == pytest.approx(0.2)
    assert _column(tickets, "owner").missing == 0


def test_described_has_the_name_and_some_cells() -> None:
    assert _column(TableIndex(ticket_facts()).tables[1], "Name").described == "Name: Ada, Ben, Cleo"


@given(st.permutations([{"time": "9:00", "text": "encrypted"}, {"speaker": "Ada", "time": "9:01", "text": "hello"}]))
def test_table_first_record_lacks_a_column_order_is_that_of_the_fullest(messages: list[dict[str, str]]) -> None:
    (table,) = TableIndex(facts_of({"message": messages})).tables
    assert [column.name for column in table.columns] == ["speaker", "time", "text"]


def test_joined_columns_of_names_come_after_own_columns() -> None:
    tickets, employees = TableIndex(ticket_facts()).tables
    paths = {column.name: column.path for column in tickets.columns[len(TICKETS[0]) :]}
    assert paths["Department"] == (Step("owner"), Step("Name", inverse=True), Step("Department"))
    assert all(not column.is_joined for column in (*employees.columns, *tickets.columns[: len(TICKETS[0])]))


def test_joined_numbers_in_columns_of_other_names_lead_nowhere() -> None:
    pupils = [{"pupil": name, "room": room} for name, room in (("Ada", "1"), ("Ben", "2"), ("Cleo", "1"))]
    prizes = [{"place": place, "prize": prize} for place, prize in (("1", "book"), ("2", "pen"), ("3", "ball"))]
    assert not any(
        c.is_joined
        for table in TableIndex(facts_of({"pupils": pupils, "prizes": prizes})).tables
        for c in table.columns
    )


def _index(tables: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, set[tuple[Step, ...]]]:
    return {table.type: {column.path for column in table.columns} for table in TableIndex(facts_of(tables)).tables}


@given(st.permutations(EMPLOYEES), st.booleans())
def test_joined_columns_order_of_tables_and_rows_does_not_matter(employees: list[dict[str, str]], first: bool) -> None:
    tables = {"tickets": TICKETS, "employees": employees}
    other = dict(reversed(tables.items())) if first else tables
    assert _index(other) == _index({"tickets": TICKETS, "employees": EMPLOYEES})
