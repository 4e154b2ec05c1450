"""The steps that parse a question, execute its query, and give its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from graphwright import Graph, start
from graphwright.operators import ExecuteQuery, LikelyQueries, ParseQuery, QueryEvidence, Run
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.parse_query import MostProbable
from graphwright.operators.query.parser import ScoredQuery
from graphwright.operators.query.result import result_of
from graphwright.search.facts import Facts

LAKES = Graph.from_triples([(f"Lake {n}", "lies in", "Tyrol") for n in range(30)] + [("Tyrol", "part of", "Austria")])


@dataclass
class Fixed:
    """A parser that gives these queries with their probabilities, and counts how often it parses."""

    queries: tuple[tuple[str, float], ...]
    calls: list[str] = field(default_factory=list)

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        self.calls.append(question)
        return [ScoredQuery(parse_notation(query), chance, chance) for query, chance in self.queries]


DOUBTFUL = Fixed(
    (('"Lake 3" . [lies in] . [part of]', 0.3), ('"Tyrol" . ~[lies in]', 0.2), ('"Tyrol" . [part of]', 0.1))
)


@pytest.mark.parametrize(
    ("chances", "shared"),
    [(((0.6,), (0.9, 0.4)), [0.9, 0.06, 0.04]), (((0.3, 0.1), (0.2,)), [0.3, 0.2, 0.1]), ((), [])],
)
def test_most_probable_of_rivals_keeps_its_probability_and_the_others_share_the_rest(
    chances: tuple[tuple[float, ...], ...], shared: list[float]
) -> None:
    parsers = tuple(Fixed(tuple((f'"Lake {chance}"', chance) for chance in own)) for own in chances)
    queries = MostProbable(parsers).parse("?", Facts.of(LAKES))
    assert [query.probability for query in queries] == pytest.approx(shared)


def test_likely_queries_give_the_statements_of_each_with_its_probability() -> None:
    evidence = LikelyQueries(DOUBTFUL)(start("?", LAKES)).evidence
    texts, scores = evidence.texts(LAKES), evidence.scores.tolist()
    assert texts[0] == "Lake 3 → [lies in] → Tyrol → [part of] → Austria" and scores[0] == 0.3
    assert len(texts) == 12 and scores == sorted(scores, reverse=True) and scores[-1] == 0.1


def test_likely_queries_reads_no_more_queries_than_asked() -> None:
    assert len(LikelyQueries(DOUBTFUL, queries=1)(start("?", LAKES)).evidence) == 1


def test_likely_queries_without_queries_gives_no_evidence() -> None:
    assert len(LikelyQueries(Fixed(()))(start("?", LAKES)).evidence) == 0


def test_question_is_parsed_once_in_a_run() -> None:
    parser = Fixed(DOUBTFUL.queries)
    (ParseQuery(parser) >> LikelyQueries(parser))(start("Where?", LAKES), Run())
    assert parser.calls == ["Where?"]


def test_query_evidence_has_the_statements_of_as_many_things_as_asked() -> None:
    parsed = (ParseQuery(Fixed((('"Tyrol" . ~[lies in]', 0.9),))) >> ExecuteQuery())(start("?", LAKES))
    assert [len(QueryEvidence(things)(parsed).evidence) for things in (3, 100)] == [3, 30]
    assert len(QueryEvidence()(parsed).evidence) == 10


def test_query_evidence_without_a_result_is_empty() -> None:
    assert len(QueryEvidence()(start("?", LAKES)).evidence) == 0


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ('exists(("Lake 3" . [lies in]) intersect "Tyrol")', True),
        ('exists(("Lake 3" . [lies in]) intersect "Austria")', False),
        ('exists(("Austria" . [lies in]) intersect "Tyrol")', None),
        ('exists("Austria" . [lies in])', None),
    ],
)
def test_no_is_given_below_sure_only_where_something_else_is_recorded(query: str, value: bool | None) -> None:
    asked = (ParseQuery(Fixed(((query, 0.6),))) >> ExecuteQuery())(start("?", LAKES)).query
    assert (None if asked is None else asked.result.value) is value


@pytest.mark.parametrize(("chance", "value"), [(0.75, False), (0.6, None)])
def test_no_beside_which_nothing_is_recorded_needs_a_sure_query(chance: float, value: bool | None) -> None:
    asked = (ParseQuery(Fixed((('exists("Austria" . [lies in])', chance),))) >> ExecuteQuery())(start("?", LAKES)).query
    assert (None if asked is None else asked.result.value) is value


@pytest.mark.parametrize(("chance", "other", "value"), [(0.75, "Kiln", 0), (0.6, "Kiln", None), (0.75, "Wels", None)])
def test_count_of_none_needs_a_sure_query_where_all_values_are_recorded(
    chance: float, other: str, value: int | None
) -> None:
    works = Graph.from_triples([("Mill", "output", "40"), ("Kiln", "output", "12"), ("Kiln", "site", "Wels")])
    query = f'count(("Mill" union "{other}") where output > 100)'
    asked = (ParseQuery(Fixed(((query, chance),))) >> ExecuteQuery())(start("?", works)).query
    assert (None if asked is None else asked.result.value) == value


def test_no_about_a_row_that_has_another_value_is_supported_by_the_row() -> None:
    facts = Facts.of_rows([{"sitter": "Nell", "pet": "goat"}, {"sitter": "Tom", "pet": "hen"}], "visits")
    result = result_of(parse_notation('exists(visits where sitter = "Nell" and pet = "hen")'), facts)
    assert (result.value, [supported.thing for supported in result.support]) == (False, [facts.first_record])


@pytest.mark.parametrize(
    ("query", "walk"),
    [
        ('exists(("Lake 3" . [lies in]) intersect "Austria")', "Lake 3 → [lies in] → Tyrol"),
        ('exists("Lake 3" where [lies in] = "Austria")', "Tyrol → [lies in⁻¹] → Lake 3"),
    ],
)
def test_no_is_supported_by_what_is_recorded_instead(query: str, walk: str) -> None:
    state = (ParseQuery(Fixed(((query, 0.8),))) >> ExecuteQuery() >> QueryEvidence())(start("?", LAKES))
    assert state.evidence.texts(LAKES) == [walk]
    assert [citation.path for citation in state.query.result.citations] == [("Lake 3", "lies in", "Tyrol")]


def test_no_about_one_of_those_with_a_value_is_supported_by_its_own_value_first() -> None:
    bridges = Graph.from_triples([("Arn", "built by", "Ida"), ("Belm", "built by", "Otto"), ("Cor", "built by", "Ida")])
    query = 'exists((Arn.[built by].~[built by] except Arn) intersect "Belm")'
    result = (ParseQuery(Fixed(((query, 0.8),))) >> ExecuteQuery())(start("?", bridges)).query.result
    assert result.value is False and result.citations[0].path == ("Belm", "built by", "Otto")


def test_no_of_two_values_compared_is_supported_by_both() -> None:
    peaks = Graph.from_triples([("Arn", "height", "2100 m"), ("Belm", "height", "1900 m")])
    query = 'exists("Belm" where height > ("Arn".height))'
    result = (ParseQuery(Fixed(((query, 0.8),))) >> ExecuteQuery())(start("?", peaks)).query.result
    paths = {("Belm", "height", "1900 m"), ("Arn", "height", "2100 m")}
    assert result.value is False and {citation.path for citation in result.citations} == paths
