"""The heaviest common value against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels.overlap import heaviest_common

ROWS = st.lists(st.sets(st.integers(0, 9)), max_size=7)
WEIGHTS = st.lists(st.floats(0, 100), min_size=10, max_size=10)


@given(ROWS, WEIGHTS)
def test_equals_the_intersection_of_sets(rows: list[set[int]], weights: list[float]) -> None:
    indptr = np.cumsum([0, *map(len, rows)])
    found = heaviest_common(indptr, [v for row in rows for v in sorted(row)], weights)
    wanted = [
        [max((weights[v] for v in a & b), default=0.0) if i != j else 0.0 for j, b in enumerate(rows)]
        for i, a in enumerate(rows)
    ]
    assert found.shape == (len(rows), len(rows)) and found.dtype == np.float64
    assert found.tolist() == wanted
