"""Queries from the steps of a language model's reply.

Questions parsed by a language model: what it is shown, and what its replies lead to.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faulty_server import silent
from tests.llm_server import LLMServer
from tests.operators.query.queries import queries, things
from tests.operators.query.steps import NOT_COMPUTABLE, query_reply
from tests.shared import FAMILY

from graphwright import Graph, Keep, State, start
from graphwright.errors import ReplyCutError
from graphwright.models import OpenAILLM, ScriptedLLM
from graphwright.operators import Fallback
from graphwright.operators.query.llm_parser import LLMQueryParser, StepError, query_of, shown_facts
from graphwright.operators.query.parse_notation import parse_notation
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
from graphwright.operators.query.result import CERTAIN, SURE
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


ROWS_LLM_PARSER = [
    {"number": "1", "state": "open", "owner": "Ida", "opened": "2024-05-01"},
    {"number": "2", "state": "closed", "owner": "Udo", "opened": "2024-05-03"},
]
FACTS_LLM_PARSER = Facts.of_rows(ROWS_LLM_PARSER, "tickets")
QUESTION = "How many tickets of Ida are open?"
ASKED = start(QUESTION, Graph(FACTS_LLM_PARSER.columns))
RIGHT = 'count(tickets where owner = "Ida" and state = "open")'


def parsed(*replies: str) -> tuple[State, list[str]]:
    """Return the state after these replies, and the prompts that they answer."""
    prompts = list[str]()

    def reply(system: str, user: str) -> str:
        prompts.append(user)
        return replies[len(prompts) - 1]

    return LLMQueryParser(ScriptedLLM(reply))(ASKED), prompts


def test_shown_facts_of_table_have_its_columns_and_values_of_the_question() -> None:
    shown = shown_facts(QUESTION, FACTS_LLM_PARSER)
    line = json.loads(shown["types"])
    assert line["type"] == "tickets" and line["things"] == 2
    assert line["columns"]["state"] == ["open", "closed"] and list(line["columns"]) == list(ROWS_LLM_PARSER[0])
    assert {json.loads(text)["value"] for text in shown["values"].splitlines()} == {"open", "Ida"}
    assert shown["relations"] == "(none)"


def test_shown_facts_of_graph_have_relations_around_what_is_named_first() -> None:
    triples = [(f"thing {i}", f"relation {i}", f"thing {i + 1}") for i in range(200)]
    facts = Facts.of(Graph.from_triples([*triples, ("Graz", "lies on", "Mur")]))
    shown = [json.loads(text) for text in shown_facts("Which river is at Graz?", facts)["relations"].splitlines()]
    assert shown[0] == {"relation": "lies on", "example": ["Graz", "Mur"]} and len(shown) == 60


def test_parser_with_right_reply_sets_query() -> None:
    state, prompts = parsed(query_reply(RIGHT))
    assert state.query is not None and state.query.query == parse_notation(RIGHT)
    assert len(prompts) == 1 and not state.trace[-1].failed


def test_parser_with_unknown_column_asks_once_more_with_what_is_wrong() -> None:
    state, prompts = parsed(query_reply('count(tickets where price = "3")'), query_reply(RIGHT))
    assert state.query is not None and state.query.query == parse_notation(RIGHT)
    assert "there is no relation or column 'price'" in prompts[1]


def test_parser_with_unknown_value_asks_once_more_and_is_less_certain_of_it_then() -> None:
    unknown = 'count(tickets where state = "on hold")'
    state, prompts = parsed(query_reply(unknown), query_reply(RIGHT))
    assert "No value of state is 'on hold'" in prompts[1]
    assert state.query is not None and (state.query.notation, state.query.probability) == (RIGHT, CERTAIN)
    again, _ = parsed(query_reply(unknown), query_reply(unknown))
    assert again.query is not None and (again.query.notation, again.query.probability) == (unknown, SURE)


def test_parser_that_says_not_computable_sets_no_query_and_does_not_fail() -> None:
    state, _ = parsed(NOT_COMPUTABLE)
    assert state.query is None and not state.trace[-1].failed


@pytest.mark.parametrize("reply", ["Two, I think.", '{"computable": true, "st', "", query_reply("count(invoices)")])
def test_parser_with_unusable_replies_fails_so_that_fallback_parses(reply: str) -> None:
    model = ScriptedLLM(lambda system, user: reply)
    state = Fallback(LLMQueryParser(model), Keep())(ASKED)
    assert state.query is None and [step.failed for step in state.trace] == [True, False]


class TestOverHttp:
    """The same through a client and a server that speak HTTP."""

    def test_parser_over_http_sends_schema_and_sets_query(self) -> None:
        with LLMServer([query_reply(RIGHT)]) as server:
            state = LLMQueryParser(OpenAILLM("any", server.url))(ASKED)
        assert state.query is not None and state.query.query == parse_notation(RIGHT)
        schema = server.requests[0].json["response_format"]["json_schema"]["schema"]
        assert set(schema["required"]) == {"reasoning", "computable", "steps"} and state.trace[-1].usage.calls == 1

    @pytest.mark.parametrize("rubbish", ['{"computable": 1', '{"computable": true, "steps": [{"do": "dance"}]}', ""])
    def test_useless_reply_over_http_is_asked_for_once_more_and_falls_back(self, rubbish: str) -> None:
        with LLMServer([rubbish]) as server:
            state = Fallback(LLMQueryParser(OpenAILLM("any", server.url)), Keep())(ASKED)
        assert state.query is None and [step.failed for step in state.trace] == [True, False]
        assert len(server.requests) == 2

    def test_timed_out_reply_over_http_falls_back(self) -> None:
        with LLMServer([silent]) as server:
            llm = OpenAILLM("any", server.url, timeout=0.3, retries=0)
            state = Fallback(LLMQueryParser(llm), Keep())(ASKED)
        assert state.query is None and [step.failed for step in state.trace] == [True, False]


def test_parser_with_slow_model_fails() -> None:
    def late(system: str, user: str) -> str:
        raise ReplyCutError("it took more than 60 seconds.")

    state = LLMQueryParser(ScriptedLLM(late))(start(QUESTION, Graph.from_triples(FAMILY)))
    assert state.query is None and state.trace[-1].failed
