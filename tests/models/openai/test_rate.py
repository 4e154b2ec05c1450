"""Rate limits per minute: requests, tokens, corrections and pauses, with a simulated clock."""

import threading
import time

from hypothesis import given
from hypothesis import strategies as st
from tests.faulty_server import Watch

from graphwright.models.openai.rate import Clock, RateLimiter
from graphwright.models.protocols import Cancellation

CANCEL = Cancellation()


def most_within_a_minute(let_through, amount):
    """The largest sum of `amount` in any 60 seconds, by looking at each that begins with a request."""
    return max(sum(amount(n) for at, n in let_through if start <= at < start + 60) for start, _ in let_through)


@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(0, 400), st.floats(0, 30)), min_size=1, max_size=40),
    st.integers(1, 5),
    st.integers(50, 500),
)
def test_requests_of_any_minute_stay_within_limit(requests, per_minute, tokens_per_minute):
    watch = Watch()
    limiter = RateLimiter(per_minute, tokens_per_minute, watch.clock)
    let_through = []
    for estimate, real, later in requests:
        entry = limiter.enter(estimate, CANCEL)
        let_through.append((watch.at, min(estimate, real)))
        assert entry.time == watch.at
        entry.tokens = min(estimate, real)
        watch.at += later
    assert most_within_a_minute(let_through, lambda n: 1) <= per_minute
    small = [(at, n) for at, n in let_through if n <= tokens_per_minute]
    if len(small) == len(let_through):
        assert most_within_a_minute(let_through, lambda n: n) <= tokens_per_minute


@given(st.lists(st.integers(1, 100), min_size=1, max_size=30))
def test_requests_wait_no_longer_than_needed(sizes):
    # Whatever was made to wait would not have fitted a moment earlier.
    watch = Watch()
    limiter = RateLimiter(tokens=100, clock=watch.clock)
    let_through = []
    for size in sizes:
        before = watch.at
        limiter.enter(size, CANCEL)
        if watch.at > before:
            earlier = watch.at - 1e-6
            assert sum(n for at, n in let_through if at > earlier - 60) + size > 100
        let_through.append((watch.at, size))


def test_request_over_limit_is_sent_alone():
    watch = Watch()
    limiter = RateLimiter(tokens=100, clock=watch.clock)
    limiter.enter(10, CANCEL)
    limiter.enter(5000, CANCEL)
    assert watch.at == 60
    limiter.enter(1, CANCEL)
    assert watch.at == 120


def test_correction_counts_both_ways():
    watch = Watch()
    limiter = RateLimiter(tokens=100, clock=watch.clock)
    entry = limiter.enter(90, CANCEL)
    entry.tokens = 10
    second = limiter.enter(90, CANCEL)
    assert watch.at == 0
    second.tokens = 200
    limiter.enter(1, CANCEL)
    assert watch.at == 60


def test_late_correction_changes_nothing():
    watch = Watch()
    limiter = RateLimiter(tokens=100, clock=watch.clock)
    entry = limiter.enter(90, CANCEL)
    watch.at = 61.0
    limiter.enter(50, CANCEL)
    entry.tokens = 5000
    limiter.enter(50, CANCEL)
    assert watch.at == 61


def test_pause_holds_for_all():
    watch = Watch()
    limiter = RateLimiter(clock=watch.clock)
    limiter.enter(1, CANCEL)
    limiter.pause(12.5)
    limiter.pause(3.0)
    limiter.enter(1, CANCEL)
    assert watch.at == 12.5


def test_threads_share_one_limit():
    watch = Watch()
    limiter = RateLimiter(requests=4, clock=watch.clock)
    entries, lock = [], threading.Lock()

    def work():
        for _ in range(5):
            entry = limiter.enter(1, CANCEL)
            with lock:
                entries.append((entry.time, 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 20 and most_within_a_minute(entries, lambda n: 1) == 4 and watch.at == 240


def test_correction_releases_next_request_earlier():
    # A minute would pass otherwise: it looks again every second.
    limiter = RateLimiter(tokens=100, clock=Clock(sleep=lambda cancel, seconds: time.sleep(seconds / 50)))
    entry = limiter.enter(90, CANCEL)
    threading.Timer(0.1, setattr, (entry, "tokens", 5)).start()
    began = time.monotonic()
    limiter.enter(90, CANCEL)
    assert time.monotonic() - began < 1
