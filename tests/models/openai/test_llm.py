"""The OpenAI client and language model against a local server with correct and faulty responses."""

import email.utils
import gc
import json
import pickle
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.models.llm_server import (
    DONE,
    LLMServer,
    Say,
    Send,
    Waiting,
    Watch,
    cut,
    cut_stream,
    endless,
    error,
    event,
    events,
    hang_up,
    silent,
)

from graphwright.errors import LLMResponseError, ModelError, OptionError, ReplyCutError
from graphwright.models.budget import Prices
from graphwright.models.deadline import Deadline
from graphwright.models.openai.errors import HTTPStatusError
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import LLM, Cancellation
from graphwright.models.structured import Mismatch, parse_reply, strict_schema
from graphwright.prompts.replies import REPLIES, Number, Sentence

KEY = "sk-very-secret-0123456789"
QUICK = {"timeout": 0.5, "retries": 0}


class Place(BaseModel):
    name: str
    kind: Literal["city", "river"]
    near: list["Place"] = []


GRAZ = '{"name": "Graz", "kind": "city", "near": []}'


@pytest.fixture(autouse=True, scope="module")
def older_objects():
    gc.collect()
    gc.freeze()  # so that the collection after each test looks at that test's objects only
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield
    gc.collect()  # whatever leaves a socket open fails here, in the test that did it


@pytest.fixture
def watch():
    return Watch()


def ask(answers, *, on_text=None, schema=None, **options):
    """One call to a server with these answers: what came of it, and the server."""
    options.setdefault("clock", Watch().clock)
    with LLMServer(answers) as server:
        try:
            came = OpenAILLM("m", server.url, **options).complete("Be short.", "Where?", schema=schema, on_text=on_text)
        except ModelError as exc:
            came = exc
    return came, server


# What is sent, and what comes back


def test_a_reply_comes_with_its_tokens_and_what_they_cost():
    done, server = ask([Say("In Graz.", (1000, 500))], prices=Prices(2.0, 4.0))
    usage = done.usage
    assert (done.text, done.value) == ("In Graz.", None)
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 1000, 500)
    assert usage.cost == pytest.approx(0.004) and usage.seconds > 0
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.json == {
        "model": "m",
        "max_tokens": 2048,
        "temperature": 0.0,
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where?"}],
    }


def test_an_empty_system_prompt_and_halves_of_characters_are_not_sent():
    with LLMServer(["ok"]) as server:
        OpenAILLM("m", server.url).complete("", "a \ud800 b 東京 \U0001f642")
    assert server.requests[0].json["messages"] == [{"role": "user", "content": "a \ufffd b 東京 \U0001f642"}]


