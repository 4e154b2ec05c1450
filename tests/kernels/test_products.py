"""Products of matrices on one core."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from graphwright.kernels.products import product


@pytest.mark.parametrize("shape", [(0, 3), (7, 384), (600, 74), (4096, 32)])
@pytest.mark.parametrize("columns", [(), (64,)])
def test_product_in_blocks_equals_whole(shape: tuple[int, int], columns: tuple[int, ...]) -> None:
    draw = np.random.default_rng(5)
    first, second = draw.random(shape), draw.random((shape[1], *columns))
    np.testing.assert_allclose(product(first, second), first @ second, rtol=1e-12)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has no threads that wait")
def test_product_leaves_no_thread_at_full_load() -> None:
    first, second = np.ones((600, 74), np.float32), np.ones((74, 64), np.float32)
    product(first, second)
    time.sleep(0.2)  # threads of earlier products wait for at most this long
    started = time.process_time()
    for _ in range(5):
        product(first, second)
        time.sleep(0.01)
    assert time.process_time() - started < 0.03  # 0.05 with a thread that waits
