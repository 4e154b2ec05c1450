"""The fitted scorer of queries.

What the network reads of a question and a candidate.
"""

import numpy as np
import pytest

from graphwright import Graph
from graphwright.errors import DataError
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import QUERIES, MiniLM
from graphwright.operators.query.graphs.generation import EXISTS, THINGS, Candidate
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.operators.query.graphs.matching import Words, mentions_of
from graphwright.operators.query.graphs.parser import FEATURES, result_keys
from graphwright.operators.query.graphs.scorer import (
    READ,
    WEIGHTS,
    Heads,
    ParserScorer,
    english_probability,
    evidence,
    pair_of,
    read_candidates,
    with_read,
)
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.parser import Results
from graphwright.operators.query.words import words
from graphwright.search.facts import Facts


def test_read_another_file_raises_data_error(tmp_path):
    file = tmp_path / "model.npz"
    file.write_bytes(b"no archive")
    with pytest.raises(DataError, match="not a query parser"):
        ParserScorer.read(file, FEATURES)


def test_read_with_other_features_names_them():
    with pytest.raises(DataError, match="weight of the moon"):
        ParserScorer.read(WEIGHTS, (*FEATURES, "weight of the moon"))


def test_trees_of_the_package_test_known_features():
    assert ParserScorer.read(WEIGHTS, FEATURES).trees.features <= len(FEATURES)


def test_heads_give_log_probabilities():
    two = np.zeros((2, 4), np.float32)
    heads = Heads(np.eye(2, 4, dtype=np.float32), np.zeros((3, 4), np.float32), two, two, two, two, two)
    asked = heads(np.array([1.0, 0.0, 0.0], np.float32))
    assert np.exp(asked.forms).sum() == pytest.approx(1) and asked.forms[0] > asked.forms[1]
    assert np.exp(asked.kinds) == pytest.approx([1 / 3] * 3)


def test_learned_likeness_is_its_formula():
    likeness = LearnedLikeness(np.eye(2), np.eye(2), np.array([0.5, 0.0]), 3.0)
    assert likeness(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]])).tolist() == [[9.5]]


def test_results_joins_candidates_that_give_the_same():
    results = Results.of(np.log([0.4, 0.35, 0.25]), ["a", "b", "b"])
    assert results.best == (1, 0)
    assert results.shares == pytest.approx([0.6, 0.4])
    assert results.candidates == 3


def test_result_keys_of_queries_that_give_nothing_differ():
    facts = Facts(Graph.from_triples([("Mur", "flows into", "Drava")]).columns)
    texts = ['"Mur".[flows into]', '"Drava"', 'count("Mur")', 'exists("Mur")', '"Drava".[flows into]', 'exists("Sava")']
    keys = result_keys(facts, [parse_notation(text) for text in texts])
    assert keys[0] == keys[1] and len(set(keys)) == 5


def test_result_keys_of_facts_that_do_not_hold_are_equal_for_the_same_relations_and_names():
    facts = Facts(Graph.from_triples([("Mur", "flows into", "Drava"), ("Sava", "rises in", "Alps")]).columns)
    texts = ['exists("Mur".[flows into] intersect "Sava")', 'exists("Sava".~[flows into] intersect "Mur")',
             'exists("Mur".[rises in] intersect "Sava")']  # fmt: skip
    same, turned, other = result_keys(facts, [parse_notation(text) for text in texts])
    assert same == turned != other


def test_evidence_of_candidates_that_fit_is_more():
    names = (*FEATURES, *READ)
    features = np.zeros((2, len(names)), np.float32)
    results = Results.of(np.array([1.0, 0.5]), ["a", "b"])
    unfit = evidence(features, results, names)
    features[:, names.index("read")] = 3.0
    fit = evidence(features, results, names)
    assert unfit[5] == pytest.approx(np.log(3)) and fit[5] > unfit[5]
    assert len(fit) == len(ParserScorer.read(WEIGHTS, FEATURES).sure) - 1


@pytest.mark.parametrize(
    ("question", "is_english"),
    [
        ("Which parish does Saint Brannoc's belong to?", True),
        ("oldest ferry", True),
        ("Who lent Otylia Wróbel the money?", True),
        ("Welcher Pfarrei gehört Saint Brannoc's an?", False),
        ("älteste Fähre", False),
        ("Qui a prêté l'argent à Otylia Wróbel ?", False),
        ("Która fabryka produkuje najwięcej?", False),
        ("哪个工厂最大？", False),
    ],
)
def test_english_probability_tells_english_from_other_languages(question: str, is_english: bool) -> None:
    assert (english_probability(MiniLM().encode([question])[0]) > 0.5) == is_english


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


def test_pair_of_two_names_has_a_letter_for_each_and_the_type_of_the_example():
    question = Words.of("Did Mira Solberg design Norsund Bridge?")
    query = parse_notation('exists("Norsund Bridge".[designed by] intersect "Mira Solberg")')
    mentions = tuple(mentions_of(question, FACTS))
    pair = pair_of(question, Candidate(query, EXISTS, (), (), mentions, FACTS.find("norsund bridge"), 1, 0.0), FACTS)
    assert pair[0] == "Did x design y?"
    masked = parse_notation('exists("y".[designed by] intersect "x")')
    assert pair[1] == f"{words(masked)} (Norsund Bridge, bridge)"


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