def test_a_stream_is_handed_over_as_it_comes():
    gate, pieces = threading.Event(), []

    def slowly(handler):
        handler.begin(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream"})
        first, *others = events("a reply in pieces")
        handler.chunk(first)
        handler.chunk(others[0])
        assert gate.wait(10)  # the first word has to be there before the others are sent
        for part in (*others[1:], event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 4}}), DONE):
            handler.chunk(part)
        handler.write("0\r\n\r\n")

    done, server = ask([slowly], on_text=lambda piece: (pieces.append(piece), gate.set()))
    assert done.text == "a reply in pieces" == "".join(pieces) and len(pieces) == 4
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (5, 4)
    assert server.requests[0].json["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("way", ["crlf", "bytewise", "comments", "no done", "no blank at end", "one body", "parts"])
def test_streams_of_all_kinds_are_understood(way):
    parts = [*events("Graz, 東京"), DONE]
    if way == "one body":
        behaviour = Send(200, {"choices": [{"message": {"content": "Graz, 東京"}, "finish_reason": "stop"}]})
    elif way == "parts":
        behaviour = Send(200, {"choices": [{"message": {"content": [{"type": "text", "text": "Graz, 東京"}]}}]})
    else:
        text = {
            "crlf": "".join(parts).replace("\n", "\r\n"),
            "comments": ": hello\n\n" + "event: x\n: more\n".join(parts),
            "no done": "".join(parts[:-1]),
            "no blank at end": "".join(parts).rstrip(),
        }.get(way, "".join(parts))
        text = text.replace("\\u6771\\u4eac", "東京")
        size = 1 if way == "bytewise" else 10_000

        def behaviour(handler):
            handler.begin(200, {"Content-Type": "text/event-stream"})
            data = text.encode()
            for at in range(0, len(data), size):
                handler.write(data[at : at + size])

    pieces = []
    done, server = ask([behaviour], on_text=pieces.append)
    assert done.text == "".join(pieces) == "Graz, 東京"
    assert len(server.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_tokens_that_the_server_does_not_count_are_estimated(stream):
    done, _ = ask([Say("twelve chars", None)], on_text=[].append if stream else None)
    # "Be short." and "Where?" have 9 and 6 characters.
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (3 + 2, 3)


def test_a_reply_that_was_cut_off_is_given_where_no_schema_has_to_fit():
    done, _ = ask([Say("In the middle of", finish="length")])
    assert done.text == "In the middle of"


# JSON


def test_a_schema_is_enforced_by_the_server():
    done, server = ask([GRAZ], schema=Place)
    assert done.value == Place(name="Graz", kind="city") and done.text == GRAZ
    shape = server.requests[0].json["response_format"]
    assert shape["type"] == "json_schema" and shape["json_schema"]["strict"] is True
    root = shape["json_schema"]["schema"]
    for place in (root, root["$defs"]["Place"]):  # it holds itself
        assert place["type"] == "object" and place["additionalProperties"] is False
        assert sorted(place["required"]) == ["kind", "name", "near"]
        assert "default" not in place["properties"]["near"]


@pytest.mark.parametrize(
    "text",
    [
        f"Here you are:\n```json\n{GRAZ}\n```\nAnything else?",
        f'Not {{this}}, nor {{"name": 1}}, but {GRAZ}',
        f'<think>Maybe {{"name": "Linz", "kind": "city"}}?</think>{GRAZ}',
        f'The form is {{"name": ...}}: {GRAZ}',
    ],
)
def test_json_is_taken_out_of_what_stands_around_it(text):
    done, server = ask([text], schema=Place)
    assert done.value.name == "Graz" and done.text == text and len(server.requests) == 1


def test_a_reply_that_does_not_fit_is_sent_back_once_with_what_is_wrong():
    done, server = ask([Say('{"name": "Graz", "kind": "town"}', (10, 5)), Say(GRAZ, (20, 6))], schema=Place)
    assert done.value.name == "Graz" and (done.usage.prompt_tokens, done.usage.completion_tokens) == (30, 11)
    assert done.usage.calls == 2
    system, _user, reply, correction = server.requests[1].json["messages"]
    assert reply == {"role": "assistant", "content": '{"name": "Graz", "kind": "town"}'}
    assert "kind: Input should be 'city' or 'river'" in correction["content"]
    assert '"city"' in system["content"]  # a server that lets this through may not have told the model the schema


def test_a_reply_that_never_fits_is_kept_but_not_shown():
    exc, server = ask(["I would rather write a poem."], schema=Place)
    assert isinstance(exc, LLMResponseError) and "Place" in str(exc)
    assert exc.text == "I would rather write a poem." and "rather" not in str(exc)
    assert len(server.requests) == 2


HALF = '{"name": "Styria", "kind": "river", "near": [{"name": "Graz", "kind": "city"}, {"na'


@pytest.mark.parametrize("stream", [False, True])
def test_half_a_json_is_not_taken_for_what_stands_inside_it(stream):
    done, server = ask([Say(HALF), GRAZ], schema=Place, on_text=[].append if stream else None)
    assert done.value.name == "Graz"
    assert "no complete JSON object" in server.requests[1].json["messages"][-1]["content"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_is_cut_off_is_not_asked_for_again(stream):
    exc, server = ask([Say(HALF, finish="length"), GRAZ], schema=Place, on_text=[].append if stream else None)
    assert isinstance(exc, LLMResponseError) and exc.text == HALF and exc.usage.calls == 1
    assert "it ended because of 'length'" in str(exc) and "correct" not in str(exc) and "max_tokens" in str(exc)
    assert len(server.requests) == 1


class Loose(BaseModel):
    """Any object at all is one, so whatever is taken for an object shows."""

    name: str = "{"
    near: list["Loose"] = []


LEAF = st.builds(Loose, name=st.text("ab{}\"'\\\n "))
LOOSE = st.recursive(LEAF, lambda inner: st.builds(Loose, name=st.text(), near=st.lists(inner)), max_leaves=5)


@given(LOOSE, st.text("ab:{ \n"), st.floats(0, 1))
@example(Loose(name="\\}{}\\\\"), "", 0.5)  # cut after the first half of an escaped character
def test_an_object_is_found_whole_or_not_at_all(made, before, share):
    text = made.model_dump_json()
    assert parse_reply(Loose, f"{before}{text} That is all. {{}}") == made
    half = text[: int(share * (len(text) - 1))]
    assert parse_reply(Loose, before + half) == Mismatch("it holds no complete JSON object")


def test_names_of_properties_may_look_like_keywords():
    class Odd(BaseModel):
        default: str | None = None
        properties: dict[str, int] = {}
        kind: Literal["default", "oneOf"] = "oneOf"

    made = strict_schema(Odd)
    assert made["required"] == list(made["properties"]) == ["default", "properties", "kind"]
    assert made["properties"]["kind"]["enum"] == ["default", "oneOf"]
    assert made["properties"]["properties"]["additionalProperties"] == {"type": "integer"}


@pytest.mark.parametrize("text", ["{'name': 'Graz', 'kind': 'city'}", "", None, "{" * 50_000, '{"name": "\\ud800"}'])
def test_what_is_no_json_does_not_fit(text):
    exc, server = ask([Say(text)], schema=Place)
    assert isinstance(exc, LLMResponseError) and len(server.requests) == 2


def test_forms_that_the_server_refuses_are_not_asked_for_again():
    def answer(asked):
        form = asked.get("response_format", {}).get("type")
        return error(400, f"'response_format.type' {form} is not supported") if form else GRAZ

    with LLMServer(answer) as server:
        llm = OpenAILLM("m", server.url)
        for _ in range(2):
            assert llm.complete("", "Where?", schema=Place).value.name == "Graz"
    forms = [request.json.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", None, None]
    assert '"near"' not in str(server.requests[0].json["messages"])
    assert '"near"' in server.requests[1].json["messages"][0]["content"]
    assert '"near"' in server.requests[3].json["messages"][0]["content"]


def test_parameters_that_the_server_refuses_are_left_out_and_that_is_remembered():
    def answer(asked):
        for name in ("max_tokens", "temperature", "stream_options"):
            if name in asked:
                return error(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        return "fine"

    with LLMServer(answer) as server:
        llm = OpenAILLM("m", server.url, max_tokens=50)
        assert [llm.complete("", "a", on_text=[].append).text for _ in range(2)] == ["fine"] * 2
    assert len(server.requests) == 5
    assert server.requests[-1].json["max_completion_tokens"] == 50


def test_a_prompt_that_is_too_long_is_not_a_parameter_that_is_refused():
    words = "This model's maximum context length is 4096 tokens; max_tokens is too large."
    exc, server = ask([error(400, words)])
    assert "Shorten the prompt" in str(exc) and len(server.requests) == 1


def test_what_did_not_help_is_not_remembered():
    with LLMServer([error(400, "max_tokens?"), error(400, "no"), "fine"]) as server:
        llm = OpenAILLM("m", server.url)
        with pytest.raises(HTTPStatusError, match="no"):
            llm.complete("", "a")
        llm.complete("", "a")
    assert "max_tokens" in server.requests[2].json


def test_a_grammar_goes_with_each_request_over_the_same_connection():
    with LLMServer(["a", "plain"]) as server:
        llm = OpenAILLM("m", server.url, extra_body={"top_k": 1})
        held = llm.with_grammar('root ::= "a" | "b"')
        assert held._connection is llm._connection and held.id != llm.id and isinstance(held, LLM)
        assert held.complete("", "Write.").text == "a" and llm.complete("", "Write.").text == "plain"
    first, second = (request.json for request in server.requests)
    assert first["grammar"] == 'root ::= "a" | "b"' and first["top_k"] == second["top_k"] == 1
    assert "grammar" not in second and llm.extra_body == {"top_k": 1}


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_server_that_refuses_a_grammar_is_not_asked_again_and_its_words_are_kept(status):
    with LLMServer([error(status, "Unrecognized request argument supplied: grammar")]) as server:
        held = OpenAILLM("m", server.url, retries=0).with_grammar('root ::= "a"')
        with pytest.raises(LLMResponseError, match=r"refuses a request with a grammar.*Unrecognized"):
            held.complete("", "Write.")
    assert len(server.requests) == 1


def test_a_fault_that_is_not_of_the_grammar_stays_what_it_is():
    with LLMServer([error(401, "bad key")]) as server, pytest.raises(HTTPStatusError, match="bad key"):
        OpenAILLM("m", server.url, retries=0).with_grammar('root ::= "a"').complete("", "Write.")


# Trouble


def test_nobody_listens(watch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match=rf"No server answers at {url}: .*Check that the server runs.*Tried 2 times"):
        OpenAILLM("m", url, retries=5, clock=watch.clock).complete("", "a")
    (wait,) = watch.slept
    assert 0.375 <= wait <= 0.625


def test_a_deadline_names_the_fault_that_kept_it_waiting():
    with LLMServer([error(503, "loading")] * 9) as server, pytest.raises(ReplyCutError, match=r"loading.*The deadline"):
        OpenAILLM("m", server.url).complete("", "a", cancel=Deadline(1.0))


def test_waits_are_the_same_in_every_run_but_not_for_every_prompt():
    def slept(prompt):
        watch = Watch()
        with LLMServer([error(500, "x"), error(500, "x"), "ok"]) as server:
            OpenAILLM("m", server.url, clock=watch.clock).complete("", prompt)
        return watch.slept

    assert slept("a") == slept("a") != slept("b")


@pytest.mark.parametrize("trouble", [error(500, "x"), error(503, "x"), error(408, "x"), error(409, "x"), hang_up])
def test_trouble_that_passes_is_waited_for(trouble, watch):
    done, server = ask([trouble, trouble, "at last"], clock=watch.clock)
    assert done.text == "at last" and len(server.requests) == 3 and len(watch.slept) == 2


def test_trouble_that_stays_is_told_with_the_words_of_the_server(watch):
    exc, server = ask([error(500, "out of memory")], retries=3, clock=watch.clock)
    assert "500: out of memory" in str(exc) and "Tried 4 times" in str(exc) and len(server.requests) == 4


@pytest.mark.parametrize("message", ["7", "7.0", "date"])
def test_a_server_that_says_when_is_taken_at_its_word(message, watch):
    message = email.utils.formatdate(time.time() + 7.5, usegmt=True) if message == "date" else message
    done, _ = ask([error(429, "slow down", retry_after=message), "ok"], clock=watch.clock)
    assert done.text == "ok" and len(watch.slept) == 1 and 5.5 <= watch.slept[0] <= 7.5


@pytest.mark.parametrize("message", ["", "soon", "nan", "inf", "-3"])
def test_a_server_that_does_not_say_when_is_tried_again_soon(message, watch):
    done, _ = ask([error(429, "slow down", retry_after=message), "ok"], clock=watch.clock)
    assert done.text == "ok" and watch.at < 1


def test_a_server_that_asks_for_an_hour_is_not_waited_for(watch):
    exc, server = ask([error(429, "slow down", retry_after="3600")], clock=watch.clock)
    assert "3,600 seconds" in str(exc) and not watch.slept and len(server.requests) == 1


@pytest.mark.parametrize("body", [{"error": {"code": "insufficient_quota", "message": "pay"}}, "Quota exceeded"])
def test_an_empty_account_is_not_asked_again(body):
    exc, server = ask([Send(429, body)])
    assert "credit" in str(exc) and len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "way_out"),
    [(401, "Set .*OPENAI_API_KEY"), (403, "pass api_key"), (404, "base_url: .*/v1"), (400, "Check the options")],
)
def test_what_will_not_pass_is_told_at_once(status, way_out):
    exc, server = ask([error(status, "never")])
    with pytest.raises(ModelError, match=rf"\({status}: never\)\. .*{way_out}"):
        raise exc
    assert isinstance(exc, HTTPStatusError) and exc.status == status and len(server.requests) == 1


@pytest.mark.parametrize("body", ["<html><head><style>a{}</style></head><body>Bad &amp; gateway</body></html>", ""])
def test_errors_need_not_be_json(body):
    exc, _ = ask([Send(502, body)], retries=0)
    assert ("502: Bad & gateway)" if body else "502: without a message)") in str(exc)


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
@pytest.mark.parametrize("stream", [False, True])
def test_bodies_without_a_reply_are_errors(body, stream):
    exc, _ = ask([Send(200, body)], retries=1, on_text=[].append if stream else None)
    assert isinstance(exc, ModelError) and "127.0.0.1" in str(exc)


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_without_text_is_an_error(stream):
    exc, _ = ask([Say(None, finish="content_filter")], on_text=[].append if stream else None)
    assert isinstance(exc, LLMResponseError) and "content_filter" in str(exc)


def test_a_refusal_is_the_reply():
    done, _ = ask([Say(None, extra={"refusal": "I will not."})])
    assert done.text == "I will not."


def test_an_error_in_the_place_of_a_reply_is_tried_again():
    done, server = ask([{"error": {"message": "busy", "code": 429}}, {"error": "model crashed"}, "ok"])
    assert done.text == "ok" and len(server.requests) == 3


@pytest.mark.parametrize("body", ['{"choices": [{"mess', ""])
def test_a_body_that_is_cut_is_asked_for_again(body):
    done, server = ask([cut(body), Send(200, '{"choices": [{"mess'), "whole"])
    assert done.text == "whole" and len(server.requests) == 3


def test_a_stream_that_is_cut_before_any_text_is_asked_for_again():
    pieces = []
    done, server = ask([cut_stream(), cut_stream(events("x")[0]), Say("whole reply")], on_text=pieces.append)
    assert done.text == "".join(pieces) == "whole reply" and len(server.requests) == 3


@pytest.mark.parametrize("clean", [False, True])
def test_a_stream_that_is_cut_after_some_text_is_not_repeated(clean):
    parts = events("some of the reply")[:3]
    behaviour = (lambda handler: handler.stream(*parts)) if clean else cut_stream(*parts)
    pieces = []
    exc, server = ask([behaviour], on_text=pieces.append, max_tokens=50)
    assert "".join(pieces) == "some of" and "after 7 characters" in str(exc) and len(server.requests) == 1
    assert exc.usage.completion_tokens == 50  # the server may have written more than came


@pytest.mark.parametrize(
    ("trouble", "charged"),
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
def test_an_attempt_whose_count_is_unknown_counts_for_the_most_that_it_may_have_taken(trouble, charged):
    exc, _ = ask([trouble], max_tokens=50, retries=1, timeout=0.5)
    assert isinstance(exc, ModelError)
    usage = exc.usage
    attempts = usage.calls
    assert (attempts > 0) == charged
    assert (usage.prompt_tokens, usage.completion_tokens) == (attempts * 5, attempts * 50)


def test_what_was_never_sent_costs_nothing(watch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match=r"No server answers at .* Tried 2 times") as caught:
        OpenAILLM("m", url, retries=3, clock=watch.clock).complete("", "a")
    assert caught.value.usage.calls == 0


def test_an_error_within_a_stream_is_told():
    behaviour = cut_stream(*events("some text")[:2], event({"error": {"message": "out of memory"}}))
    exc, _ = ask([behaviour], on_text=[].append)
    assert "after 4 characters" in str(exc) and "out of memory" in str(exc)


def test_a_stream_that_breaks_after_its_end_is_whole():
    done, _ = ask([cut_stream(*events("all of it"))], on_text=[].append)
    assert done.text == "all of it"


def test_what_the_caller_raises_ends_the_call():
    def stop(piece):
        raise KeyboardInterrupt

    with LLMServer(["a b c"]) as server, pytest.raises(KeyboardInterrupt):
        OpenAILLM("m", server.url).complete("", "a", on_text=stop)


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
def test_endless_replies_are_cut_off(behaviour, stream):
    began = time.monotonic()
    exc, _ = ask([behaviour], max_tokens=10, on_text=[].append if stream else None)
    assert isinstance(exc, LLMResponseError) and "cut off" in str(exc) and time.monotonic() - began < 5


def test_an_endless_error_is_an_error():
    def behaviour(handler):
        handler.begin(500, {})
        while not handler.server.closing.is_set():
            handler.write("no " * 1000)

    exc, _ = ask([behaviour], retries=0)
    assert "500: no no" in str(exc) and len(str(exc)) < 1000


@pytest.mark.parametrize(
    "behaviour",
    [
        silent,
        endless("a", 0.05),
        endless("a", 0.05, headers=True),
        endless(": wait\n\n", 0.05),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_slow_servers_are_stopped_at_the_deadline(behaviour, stream):
    began = time.monotonic()
    exc, _ = ask([behaviour], **QUICK, on_text=[].append if stream else None)
    assert "0.5 seconds" in str(exc) and 0.4 < time.monotonic() - began < 2.5


def test_a_slow_stream_is_stopped_at_the_deadline_too():
    pieces = []
    exc, _ = ask([endless(WORD, 0.05)], **QUICK, on_text=pieces.append)
    assert pieces and "0.5 seconds" in str(exc) and "passed on" in str(exc)


def test_a_cancelled_call_ends_soon_and_sends_nothing_more():
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
def test_a_request_that_is_given_up_closes_its_connection_and_no_other(stream, before):
    waiting = Waiting()
    with LLMServer([*["ok"] * before, waiting, "ok"]) as server:
        llm = OpenAILLM("m", server.url, timeout=0.7, retries=0)
        for _ in range(before):  # the request then uses a connection that is open already
            llm.complete("", "a")
        with pytest.raises(ModelError, match=r"0\.7 seconds"):
            llm.complete("", "a", on_text=[].append if stream else None)
        assert waiting.left.wait(2)
        assert llm.complete("", "a").text == "ok"


def test_a_cancelled_request_closes_its_connection_while_others_go_on():
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


def test_requests_one_after_another_share_a_connection():
    ports = set()

    def remember(handler):
        ports.add(handler.client_address[1])
        Say("ok")(handler)

    with LLMServer([remember]) as server:
        llm = OpenAILLM("m", server.url)
        for number in range(6):
            llm.complete("", "a", on_text=[].append if number % 2 else None)
    assert len(ports) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_deadline_cuts_a_request_and_prevents_others(stream):
    waiting, pieces = Waiting(), []
    with LLMServer([waiting]) as server:
        llm, deadline, began = OpenAILLM("m", server.url), Deadline(0.5), time.monotonic()
        for _ in range(2):
            with pytest.raises(ReplyCutError, match=r"deadline of 0\.5 seconds") as caught:
                llm.complete("Be short.", "a", cancel=deadline, on_text=pieces.append if stream else None)
        assert time.monotonic() - began < 2 and waiting.left.wait(2) and len(server.requests) == 1
    assert caught.value.usage.calls == 0 and not pieces


def test_a_deadline_waits_for_no_later_attempt(monkeypatch):
    monkeypatch.setattr(Cancellation, "pause", lambda cancel, seconds: pytest.fail(f"waits for {seconds} seconds"))
    with LLMServer([error(429, "slow", retry_after="30")]) as server, pytest.raises(ReplyCutError, match="deadline"):
        OpenAILLM("m", server.url).complete("", "a", cancel=Deadline(20.0))
    assert len(server.requests) == 1


def test_redirects_are_not_followed():
    with LLMServer(["ok"]) as other:
        exc, server = ask([Send(307, "", {"Location": f"{other.url}/chat/completions"})])
    assert isinstance(exc, HTTPStatusError) and "give the final address as base_url" in str(exc)
    assert len(server.requests) == 1 and not other.requests


def test_a_timeout_is_tried_again():
    done, _ = ask([silent, "awake"], timeout=0.7, retries=1)
    assert done.text == "awake"


# Limits


def test_no_more_run_at_a_time_than_allowed_and_waiting_is_not_running():
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


def test_requests_per_minute_are_kept(watch):
    with LLMServer(["ok"]) as server:
        llm = OpenAILLM("m", server.url, requests_per_minute=2, clock=watch.clock)
        for _ in range(5):
            llm.complete("", "a")
    assert watch.at == 120


def test_tokens_per_minute_count_what_was_really_used(watch):
    with LLMServer([Say("ok", (60, 40))]) as server:
        llm = OpenAILLM("m", server.url, tokens_per_minute=1000, max_tokens=800, clock=watch.clock)
        for _ in range(2):
            llm.complete("", "a")
        assert watch.at == 0
        for _ in range(2):
            llm.complete("", "a")
    assert watch.at == 60  # 300 and 801 are more than 1,000


# The key, and being a value


def test_the_key_comes_from_the_argument_then_the_environment_then_is_a_dummy(monkeypatch):
    with LLMServer(["ok"]) as server:
        OpenAILLM("m", server.url).complete("", "a")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        OpenAILLM("m", server.url).complete("", "a")
        OpenAILLM("m", server.url, "mine").complete("", "a")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert OpenAILLM("m").complete("", "a").text == "ok"
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["Bearer none", f"Bearer {KEY}", "Bearer mine", f"Bearer {KEY}"]


def test_without_a_key_one_is_told_what_to_do():
    with pytest.raises(OptionError, match=r"OPENAI_API_KEY.*api_key.*base_url"):
        OpenAILLM("gpt-4o-mini")


@pytest.mark.parametrize("key", ["sk-\n-secret", "sk secret", "sk-sécret"])
def test_a_key_that_cannot_be_one_is_not_shown(key):
    with pytest.raises(OptionError) as caught:
        OpenAILLM("m", api_key=key)
    assert "secret" not in str(caught.value) and "cret" not in str(caught.value)


@pytest.mark.parametrize(
    "behaviour",
    [
        error(401, f"Incorrect API key provided: {KEY}"),
        error(500, KEY),
        Send(200, f"<html>{KEY}</html>"),
        Send(200, f'{{"choices": "{KEY}"}}'),
        Send(200, f'["{KEY}"]'),
        cut_stream(event({"error": KEY})),
    ],
)
def test_the_key_is_in_no_error(behaviour):
    exc, _ = ask([behaviour], api_key=KEY, retries=0, on_text=[].append)
    seen = ""
    while exc is not None:
        seen, exc = seen + repr(exc) + str(vars(exc)), exc.__cause__
    assert "***" in seen and KEY not in seen


def test_it_is_compared_and_pickled_by_its_configuration():
    llm = OpenAILLM("m", "http://localhost:1/v1", KEY, max_tokens=9, prices=Prices(1.0, 2.0))
    again = pickle.loads(pickle.dumps(llm))
    assert isinstance(llm, LLM)
    assert again == llm == eval(repr(llm)) and hash(again) == hash(llm) and again.api_key == KEY
    assert (
        repr(llm)
        == "OpenAILLM('m', base_url='http://localhost:1/v1', max_tokens=9, prices=Prices(prompt=1.0, completion=2.0))"
    )
    assert KEY not in repr(llm) + llm.id
    others = [
        OpenAILLM("n", "http://localhost:1/v1", max_tokens=9),
        OpenAILLM("m", "http://localhost:2/v1", max_tokens=9),
        OpenAILLM("m", "http://localhost:1/v1", max_tokens=8),
        OpenAILLM("m", "http://localhost:1/v1", max_tokens=9, temperature=1.0),
    ]
    assert len({other.id for other in [llm, *others]}) == 5 and llm not in others


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"model": ""}, "model is ''"),
        ({"base_url": "localhost:11434"}, "http://localhost:11434/v1"),
        ({"base_url": "http://"}, "base_url is"),
        ({"base_url": "http://me:hidden@host/v1"}, "api_key"),
        ({"base_url": "http://host/v1?key=hidden"}, "api_key"),
        ({"base_url": "ftp://me:hidden@host/v1?key=hidden"}, "base_url contains"),
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": float("inf")}, "timeout is inf"),
        ({"retries": -1}, "retries"),
        ({"concurrency": 0}, "concurrency"),
        ({"requests_per_minute": 0}, "requests_per_minute is 0"),
        ({"tokens_per_minute": 0}, "tokens_per_minute is 0"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"temperature": 3.0}, "temperature is 3"),
    ],
)
def test_wrong_use_is_refused(arguments, match):
    with pytest.raises(OptionError, match=match) as caught:
        OpenAILLM(**{"model": "m", "base_url": "http://localhost:1/v1", **arguments})
    assert "hidden" not in str(caught.value)


def test_an_invalid_schema_is_refused():
    with LLMServer(["ok"]) as server, pytest.raises(OptionError, match="pydantic"):
        OpenAILLM("m", server.url).complete("", "a", schema=dict)
    assert not server.requests


def test_many_threads_may_share_it():
    with LLMServer(lambda asked: asked["messages"][0]["content"].upper()) as server, ThreadPoolExecutor(16) as pool:
        llm = OpenAILLM("m", server.url, concurrency=16)
        prompts = [f"prompt {n}" for n in range(64)]
        assert [done.text for done in pool.map(lambda text: llm.complete("", text), prompts)] == [
            text.upper() for text in prompts
        ]


def test_making_one_loads_no_client():
    code = (
        "import sys; from graphwright.models.openai.llm import OpenAILLM; import graphwright.models.cache;"
        "from graphwright.models.openai.encoder import OpenAIEncoder; OpenAILLM('m', 'http://localhost:1/v1');"
        "print([name for name in ('openai', 'pydantic', 'httpx', 'httpx2', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_counts_that_are_none_are_estimated():
    counts = {"prompt_tokens": -1, "completion_tokens": True}
    done, _ = ask([{"choices": [{"message": {"content": "ok"}}], "usage": counts}])
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (5, 1)


# Reasoning models, and limits of schemas


def test_options_of_reasoning_models_are_sent():
    options = {"reasoning_effort": "low", "max_completion_tokens": 900, "seed": 7, "extra_body": {"top_k": 1}}
    with LLMServer(["ok"]) as server:
        llm = OpenAILLM("m", server.url, **options)
        llm.complete("", "a")
        OpenAILLM("m", server.url).complete("", "a")
    sent, plain = (request.json for request in server.requests)
    assert sent["reasoning_effort"] == "low" and sent["seed"] == 7 and sent["top_k"] == 1
    assert sent["max_completion_tokens"] == 900 and "max_tokens" not in sent
    assert not {"reasoning_effort", "seed", "max_completion_tokens", "top_k"} & plain.keys()
    assert "reasoning_effort=low max_completion_tokens=900 seed=7 extra_body=" in llm.id
    assert hash(llm) == hash(pickle.loads(pickle.dumps(llm))) and pickle.loads(pickle.dumps(llm)) == llm


def test_a_server_that_knows_no_seed_and_no_effort_is_asked_without():
    def behave(asked):
        return error(400, f"Unsupported parameter: {name}") if (name := next(known(asked), None)) else "ok"

    def known(asked):
        return (name for name in ("seed", "reasoning_effort") if name in asked)

    with LLMServer(behave) as server:
        llm = OpenAILLM("m", server.url, seed=1, reasoning_effort="high")
        assert [llm.complete("", "a").text for _ in range(2)] == ["ok", "ok"]
    assert len(server.requests) == 4  # what was refused is not sent again


@pytest.mark.parametrize("reply", [f"<think>Lyon? {{}}</think>{GRAZ}", f"It may be Lyon.</think>\n{GRAZ}"])
def test_thoughts_are_no_part_of_a_reply(reply):
    done, _ = ask([reply], schema=Place)
    assert done.value.name == "Graz"
    done, _ = ask(["<think>Lyon?</think>\nGraz."])
    assert done.text == "Graz."


def test_a_thought_without_an_end_is_no_reply():
    exc, server = ask([f"<think>It may be {GRAZ}"], schema=Place)
    assert isinstance(exc, LLMResponseError) and len(server.requests) == 2
    exc, _ = ask(["<think>It may be Graz"])
    assert isinstance(exc, LLMResponseError) and "without any text" in str(exc)


@pytest.mark.parametrize("name", ["'maxLength'", '"maximum"', "`minimum`"])
def test_a_server_that_refuses_a_limit_in_a_schema_is_asked_without_limits(name):
    def behave(asked):
        refused = name[1:-1] in str(asked["response_format"])
        return error(400, f"Invalid schema: {name} is not permitted.") if refused else '{"numbers": [1], "reason": ""}'

    class Numbers(BaseModel):
        reason: Sentence
        numbers: list[Number]

    with LLMServer(behave) as server:
        assert OpenAILLM("m", server.url).complete("", "a", schema=Numbers).value.numbers == [1]
    assert len(server.requests) == 2


def test_a_maximum_of_something_else_is_no_limit_of_a_schema():
    with LLMServer([error(400, "max_tokens is above the maximum of 4096."), '{"numbers": [1]}']) as server:
        llm = OpenAILLM("m", server.url)
        assert llm.complete("", "a", schema=REPLIES["choose"]).value.numbers == [1]
    assert llm._learned == {"max_tokens"} and "maximum" in str(server.requests[1].json["response_format"])


def test_a_server_that_refuses_limits_in_a_schema_gets_one_without():
    def behave(asked):
        refused = "maxLength" in str(asked["response_format"])
        return error(400, "Invalid schema: 'maxLength' is not permitted.") if refused else '{"summary": "Short."}'

    with LLMServer(behave) as server:
        llm = OpenAILLM("m", server.url)
        assert [llm.complete("", "a", schema=REPLIES["community"]).value.summary for _ in range(2)] == ["Short."] * 2
    assert [request.json["response_format"]["type"] for request in server.requests] == ["json_schema"] * 3
    limited, bare, _ = (request.json["response_format"]["json_schema"]["schema"] for request in server.requests)
    assert limited["properties"]["summary"]["maxLength"] == 3_000 and "maxLength" not in str(bare)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "half \ud800"}, "model is .* it must be text"),
        ({"model": 5}, "model is 5; it must be text"),
        ({"reasoning_effort": "\ud800"}, "reasoning_effort is .* it must be text"),
        ({"seed": 10**5000}, "seed is a value of type int that is too large to show; it must be a whole number"),
        ({"max_tokens": 10**30}, "max_tokens is 10+; it must be a whole number"),
        ({"extra_body": 5}, "extra_body is 5; it must be an object of JSON"),
        ({"extra_body": {"a": float("nan")}}, "extra_body is .* it must be an object of JSON"),
        ({"extra_body": {"a": date(2024, 1, 1)}}, "extra_body is .* it must be an object of JSON"),
        ({"extra_body": {1: 2}}, "extra_body is .* it must be an object of JSON"),
        ({"extra_body": {"a": "\ud800"}}, "extra_body is .* it must be an object of JSON"),
        ({"extra_body": {"a": 2**64}}, "extra_body is .* it must be an object of JSON"),
        (
            {"extra_body": json.loads('{"a":' * 500 + "1" + "}" * 500)},
            "extra_body is .{199}…; it must be",
        ),
        ({"base_url": "http://a b/v1"}, "base_url is .* give an address"),
        ({"base_url": "http://a/\r\nX: y"}, "base_url is .* give an address"),
        ({"base_url": f"http://{'a' * 64}/v1"}, "base_url is .* give an address"),
        ({"base_url": f"http://a/{'v' * 5000}"}, "base_url is .{200,300} give an address"),
        ({"base_url": "http://é。../v1"}, "base_url is .* give an address"),
        ({"base_url": "http://☃.net/v1"}, "base_url is .* give an address"),
    ],
)
def test_options_that_no_request_can_hold_are_refused_at_once(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        OpenAILLM(**{"model": "m", "base_url": "http://localhost:1/v1", **options})
