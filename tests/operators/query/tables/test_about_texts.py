"""Queries that choose texts by their words, and questions about texts."""

from __future__ import annotations

import pytest

from graphwright.models import MiniLM
from graphwright.operators.query.notation import notation
from graphwright.operators.query.tables.about_texts import probability_about_texts
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.search.facts import Facts


@pytest.mark.parametrize(
    ("question", "is_about_texts"),
    [
        ("Which mails speak of the harvest?", True),
        ("Who wrote about the tractor?", True),
        ("How many messages mention the vet?", True),
        ("When is the harvest?", False),
        ("When was the tractor bought?", False),
        ("What does the vet charge?", False),
    ],
)
def test_probability_about_texts_is_high_for_questions_about_mentions(question: str, is_about_texts: bool) -> None:
    assert (probability_about_texts(MiniLM().encode([question])[0]) >= 0.4) == is_about_texts


@pytest.mark.parametrize(("question", "is_lower"), [("When is the fair?", True), ("Who wrote about Ida?", False)])
def test_parser_query_by_words_of_texts_is_less_probable_for_what_they_say(
    question: str, is_lower: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = {"Ida": "2025-05-02", "Bo": "2025-05-03", "Eva": "2025-05-06"}
    facts = Facts.of_rows(
        [
            {"from": name, "date": day, "text": f"The fair is on {day[-1]} June, says {name}."}
            for name, day in days.items()
        ],
        "mail",
    )
    parser = TableQueryParser(MiniLM())
    with_texts = {notation(found.query): found.probability for found in parser.parse(question, facts)}
    monkeypatch.setattr("graphwright.operators.query.tables.parser.probability_about_texts", lambda vector: 0.5)
    alone = {notation(found.query): found.probability for found in parser.parse(question, facts)}
    lower = {query for query, probability in with_texts.items() if probability < alone[query]}
    assert lower == {query for query in alone if is_lower and "text contains" in query}
