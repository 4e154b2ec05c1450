"""The deadline of a question, and the cancellation that it may be combined with.

Budgets of tokens and money: counting, reservations, and concurrent calls.
"""

from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, Timer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.faulty_server import Watch, cut, silent
from tests.llm_server import LLMServer, Say, error

from graphwright.errors import BudgetError, LLMResponseError, ModelError, OptionError, ReplyCutError
from graphwright.models.budget import BudgetedLLM, Deadline, Prices, estimated_tokens
from graphwright.models.cache import CachedLLM
from graphwright.models.fake import ScriptedLLM
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import LLM, Cancellation, Completion, Usage


def test_deadline_passes_by_itself() -> None:
    deadline = Deadline(0.3)
    deadline.check()
    deadline.pause(0.01)
    time.sleep(0.3)
    with pytest.raises(ReplyCutError, match=r"deadline of 0\.3 seconds"):
        deadline.check()
    with pytest.raises(ReplyCutError), deadline.acquire(taken()):
        pass


def taken() -> Lock:
    lock = Lock()
    lock.acquire()
    return lock


def test_pause_beyond_deadline_ends_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(ReplyCutError):
        Deadline(5.0).pause(6.0)
    assert time.monotonic() - began < 1


def test_cancellation_ends_deadline_early() -> None:
    cancel = Cancellation()
    deadline = Deadline(60.0, cancel)
    Timer(0.1, cancel.set).start()
    with pytest.raises(ModelError, match="cancelled"):
        deadline.pause(30.0)
    with pytest.raises(ModelError, match="cancelled"):
        deadline.check()


def test_models_without_server_are_not_asked_after_deadline() -> None:
    deadline = Deadline(0.01)
    time.sleep(0.02)
    with pytest.raises(ReplyCutError):
        ScriptedLLM(["ok"]).complete("", "a", cancel=deadline)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "60"])
def test_invalid_deadline_raises(seconds: float) -> None:
    with pytest.raises(OptionError, match="deadline is"):
        Deadline(seconds)


class Place(BaseModel):
    name: str


class Counting:
    """Takes as many tokens as it says, and at most `max_tokens` for a reply; knows what it took and how many ran."""

    id = "counting"

    def __init__(self, max_tokens=10, reply=10, wait=0.0, prices=None):
        self.max_tokens, self.reply, self.wait, self.prices = max_tokens, reply, wait, prices
        self.calls, self.tokens = 0, 0
        self._lock = threading.Lock()

    def complete(self, system, user, *, schema=None, on_text=None, cancel=None):
        prompt = estimated_tokens(system) + estimated_tokens(user)
        if self.wait:
            threading.Event().wait(self.wait)
        with self._lock:
            self.calls += 1
            self.tokens += prompt + self.reply
        return Completion("ok", None, Usage(calls=1, prompt_tokens=prompt, completion_tokens=self.reply))


def test_budget_counts_usage():
    llm = BudgetedLLM(ScriptedLLM(["three words here", "two words"]), max_tokens=100)
    assert isinstance(llm, LLM) and llm.id == "scripted"
    completions = [llm.complete("a", "b c"), llm.complete("a", "b")]
    assert (llm.spent.calls, llm.spent.prompt_tokens, llm.spent.completion_tokens) == (2, 5, 5)
    assert sum(completion.usage.prompt_tokens for completion in completions) == 5


@given(st.integers(0, 200), st.integers(0, 10), st.integers(1, 40))
@settings(deadline=None)
def test_budget_is_never_exceeded(budget, reply, length):
    model = Counting(max_tokens=10, reply=reply)
    llm = BudgetedLLM(model, max_tokens=budget)
    with pytest.raises(BudgetError, match="max_tokens"):
        for _ in range(1000):
            llm.complete("", "x" * length)
    most = estimated_tokens("x" * length) + 10
    assert budget - most < model.tokens <= budget or (model.tokens == 0 and budget < most)


@pytest.mark.parametrize("threads", [1, 8])
def test_budget_ends_equally_for_any_thread_count(threads):
    model = Counting(max_tokens=100, reply=5, wait=0.002)
    llm = BudgetedLLM(model, max_tokens=500)

    def call(_):
        try:
            llm.complete("", "four")
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(call, range(120)))
    # Each takes 6 tokens and may take 101: the last one that fits begins at 399 or less.
    assert (
        sum(done) == model.calls == 67 and model.tokens == 402 == llm.spent.prompt_tokens + llm.spent.completion_tokens
    )


