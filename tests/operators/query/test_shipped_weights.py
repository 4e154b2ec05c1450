"""Queries and probabilities that the parsers give with the weights of the package."""

import pytest

from graphwright import Graph
from graphwright.models import MiniLM, MiniLMAmounts, MiniLMCrossEncoder
from graphwright.operators.query.graphs.parser import GraphQueryParser
from graphwright.operators.query.notation import notation
from graphwright.operators.query.tables.parser import TableQueryParser
from graphwright.search.facts import Facts

TRIPLES = [
    ("Heat", "is a", "film"),
    ("Heat", "directed by", "Michael Mann"),
    ("Heat", "release year", "1995"),
    ("Ali", "is a", "film"),
    ("Ali", "directed by", "Michael Mann"),
    ("Ali", "release year", "2001"),
    ("Alien", "is a", "film"),
    ("Alien", "directed by", "Ridley Scott"),
    ("Alien", "release year", "1979"),
    ("Alien", "genre", "Horror"),
    ("Michael Mann", "born in", "Chicago"),
    ("Ridley Scott", "born in", "South Shields"),
    ("Heat", "starred", "Al Pacino"),
    ("Ali", "starred", "Will Smith"),
]
ROWS = [
    {"ticket": "T-1", "status": "open", "owner": "Ada", "hours": "4", "opened": "2026-01-03"},
    {"ticket": "T-2", "status": "closed", "owner": "Ben", "hours": "12", "opened": "2026-02-11"},
    {"ticket": "T-3", "status": "open", "owner": "Ben", "hours": "7", "opened": "2026-02-20"},
    {"ticket": "T-4", "status": "waiting", "owner": "Cleo", "hours": "1", "opened": "2026-03-01"},
    {"ticket": "T-5", "status": "open", "owner": "Ada", "hours": "9", "opened": "2026-04-17"},
]
OVER_GRAPH = [
    ("Who directed Alien?", '"Alien".[directed by]', 0.9333),
    ("Where was the director of Heat born?", '"Heat".[directed by].[born in]', 0.7098),
    ("How many films did Michael Mann direct?", 'count("Michael Mann".~[directed by])', 0.8217),
    ("Which film came out after 1996?", "film where [release year] > 1996", 0.2133),
    ("Was Al Pacino in Heat?", 'exists("Heat".starred intersect "Al Pacino")', 0.9566),
    ("Which film is the oldest?", "smallest(film by [release year])", 0.9146),
    ("Which films have no genre?", '"film".~[is a] where has no genre', 0.8659),
    ("Who bought Heat?", '"Heat".starred', 0.3799),
]
OVER_TABLE = [
    ("How many tickets are open?", 'count(tickets where status = "open")', 0.9231),
    ("Which ticket took the most hours?", "largest(tickets by hours).ticket", 0.9091),
    ("How many hours did Ada spend in total?", 'sum((tickets where owner = "Ada").hours)', 0.8973),
    ("Who owns T-4?", '(tickets where ticket = "T-4").owner', 0.7602),
    ("Which tickets were opened after February 2026?", '(tickets where opened > "February 2026").ticket', 0.7820),
    ("Is T-3 open?", 'exists(tickets where status = "open" and ticket = "T-3")', 0.8019),
    ("Which of Ben's tickets is closed?", '(tickets where status = "closed" and owner = "Ben").ticket', 0.8179),
    ("What does a ticket cost?", "sum(tickets.hours)", 0.1287),
]
FILMS, TICKETS = Facts(Graph.from_triples(TRIPLES).columns), Facts.of_rows(ROWS, "tickets")


@pytest.mark.parametrize(("question", "query", "probability"), OVER_GRAPH)
def test_graph_parser_with_its_weights_gives_the_query_and_probability(
    question: str, query: str, probability: float
) -> None:
    parser = GraphQueryParser(MiniLM(), MiniLMCrossEncoder("minilm-query"), MiniLMAmounts())
    best = parser.parse(question, FILMS)[0]
    assert notation(best.query) == query
    assert best.probability == pytest.approx(probability, abs=0.002)


@pytest.mark.parametrize(("question", "query", "probability"), OVER_TABLE)
def test_table_parser_with_its_weights_gives_the_query_and_probability(
    question: str, query: str, probability: float
) -> None:
    best = TableQueryParser(MiniLM(), MiniLMAmounts()).parse(question, TICKETS)[0]
    assert notation(best.query) == query
    assert best.probability == pytest.approx(probability, abs=0.002)
