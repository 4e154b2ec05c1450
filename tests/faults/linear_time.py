"""Comparison of the times of an input and of one that is four times as long."""

from __future__ import annotations

import time
from collections.abc import Callable
from timeit import repeat, timeit


def assert_linear(short: Callable[[], object], fourfold: Callable[[], object]) -> None:
    """Check that four times the input takes far less than sixteen times the processor time, in one of three tries."""
    allowed = 10 * min(repeat(short, number=1, repeat=3, timer=time.thread_time)) + 0.05  # 16 where time is quadratic
    times = (timeit(fourfold, number=1, timer=time.thread_time) for _ in range(3))
    assert any(seconds < allowed for seconds in times)
