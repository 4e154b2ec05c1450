"""Execution of queries: against an evaluator in plain Python, and form by form."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.query.evaluator import CLASS, World
from tests.operators.query.queries import queries, things

from graphwright import Graph
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.notation import notation
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Compare, Everything, Follow, OfType, Query, Step, Where
from graphwright.search.facts import Facts

_EXAMPLES = 1000 if os.environ.get("CI") else 150
_NODES = ("graz", "linz", "mur", "enns", "river", "7", "12")
_RELATIONS = ("flows", "near", "size", CLASS)
_COLUMNS = ("name", "size", "near")
_VALUES = ("graz", "mur", "other", "1", "2", "7", "30", "12")
_triples = st.tuples(st.sampled_from(_NODES), st.sampled_from(_RELATIONS), st.sampled_from(_NODES))
_fields = st.dictionaries(st.sampled_from(_COLUMNS), st.sampled_from(_VALUES), max_size=3)
_rows = _fields.map(lambda row: tuple(row.items()))
_records = st.tuples(st.sampled_from(("rows", "river")), _rows, st.integers(0, 4).map(lambda number: not number))
WORLDS = st.builds(World, st.lists(_triples, max_size=8).map(tuple), st.lists(_records, max_size=6).map(tuple))
_RELATION = st.sampled_from((*_RELATIONS, "name", "unknown"))
QUERIES = queries(
    things(st.sampled_from((*_NODES, "other", "none")), st.sampled_from(("rows", "river", "none")), _RELATION,
           st.sampled_from(_VALUES)),
    _RELATION,
)  # fmt: skip


def _plain(result: Any, facts: Facts, world: World) -> Any:
    """Return the result of an execution as the evaluator gives it."""
    if not isinstance(result, np.ndarray):
        return pytest.approx(result) if isinstance(result, float) else result
    assert (np.diff(result) > 0).all()
    ids = result.tolist()
    return {
        ("record", thing - facts.first_record)
        if facts.first_record <= thing < facts.first_value
        else ("node" if thing < facts.first_record else "value", facts.text(thing))
        for thing in ids
    }


@settings(max_examples=_EXAMPLES, deadline=None)
@given(WORLDS, QUERIES)
def test_execute_random_query_agrees_with_the_evaluator(world: World, query: Query) -> None:
    facts = world.facts()
    assert world.result(query) == _plain(Execution(facts).result(query), facts, world), notation(query)


@pytest.mark.parametrize(("comparison", "cities"), [(">", ["Linz", "Wels"]), ("<", [])])
def test_execute_comparison_with_a_record_is_by_place(comparison: str, cities: list[str]) -> None:
    facts = Facts.of_rows([{"city": "Graz"}, {"city": "Linz"}, {"city": "Wels"}], "cities")
    first = Where(OfType("cities"), Compare((Step("city"),), "=", "Graz"))
    result = Execution(facts).result(Where(OfType("cities"), Compare((), comparison, first)))  # type: ignore[arg-type]
    assert facts.texts(result) == cities  # type: ignore[arg-type]


ROWS = [
    {"id": "1", "due": "2024-05-03", "length": "12 km", "title": "Late delivery", "year": "1999", "tag": "a"},
    {"id": "2", "due": "2024-05", "length": "800 m", "title": "Café is late", "year": "2001"},
    {"id": "3", "due": "2024-06-01", "length": "2 km", "title": "Order", "year": "2001", "tag": "A"},
    {"id": "4", "title": "Refund"},
]


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("due = 2024-05", "1 2"),
        ("due = 2024", "1 2 3"),
        ("due > 2024-05", "3"),
        ("due >= 2024-05-03", "1 3"),
        ("due < 2024-05-31", "1"),
        ("due <= 2024-05", "1 2"),
        ("due != 2024-05-03", "3 4"),
        ("length > 1.5km", "1 3"),
        ('length <= "2000 m"', "2 3"),
        ("year > 2000", "2 3"),
        ("year = 2001", "2 3"),
        ('tag = "A"', "1 3"),
        ('tag != "a"', "2 4"),
        ('title contains "LATE"', "1 2"),
        ('title contains "cafe"', "2"),
        ("has no due", "4"),
        ("count(tag) = 0", "2 4"),
        ("year > (last(2 rows).year)", ""),
        ("year >= (rows.year)", "2 3"),
        ("it > (rows where length = 2km)", "4"),
        ("it < (rows where length = 800m)", "1"),
        ("year = (first(rows).year)", "1"),
        ('title > "A"', ""),
        ("(year = 1999 or has no year)", "1 4"),
        ('length > 1.5km and (year < 2000 or tag = "a")', "1 3"),
        ("year > due", ""),
        ("year < due", "1 2 3"),
        ("tag != tag", "2 4"),
        ("id = id", "1 2 3 4"),
    ],
)
def test_execute_condition_holds_for_rows(condition: str, ids: str) -> None:
    facts = Facts.of_rows(ROWS, "rows")
    assert sorted(facts.texts(Execution(facts).result(parse_notation(f"(rows where {condition}).id")))) == ids.split()  # type: ignore[arg-type]


def test_execute_equal_number_has_the_same_sign() -> None:
    facts = Facts.of_rows([{"room": "cellar", "floor": "-1"}, {"room": "bath", "floor": "1"}], "rooms")
    for floor, room in (("1", "bath"), ("-1", "cellar")):
        assert facts.texts(Execution(facts).result(parse_notation(f"(rooms where floor = {floor}).room"))) == [room]  # type: ignore[arg-type]


def test_execute_sum_counts_equal_values_of_several_things_each() -> None:
    facts = Facts.of_rows([{"customer": "Acme", "amount": "5"}, {"customer": "Acme", "amount": "5"}], "orders")
    assert Execution(facts).result(parse_notation("sum(orders.amount)")) == 10
    assert Execution(facts).result(parse_notation('sum("Acme".~customer.amount)')) == 10
    assert Execution(facts).result(parse_notation("sum((orders.amount))")) == 5  # of the distinct values


def test_execute_sum_counts_a_repeated_statement_once() -> None:
    facts = Facts.of(Graph.from_triples([("a", "size", "5"), ("a", "size", "5"), ("b", "size", "5")]))
    assert Execution(facts).result(parse_notation("sum(everything.size)")) == 10


def test_execute_set_of_everything_reads_no_other_relation() -> None:
    facts = Facts.of(Graph.from_triples([("a", "size", "5"), ("b", "near", "a")]))
    execution = Execution(facts)
    assert execution.result(parse_notation("count(everything where size > 3)")) == 1
    assert Everything() not in execution.known


def test_execute_column_of_two_tables_is_meant_in_both_unless_typed() -> None:
    columns = World((), (("a", (("size", "1"),), False), ("b", (("size", "2"),), False))).facts()
    assert Execution(columns).result(parse_notation("count(everything.size)")) == 2
    assert Execution(columns).result(parse_notation("count(a.size)")) == 1


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("largest(person by count(~parent))", "b"),
        ("smallest(person by count(~parent))", "d"),
        ("largest(2nd person by count(~parent))", "a c"),
        ("largest(5th person by count(~parent))", ""),
        ("largest(2nd person by age)", "a"),
        ('"d".parent+', "a b c"),
        ('"d".parent{1,2}', "b c"),
        ('"a".~parent+', "b c d e"),
        ('person where parent+ = "b"', "c d e"),
    ],
)
def test_execute_order_and_repeated_step_give_the_names(order: str, names: str) -> None:
    triples = [("b", "parent", "a"), ("c", "parent", "b"), ("e", "parent", "b"), ("d", "parent", "c")]
    triples += [(name, "is a", "person") for name in "abcd"] + [("e", "is a", "person")] * (order[0] in '"p')
    facts = Facts.of(Graph.from_triples([*triples, ("a", "age", "70"), ("b", "age", "80"), ("c", "age", "9")]))
    assert sorted(facts.texts(Execution(facts).result(parse_notation(order)))) == names.split()  # type: ignore[arg-type]


def test_execute_repeated_step_in_a_cycle_ends() -> None:
    facts = Facts.of(Graph.from_triples([("a", "before", "b"), ("b", "before", "c"), ("c", "before", "a")]))
    assert facts.texts(Execution(facts).result(parse_notation('"a".before+'))) == ["a", "b", "c"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "asked", "kept"),
    [
        (("48.200,50", "61.900,00", "9.300,10"), "50.000", ["61.900,00"]),
        (("48.200,50", "61.900,00", "9.300,10"), "50,000", ["61.900,00"]),
        (("48200", "61900", "9300"), "50.000", ["61900"]),
        (("0.125", "2.5", "1.75"), "1.500", ["2.5", "1.75"]),
    ],
)
def test_comparison_with_grouped_number_reads_it_as_thousands_unless_column_has_thousandths(
    cells: tuple[str, ...], asked: str, kept: list[str]
) -> None:
    facts = Facts.of_rows([{"sales": cell} for cell in cells], "branches")
    rows = Where(OfType("branches"), Compare((Step("sales"),), ">", asked))
    found = Execution(facts).result(Follow(rows, Step("sales")))
    assert isinstance(found, np.ndarray) and sorted(facts.texts(found)) == sorted(kept)
