"""The deadline of a question, and the cancellation that it may be combined with."""

from __future__ import annotations

import time
from threading import Lock, Timer

import pytest

from graphwright.errors import ModelError, OptionError, ReplyCutError
from graphwright.models.deadline import Deadline
from graphwright.models.fake import ScriptedLLM
from graphwright.models.protocols import Cancellation


def test_deadline_passes_by_itself() -> None:
    deadline = Deadline(0.05)
    deadline.check()
    deadline.pause(0.01)
    time.sleep(0.05)
    with pytest.raises(ReplyCutError, match=r"deadline of 0\.05 seconds"):
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
