"""Messages to each node in special cases, and smoothing against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.small_graphs import adjacency

from graphwright.kernels.csr import undirected, workspace
from graphwright.kernels.messages import Messages, aggregate, gradients, smooth


def one_node(values: list[float]) -> Messages:
    """Messages of these values, of one number each, all to the first of as many nodes."""
    count = len(values)
    x = np.array(values, np.float32)[:, None]
    ptr = np.array([0] + [count] * count)
    return Messages(ptr, np.arange(count), np.zeros(count, np.int64), x, np.ones((1, 1), np.float32))


def test_aggregate_deviation_of_large_close_values_is_exact() -> None:
    values = [4000.0, 4000.5, 3999.5] * 100
    # Mean of squares less square of mean is not told in float32, whose numbers about 4000² are 1 apart.
    assert aggregate(one_node(values)).stats[0, 3] == pytest.approx(np.std(values), rel=1e-3)
    assert aggregate(one_node([4000.25] * 300)).stats[0, 3] == pytest.approx(1e-3, rel=1e-3)


def test_aggregate_ties_go_to_first_message() -> None:
    assert aggregate(one_node([2, 7, 7, 1, 1])).top[0].tolist() == [1, 3]
    assert aggregate(one_node([0, 0, 0])).top[0].tolist() == [0, 0]


def test_aggregate_node_without_messages_is_zero() -> None:
    result = aggregate(one_node([-2, -3]))
    assert result.stats[0].tolist() == pytest.approx([-2.5, -2, -3, 0.5], rel=1e-5) and not result.stats[1].any()


@pytest.mark.parametrize("seed", range(3))
def test_gradients_equal_finite_differences(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ptr, begin, gate = np.array([0, 3, 3, 7, 8]), draw.integers(0, 4, 8), draw.integers(0, 2, 8)
    x, gates = (draw.uniform(0.5, 2, shape).astype(np.float32) for shape in ((4, 2), (2, 2)))
    slope = draw.normal(0, 1, (4, 8)).astype(np.float32)

    def message(x: np.ndarray, gates: np.ndarray) -> float:
        return float((aggregate(Messages(ptr, begin, gate, x, gates)).stats.astype(float) * slope).sum())

    messages = Messages(ptr, begin, gate, x, gates)
    result = gradients(messages, aggregate(messages), slope)
    for which, values in enumerate((x, gates)):
        for at in np.ndindex(values.shape):
            moved = []
            for step in (1e-3, -1e-3):
                other = values.copy()
                other[at] += np.float32(step)
                moved.append(message(*((other, gates) if which == 0 else (x, other))))
            assert result[which][at] == pytest.approx((moved[0] - moved[1]) / 2e-3, abs=0.03, rel=0.02)


pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)
lists = st.lists(st.integers(0, 9), unique=True, max_size=10)


@given(pairs, lists, st.floats(0, 1), st.integers(1, 5), st.integers(0, 2**32))
def test_smooth_equals_dense_matrices(edges, nodes, alpha, width, seed) -> None:
    graph = adjacency(edges)
    near = [set(row.tolist()) for row in np.split(graph[1], graph[0][1:-1])]
    signal = np.random.default_rng(seed).normal(size=(len(nodes), width)).astype(np.float32)
    adjacent = np.array([[float(b in near[a]) for b in nodes] for a in nodes]).reshape(len(nodes), len(nodes))
    degree = np.array([max(len(near[a]), 1) for a in nodes], float)
    weights = adjacent / degree[None, :]  # A D^-1
    sums = weights.sum(1)
    alone = sums == 0
    mixed = weights / np.where(alone, 1, sums)[:, None]
    expected = np.where(alone[:, None], signal, (1 - alpha) * signal + alpha * (mixed @ signal))
    before = signal.copy()
    assert np.allclose(smooth(*graph, nodes, signal, alpha), expected, atol=1e-6)
    assert (signal == before).all() and not workspace(10).marks.any()


def test_smooth_invalid_nodes_raise_value_error() -> None:
    line = undirected(3, [0, 1], [1, 2])
    with pytest.raises(ValueError, match="nodes holds"):
        smooth(*line, [5], [[1.0]], 0.2)
    with pytest.raises(ValueError, match="nodes holds 1 repeats"):
        smooth(*line, [1, 1], [[1.0], [2.0]], 0.2)
    with pytest.raises(ValueError, match=r"rows of shape .* for 2 nodes"):
        smooth(*line, [0, 1], [[1.0]], 0.2)