def test_budget_limits_cost():
    model = Counting(max_tokens=10, reply=10)
    llm = BudgetedLLM(model, max_cost=0.0005, prices=Prices(2.0, 10.0))
    with pytest.raises(BudgetError, match="max_cost"):
        for _ in range(100):
            llm.complete("", "x" * 40)
    assert model.calls == 4  # each takes 10 tokens for 2 and 10 for 10 millionths
    assert llm.spent.cost == pytest.approx(4 * 0.00012)


def test_request_exceeding_budget_is_not_sent():
    with LLMServer([Say("ok", (900, 50))]) as server:
        llm = BudgetedLLM(OpenAILLM("m", server.url, max_tokens=100, prices=Prices(1.0, 1.0)), 1000, max_cost=1.0)
        llm.complete("", "short")
        assert llm.spent.cost == pytest.approx(0.00095)
        with pytest.raises(BudgetError, match=r"may take 102 tokens; 950 of 1,000 are spent"):
            llm.complete("", "short")
    assert len(server.requests) == 1


BROKEN = {
    "cut": cut('{"choices": [{"message": {"content": "' + "x" * 4000),
    "slow": silent,
}


@pytest.mark.parametrize("trouble", BROKEN)
@pytest.mark.parametrize(("schema", "budget", "fit"), [(None, 3300, 2), (Place, 3800, 3)])
def test_interrupted_requests_stay_within_budget(trouble, schema, budget, fit):
    with LLMServer([BROKEN[trouble]]) as server:
        timeout = 0.2 if trouble == "slow" else 5.0
        model = OpenAILLM("m", server.url, max_tokens=1100, timeout=timeout, clock=Watch().clock)
        llm = BudgetedLLM(model, max_tokens=budget)
        with pytest.raises(BudgetError, match=f"of {budget:,} are spent"):
            for _ in range(4):
                with suppress(ReplyCutError):  # a timeout is tried once more only
                    llm.complete("", "x" * 40, schema=schema)
    spent = llm.spent.prompt_tokens + llm.spent.completion_tokens
    # The server may charge for the prompt and 1,100 tokens each time.
    assert len(server.requests) <= llm.spent.calls == fit and fit * 1110 <= spent <= budget


def test_interrupted_request_is_resent_within_budget():
    with LLMServer([BROKEN["cut"], error(503, "x"), Say("ok", (10, 5))]) as server:
        llm = BudgetedLLM(OpenAILLM("m", server.url, max_tokens=1100, clock=Watch().clock), max_tokens=2300)
        assert llm.complete("", "x" * 40).text == "ok"
    assert len(server.requests) == 3  # what the server refused costs nothing
    assert (llm.spent.prompt_tokens, llm.spent.completion_tokens) == (20, 1105)


@pytest.mark.parametrize("threads", [1, 8])
def test_interrupted_requests_stay_within_cost_over_threads(threads):
    with LLMServer([BROKEN["cut"]]) as server, ThreadPoolExecutor(threads) as pool:
        model = OpenAILLM("m", server.url, max_tokens=100, clock=Watch().clock, prices=Prices(0.0, 1.0))
        llm = BudgetedLLM(model, max_cost=0.00105)
        ends = [each.exception(timeout=20) for each in [pool.submit(llm.complete, "", str(n)) for n in range(10)]]
    assert len(server.requests) == 10 and llm.spent.cost == pytest.approx(0.001)
    assert any(isinstance(end, BudgetError) for end in ends)


def test_reserving_model_stays_within_budget_over_threads():
    class Often(Counting):
        def complete(self, system, user, *, schema=None, on_text=None, cancel=None, usage, allow):
            for _ in range(4):
                allow(0, 10)
                threading.Event().wait(0.002)
                usage.add(Usage(calls=1, completion_tokens=10))
            return Completion("ok", None, usage)

    llm = BudgetedLLM(Often(max_tokens=10), max_tokens=105)
    with ThreadPoolExecutor(4) as pool:
        ends = [each.exception(timeout=20) for each in [pool.submit(llm.complete, "", "") for _ in range(12)]]
    assert any(isinstance(end, BudgetError) for end in ends)
    assert llm.spent.completion_tokens == 100


