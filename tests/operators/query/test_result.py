"""Results of queries: values, and the facts and citations that support them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from tests.operators.query.evaluator import World
from tests.operators.query.test_execution import QUERIES, WORLDS
from tests.operators.query.tickets import tickets_table

from graphwright import Document, Graph, Index
from graphwright.data.records.record import Field, Record
from graphwright.models import HashEncoder
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Query
from graphwright.operators.query.result import QueryResult, result_of
from graphwright.search.facts import Facts

TICKETS = [
    {"id": "T1", "status": "open", "hours": "2", "owner": "Ida", "due": "2024-05-03"},
    {"id": "T2", "status": "closed", "hours": "3.5", "owner": "Udo", "due": "2024-06-01"},
    {"id": "T3", "status": "open", "hours": "unknown", "owner": "Ida"},
]
FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Mann", "born_in", "Chicago"),
        ("Ali", "directed_by", "Mann"),
        ("Heat", "is a", "film"),
    ]
)


def _tickets(text: str) -> QueryResult:
    return result_of(parse_notation(text), Facts.of_rows(TICKETS, "tickets"))


def _films(text: str) -> QueryResult:
    return result_of(parse_notation(text), Facts.of(FILMS))


@pytest.mark.parametrize(
    ("text", "value", "names"),
    [
        ('count(tickets where status = "open")', 2, ("T1", "T3")),
        ("sum(tickets.hours)", 5.5, ("T1", "T2")),
        ("min(tickets.due)", "2024-05-03", ("T1",)),
        ('exists(tickets where owner = "Eva")', False, ()),
        ('none(tickets where owner = "Eva")', True, ()),
        ('none(tickets where status != "open")', False, ("T2",)),
        ("largest(tickets by due)", None, ("T2",)),
        ("last(2 tickets)", None, ("T2", "T3")),
        ("mean(tickets.owner)", None, ()),
        ('difference(count(tickets), count(tickets where owner = "Ida"))', 1, ()),
        ('difference("T1".~id.hours, "T2".~id.hours)', 1.5, ()),
    ],
)
def test_result_of_tickets_gives_value_and_names(text: str, value: object, names: tuple[str, ...]) -> None:
    result = _tickets(text)
    assert (result.value, result.names) == (value, names)


def test_result_of_sum_names_the_values_left_out() -> None:
    assert _tickets("sum(tickets.hours)").notes == ("Left out: 1 of 3 values, no numbers or dates.",)


def test_result_of_sum_in_several_units_says_so() -> None:
    facts = Facts.of_rows([{"price": "5 EUR"}, {"price": "7 USD"}], "offers")
    assert "several units" in result_of(parse_notation("sum(offers.price)"), facts).notes[0]


def test_support_of_chain_is_the_walk_in_order() -> None:
    (supported,) = _films('"Heat".directed_by.born_in').support
    assert [FILMS.triple(fact) for fact in supported.facts] == [
        ("Heat", "directed_by", "Mann"),
        ("Mann", "born_in", "Chicago"),
    ]


def test_support_of_condition_on_a_path_has_each_step() -> None:
    (supported,) = _films('film where directed_by.born_in = "Chicago"').support
    assert {FILMS.triple(fact)[1] for fact in supported.facts} == {"is a", "directed_by", "born_in"}


def test_support_of_smallest_value_is_its_record() -> None:
    assert [item.thing for item in _tickets("min(tickets.hours)").support] == [0]


def test_support_of_many_things_is_summarised() -> None:
    rows = [{"id": f"T{number}", "status": "open"} for number in range(300)]
    result = result_of(parse_notation('count(tickets where status = "open")'), Facts.of_rows(rows, "tickets"))
    assert (len(result.support), len(result.citations), result.support_count) == (10, 10, 300)


def test_citations_of_a_graph_without_passages_quote_the_triple() -> None:
    first, second = _films('"Heat".directed_by.born_in').citations
    assert (first.text, first.path) == ("Mann born in Chicago", ("Mann", "born_in", "Chicago"))
    assert (second.chunk, FILMS.passage(FILMS.id(second.chunk))[second.start : second.end]) == ("Heat", second.text)


@settings(max_examples=60)
@given(WORLDS, QUERIES)
def test_result_of_random_query_has_facts_of_the_world_as_support(world: World, query: Query) -> None:
    facts = world.facts()
    result = result_of(query, facts)
    total = len(facts.columns.heads) + (0 if facts.records is None else len(facts.records.record))
    assert all(0 <= fact < total for supported in result.support for fact in supported.facts)
    numbers = np.array([fact for supported in result.support for fact in supported.facts], np.int64)
    assert len(facts.units(numbers)) <= result.support_count
    assert result.to_dict()["count"] == len(result.things)


def test_query_of_an_index_cites_the_rows_of_the_document(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        index.add([tickets_table(200)])
        text = index.text("tickets.csv")
        result = index.query('count(tickets where status = "closed" and owner = "Udo")')
        assert (result.value, result.support_count, len(result.citations)) == (34, 34, 10)
        assert result.citations[1].text == "T6 | closed | Udo" and result.citations[1].document == "tickets.csv"
        assert all(text[cited.start : cited.end] == cited.text for cited in result.citations)
        assert result.citations[1].path == ("T6", "owner", "Udo")


def test_query_of_an_index_with_filter_sees_only_its_documents(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        other = Document("b", "T9 late", records=(Record("tickets", (Field("id", "T9", 0, 2),), 0, 7),))
        index.add([tickets_table(4), other])
        assert index.query("count(tickets)").value == 5
        assert index.query("tickets", filter={"documents": ["b"]}).rows == [{"id": "T9"}]


def test_next_record_stays_in_its_document_and_type(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        other = Document("z", "T9 late", records=(Record("tickets", (Field("id", "T9", 0, 2),), 0, 7),))
        index.add([tickets_table(3), other])
        assert index.query('next(tickets where id = "T1")').names == ("T2",)
        assert index.query('next(tickets where id = "T2")').is_empty


def test_query_of_statements_cites_the_sentence(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8), extractor="rules") as index:
        index.add([{"id": "a", "text": "Graz is nice. Anna Berger was born in Graz. It rained."}])
        (cited,) = index.query('"Graz".~[was born in]').citations
        assert (cited.document, cited.text) == ("a", "Anna Berger was born in Graz.")
        assert cited.path == ("Anna Berger", "was born in", "Graz")


def test_query_of_an_imported_graph_with_documents_cites_the_rows(tmp_path: Path) -> None:
    graph = Graph.from_triples([("Ida", "born in", "Graz"), ("Udo", "born in", "Linz")])
    with Index.from_graph(tmp_path / "index", graph, encoder=HashEncoder(8)) as index:
        index.add([tickets_table(4)])
        result = index.query('tickets where owner.[born in] = "Graz"')
        assert result.names == ("T1", "T3")
        rows = [cited for cited in result.citations if cited.document == "tickets.csv"]
        assert [cited.text for cited in rows] == ["T1 | open | Ida", "T3 | closed | Ida"]
        assert index.query('next(tickets where id = "T1")').names == ("T2",)


def test_answer_of_repeated_step_is_supported_by_all_facts_on_the_way() -> None:
    graph = Graph.from_triples([("c", "parent", "b"), ("b", "parent", "a"), ("x", "parent", "a"), ("c", "age", "9")])
    result = result_of(parse_notation('"c".parent+'), Facts.of(graph))
    assert result.names == ("b", "a")
    assert [supported.facts for supported in result.support] == [(0,), (0, 1)]
    assert result_of(parse_notation('everything where parent+ = "a" and age < 10'), Facts.of(graph)).support[0].facts[
        :2
    ] == (0, 1)


def test_result_of_extreme_over_values_that_cannot_be_read_says_how_many() -> None:
    rows = [{"well": "A", "depth": "3 m"}, {"well": "B", "depth": "unknown"}, {"well": "C", "depth": "c. 5 m"}]
    result = result_of(parse_notation("largest(wells by depth)"), Facts.of_rows(rows, "wells"))
    assert result.names == ("C",) and result.notes == ("Left out: 1 of 3 values, no numbers or dates.",)
