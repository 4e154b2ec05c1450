"""Scratch: one per thread, as large as needed, given back."""

import threading

from graphwright.kernels import workspace as module
from graphwright.kernels.workspace import release, workspace


def test_each_thread_has_its_own():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(workspace(5)))
    thread.start()
    thread.join()
    assert seen[0] is not workspace(5)


def test_it_grows_and_is_given_up_when_long_far_too_large():
    release()
    large = workspace(1000)
    assert workspace(10) is large
    assert workspace(2000) is not large
    for _ in range(module._PATIENCE):
        held = workspace(10)
    assert held.size == 10
