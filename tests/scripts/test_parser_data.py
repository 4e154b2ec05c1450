"""Which candidates are right for a written query."""

import pytest
from parser_data import right_by_query

from graphwright.graph.graph import Graph
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.generation import EXISTS, NEGATED, Candidate
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.search.facts import Facts

TRIPLES = [
    ("Halvik", "crosses", "Ulva"),
    ("Halvik", "opened", "1991"),
    ("Halvik", "painted", "red"),
    ("Tornes", "crosses", "Rauma"),
    ("Tornes", "opened", "1952"),
    ("Tornes", "designed by", "Aker"),
]


@pytest.mark.parametrize(
    ("gold", "form", "text", "is_right"),
    [
        ("everything where has opened and has no [designed by]", NEGATED,
         "everything where has crosses and has no [designed by]", True),
        ("everything where has opened and has no [designed by]", NEGATED,
         '(everything where has opened) except "Rauma".~crosses', False),
        ('everything where opened != "1952" and has opened', NEGATED,
         '(everything where has opened) except "1952".~opened', True),
        ('exists("Halvik" where opened > ("Tornes".opened))', EXISTS,
         'exists("Halvik" where opened > ("Tornes".opened))', True),
        ('exists("Halvik".opened where it = 1952)', EXISTS, 'exists("1952".~opened intersect "Halvik")', True),
        ('exists("Halvik".opened where it = 1952)', EXISTS, 'exists("Halvik" where opened < 1952)', False),
    ],
)  # fmt: skip
def test_right_by_query_of_what_is_left_out_or_so_has_its_relations_and_names(
    gold: str, form: int, text: str, is_right: bool
) -> None:
    facts = Facts.of(Graph.from_triples(TRIPLES))
    queries = [parse_notation(other) for other in (gold, text)]
    candidates = [Candidate(query, form, (), (), (), facts.find("ulva"), 1, 0.0) for query in queries]
    assert right_by_query(Execution(facts), candidates, queries[0]).tolist() == [1.0, float(is_right)]
