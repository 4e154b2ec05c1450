"""Comparison of the times of an input and of one that is four times as long."""

from __future__ import annotations

import time
from collections.abc import Callable
from timeit import repeat


def assert_linear(short: Callable[[], object], fourfold: Callable[[], object]) -> None:
    """Check that four times the input takes far less than sixteen times the processor time."""
    once, four_times = (min(repeat(work, number=1, repeat=3, timer=time.thread_time)) for work in (short, fourfold))
    assert four_times < 10 * once + 0.05  # 16 where time is quadratic
