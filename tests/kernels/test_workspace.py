"""Scratch arrays: one per thread, grown as needed, dropped after errors."""

import threading

import pytest

from graphwright.kernels import csr as module
from graphwright.kernels.csr import workspace


def test_each_thread_has_its_own():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(workspace(5)))
    thread.start()
    thread.join()
    assert seen[0] is not workspace(5)


def test_an_error_drops_it():
    before = workspace(5)
    with pytest.raises(KeyboardInterrupt), before:
        raise KeyboardInterrupt
    assert workspace(5) is not before
    with workspace(5) as scratch:
        pass
    assert workspace(5) is scratch


def test_it_grows_and_is_replaced_when_far_too_large_for_long():
    module._local.current = None
    large = workspace(1000)
    assert workspace(10) is large
    assert workspace(2000) is not large
    for _ in range(module._PATIENCE):
        current = workspace(10)
    assert current.size == 10
