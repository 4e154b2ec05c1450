"""Retries: which failures are tried again, after how long, what they cost, and what an error says at the end.

Requests over HTTP: time limits, cancellation, connections, and limits at a time and a minute.
"""

import email.utils
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.faulty_server import Waiting, Watch, cut, cut_stream, endless, hang_up, silent
from tests.llm_server import LLMServer, Say, Send, error, event, events
from tests.models.openai.asking import ask, streaming, unused_address

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError
from graphwright.models.budget import Deadline
from graphwright.models.openai.errors import HTTPStatusError
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import Cancellation


def test_refused_connection_is_retried_once_at_no_cost(watch):
    url = unused_address()
    with pytest.raises(
        ModelError, match=rf"No server answers at {url}: .*Check that the server runs.*Tried 2 times"
    ) as caught:
        OpenAILLM("m", url, retries=5, clock=watch.clock).complete("", "a")
    (wait,) = watch.slept
    assert 0.375 <= wait <= 0.625 and caught.value.usage.calls == 0


def test_retry_waits_repeat_per_prompt():
    def slept(prompt):
        watch = Watch()
        with LLMServer([error(500, "x"), error(500, "x"), "ok"]) as server:
            OpenAILLM("m", server.url, clock=watch.clock).complete("", prompt)
        return watch.slept

    assert slept("a") == slept("a") != slept("b")


@pytest.mark.parametrize(
    "answers",
    [
        *([fault, fault, "at last"] for fault in (*(error(status, "x") for status in (408, 409, 500, 503)), hang_up)),
        [{"error": {"message": "busy", "code": 429}}, {"error": "model crashed"}, "at last"],
        [cut('{"choices": [{"mess'), Send(200, '{"choices": [{"mess'), "at last"],
        [cut(""), hang_up, "at last"],
    ],
)
def test_failures_that_may_pass_are_tried_again(answers, watch):
    done, server = ask(answers, clock=watch.clock)
    assert done.text == "at last" and len(server.requests) == 3 and len(watch.slept) == 2


def test_timeout_is_retried():
    done, _ = ask([silent, "awake"], timeout=0.7, retries=1)
    assert done.text == "awake"


def test_persistent_failure_is_reported_with_server_message(watch):
    exc, server = ask([error(500, "out of memory")], retries=3, clock=watch.clock)
    assert "500: out of memory" in str(exc) and "Tried 4 times" in str(exc) and len(server.requests) == 4


@pytest.mark.parametrize("header", ["7", "7.0", "date"])
def test_retry_after_is_waited_for(header, watch):
    header = email.utils.formatdate(time.time() + 7.5, usegmt=True) if header == "date" else header
    done, _ = ask([error(429, "slow down", retry_after=header), "ok"], clock=watch.clock)
    assert done.text == "ok" and len(watch.slept) == 1 and 5.5 <= watch.slept[0] <= 7.5


@pytest.mark.parametrize("header", ["", "soon", "nan", "inf", "-3"])
def test_invalid_retry_after_is_ignored(header, watch):
    done, _ = ask([error(429, "slow down", retry_after=header), "ok"], clock=watch.clock)
    assert done.text == "ok" and watch.at < 1


def test_retry_after_of_hour_is_not_waited_for(watch):
    exc, server = ask([error(429, "slow down", retry_after="3600")], clock=watch.clock)
    assert "3,600 seconds" in str(exc) and not watch.slept and len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (error(401, "never"), r"\(401: never\)\. Set .*OPENAI_API_KEY"),
        (error(403, "never"), r"\(403: never\)\. .*pass api_key"),
        (error(404, "never"), r"\(404: never\)\. .*base_url: .*/v1"),
        (error(400, "never"), r"\(400: never\)\. Check the options"),
        (error(400, "This model's maximum context length is 4096; max_tokens is too large."), "Shorten the prompt"),
        (Send(429, {"error": {"code": "insufficient_quota", "message": "pay"}}), "credit"),
        (Send(429, "Quota exceeded"), "credit"),
        (Send(307, "", {"Location": "http://127.0.0.1:9/v1"}), "give the final address as base_url"),
    ],
)
def test_permanent_failures_are_reported_at_once(answer, message):
    exc, server = ask([answer])
    with pytest.raises(HTTPStatusError, match=message):
        raise exc
    assert exc.status == answer.status and len(server.requests) == 1


