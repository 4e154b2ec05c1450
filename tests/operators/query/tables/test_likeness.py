"""Likeness of words to columns: words that name a cell do not count, the only date column is marked."""

import numpy as np
from tests.operators.query.tables.test_candidates import candidates
from tests.operators.query.tables.tickets import TICKETS

from graphwright.models import MiniLM
from graphwright.operators.query.tables.likeness import ColumnVectors, Likeness, Pieces, TextVectors
from graphwright.operators.query.tables.links import TableIndex
from graphwright.search.facts import Facts

FACTS = Facts.of_rows(TICKETS, "tickets")
TABLE = TableIndex(FACTS).tables[0]
QUESTION = "when was Ada working longest"
ENCODER = MiniLM()


def _likeness(free: list[bool]) -> Likeness:
    pieces = Pieces.of(QUESTION.lower().split(), TextVectors(ENCODER))
    weights = np.array(free, np.float32) / len(free)
    vectors, question = ColumnVectors.of(TABLE, TextVectors(ENCODER)), ENCODER.encode([QUESTION])[0]
    return Likeness(TABLE, pieces, vectors, question, weights, np.array(free))


def test_features_of_candidates_have_one_row_each() -> None:
    found = candidates(QUESTION, FACTS)
    features = _likeness([True] * 5).features(found, [c.bits for c in found])
    assert features.shape == (len(found), 14)
    assert np.isfinite(features).all()
    opened = [column.name for column in TABLE.columns].index("opened")
    is_only_date = [float(candidate.order == opened) for candidate in found]
    assert features[:, 4].tolist() == is_only_date


def test_features_without_free_words_have_no_likeness_to_columns() -> None:
    found = candidates(QUESTION, FACTS)
    likeness = _likeness([False] * 5)
    features = likeness.features(found, [0] * len(found))
    assert not features[:, [0, 2, 6, 8, 10, 11]].any()
    assert not likeness.rest().any()


def test_text_vectors_are_those_of_the_encoder_when_asked_again() -> None:
    vectors = TextVectors(ENCODER)
    first = vectors.of(["longest", "ada", "longest"])
    np.testing.assert_allclose(first, ENCODER.encode(["longest", "ada", "longest"]), atol=1e-5)
    assert np.array_equal(vectors.of(["ada"])[0], first[1])
    assert vectors.of([]).shape == (0, ENCODER.dimension)
