"""Vector spaces: scores, rows, refusals."""

import pickle

import numpy as np
import pytest
from tests.toys import GRAPHS

from graphwright import HashEncoder, OptionError, StoreError, VectorIndex, VectorSearch, start


def test_rows_are_kept_as_given_and_scored_by_dot_product() -> None:
    index = VectorIndex.from_array([[3, 4], [0, 2]])
    assert index.vectors.tolist() == [[3, 4], [0, 2]] and index.vectors.dtype == np.float32
    assert index.scores(np.float32([1, 1])).tolist() == [7, 2]
    with pytest.raises(ValueError, match="read-only"):
        index.vectors[0, 0] = 1


def test_ids_without_a_row_are_left_out_and_ids_may_share_one() -> None:
    index = VectorIndex(np.float32([[1, 0], [0, 1]]), np.int32([1, -1, 0, 1]))
    assert index.ids.tolist() == [0, 2, 3]
    ids, scores = index.scores_of(np.array([3, 1, 2, 99]), np.float32([1, 5]))
    assert ids.tolist() == [3, 2] and scores.tolist() == [5, 1]


@pytest.mark.parametrize("bad, message", [([1, 2], "shape"), ([[1, float("inf")]], "row 0 .* not finite")])
def test_bad_tables_are_refused(bad: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        VectorIndex.from_array(bad)  # type: ignore[arg-type]


def test_searching_by_text_needs_an_encoder_of_the_same_dimension() -> None:
    state = start("?", GRAPHS["line"])
    with pytest.raises(OptionError, match="has no encoder"):
        VectorSearch(VectorIndex.from_array(np.ones((5, 2))))(state)
    with pytest.raises(StoreError, match=r"shape \(1, 64\).*2 numbers"):
        VectorSearch(VectorIndex.from_array(np.ones((5, 2)), HashEncoder()))(state)


def test_equality_is_by_content() -> None:
    a, b = (VectorIndex.from_array(np.eye(3)) for _ in range(2))
    assert a == b and hash(a) == hash(b) and pickle.loads(pickle.dumps(a)) == a
    assert a != VectorIndex.from_array(2 * np.eye(3))
    assert repr(a) == f"VectorIndex(3 × 3, {a.checksum[:8]})"


def test_search_agrees_with_numpy() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((34, 64)).astype(np.float32)
    encoder = HashEncoder()
    state = start("who knows", GRAPHS["club"])
    found = (VectorSearch(VectorIndex.from_array(vectors, encoder)) % 7)(state).evidence
    exact = vectors.astype(np.float64) @ encoder.encode(["who knows"])[0]
    assert found is not None and found.nodes.tolist() == np.argsort(-exact)[:7].tolist()
