"""Computed answers over a folder of files: the right query gives the right answer, with the places that say it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import graphwright
from tests.methods.office_folder import write_folder
from tests.operators.query.steps import query_reply

from graphwright import Index
from graphwright.models import ScriptedLLM

ASKED = [
    pytest.param(
        "How many deliveries came from Müller GmbH?",
        'count(deliveries where Lieferant = "Müller GmbH")',
        ["2"],
        ["Lieferung: L-01; Lieferant: Müller GmbH", "Lieferung: L-03; Lieferant: Müller GmbH"],
        id="count of CSV",
    ),
    pytest.param(
        "What did we pay Müller GmbH?",
        'sum((deliveries where Lieferant = "Müller GmbH").Betrag)',
        ["1114.25"],
        ["Betrag: 1.234,50.", "Betrag: -120,25."],
        id="sum of CSV",
    ),
    pytest.param(
        "Which deliveries came after March 2024?",
        '(deliveries where Eingang > "2024-03").Lieferung',
        ["L-04"],
        ["Eingang: 02.05.2024"],
        id="date in CSV",
    ),
    pytest.param(
        "What was returned in all?",
        "sum(returns.Betrag)",
        ["1236.625"],
        ["Betrag: 1,234.50", "Betrag: 2.125"],
        id="other dialect",
    ),
    pytest.param(
        "What came back last?",
        "largest(returns by Eingang).Lieferung",
        ["L-04"],
        ["Eingang: 05/06/2024"],
        id="date of other dialect",
    ),
    pytest.param(
        "What was returned before June?",
        '(returns where Eingang < "2024-06").Lieferung',
        ["L-01", "L-04"],
        ["Eingang: 03/29/2024", "Eingang: 05/06/2024"],
        id="dates of other dialect",
    ),
    pytest.param(
        "What are all orders together?",
        "sum(Orders.Price)",
        ["11140.5"],
        ["Order: O-7", "Order: O-8", "Order: O-9"],
        id="sum of sheet",
    ),
    pytest.param(
        "Who pays most?", "largest(Orders by Price).Customer", ["Abbey"], ["Price: 8400.5"], id="largest of sheet"
    ),
    pytest.param(
        "Which orders are due from May on?",
        '(Orders where Due >= "2024-05-01").Order',
        ["O-8", "O-9"],
        ["Due: 2024-06-15", "Due: 2024-05-20"],
        id="dates of sheet",
    ),
    pytest.param("Who works least?", "smallest(Staff by Hours).Person", ["Lea"], ["Hours: 12"], id="second sheet"),
    pytest.param(
        "How many mails did Ida write?",
        'count(mail where from = "Ida Berg")',
        ["2"],
        ["Can you come?", "It works again"],
        id="count of mails",
    ),
    pytest.param(
        "What did Udo say last?",
        'largest((mail where from = "Udo Kern") by date).text',
        ["On Thursday, with a new sensor."],
        ["On Thursday, with a new sensor."],
        id="newest mail",
    ),
    pytest.param(
        "Who replied to whom?",
        'exists(mail where from = "Udo Kern" and has [reply to])',
        ["yes"],
        ["Re: Kiln repair"],
        id="yes or no of mails",
    ),
    pytest.param(
        "Who wrote first on the second day?",
        'first(message where time >= "2024-03-02").speaker',
        ["Mara"],
        ["Thanks!"],
        id="date in chat",
    ),
    pytest.param(
        "Who spoke about the gate?",
        '(message where text contains "gate").speaker',
        ["Tom", "Lea"],
        ["Keep the gate open.", "The gate is still open."],
        id="chat",
    ),
    pytest.param(
        "Which furnaces are not heated by gas?",
        '(furnaces where [limits.gas] != "true").name',
        ["Boreas"],
        ["name: Boreas"],
        id="which not in JSON",
    ),
    pytest.param("How many furnaces are there?", "count(furnaces)", ["3"], ["Alba", "Boreas", "Cinder"], id="JSON"),
    pytest.param(
        "Which furnace melts clear glass and is hottest?",
        'largest((furnaces where glass = "clear") by [limits.temperature]).name',
        ["Alba"],
        ["limits.temperature: 1150"],
        id="list in JSON",
    ),
    pytest.param(
        "Which version of the visitor policy is the newest?",
        'largest((document where title = "Visitor policy") by date).version',
        ["2"],
        ["Groups may have six visitors."],
        id="newest version",
    ),
    pytest.param(
        "Has the abbey a cheap order?",
        'exists(Orders where Customer = "Abbey" and Price < 1000)',
        ["no"],
        ["Price: 8400.5"],
        id="no",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("workshop")
    write_folder(place / "files")
    with Index.create(place / "index") as index:
        index.add(place / "files")
    return place / "index"


@pytest.fixture(scope="module")
def workshop(folder: Path) -> Index:
    return Index.open(folder)


@pytest.mark.parametrize(("question", "query", "short", "cited"), ASKED)
def test_right_query_over_files_gives_answer_and_its_places(
    workshop: Index, question: str, query: str, short: list[str], cited: list[str]
) -> None:
    state = workshop.ask(question, llm=ScriptedLLM([query_reply(query)]))
    assert state.answer is not None and sorted(state.answer.short) == sorted(short)
    assert len(state.answer.citations) == len(cited)
    for citation in state.answer.citations:
        assert workshop.text(citation.document)[citation.start : citation.end] == citation.text
    for part in cited:
        assert any(part in citation.text for citation in state.answer.citations)


@pytest.mark.parametrize(("question", "query", "short", "cited"), ASKED)
def test_query_command_over_files_prints_the_values(
    folder: Path, question: str, query: str, short: list[str], cited: list[str]
) -> None:
    done = graphwright("query", query, "--index", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(line.replace(",", "") for line in done.stdout.splitlines()) == sorted(
        s.replace(",", "") for s in short
    )


def test_schema_of_files_has_a_type_for_each_kind_of_thing(workshop: Index) -> None:
    counts = {item["name"]: item["count"] for item in workshop.schema()["types"]}
    expected = {"deliveries": 4, "Orders": 3, "Staff": 3, "mail": 3, "message": 4, "furnaces": 3}
    assert {name: counts.get(name) for name in expected} == expected
