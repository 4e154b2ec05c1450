"""Vectors of what steps lead to."""

import numpy as np
import pytest

from graphwright import Graph
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.graphs.steps import end_vectors, rarest_types, step_index_of, types_in_words
from graphwright.search.facts import Facts

SHELVES = [("Emma", "written by", "Jane Austen"), ("Emma", "printed in", "London"), ("Ulysses", "printed in", "Paris")]


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(Graph.from_triples(SHELVES).columns)


def test_vectors_of_ends_are_less_their_mean(facts):
    vectors = end_vectors([0, 1, 2, 3], facts, MiniLM())
    assert sorted(vectors) == [0, 1, 2, 3]
    assert np.sum(list(vectors.values()), axis=0) == pytest.approx(0, abs=1e-5)


def test_word_of_a_kind_is_most_like_the_ends_of_that_kind(facts):
    vectors = end_vectors([0, 1, 2, 3], facts, MiniLM())
    printed = 2 * step_index_of(facts).relations.index("printed in")
    city = MiniLM().encode(["city"])[0]
    assert max(vectors, key=lambda key: float(city @ vectors[key])) == printed


def test_no_steps_have_no_vectors(facts):
    assert end_vectors([], facts, MiniLM()) == {}


def test_types_in_words_of_a_thing_of_several_types_are_its_rarest():
    kinds = [("Ceres", "dwarf planet"), ("Ceres", "planet"), ("Mars", "planet"), ("Venus", "planet")]
    facts = Facts.of(Graph.from_triples([(thing, "is a", kind) for thing, kind in kinds]))
    assert types_in_words(facts.find("ceres"), facts) == ["dwarf planet"]
    both = types_in_words(np.append(facts.find("ceres"), facts.find("mars")), facts)
    assert sorted(both) == ["dwarf planet", "planet"]
    assert types_in_words(facts.find("planet"), facts) == []


def test_rarest_types_without_types_are_none(facts):
    assert set(rarest_types(facts).tolist()) == {-1}
