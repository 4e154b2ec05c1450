"""Queries from the steps of a language model's reply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.query.queries import queries, things
from tests.operators.query.steps import query_reply

from graphwright.operators.query.query import (
    ANY,
    Compare,
    Count,
    Counted,
    Follow,
    Neighbour,
    OfType,
    Or,
    Query,
    Step,
    Where,
)
from graphwright.operators.query.steps_of_reply import StepError, query_of
from graphwright.prompts.query_reply import QueryReply
from graphwright.search.facts import Facts

ROWS = [{"number": "1", "state": "open", "owner": "Ida"}, {"number": "2", "state": "closed", "owner": "Udo"}]
FACTS = Facts.of_rows(ROWS, "orders")
NAMES, RELATIONS = st.sampled_from(("Ida", "Udo", "open")), st.sampled_from(("number", "state", "owner"))


def made(*steps: dict[str, Any]) -> Query:
    return query_of(QueryReply.model_validate({"computable": True, "steps": steps}), FACTS)


def steps_in(value: Any) -> list[Step]:
    """Return the steps of a part of a query."""
    parts = vars(value).values()
    return [part for part in parts if isinstance(part, Step)] + [
        step for part in parts if isinstance(part, tuple) and not isinstance(part, Step) for step in part
    ]


def writable(value: Any) -> bool:
    """Return whether a step exists for each part of a query."""
    if isinstance(value, Compare) and not isinstance(value.value, str) and value.comparison not in ("=", "!="):
        return False
    if isinstance(value, Or) or any(step.times not in (1, ANY) for step in steps_in(value)):
        return False
    if not isinstance(value, Follow) and any((step.times, step.at) != (1, "") for step in steps_in(value)):
        return False
    if (isinstance(value, Counted) and value.number < 0) or (isinstance(value, Neighbour) and abs(value.offset) > 1):
        return False
    return all(writable(part) for part in vars(value).values() if hasattr(part, "__dataclass_fields__"))


@given(queries(things(NAMES, st.just("orders"), RELATIONS, NAMES), RELATIONS))
def test_query_of_steps_of_any_query_is_the_query(query: Query) -> None:
    if writable(query):
        assert query_of(QueryReply.model_validate_json(query_reply(query)), FACTS) == query


def test_query_of_name_written_almost_right_has_the_name_of_the_facts() -> None:
    query = made(
        {"do": "type", "type": "Order"},
        {"do": "where", "of": 1, "path": ["States"], "compares": "=", "value": "open"},
        {"do": "count", "of": 2},
    )
    assert query == Count(Where(OfType("orders"), Compare((Step("state"),), "=", "open")))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "there are no steps"),
        ([{"do": "count", "of": 1}], "step 1: it refers to step 1, and there are 0 before it"),
        ([{"do": "type", "type": "invoices"}], "step 1: there is no type 'invoices'"),
        ([{"do": "named", "name": "Berta"}], "there is no thing 'Berta'"),
        ([{"do": "everything"}, {"do": "follow", "of": 1, "path": ["price"]}], "no relation or column 'price'"),
        ([{"do": "everything"}, {"do": "count", "of": 1}, {"do": "count", "of": 2}], "step 2, which gives a value"),
    ],
)
def test_query_of_impossible_steps_says_which_and_why(steps: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(StepError, match=message):
        made(*steps)