def test_call_waiting_for_budget_is_cancellable():
    started, release, cancel = threading.Event(), threading.Event(), Cancellation()

    def reply(system, user):
        started.set()
        release.wait(10)
        return "x" * 8

    llm = BudgetedLLM(ScriptedLLM(reply), max_tokens=3)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(llm.complete, "", "x" * 8)
        started.wait(10)
        second = pool.submit(llm.complete, "", "x" * 8, cancel=cancel)
        threading.Timer(0.2, cancel.set).start()
        assert "cancelled" in str(second.exception(timeout=10))
        release.set()
        assert first.result(timeout=10).text == "x" * 8


def test_repair_is_reserved_with_schema():
    model = Counting(max_tokens=100)
    with pytest.raises(BudgetError):
        BudgetedLLM(model, max_tokens=300).complete("", "a", schema=Place)
    BudgetedLLM(model, max_tokens=300).complete("", "a")
    assert model.calls == 1


def test_failed_calls_count_their_usage():
    llm = BudgetedLLM(ScriptedLLM(["no json", "nor here"]), max_tokens=1000)
    with pytest.raises(LLMResponseError):
        llm.complete("", "a", schema=Place)
    assert llm.spent.calls == 2 and llm.spent.completion_tokens == 4
    with pytest.raises(ModelError, match="script"):
        llm.complete("", "a")
    assert llm.spent.calls == 2


def test_failed_call_returns_reservation():
    def fail(system, user):
        raise ModelError("down")

    llm = BudgetedLLM(ScriptedLLM(fail), max_tokens=10)
    for _ in range(5):
        with pytest.raises(ModelError, match="down"):
            llm.complete("", "x" * 40)


def test_cost_uses_prices_of_budget():
    class Silent(Counting):
        def complete(self, system, user, *, schema=None, on_text=None, cancel=None):
            return Completion("ok", None, Usage(prompt_tokens=30, completion_tokens=7))

    llm = BudgetedLLM(Silent(), max_tokens=100, prices=Prices(1.0, 1.0))
    llm.complete("", "a")
    assert (llm.spent.prompt_tokens, llm.spent.completion_tokens) == (30, 7)
    assert llm.spent.cost == pytest.approx(37e-6)


def test_stored_replies_need_no_budget(tmp_path):
    llm = CachedLLM(BudgetedLLM(ScriptedLLM(lambda system, user: "ok"), max_tokens=11), tmp_path / "r.sqlite")
    for _ in range(5):
        llm.complete("", "x" * 40)
    with pytest.raises(BudgetError):
        llm.complete("", "y" * 40)


def test_wrapper_has_limits_and_prices_of_model(tmp_path):
    inner = CachedLLM(Counting(max_tokens=500, prices=Prices(1.0, 1.0)), tmp_path / "r.sqlite")
    with pytest.raises(BudgetError, match="501"):
        BudgetedLLM(inner, max_tokens=400).complete("", "a")
    with pytest.raises(BudgetError, match="max_cost"):
        BudgetedLLM(inner, max_cost=0.0004).complete("", "a")


def test_budgeted_model_is_value():
    llm = BudgetedLLM(ScriptedLLM(["a"]), 10, prices=Prices(1.0, 2.0))
    assert pickle.loads(pickle.dumps(llm)) == llm == eval(repr(llm)) and hash(llm)


def test_budget_with_wrong_arguments_raises():
    with pytest.raises(OptionError, match="prices=Prices"):
        BudgetedLLM(ScriptedLLM([]), max_cost=1.0)
    with pytest.raises(OptionError, match="max_tokens is -1"):
        BudgetedLLM(ScriptedLLM([]), max_tokens=-1)
    with pytest.raises(OptionError, match="nan"):
        BudgetedLLM(ScriptedLLM([]), max_cost=float("nan"), prices=Prices(1.0, 1.0))
    with pytest.raises(OptionError, match=r"prompt is -1\.0; it must be a number, at least 0"):
        Prices(-1.0, 0.0)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("東京", 2), ("é a\ud800", 3)]
)
def test_tokens_are_estimated(text, tokens):
    assert estimated_tokens(text) == tokens
