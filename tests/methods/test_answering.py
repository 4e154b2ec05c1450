"""Computed answers: a model that writes the right query leads to the right answer, with rows or statements cited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.operators.query.steps import NOT_COMPUTABLE, query_reply
from tests.shared import answer_reply

from graphwright import Graph, Index, State
from graphwright.data.document import Document
from graphwright.data.records.record import Field, Record
from graphwright.methods.answering import MostProbable
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.parser import ScoredQuery
from graphwright.search.facts import Facts

TICKETS = [
    {"number": f"T-{n}", "status": status, "owner": owner, "hours": hours, "opened": opened}
    for n, (status, owner, hours, opened) in enumerate(
        [
            ("open", "Ida", "2", "2024-05-01"),
            ("open", "Udo", "3.5", "2024-05-20"),
            ("closed", "Ida", "8", "2024-04-11"),
            ("open", "Ida", "1", "2023-12-30"),
            ("waiting", "Eva", "5", "2024-06-02"),
        ],
        1,
    )
]
PACKAGES = [
    ("git", "depends_on", "zlib"),
    ("git", "depends_on", "perl"),
    ("curl", "depends_on", "zlib"),
    ("git", "maintainer", "Jonathan"),
    ("curl", "maintainer", "Alessandro"),
    ("zlib", "maintainer", "Mark"),
    ("git", "released", "2005-04-07"),
    ("curl", "released", "1998-03-20"),
]


def row(number: int, cells: dict[str, str]) -> Document:
    text, fields = "", list[Field]()
    for name, value in cells.items():
        text += f"{name}: "
        fields.append(Field(name, value, len(text), len(text) + len(value)))
        text += f"{value}. "
    records = (Record("tickets", tuple(fields), 0, len(text) - 1),)
    return Document(f"tickets.csv#{number}", text.strip(), "tickets", records=records)


@dataclass(frozen=True)
class Doubtful:
    """A parser with one query for every question, and its probability."""

    query: str
    probability: float

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        return [ScoredQuery(parse_notation(self.query), 1.0, self.probability)]


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index.create(tmp_path_factory.mktemp("tickets") / "index", encoder=HashEncoder())
    index.add([row(number, cells) for number, cells in enumerate(TICKETS, 1)])
    index.add([Document("guide.md", "A ticket that waits for its customer is not closed by us.", "Guide")])
    return index


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index.from_graph(tmp_path_factory.mktemp("graph") / "index", Graph.from_triples(PACKAGES))


def asked(index: Index, question: str, query: str) -> State:
    return index.ask(question, llm=ScriptedLLM([query_reply(query)]))


def check_citations(index: Index, state: State) -> None:
    assert state.answer is not None
    for citation in state.answer.citations:
        assert index.text(citation.document)[citation.start : citation.end] == citation.text


@pytest.mark.parametrize(
    ("question", "query", "short", "rows"),
    [
        ("How many tickets are open?", 'count(tickets where status = "open")', ("3",), {1, 2, 4}),
        ("How many hours has Ida?", 'sum((tickets where owner = "Ida").hours)', ("11",), {1, 3, 4}),
        ("Which ticket took longest?", "largest(tickets by hours).number", ("T-3",), {3}),
        (
            "Which is the newest open ticket?",
            'largest((tickets where status = "open") by opened).number',
            ("T-2",),
            {2},
        ),
        (
            "Which tickets of Ida are not open?",
            '(tickets where owner = "Ida" and status != "open").number',
            ("T-3",),
            {3},
        ),
        ("Is a ticket waiting?", 'exists(tickets where status = "waiting")', ("yes",), {5}),
        ("Who has most tickets?", "most_frequent(tickets.owner)", ("Ida",), {1, 3, 4}),
    ],
)
def test_right_query_over_records_gives_answer_with_its_rows(
    tickets: Index, question: str, query: str, short: tuple[str, ...], rows: set[int]
) -> None:
    state = asked(tickets, question, query)
    assert state.answer is not None and state.answer.found and state.answer.short == short
    assert {citation.document for citation in state.answer.citations} == {f"tickets.csv#{row}" for row in rows}
    check_citations(tickets, state)
    assert state.passages is not None
    assert {passage.document for passage in list(state.passages)[: len(rows)]} == {f"tickets.csv#{row}" for row in rows}


@pytest.mark.parametrize(
    ("question", "query", "short"),
    [
        ("How many packages need zlib?", 'count("zlib" . ~depends_on)', ("2",)),
        ("Who maintains what git needs?", '"git" . depends_on . maintainer', ("Mark",)),
        ("Which package is newest?", "largest((everything where has released) by released)", ("git",)),
        ("What does git need that curl does not?", '("git" . depends_on) except ("curl" . depends_on)', ("perl",)),
        ("Does curl need perl?", 'exists(("curl" . depends_on) intersect "perl")', ("no",)),
    ],
)
def test_right_query_over_graph_gives_answer_with_its_statements(
    packages: Index, question: str, query: str, short: tuple[str, ...]
) -> None:
    state = asked(packages, question, query)
    assert state.answer is not None and state.answer.found and state.answer.short == short
    assert state.answer.short == ("no",) or all(citation.path for citation in state.answer.citations)


def test_imported_graph_with_documents_computes_over_both(tmp_path: Path) -> None:
    index = Index.from_graph(tmp_path / "index", Graph.from_triples(PACKAGES))
    index.add([row(number, cells) for number, cells in enumerate(TICKETS, 1)])
    walks = asked(index, "Who maintains what curl needs?", '"curl" . depends_on . maintainer')
    assert walks.evidence is not None and walks.answer is not None and walks.answer.short == ("Mark",)
    assert walks.graph.names.take(walks.evidence.piece(0)[0]) == ["curl", "zlib", "Mark"]
    rows = asked(index, "How many tickets are open?", 'count(tickets where status = "open")')
    assert rows.answer is not None and rows.answer.short == ("3",)
    check_citations(index, walks)
    check_citations(index, rows)


def test_answer_shows_what_was_computed(tickets: Index) -> None:
    state = asked(tickets, "How many are open?", 'count(tickets where status = "open")')
    assert state.answer is not None
    assert state.answer.text == "3 (the number of tickets whose status is open) [1][2][3]"
    assert state.to_dict()["query"]["query"] == 'count(tickets where status = "open")'


def test_question_that_is_not_computable_is_answered_from_passages(tickets: Index) -> None:
    reply = answer_reply("The customer's turn [1].", (1, "waits for its customer"))
    state = tickets.ask("Who closes a ticket that waits?", llm=ScriptedLLM([NOT_COMPUTABLE, reply]))
    assert state.query is None and state.answer is not None and state.answer.text.startswith("The customer's turn")


@pytest.mark.parametrize(("probability", "computed"), [(0.95, True), (0.8, True), (0.6, False), (0.4, False)])
def test_probability_decides_whether_answer_is_computed(tickets: Index, probability: float, computed: bool) -> None:
    parser = Doubtful('count(tickets where status = "open")', probability)
    state = tickets.ask(
        "What happens with a ticket that waits for its customer?", tickets.method("multihop", parser=parser)
    )
    assert state.answer is not None and state.answer.text.startswith("3 (") is computed
    if probability == 0.6:
        assert "not closed by us" in state.answer.text and "The records may say: 3 (" in state.answer.text
        assert len(state.answer.citations) > 3
        check_citations(tickets, state)


@pytest.mark.parametrize(("probability", "short"), [(0.95, ("none",)), (0.8, ())])
def test_query_that_finds_nothing_is_answer_only_if_it_is_certain(
    tickets: Index, probability: float, short: tuple[str, ...]
) -> None:
    parser = Doubtful('tickets where owner = "Otto"', probability)
    state = tickets.ask("Which tickets has Otto?", tickets.method("multihop", parser=parser))
    assert state.answer is not None and (state.answer.short == short or probability < 0.9)
    assert (state.query is not None) is (probability > 0.9)


def test_most_probable_query_of_several_parsers_counts() -> None:
    parser = MostProbable((Doubtful("count(a)", 0.3), Doubtful("count(b)", 0.7), Doubtful("count(c)", 0.5)))
    queries = parser.parse("?", Facts.of_rows([], "a"))
    assert [query.probability for query in queries] == pytest.approx([0.7, 0.1875, 0.1125])


def test_streamed_computed_answer_ends_with_it_and_has_query(tickets: Index) -> None:
    model = ScriptedLLM([query_reply('count(tickets where status = "open")')])
    events = {event.kind: event.data for event in tickets.stream("How many are open?", llm=model)}
    assert events["token"]["text"] == events["done"]["answer"] and events["evidence"]["query"]["words"]


def test_explanation_of_computed_answer_shows_query(tickets: Index, capsys: pytest.CaptureFixture[str]) -> None:
    from graphwright.cli.explanation import explain

    explain(asked(tickets, "How many are open?", 'count(tickets where status = "open")'))
    shown = capsys.readouterr().out
    assert "the number of tickets whose status is open" in shown and 'count(tickets where status = "open")' in shown


def test_filter_computes_over_its_documents_only(tickets: Index, tmp_path: Path) -> None:
    model = ScriptedLLM([query_reply('count(tickets where status = "open")')])
    chosen = {"documents": ["tickets.csv#1", "tickets.csv#3"]}
    state = tickets.ask("How many are open?", llm=model, filter=chosen)
    assert state.answer is not None and state.answer.short == ("1",)
