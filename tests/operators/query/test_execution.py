"""Execution of queries: against an evaluator in plain Python, and form by form."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.query.evaluator import CLASS, World
from tests.operators.query.queries import queries, things

from graphwright.operators.query.execution import execute
from graphwright.operators.query.notation import notation
from graphwright.operators.query.query import Compare, OfType, Query, Step, Where
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
_WORLDS = st.builds(World, st.lists(_triples, max_size=8).map(tuple), st.lists(_records, max_size=6).map(tuple))
_RELATION = st.sampled_from((*_RELATIONS, "name", "unknown"))
_QUERIES = queries(
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
@given(_WORLDS, _QUERIES)
def test_execute_random_query_agrees_with_the_evaluator(world: World, query: Query) -> None:
    facts = world.facts()
    assert world.result(query) == _plain(execute(query, facts), facts, world), notation(query)


@pytest.mark.parametrize(("comparison", "cities"), [(">", ["Linz", "Wels"]), ("<", [])])
def test_execute_comparison_with_a_record_is_by_place(comparison: str, cities: list[str]) -> None:
    facts = Facts.of_rows([{"city": "Graz"}, {"city": "Linz"}, {"city": "Wels"}], "cities")
    first = Where(OfType("cities"), Compare((Step("city"),), "=", "Graz"))
    result = execute(Where(OfType("cities"), Compare((), comparison, first)), facts)  # type: ignore[arg-type]
    assert facts.texts(result) == cities  # type: ignore[arg-type]
