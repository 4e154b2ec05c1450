"""Vector indexes: scores, rows, and invalid input."""

import pickle

import numpy as np
import pytest
from tests.shared import GRAPHS

from graphwright import VectorIndex, VectorSearch, start
from graphwright.errors import OptionError, StoreError
from graphwright.models import HashEncoder


def test_vector_index_scores_by_dot_product() -> None:
    index = VectorIndex.from_array([[3, 4], [0, 2]])
    assert index.vectors.tolist() == [[3, 4], [0, 2]] and index.vectors.dtype == np.float32
    assert index.scores(np.float32([1, 1])).tolist() == [7, 2]
    with pytest.raises(ValueError, match="read-only"):
        index.vectors[0, 0] = 1


def test_scores_of_skips_ids_without_row() -> None:
    index = VectorIndex(np.float32([[1, 0], [0, 1]]), np.int32([1, -1, 0, 1]))
    assert index.ids.tolist() == [0, 2, 3]
    ids, scores = index.scores_of(np.array([3, 1, 2, 99]), np.float32([1, 5]))
    assert ids.tolist() == [3, 2] and scores.tolist() == [5, 1]


@pytest.mark.parametrize("bad, message", [([1, 2], "shape"), ([[1, float("inf")]], "row 0 .* not finite")])
def test_from_array_invalid_table_raises_option_error(bad: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        VectorIndex.from_array(bad)  # type: ignore[arg-type]


def test_vector_search_without_fitting_encoder_raises() -> None:
    state = start("?", GRAPHS["line"])
    with pytest.raises(OptionError, match="has no encoder"):
        VectorSearch(VectorIndex.from_array(np.ones((5, 2))))(state)
    with pytest.raises(StoreError, match=r"shape \(1, 64\).*2 numbers"):
        VectorSearch(VectorIndex.from_array(np.ones((5, 2)), HashEncoder()))(state)


def test_vector_indexes_are_equal_by_content() -> None:
    a, b = (VectorIndex.from_array(np.eye(3)) for _ in range(2))
    assert a == b and hash(a) == hash(b) and pickle.loads(pickle.dumps(a)) == a
    assert a != VectorIndex.from_array(2 * np.eye(3))
    assert repr(a) == f"VectorIndex(3 × 3, {a.checksum[:8]})"


def test_vector_search_equals_numpy() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((34, 64)).astype(np.float32)
    encoder = HashEncoder()
    state = start("who knows", GRAPHS["club"])
    result = (VectorSearch(VectorIndex.from_array(vectors, encoder)) % 7)(state).evidence
    exact = vectors.astype(np.float64) @ encoder.encode(["who knows"])[0]
    assert result is not None and result.nodes.tolist() == np.argsort(-exact)[:7].tolist()


def test_cosines_without_direction_are_zero() -> None:
    index = VectorIndex(np.float32([[0, 4], [3, 4], [0, 0]]), np.int32([1, -1, 0, 2]))
    ids = np.array([0, 1, 2, 3, 99, 0])
    assert index.cosines(ids, np.float32([0, 0.5])) == pytest.approx([0.8, 0, 1, 0, 0, 0.8])
    assert index.cosines(np.array([2, 2, 0, 0]), np.float32([0, 0.5])) == pytest.approx([1, 1, 0.8, 0.8])
    assert index.cosines(ids, np.float32([0, 0])).tolist() == [0] * 6
    assert index.has(ids).tolist() == [True, False, True, True, False, True]