def test_redirects_are_not_followed():
    with LLMServer(["ok"]) as other:
        ask([Send(307, "", {"Location": f"{other.url}/chat/completions"})])
    assert not other.requests


@pytest.mark.parametrize("body", ["<html><head><style>a{}</style></head><body>Bad &amp; gateway</body></html>", ""])
def test_message_of_error_page_is_shown(body):
    exc, _ = ask([Send(502, body)], retries=0)
    assert ("502: Bad & gateway)" if body else "502: without a message)") in str(exc)


def test_deadline_names_failure_of_last_attempt():
    with LLMServer([error(503, "loading")] * 9) as server, pytest.raises(ReplyCutError, match=r"loading.*The deadline"):
        OpenAILLM("m", server.url).complete("", "a", cancel=Deadline(1.0))


def test_deadline_ends_longer_wait_at_once(monkeypatch):
    monkeypatch.setattr(Cancellation, "pause", lambda cancel, seconds: pytest.fail(f"waits for {seconds} seconds"))
    with LLMServer([error(429, "slow", retry_after="30")]) as server, pytest.raises(ReplyCutError, match="deadline"):
        OpenAILLM("m", server.url).complete("", "a", cancel=Deadline(20.0))
    assert len(server.requests) == 1


# Streams


def test_stream_broken_before_text_is_repeated():
    pieces = []
    done, server = ask([cut_stream(), cut_stream(events("x")[0]), Say("whole reply")], on_text=pieces.append)
    assert done.text == "".join(pieces) == "whole reply" and len(server.requests) == 3


@pytest.mark.parametrize("clean", [False, True])
def test_stream_broken_after_text_is_not_repeated(clean):
    parts = events("some of the reply")[:3]
    behaviour = (lambda handler: handler.stream(*parts)) if clean else cut_stream(*parts)
    pieces = []
    exc, server = ask([behaviour], on_text=pieces.append, max_tokens=50)
    assert "".join(pieces) == "some of" and "after 7 characters" in str(exc) and len(server.requests) == 1
    assert exc.usage.completion_tokens == 50  # the server may have written more than came


def test_stream_error_is_reported():
    exc, _ = ask(
        [cut_stream(*events("some text")[:2], event({"error": {"message": "out of memory"}}))], on_text=[].append
    )
    assert "after 4 characters" in str(exc) and "out of memory" in str(exc)


def test_stream_broken_after_end_is_complete():
    done, _ = ask([cut_stream(*events("all of it"))], on_text=[].append)
    assert done.text == "all of it"


# Errors and their cost


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        "garbage",
        "<html>Log in</html>",
        "",
        "[1, 2]",
        "{}",
        '{"choices": []}',
        '{"choices": [7]}',
        b"\xff\xfe\x00",
        "[" * 100_000,
    ],
)
def test_body_without_reply_raises_with_server(body, stream):
    exc, _ = ask([Send(200, body)], retries=1, on_text=streaming(stream))
    assert isinstance(exc, ModelError) and "127.0.0.1" in str(exc)


@pytest.mark.parametrize("stream", [False, True])
def test_reply_without_text_raises(stream):
    exc, _ = ask([Say(None, finish="content_filter")], on_text=streaming(stream))
    assert isinstance(exc, LLMResponseError) and "content_filter" in str(exc)


def test_cut_reply_is_not_shown():
    exc, _ = ask([Send(200, '{"choices": [{"message": {"content": "Private')], retries=0)
    assert "cut off or damaged" in str(exc) and "Private" not in str(exc)


@pytest.mark.parametrize(
    ("fault", "charged"),
    [
        (cut('{"choices": [{"mess'), True),
        (silent, True),
        (hang_up, True),
        (Send(200, "<html>"), True),
        (error(504, "a gateway that waited in vain"), True),
        (error(500, "x"), False),
        (error(429, "slow down"), False),
    ],
)
def test_failed_attempt_of_unknown_usage_counts_maximum_cost(fault, charged):
    exc, _ = ask([fault], max_tokens=50, retries=1, timeout=0.2 if fault is silent else 5.0)
    usage, attempts = exc.usage, exc.usage.calls
    assert (attempts > 0) == charged
    assert (usage.prompt_tokens, usage.completion_tokens) == (attempts * 5, attempts * 50)


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
