"""Features of candidates: shapes, and what of the question each explains."""

import numpy as np
from tests.operators.query.tables.test_candidates import candidates
from tests.operators.query.tables.tickets import TICKETS

from graphwright.operators.query.tables.features import MOST_PARTS, NGRAMS, PARTS, QuestionFeatures, ngrams
from graphwright.operators.query.tables.links import TableIndex
from graphwright.search.facts import Facts

QUESTION = "How many tickets of Ada are open?"
FACTS = Facts.of_rows(TICKETS, "tickets")


def test_features_of_candidates_have_one_row_each() -> None:
    index, found = TableIndex(FACTS), candidates(QUESTION, FACTS)
    links = index.links(QUESTION, {})[0]
    vectors = np.eye(6, 384, dtype=np.float32)
    features = QuestionFeatures(FACTS, index.tables[0], links, vectors[0], vectors, {}).features(found)
    assert len(features.dense) == len(features.headers) == len(found)
    assert features.parts.shape == (len(found), MOST_PARTS)
    assert np.isfinite(features.dense).all()
    assert 0 <= features.parts.min() <= features.parts.max() < PARTS
    assert 0 < features.ngrams.min() <= features.ngrams.max() < NGRAMS


def test_ngrams_of_linked_cell_have_its_kind() -> None:
    grams = ngrams(TableIndex(FACTS).links("hours of Ada before May 2029", {})[0])
    assert {"ada", "of ada", "m of <cell> before", "m before <date> $"} <= set(grams)
