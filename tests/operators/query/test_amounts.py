"""What a question wants of the amounts that it names."""

import numpy as np
import pytest

from graphwright.models.embedded.amounts import MiniLMAmounts, words_around
from graphwright.models.protocols import RELATIONS
from graphwright.operators.query.amounts import agreement, asked_amounts
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Query

QUERIES = {comparison: f"kites where span {comparison} 3" for comparison in (">", ">=", "<", "<=", "=", "!=")}


def wanted(question: str, *queries: str) -> str:
    """Return the query that agrees best."""
    parsed: list[Query] = [parse_notation(query) for query in queries]
    return queries[int(agreement(question, parsed, MiniLMAmounts()).argmax())]


@pytest.mark.parametrize(
    ("question", "comparison"),
    [
        ("Which kites span more than 3 m?", ">"),
        ("Which kites are longer than 3 m?", ">"),
        ("kites of at least 3 m", ">="),
        ("Which kites span less than 3 m?", "<"),
        ("kites under 3 m", "<"),
        ("Which kites span at most 3 m?", "<="),
    ],
)
def test_agreement_of_a_comparison_prefers_its_direction(question: str, comparison: str) -> None:
    best = wanted(question, *QUERIES.values())
    assert best.split()[3][0] == comparison[0]


def test_agreement_of_what_is_left_out_is_that_of_the_opposite() -> None:
    without, own = parse_notation("kites except (kites where span < 3)"), parse_notation("kites where span >= 3")
    first, second = agreement("Which kites span 3 m or more?", [without, own], MiniLMAmounts())
    assert first == second


def test_agreement_without_amounts_is_zero_for_all() -> None:
    queries = [parse_notation("kites"), parse_notation("kites where span > 3")]
    assert not agreement("Which kites are red?", queries, MiniLMAmounts()).any()


def test_agreement_counts_an_amount_that_a_query_leaves_out_as_no_condition() -> None:
    assert wanted("Which kites span more than 3 m?", "kites", "kites where span > 3") == "kites where span > 3"


def test_asked_amounts_stand_where_they_are_written() -> None:
    question = "Which kites (of 3 m) flew after 4 May 2031?"
    found = asked_amounts(question)
    assert [question[amount.start : amount.end].strip("()?") for amount in found] == ["3", "4 May 2031"]
    assert [amount.meant.kind for amount in found if not isinstance(amount.meant, str)] == ["number", "date"]


def test_words_around_an_amount_tell_before_from_after() -> None:
    before, after = words_around("more than 3", 10, 11), words_around("3 more than", 0, 1)
    assert before and after and not {*before} & {*after}


def test_relations_are_probabilities_for_each_amount() -> None:
    found = MiniLMAmounts().relations("Is any kite older than 30 years?", [(23, 25), (26, 31)])
    assert found.shape == (2, len(RELATIONS)) and np.exp(found).sum(1) == pytest.approx([1, 1], abs=1e-5)


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Which kites does Otto not own?", 'kites except (kites where pilot = "Otto")'),
        ("Which kites does Otto fly?", 'kites where pilot = "Otto"'),
        ("kites flown by anyone but Otto", 'kites where pilot != "Otto"'),
    ],
)
def test_agreement_of_a_name_tells_whether_it_is_ruled_out(question: str, best: str) -> None:
    other = {'kites where pilot = "Otto"', 'kites where pilot != "Otto"'} - {best}
    assert wanted(question, *other, best) in (best, 'kites where pilot != "Otto"' if "except" in best else best)


def test_agreement_of_all_is_that_of_what_fails_turned_round() -> None:
    queries = ["none(kites where span <= 3)", "none(kites where span >= 3)", "none(kites where span > 3)"]
    assert wanted("Do all kites span more than 3 m?", *queries) == queries[0]


def test_agreement_of_queries_without_a_name_is_not_below_that_of_any_with_it() -> None:
    parsed: list[Query] = [parse_notation(query) for query in ('kites where pilot = "Otto"', "kites")]
    with_name, without = agreement("Which kites does Otto fly?", parsed, MiniLMAmounts())
    assert without >= with_name
