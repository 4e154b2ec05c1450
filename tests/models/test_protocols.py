"""Cancellation of calls: waiting, grace periods, and requests that are not sent."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphwright.errors import ModelError
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import Cancellation


@pytest.mark.parametrize("wait", ["pause", "lock"])
def test_waiting_ends_with_block(wait):
    lock = threading.Lock()
    lock.acquire()

    def work(cancel):
        if wait == "pause":
            cancel.pause(30.0)
        else:
            with cancel.acquire(lock):
                pass

    with ThreadPoolExecutor(1) as pool:
        with Cancellation() as cancel:
            task = pool.submit(work, cancel)
            time.sleep(0.2)
            assert not task.done()
        began = time.monotonic()
        assert isinstance(task.exception(timeout=10), ModelError)
        assert time.monotonic() - began < 2


def test_cancellation_has_own_error_and_grace():
    with Cancellation() as cancel:
        cancel.check()
        cancel.pause(0.0)
    Cancellation().check()
    assert cancel.poll() < 1 and cancel.poll(0.01) == 0.01
    with pytest.raises(ModelError, match="cancelled"):
        cancel.check()
    cancel.check(60.0)


def test_cancelled_request_raises_without_wait():
    with Cancellation() as cancel:
        pass
    with pytest.raises(ModelError, match="cancelled"):
        OpenAILLM("m", "http://localhost:1/v1").complete("", "a", cancel=cancel)
