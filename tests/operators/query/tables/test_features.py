"""Features of candidates: shapes, and what of the question each explains."""

import numpy as np
import pytest
from tests.operators.query.tables.test_candidates import candidates
from tests.operators.query.tables.tickets import TICKETS

from graphwright.operators.query.tables.features import MOST_PARTS, NGRAMS, PARTS, Features, QuestionFeatures
from graphwright.operators.query.tables.likeness import ColumnVectors, Pieces
from graphwright.operators.query.tables.links import TableIndex, ngrams
from graphwright.operators.query.tables.scorer import TableScorer
from graphwright.search.facts import Facts

QUESTION = "How many tickets of Ada are open?"
FACTS = Facts.of_rows(TICKETS, "tickets")


def _features(question: str, facts: Facts) -> Features:
    index, found = TableIndex(facts), candidates(question, facts)
    links, columns = index.links(question, {})[0], len(index.tables[0].columns) + 1
    words, pairs = np.eye(len(links.words), 384, dtype=np.float32), np.eye(len(links.words) - 1, 384, dtype=np.float32)
    vectors = ColumnVectors(np.eye(columns, 384, dtype=np.float32), np.eye(columns, 384, dtype=np.float32))
    pieces = Pieces(words, pairs)
    return QuestionFeatures(facts, index.tables[0], links, words[0], pieces, vectors, {}).features(found)


def test_features_of_candidates_have_one_row_each() -> None:
    features, count = _features(QUESTION, FACTS), len(candidates(QUESTION, FACTS))
    assert len(features.dense) == len(features.headers) == count
    assert features.dense.shape[1] == len(TableScorer.load().arrays["mean"])
    assert features.rest.shape == (384,)
    assert features.parts.shape == (count, MOST_PARTS)
    assert np.isfinite(features.dense).all()
    assert 0 <= features.parts.min() <= features.parts.max() < PARTS
    assert 0 < features.ngrams.min() <= features.ngrams.max() < NGRAMS


def _parts_asking_for_a_lift(*lifts: str) -> list[list[int]]:
    rows = [{"room": room, "lift": lift} for room, lift in zip("ABC", lifts, strict=True)]
    return sorted(_features("which rooms have a lift", Facts.of_rows(rows, "rooms")).parts.tolist())


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("Y", "N"), ("On", "Off")])
def test_features_of_booleans_are_those_of_yes_and_no(yes: str, no: str) -> None:
    assert _parts_asking_for_a_lift(yes, no, no) == _parts_asking_for_a_lift("yes", "no", "no")


def test_ngrams_of_linked_cell_have_its_kind() -> None:
    grams = ngrams(TableIndex(FACTS).links("hours of Ada before May 2029", {})[0])
    assert {"ada", "of ada", "m of <cell> before", "m before <date> $"} <= set(grams)
