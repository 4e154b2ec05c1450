"""Features of candidates: shapes, and what of the question each explains."""

import numpy as np
from tests.operators.query.tables.test_candidates import candidates
from tests.operators.query.tables.tickets import TICKETS

from graphwright.operators.query.tables.features import MOST_PARTS, NGRAMS, PARTS, QuestionFeatures
from graphwright.operators.query.tables.likeness import ColumnVectors, Pieces
from graphwright.operators.query.tables.links import TableIndex, ngrams
from graphwright.operators.query.tables.scorer import TableScorer
from graphwright.search.facts import Facts

QUESTION = "How many tickets of Ada are open?"
FACTS = Facts.of_rows(TICKETS, "tickets")


def test_features_of_candidates_have_one_row_each() -> None:
    index, found = TableIndex(FACTS), candidates(QUESTION, FACTS)
    links = index.links(QUESTION, {})[0]
    words, pairs = np.eye(len(links.words), 384, dtype=np.float32), np.eye(len(links.words) - 1, 384, dtype=np.float32)
    vectors = ColumnVectors(np.eye(6, 384, dtype=np.float32), np.eye(6, 384, dtype=np.float32))
    pieces = Pieces(words, pairs)
    features = QuestionFeatures(FACTS, index.tables[0], links, words[0], pieces, vectors, {}).features(found)
    assert len(features.dense) == len(features.headers) == len(found)
    assert features.dense.shape[1] == len(TableScorer.load().arrays["mean"])
    assert features.rest.shape == (384,)
    assert features.parts.shape == (len(found), MOST_PARTS)
    assert np.isfinite(features.dense).all()
    assert 0 <= features.parts.min() <= features.parts.max() < PARTS
    assert 0 < features.ngrams.min() <= features.ngrams.max() < NGRAMS


def test_ngrams_of_linked_cell_have_its_kind() -> None:
    grams = ngrams(TableIndex(FACTS).links("hours of Ada before May 2029", {})[0])
    assert {"ada", "of ada", "m of <cell> before", "m before <date> $"} <= set(grams)
