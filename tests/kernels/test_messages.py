"""What messages say to each node, in special cases; tests/operators/retrievers/test_arcs.py has plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from graphwright.kernels.messages import Messages, aggregate, gradients


def one_node(values: list[float]) -> Messages:
    """Messages of these values, of one number each, all to the first of as many nodes."""
    count = len(values)
    x = np.array(values, np.float32)[:, None]
    ptr = np.array([0] + [count] * count)
    return Messages(ptr, np.arange(count), np.zeros(count, np.int64), x, np.ones((1, 1), np.float32))


def test_the_deviation_of_great_values_that_are_near_each_other_is_told() -> None:
    values = [4000.0, 4000.5, 3999.5] * 100
    # Mean of squares less square of mean is not told in float32, whose numbers about 4000² are 1 apart.
    assert aggregate(one_node(values)).stats[0, 3] == pytest.approx(np.std(values), rel=1e-3)
    assert aggregate(one_node([4000.25] * 300)).stats[0, 3] == pytest.approx(1e-3, rel=1e-3)


def test_of_equal_messages_the_first_is_the_greatest_and_the_least() -> None:
    assert aggregate(one_node([2, 7, 7, 1, 1])).top[0].tolist() == [1, 3]
    assert aggregate(one_node([0, 0, 0])).top[0].tolist() == [0, 0]


def test_a_node_that_nothing_leads_to_gathers_nothing() -> None:
    found = aggregate(one_node([-2, -3]))
    assert found.stats[0].tolist() == pytest.approx([-2.5, -2, -3, 0.5], rel=1e-5) and not found.stats[1].any()


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_small_differences(seed: int) -> None:
    draw = np.random.default_rng(seed)
    ptr, begin, gate = np.array([0, 3, 3, 7, 8]), draw.integers(0, 4, 8), draw.integers(0, 2, 8)
    x, gates = (draw.uniform(0.5, 2, shape).astype(np.float32) for shape in ((4, 2), (2, 2)))
    slope = draw.normal(0, 1, (4, 8)).astype(np.float32)

    def said(x: np.ndarray, gates: np.ndarray) -> float:
        return float((aggregate(Messages(ptr, begin, gate, x, gates)).stats.astype(float) * slope).sum())

    messages = Messages(ptr, begin, gate, x, gates)
    found = gradients(messages, aggregate(messages), slope)
    for which, values in enumerate((x, gates)):
        for at in np.ndindex(values.shape):
            moved = []
            for step in (1e-3, -1e-3):
                other = values.copy()
                other[at] += np.float32(step)
                moved.append(said(*((other, gates) if which == 0 else (x, other))))
            assert found[which][at] == pytest.approx((moved[0] - moved[1]) / 2e-3, abs=0.03, rel=0.02)
