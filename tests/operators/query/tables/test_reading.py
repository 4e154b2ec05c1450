"""Queries that take cells of rows, weighed by what a reader finds in the rows."""

from collections.abc import Sequence

import pytest
from tests.operators.query.tables.tickets import ticket_facts

from graphwright.models.protocols import PassageText
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.parser import ScoredQuery
from graphwright.operators.query.tables.reading import RowsRead, looked_up
from graphwright.search.facts import Facts

INVOICES = [
    {"Invoice": "A-7", "Customer": "Ostler", "Total": "2040"},
    {"Invoice": "A-8", "Customer": "Larkrise", "Total": "1133"},
]


class Proposes:
    """A parser that proposes given queries with their probabilities."""

    def __init__(self, *queries: tuple[str, float]) -> None:
        self.queries = [ScoredQuery(parse_notation(text), 0.0, chance) for text, chance in queries]

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        return self.queries


class Finds:
    """A reader that finds the answer where a text is a cell or its column, and remembers which rows it read."""

    def __init__(self, text: str) -> None:
        self.text, self.rows = text, list[str]()

    def cell_scores(
        self, question: str, rows: Sequence[PassageText], cells: Sequence[tuple[int, int]], probability: float
    ) -> list[float]:
        self.rows += [row.text for row in rows]
        cut = (row.text[:end].rpartition(";")[2] for row, (_, end) in zip(rows, cells, strict=True))
        return [0.9 if self.text in cell.split(": ") else 0.1 for cell in cut]


def test_parse_cell_that_is_not_the_answer_comes_after_the_one_that_is() -> None:
    parser = Proposes(
        ('(invoices where Customer = "Ostler").Invoice', 0.7), ('(invoices where Customer = "Ostler").Total', 0.2)
    )
    reader = Finds("2040")
    first, second = RowsRead(parser, reader).parse("total ostler", Facts.of_rows(INVOICES, "invoices"))
    assert (first.query, second.query) == (parser.queries[1].query, parser.queries[0].query)
    assert (first.probability, second.probability) == (0.9, pytest.approx(0.1))
    assert set(reader.rows) == {"Invoice: A-7; Customer: Ostler; Total: 2040."}


def test_parse_cells_of_several_rows_are_as_probable_as_the_least() -> None:
    reader = Finds("A-7")
    (own,) = RowsRead(Proposes(("invoices.Invoice", 0.8)), reader).parse("?", Facts.of_rows(INVOICES, "invoices"))
    assert own.probability == pytest.approx(0.1) and len(reader.rows) == 2


def test_parse_queries_for_what_the_other_knows_are_equally_probable() -> None:
    rows = [{"Name": "Ada", "Deputy": "Ben"}, {"Name": "Cleo", "Deputy": "Ada"}]
    parser = Proposes(('(people where Deputy = "Ada").Name', 0.9), ('(people where Name = "Ada").Deputy', 0.3))
    found = RowsRead(parser, Finds("Ada")).parse("deputy of Ada", Facts.of_rows(rows, "people"))
    assert {own.query for own in found} == {own.query for own in parser.queries}
    assert found[0].probability == pytest.approx(found[1].probability) and found[0].probability <= 0.5


@pytest.mark.parametrize(
    "query",
    [
        "count(invoices)",
        "largest(invoices by Total).Invoice",
        "(invoices where Total > 2000).Customer",
        'invoices where Customer = "Ostler"',
    ],
)
def test_parse_query_that_looks_up_no_cell_keeps_its_probability(query: str) -> None:
    reader = Finds("A-7")
    (own,) = RowsRead(Proposes((query, 0.6)), reader).parse("?", Facts.of_rows(INVOICES, "invoices"))
    assert own.probability == 0.6 and not reader.rows


def test_parse_sum_of_a_column_that_is_not_asked_for_becomes_improbable() -> None:
    rows = [{"Item": "tins", "Amount": "2", "Paid": "82"}, {"Item": "lids", "Amount": "3", "Paid": "45"}]
    parser = Proposes(("sum(orders.Amount)", 0.7), ("sum(orders.Paid)", 0.2))
    first, second = RowsRead(parser, Finds(" Paid")).parse("what did we pay?", Facts.of_rows(rows, "orders"))
    assert (first.query, second.query) == (parser.queries[1].query, parser.queries[0].query)


@pytest.mark.parametrize("query", ["tickets.owner", "max(tickets.hours)", "(tickets where has opened@2024).owner"])
def test_looked_up_cells_of_many_rows_are_those_of_the_first_three(query: str) -> None:
    assert len(list(looked_up(parse_notation(query), ticket_facts()))) == 3
