"""The k best, against a full sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels.rank import top


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.25, 3.0, float("inf")]), max_size=30), st.integers(0, 35))
def test_top_is_the_head_of_a_full_sort(values, k):
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    for dtype in (np.float32, np.float64):
        assert top(np.array(values, dtype), k).tolist() == expected


def test_what_has_no_rank_is_refused():
    for scores in (np.array([1.0, np.nan, 0.5]), np.zeros((2, 2))):
        with pytest.raises(ValueError):
            top(scores, 2)
    with pytest.raises(ValueError, match="k is -1"):
        top(np.zeros(2), -1)
