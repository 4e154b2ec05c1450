"""The parser of questions over tables: it chooses the table, scores and abstains by probability."""

from pathlib import Path

import numpy as np
import pytest
from tests.operators.query.tables.tickets import facts_of, ticket_facts

from graphwright import Index
from graphwright.data.documents import read_documents
from graphwright.errors import OptionError
from graphwright.models import MiniLM, MiniLMAmounts
from graphwright.models.fake import HashEncoder
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parser import QueryParser
from graphwright.operators.query.tables import parser
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.search.facts import Facts

PARSER: QueryParser = TableQueryParser(MiniLM(), MiniLMAmounts())


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many tickets are open?", 3),
        ("Which ticket took the most hours?", ["T-002"]),
        ("When did Cleo start?", ["2018-01-10"]),
        ("Who has a higher salary, Ada or Ben?", ["Ada"]),
        ("How many employees work in Support?", 2),
        ("Which tickets are open?", ["T-001", "T-003", "T-005"]),
        ("Which tickets took more than 15 hours?", ["T-002", "T-004", "T-005"]),
        ("How many hours did Ada spend in total?", 19),
        ("Is T-002 open?", False),
        ("Who works in Support?", ["Ben", "Cleo"]),
    ],
)
def test_parse_question_over_one_of_two_tables_gives_the_answer(question: str, answer: object) -> None:
    facts = ticket_facts()
    result = Execution(facts).result(PARSER.parse(question, facts)[0].query)
    assert (sorted(facts.texts(result)) if isinstance(result, np.ndarray) else result) == answer


def test_parse_queries_are_in_order_of_their_scores() -> None:
    queries = PARSER.parse("Which ticket of Ben took the most hours?", ticket_facts())
    scores = [query.score for query in queries]
    assert scores == sorted(scores, reverse=True)
    assert len({query.query for query in queries}) == len(queries) == 10
    assert all(0 <= query.probability <= 1 for query in queries)


@pytest.mark.parametrize(
    "question", ["What is the capital of France?", "How old is Ben?", "Which language does Cleo speak?"]
)
def test_parse_question_that_no_table_answers_has_a_low_probability(question: str) -> None:
    assert PARSER.parse(question, ticket_facts())[0].probability < 0.5


def test_parse_facts_without_records_gives_none() -> None:
    assert PARSER.parse("How many?", Facts.of_rows([])) == []


def test_parse_question_without_words_gives_no_error() -> None:
    assert PARSER.parse("?", ticket_facts())[0].probability < 0.9


def test_parse_encoder_of_another_dimension_is_an_error() -> None:
    with pytest.raises(OptionError, match="384"):
        TableQueryParser(HashEncoder(64), MiniLMAmounts()).parse("How many tickets are open?", ticket_facts())


def test_parse_at_a_date_when_what_is_named_did_not_hold_asks_of_nothing_else() -> None:
    berths = [
        {"Berth": "K7", "Boat": "Skua", "From": "2018-04-01", "Until": "2020-10-31"},
        {"Berth": "K7", "Boat": "Tern", "From": "2021-04-01", "Until": "2023-10-31"},
        {"Berth": "M2", "Boat": "Gull", "From": "2019-04-01", "Until": "2022-10-31"},
    ]
    facts = facts_of({"berths": berths})
    found = {
        date: Execution(facts).result(PARSER.parse(f"Which boat was at berth K7 on {date}?", facts)[0].query)
        for date in ("3 May 2022", "3 January 2021")
    }
    assert isinstance(held := found["3 May 2022"], np.ndarray) and facts.texts(held) == ["Tern"]
    assert found["3 January 2021"] in (False, 0)


def test_parse_table_without_candidates_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a table whose rows that hold at a date lack the cell that is named."""
    monkeypatch.setattr(parser, "Enumeration", lambda sets, tables: iter(()))
    assert PARSER.parse("How many tickets are open?", ticket_facts()) == []


def price_lists(folder: Path, title: str) -> Facts:
    """Return the facts of two versions of a price list, whose titles may have the year."""
    for year, harrier, curlew in ((2025, "4.70", "4.30"), (2026, "5.10", "4.60")):
        table = f"| Beer | Pint |\n|---|---|\n| Harrier | {harrier} |\n| Curlew | {curlew} |\n"
        (folder / f"prices {year}.md").write_text(f"# {title.format(year=year)}\n\n{table}")
    with Index.create(folder / "ix", encoder=HashEncoder()) as index:
        index.add([*read_documents(sorted(folder.glob("*.md")), print)])
        return Facts.of(index.graph)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the pint of Harrier?", "5.10"),
        ("What was the pint of Harrier in 2025?", "4.70"),
        ("Which beer has a pint of less than 5?", "Curlew"),
    ],
)
def test_parse_table_of_an_older_version_is_searched_only_where_it_is_named(
    question: str, answer: str, tmp_path: Path
) -> None:
    facts = price_lists(tmp_path, "Prices from 1 April {year}")
    assert facts.texts(Execution(facts).result(PARSER.parse(question, facts)[0].query)) == [answer]


def test_parse_table_of_two_versions_is_not_searched(tmp_path: Path) -> None:
    assert PARSER.parse("What is the pint of Harrier?", price_lists(tmp_path, "Prices")) == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which projects are over budget?", ["Harbour", "Bridge"]),
        ("Which projects spent less than their budget?", ["Mill", "Tower"]),
        ("How many projects spent more than their budget?", 2),
        ("Which project has the largest budget?", ["Tower"]),
    ],
)
def test_parse_question_that_compares_two_columns_or_orders_by_one_gives_the_answer(
    question: str, answer: object
) -> None:
    names, budgets, spent = (
        ("Harbour", "Mill", "Bridge", "Tower"),
        (12000, 8000, 15000, 20000),
        (13500, 6000, 15900, 11000),
    )
    rows = [
        {"project": name, "budget": f"{planned}", "spent": f"{paid}", "lead": "Ida"}
        for name, planned, paid in zip(names, budgets, spent, strict=True)
    ]
    facts = facts_of({"projects": rows})
    best = PARSER.parse(question, facts)[0]
    result = Execution(facts).result(best.query)
    found = [facts.text(int(thing)) for thing in result] if isinstance(result, np.ndarray) else result
    assert found == answer and best.probability >= 0.5
