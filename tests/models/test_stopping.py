import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from graphwright.errors import ModelError
from graphwright.models.rate import Clock, RateLimiter
from graphwright.models.stopping import check, held, look, pause, stopping


@pytest.mark.parametrize("wait", ["pause", "lock", "limit"])
def test_what_waits_is_stopped_when_the_block_ends(wait):
    taken, limiter = threading.Lock(), RateLimiter(requests=1)
    taken.acquire()
    limiter.enter(1)

    def held_up():
        if wait == "pause":
            pause(30.0)
        elif wait == "lock":
            with held(taken):
                pass
        else:
            limiter.enter(1)

    with ThreadPoolExecutor(1) as pool:
        with stopping():
            task = pool.submit(copy_context().run, held_up)
            time.sleep(0.2)
            assert not task.done()
        began = time.monotonic()
        assert isinstance(task.exception(timeout=10), ModelError)
        assert time.monotonic() - began < 2
    assert limiter._turn.acquire(blocking=False)  # nothing stays held


def test_a_stop_reaches_only_what_began_in_its_block():
    with stopping():
        task = copy_context()
        task.run(check)
    check()
    pause(0.0)
    assert look() is None and look(5.0) == 5.0 and task.run(look, 5.0) < 1
    with pytest.raises(ModelError, match="stopped"):
        task.run(check)
    task.run(check, 60.0)  # but for a minute's grace


def test_a_stopped_request_is_not_let_through_though_it_need_not_wait():
    with stopping():
        task = copy_context()
    with pytest.raises(ModelError, match="stopped"):
        task.run(RateLimiter(clock=Clock()).enter, 1)
