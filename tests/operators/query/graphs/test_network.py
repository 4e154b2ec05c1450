"""What the network reads of a question and a candidate."""

import numpy as np
import pytest

from graphwright import Graph
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import QUERIES
from graphwright.operators.query.graphs.forms import THINGS, Candidate
from graphwright.operators.query.graphs.matching import Words, mentions_of
from graphwright.operators.query.graphs.network import pair_of, read_candidates
from graphwright.operators.query.graphs.scorer import READ, with_read
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.search.facts import Facts

TRIPLES = [
    ("Norsund Bridge", "designed by", "Mira Solberg"),
    ("Norsund Bridge", "is a", "bridge"),
    ("Norsund Bridge", "length", "420 m"),
    ("Mira Solberg", "place of birth", "Bergen"),
]
FACTS = Facts.of(Graph.from_triples(TRIPLES))


def candidate(question: Words, text: str) -> Candidate:
    query = parse_notation(text)
    ends = FACTS.find("bergen")
    return Candidate(query, THINGS, (), (), tuple(mentions_of(question, FACTS)), ends, len(ends), 0.0)


def test_pair_of_has_it_for_names_and_an_example_of_what_is_given():
    question = Words.of("Where was the designer of Norsund Bridge born?")
    pair = pair_of(question, candidate(question, '"Norsund Bridge".[designed by].[place of birth]'), FACTS)
    assert pair == (
        "Where was the designer of it born?",
        "the place of birth of the designed by of it (Bergen)",
    )


def test_pair_of_keeps_names_of_types():
    question = Words.of("Which bridge did she design?")
    (asked, text) = pair_of(question, candidate(question, "bridge"), FACTS)
    assert asked == "Which bridge did she design?" and text.startswith("bridge")


def test_pair_of_shows_a_value_that_is_compared():
    question = Words.of("Which is longest?")
    (_, text) = pair_of(question, candidate(question, "largest(bridge by length)"), FACTS)
    assert text == "the one with the largest length of bridge (Bergen; length 420 m)"


def test_read_candidates_prefers_what_is_asked():
    question = Words.of("Where was Mira Solberg born?")
    asked, other = (candidate(question, f'"Mira Solberg".{step}') for step in ("[place of birth]", "~[designed by]"))
    scores = read_candidates(MiniLMCrossEncoder(QUERIES), question, [other, asked, other], FACTS)
    assert scores.argmax() == 1
    assert scores[0] == pytest.approx(scores[2])


def test_with_read_adds_distances_shares_and_ranks():
    table = with_read(np.zeros((2, 3), np.float32), np.array([2.0, 1.5]), np.array([0.0, np.log(3)], np.float32))
    assert table.shape == (2, 3 + len(READ))
    assert table[:, 3:] == pytest.approx(
        np.array([[2, 0, 0, -np.log(3), 0.25, 0.25, 0], [1.5, -0.5, np.log(3), 0, 0.75, 0.25, 1]]), abs=1e-6
    )
