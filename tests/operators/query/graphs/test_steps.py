"""Vectors of what steps lead to."""

import numpy as np
import pytest

from graphwright import Graph
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.query.graphs.steps import end_vectors, step_index_of
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
