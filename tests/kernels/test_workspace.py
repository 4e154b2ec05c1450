"""Scratch arrays: one per thread, grown as needed, dropped after errors."""

import threading

import pytest

from graphwright.kernels import csr as module
from graphwright.kernels.csr import workspace


def test_workspace_is_one_per_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(workspace(5)))
    thread.start()
    thread.join()
    assert seen[0] is not workspace(5)


def test_workspace_is_dropped_after_error():
    before = workspace(5)
    with pytest.raises(KeyboardInterrupt), before:
        raise KeyboardInterrupt
    assert workspace(5) is not before
    with workspace(5) as scratch:
        pass
    assert workspace(5) is scratch


def test_workspace_grows_and_shrinks_after_many_small_queries():
    module._local.current = None
    large = workspace(1000)
    assert workspace(10) is large
    assert workspace(2000) is not large
    for _ in range(module._MAX_OVERSIZED):
        current = workspace(10)
    assert current.size == 10
