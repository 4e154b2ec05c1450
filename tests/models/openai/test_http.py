"""Requests over HTTP: time limits, cancellation, connections, and limits at a time and a minute."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.faulty_server import Waiting, endless, silent
from tests.llm_server import LLMServer, Say, events
from tests.models.openai.asking import ask, streaming

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError
from graphwright.models.deadline import Deadline
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import Cancellation

QUICK = {"timeout": 0.2, "retries": 0}
WORD = events("word")[1]


@pytest.mark.parametrize(
    ("behaviour", "stream"),
    [
        (endless("a" * 10_000), False),
        (endless("a" * 10_000, before='{"choices": [{"message": {"content": "'), False),
        (endless(" " * 10_000), False),
        (endless(WORD * 100, before=events("x")[0]), True),
        (endless("data: " + "x" * 10_000), True),
        (endless(": nothing\n\n" * 1000, before="data: {}\n\n"), True),
    ],
)
def test_endless_reply_is_cut_off(behaviour, stream):
    began = time.monotonic()
    exc, _ = ask([behaviour], max_tokens=10, on_text=streaming(stream))
    assert isinstance(exc, LLMResponseError) and "cut off" in str(exc) and time.monotonic() - began < 5


def test_endless_error_is_reported():
    def behaviour(handler):
        handler.begin(500, {})
        while not handler.server.closing.is_set():
            handler.write("no " * 1000)

    exc, _ = ask([behaviour], retries=0)
    assert "500: no no" in str(exc) and len(str(exc)) < 1000


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "behaviour", [silent, endless("a", 0.05), endless("a", 0.05, headers=True), endless(": wait\n\n", 0.05)]
)
def test_slow_response_ends_at_timeout(behaviour, stream):
    began = time.monotonic()
    exc, _ = ask([behaviour], **QUICK, on_text=streaming(stream))
    assert "0.2 seconds" in str(exc) and 0.15 < time.monotonic() - began < 2.5


def test_abandoned_tls_handshake_leaves_no_connection():
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(ModelError, match=r"0\.3 seconds"):
        url = f"https://127.0.0.1:{server.getsockname()[1]}/v1"
        OpenAILLM("m", url, timeout=0.3, retries=0).complete("", "a")


def test_slow_stream_ends_at_timeout_after_text():
    pieces = []
    exc, _ = ask([endless(WORD, 0.05)], **QUICK, on_text=pieces.append)
    assert pieces and "0.2 seconds" in str(exc) and "passed on" in str(exc)


def test_receiver_exception_ends_call():
    def stop(piece):
        raise KeyboardInterrupt

    with LLMServer(["a b c"]) as server, pytest.raises(KeyboardInterrupt):
        OpenAILLM("m", server.url).complete("", "a", on_text=stop)


def test_cancelled_call_ends_soon():
    with LLMServer(["ok", silent]) as server, Cancellation() as cancel:
        llm = OpenAILLM("m", server.url)
        llm.complete("", "a", cancel=cancel)
        threading.Timer(0.2, cancel.set).start()
        began = time.monotonic()
        for _ in range(2):
            with pytest.raises(ModelError, match="cancelled"):
                llm.complete("", "a", cancel=cancel)
        assert time.monotonic() - began < 3
    assert len(server.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", [0, 2])
def test_abandoned_request_closes_own_connection(stream, before):
    waiting = Waiting()
    with LLMServer([*["ok"] * before, waiting, "ok"]) as server:
        llm = OpenAILLM("m", server.url, timeout=0.7, retries=0)
        for _ in range(before):  # the request then uses a connection that is open already
            llm.complete("", "a")
        with pytest.raises(ModelError, match=r"0\.7 seconds"):
            llm.complete("", "a", on_text=streaming(stream))
        assert waiting.left.wait(2)
        assert llm.complete("", "a").text == "ok"


def test_cancelled_request_keeps_other_connections():
    waiting = Waiting()
    with LLMServer([waiting, Say("ok")]) as server, ThreadPoolExecutor(4) as pool, Cancellation() as cancel:
        llm = OpenAILLM("m", server.url)
        call = pool.submit(llm.complete, "", "a", cancel=cancel)
        while not server.requests:
            time.sleep(0.01)
        assert [llm.complete("", str(n)).text for n in range(3)] == ["ok"] * 3
        cancel.set()
        assert waiting.left.wait(5)
        assert [done.text for done in pool.map(lambda n: llm.complete("", str(n)), range(8))] == ["ok"] * 8
        assert "cancelled" in str(call.exception())


@pytest.mark.parametrize("stream", [False, True])
def test_deadline_ends_request_and_prevents_others(stream):
    waiting, pieces = Waiting(), []
    with LLMServer([waiting]) as server:
        llm, deadline, began = OpenAILLM("m", server.url), Deadline(0.5), time.monotonic()
        for _ in range(2):
            with pytest.raises(ReplyCutError, match=r"deadline of 0\.5 seconds") as caught:
                llm.complete("Be short.", "a", cancel=deadline, on_text=pieces.append if stream else None)
        assert time.monotonic() - began < 2 and waiting.left.wait(2) and len(server.requests) == 1
    assert caught.value.usage.calls == 0 and not pieces


def test_sequential_requests_share_connection():
    ports = set()

    def remember(handler):
        ports.add(handler.client_address[1])
        Say("ok")(handler)

    with LLMServer([remember]) as server:
        llm = OpenAILLM("m", server.url)
        for number in range(6):
            llm.complete("", "a", on_text=streaming(number % 2))
    assert len(ports) == 1


def test_concurrency_limits_requests_at_time_and_waiting_is_no_timeout():
    running, most, lock = 0, 0, threading.Lock()

    def slowly(handler):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.15)
        with lock:
            running -= 1
        Say("ok")(handler)

    with LLMServer([slowly]) as server, ThreadPoolExecutor(16) as pool:
        llm = OpenAILLM("m", server.url, concurrency=2, timeout=1.0, retries=0)
        # The last ones wait for seven others, longer than one may take.
        assert [done.text for done in pool.map(lambda n: llm.complete("", str(n)), range(16))] == ["ok"] * 16
    assert most == 2


def test_threads_may_share_model():
    with LLMServer(lambda asked: asked["messages"][0]["content"].upper()) as server, ThreadPoolExecutor(16) as pool:
        llm, prompts = OpenAILLM("m", server.url, concurrency=16), [f"prompt {n}" for n in range(24)]
        replies = [done.text for done in pool.map(lambda text: llm.complete("", text), prompts)]
    assert replies == [text.upper() for text in prompts]
