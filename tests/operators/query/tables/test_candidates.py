"""Candidates: each gives what its query gives, and the query asked for is among them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operators.query.tables.tickets import facts_of, ticket_facts

from graphwright.operators.query.execution import Execution
from graphwright.operators.query.query import (
    Aggregate,
    Compare,
    Count,
    Difference,
    Except,
    Exists,
    Extreme,
    Fields,
    Follow,
    Has,
    Neighbour,
    OfType,
    Query,
    Step,
    Things,
    Where,
)
from graphwright.operators.query.tables.candidates import Candidate, Enumeration
from graphwright.operators.query.tables.links import TableIndex
from graphwright.operators.query.tables.rows import RowSets
from graphwright.search.facts import Facts

_WORDS = ("how", "many", "tickets", "open", "of", "ada", "or", "ben", "before", "t-002", "hours", "most", "12", "2026")


def candidates(question: str, facts: Facts) -> list[Candidate]:
    """Return the candidates of a question over all tables."""
    index, execution = TableIndex(facts), Execution(facts)
    linked = index.links(question, {})
    types = frozenset(index.tables[t].type for t in linked)
    found: list[Candidate] = []
    for number, links in linked.items():
        said = np.array([score for score, _ in links.headers], np.float32)
        found += Enumeration(RowSets(index.tables[number], links, execution, said), tables=types)
    return found


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=8).map(" ".join))
def test_candidates_random_question_each_gives_what_its_query_gives(question: str) -> None:
    facts = ticket_facts()
    for candidate in candidates(question, facts)[::7]:
        assert np.array_equal(candidate.result, Execution(facts).result(candidate.query))  # type: ignore[arg-type]


def _condition(column: str, value: str, comparison: str = "=") -> Compare:
    return Compare((Step(column),), comparison, value)  # type: ignore[arg-type]


def _where(column: str, value: str, comparison: str = "=") -> Where:
    return Where(OfType("tickets"), _condition(column, value, comparison))


def _chain(things: Things, *steps: Step) -> Things:
    return _chain(Follow(things, steps[0]), *steps[1:]) if steps else things


def _rank(things: Things, rank: int) -> Things:
    return Extreme(things, (Step("hours"),), True, rank, is_rank=True)


_BEN, _WAITING = _where("owner", "Ben"), _where("status", "waiting")
_OWNER = Step("owner")
_DEPARTMENT = (_OWNER, Step("Name", inverse=True), Step("Department"))
_LACKING = Where(OfType("tickets"), Has((Step("opened"),), negated=True))

_ASKED: list[tuple[str, Callable[[], Query]]] = [
    ("how many tickets are open", lambda: Count(_where("status", "open"))),
    ("ticket with most hours", lambda: Follow(Extreme(OfType("tickets"), (Step("hours"),)), Step("ticket"))),
    ("hours of Ada in total", lambda: Aggregate("sum", _where("owner", "Ada"), (Step("hours"),))),
    ("tickets over 15 hours", lambda: Count(_where("hours", "15", ">"))),
    ("which tickets of Ben are not open", lambda: Follow(Except(_BEN, _where("status", "open")), Step("ticket"))),
    ("is T-002 open", lambda: Exists(Where(_where("ticket", "T-002"), _condition("status", "open")))),
    ("tickets opened in march", lambda: Follow(_where("opened", "2026-03"), Step("ticket"))),
    ("tickets without a date when they were opened", lambda: Follow(_LACKING, Step("ticket"))),
    ("who has no waiting ticket", lambda: Except(Follow(OfType("tickets"), _OWNER), Follow(_WAITING, _OWNER))),
    ("department of the owner of T-003", lambda: _chain(_where("ticket", "T-003"), *_DEPARTMENT)),
    ("second longest open ticket", lambda: Follow(_rank(_where("status", "open"), 2), Step("ticket"))),
    ("the 4th longest", lambda: Follow(_rank(OfType("tickets"), 4), Step("ticket"))),
    (
        "2 longest open tickets",
        lambda: Follow(Extreme(_where("status", "open"), (Step("hours"),), True, 2), Step("ticket")),
    ),
    ("are all tickets open", lambda: Exists(_where("status", "open", "!="), negated=True)),
    ("did all of Ben's take over 15 hours", lambda: Exists(Where(_BEN, _condition("hours", "15", "<=")), negated=True)),
    ("how many took over 99 hours", lambda: Count(_where("hours", "99", ">"))),
    ("did one take over 99 hours", lambda: Exists(_where("hours", "99", ">"))),
    ("tickets of sales", lambda: Follow(Where(OfType("tickets"), Compare(_DEPARTMENT, "=", "Sales")), Step("ticket"))),
    ("ticket after T-002", lambda: Follow(Neighbour(_where("ticket", "T-002"), 1), Step("ticket"))),
    (
        "hours of T-001 and T-002",
        lambda: Difference(
            Follow(_where("ticket", "T-001"), Step("hours")), Follow(_where("ticket", "T-002"), Step("hours"))
        ),
    ),
]


@pytest.mark.parametrize(("question", "query"), _ASKED)
def test_candidates_plain_question_has_its_query(question: str, query: Callable[[], Query]) -> None:
    assert query() in {candidate.query for candidate in candidates(question, ticket_facts())}


def test_candidates_column_that_is_named_and_has_few_values_gives_rows_of_each() -> None:
    facts = facts_of(
        {"rooms": [{"room": "A", "lift": "yes"}, {"room": "B", "lift": "no"}, {"room": "C", "lift": "no"}]}
    )
    queries = {candidate.query for candidate in candidates("which rooms have a lift", facts)}
    for value in ("yes", "no"):
        assert Follow(Where(OfType("rooms"), _condition("lift", value)), Step("room")) in queries


def test_candidates_column_of_running_text_is_no_answer() -> None:
    rows = [{"name": name, "text": f"The report of {name} on the river and its bridges. " * 3} for name in "ABC"]
    found = candidates("what is the text of A", facts_of({"reports": rows}))
    assert found
    assert not [c for c in found if isinstance(c.query, Follow) and c.query.step == Step("text")]


def test_candidates_columns_all_of_another_table_are_asked_there_alone() -> None:
    queries = {candidate.query for candidate in candidates("who is in Sales", ticket_facts())}
    there = Where(OfType("employees"), _condition("Department", "Sales"))
    assert Follow(there, Step("Name")) in queries
    assert Follow(Where(OfType("tickets"), Compare(_DEPARTMENT, "=", "Sales")), _OWNER) not in queries


@pytest.mark.parametrize(
    ("question", "is_made"),
    [("who teaches French", False), ("who teaches what is on Monday when French is on Tuesday", True)],
)
def test_candidates_one_of_several_columns_that_lead_to_a_table_is_followed_where_it_is_said(
    question: str, is_made: bool
) -> None:
    days = [{"Monday": "Maths", "Tuesday": "French"}, {"Monday": "Art", "Tuesday": "Maths"}]
    teachers = [("Maths", "Ms Oduya"), ("French", "Mme Rousset"), ("Art", "Ms Quist")]
    rows = [{"Subject": subject, "Teacher": teacher} for subject, teacher in teachers]
    found = [c.query for c in candidates(question, facts_of({"timetable": days, "teachers": rows})) if c.answer >= 0]
    followed = [query for query in found if "Monday" in str(query) and "Teacher" in str(query)]
    assert bool(followed) is is_made


@pytest.mark.parametrize(
    ("question", "is_made"),
    [("what is the pay of Ben", False), ("pay of the writer with reader Ben", True)],
)
def test_candidates_cell_of_an_unsaid_column_is_that_of_the_table_with_the_answer(question: str, is_made: bool) -> None:
    letters = [("Ada", "Ben"), ("Ben", "Ada"), ("Cleo", "Ben"), ("Dora", "Cleo"), ("Ben", "Dora")]
    pays = [{"name": name, "pay": pay} for name, pay in (("Ada", "10"), ("Ben", "20"), ("Cleo", "30"), ("Dora", "40"))]
    facts = facts_of({"letters": [{"writer": w, "reader": r} for w, r in letters], "salaries": pays})
    found = [(c.query, {part.text for part in c.given}) for c in candidates(question, facts) if c.answer >= 0]
    assert Follow(Where(OfType("salaries"), _condition("name", "Ben")), Step("pay")) in [query for query, _ in found]
    answers = [query for query, given in found if given == {"Ben"} and "reader" in str(query)]
    assert any(isinstance(query, Follow) and query.step == Step("pay") for query in answers) is is_made


def test_candidates_column_of_lists_has_rows_with_an_item_of_several() -> None:
    rows = [
        {"name": "Ada", "speaks": "Urdu, Danish"},
        {"name": "Ben", "speaks": "Danish"},
        {"name": "Cleo", "speaks": "Urdu; Irish"},
    ]
    queries = {candidate.query for candidate in candidates("who speaks danish", facts_of({"people": rows}))}
    speaks = _condition("speaks", "Danish", "contains")
    assert Follow(Where(OfType("people"), speaks), Step("name")) in queries


@pytest.mark.parametrize("paid", ["yes", "no"])
def test_candidates_two_cells_and_a_column_of_few_values_are_checked_together(paid: str) -> None:
    rows = [
        {"student": "Ada", "course": "Latin", "paid": "yes"},
        {"student": "Ada", "course": "Greek", "paid": "no"},
        {"student": "Ben", "course": "Latin", "paid": "no"},
    ]
    found = candidates("has Ada paid for Greek", facts_of({"courses": rows}))
    checked = {frozenset((part.column, part.text) for part in c.given) for c in found if isinstance(c.query, Exists)}
    assert {(0, "Ada"), (1, "Greek"), (2, paid)} in checked


def test_difference_of_a_row_with_itself_is_no_candidate() -> None:
    rows = [{"buyer": "Ada", "item": "flour", "amount": "40"}, {"buyer": "Ben", "item": "rye", "amount": "75"}]
    for question, is_there in (
        ("How much flour did Ada order?", False),
        ("How much did Ben order more than Ada?", True),
    ):
        found = [c.query for c in candidates(question, facts_of({"orders": rows})) if isinstance(c.query, Difference)]
        assert any(isinstance(query.first, Follow) for query in found) == is_there


def test_difference_of_the_extremes_of_one_row_is_no_candidate() -> None:
    timeouts = [{"name": "server", "write_seconds": "90"}, {"name": "client", "write_seconds": "30"}]
    for rows in (timeouts[:1], timeouts):
        found = candidates("What is the write timeout of the server?", facts_of({"timeouts": rows}))
        assert any(candidate.operators[:2] == ("difference", "extremes") for candidate in found) == (len(rows) > 1)


def test_candidates_lists_that_only_share_the_name_of_their_table_are_not_mixed() -> None:
    hosts = [{"hostname": f"app-{n}", "memory": str(8 * n), "rack": f"B{n}"} for n in (1, 2, 3)]
    pools = [{"name": f"app-{n}", "weight": str(10 * n)} for n in (1, 2, 3)]
    facts = Facts.of_rows([*hosts, *pools], "servers")
    found = candidates("Does the server app-1 have more memory than app-3?", facts)
    queries = {candidate.query for candidate in found}
    other = Follow(Where(OfType("servers"), _condition("hostname", "app-3")), Step("memory"))
    wanted = Compare((Step("memory"),), ">", other)
    assert Exists(Where(Where(OfType("servers"), _condition("hostname", "app-1")), wanted)) in queries
    mixed = [{part.column for part in own.given} | {own.answer, own.order} for own in found]
    assert not any({"hostname", "memory"} & names and {"name", "weight"} & names for names in map(_names(facts), mixed))


def _names(facts: Facts) -> Callable[[set[int]], set[str]]:
    (table,) = TableIndex(facts).tables
    return lambda columns: {table.columns[at].name for at in columns if at >= 0}


def test_candidates_two_columns_of_numbers_compare_rows_by_both_the_last_named_last() -> None:
    rows = [
        {"item": "gauze", "on hand": "40", "reorder level": "60"},
        {"item": "gloves", "on hand": "15", "reorder level": "15"},
        {"item": "sutures", "on hand": "45", "reorder level": "30"},
    ]
    facts = facts_of({"stock": rows})
    named = candidates("which items are below the reorder level", facts)
    low = Where(OfType("stock"), Fields((Step("on hand"),), "<", (Step("reorder level"),)))
    items = Follow(low, Step("item"))
    assert [facts.text(int(thing)) for thing in _found(named, items).result] == ["gauze"]  # type: ignore[union-attr]
    assert _found(named, Count(low)).result == 1 and _found(named, Exists(low)).result is True
    enough = Where(OfType("stock"), Fields((Step("on hand"),), ">=", (Step("reorder level"),)))
    assert _found(named, Exists(enough, negated=True)).result is False  # whether all are below
    one = candidates("does gauze have less on hand than the reorder level", facts)
    gauze = Where(OfType("stock"), _condition("item", "gauze"))
    assert _found(one, Exists(Where(gauze, low.condition))).result is True
    pair = [Follow(gauze, Step(name)) for name in ("on hand", "reorder level")]
    assert _found(one, Difference(*pair)).result == 20
    unnamed = candidates("how much is the gauze", facts)
    assert unnamed and not any(isinstance(own.query, Difference) and own.query.first == pair[0] for own in unnamed)


def test_candidates_columns_of_different_kinds_are_not_compared() -> None:
    rows = [{"loan": "a", "due": "2024-05-01", "fee": "3"}, {"loan": "b", "due": "2024-06-01", "fee": "4"}]
    found = candidates("which loans have a fee above due", facts_of({"loans": rows}))
    assert found and not any("field" in operator for own in found for operator in own.operators)


def _found(found: list[Candidate], query: Query) -> Candidate:
    return next(own for own in found if own.query == query)
