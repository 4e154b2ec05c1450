"""Cancellation of calls: waiting, grace periods, and requests that are not sent."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps

import pytest

from graphwright.errors import ModelError
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import Cancellation, has_argument


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


def test_has_argument_of_any_callable_names_its_arguments():
    def plain(texts, *, usage=None):
        local = texts
        return local

    @wraps(plain)
    def wrapped(*args, **options):
        return plain(*args, **options)

    class Model:
        def __call__(self, texts, usage=None):
            return texts

    for function in (plain, wrapped, Model().__call__, Model(), partial(plain, [])):
        assert has_argument(function, "usage") and not has_argument(function, "local")
    assert not has_argument(print, "usage")
