"""The language model of an OpenAI-compatible server: what is sent, replies, streams, schemas, and its options."""

import json
import pickle
import subprocess
import sys
import threading
from datetime import date
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.llm_server import DONE, LLMServer, Say, Send, error, event, events
from tests.models.openai.asking import GRAZ, KEY, Place, ask, streaming

from graphwright.errors import BudgetError, LLMResponseError, OptionError
from graphwright.models.budget import BudgetedLLM, Prices
from graphwright.models.cache import CachedLLM
from graphwright.models.openai.errors import HTTPStatusError
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import LLM
from graphwright.models.structured import Mismatch, parse_reply, strict_schema
from graphwright.prompts.limits import Number, Sentence
from graphwright.prompts.replies import REPLIES


def test_reply_has_tokens_and_cost():
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


def test_request_omits_empty_system_prompt_and_lone_surrogates():
    with LLMServer(["ok"]) as server:
        OpenAILLM("m", server.url).complete("", "a \ud800 b 東京 \U0001f642")
    assert server.requests[0].json["messages"] == [{"role": "user", "content": "a \ufffd b 東京 \U0001f642"}]


def test_stream_is_passed_on_as_it_arrives():
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


STREAM = "".join([*events("Graz, 東京"), DONE]).replace("\\u6771\\u4eac", "東京")
FORMS = {
    "line breaks of two characters": (STREAM.replace("\n", "\r\n"), 10_000),
    "byte by byte": (STREAM, 1),
    "comments and other fields": (": hello\n\n" + STREAM.replace("data:", "event: x\n: more\ndata:"), 10_000),
    "no end marker": (STREAM.removesuffix(DONE), 10_000),
    "no blank line at the end": (STREAM.rstrip(), 10_000),
}
BODIES = {
    "one body": {"choices": [{"message": {"content": "Graz, 東京"}, "finish_reason": "stop"}]},
    "typed parts": {"choices": [{"message": {"content": [{"type": "text", "text": "Graz, 東京"}]}}]},
}


@pytest.mark.parametrize("form", [*FORMS, *BODIES])
def test_every_form_of_stream_is_read(form):
    def behaviour(handler):
        text, size = FORMS[form]
        handler.begin(200, {"Content-Type": "text/event-stream"})
        data = text.encode()
        for at in range(0, len(data), size):
            handler.write(data[at : at + size])

    pieces = []
    done, server = ask([behaviour if form in FORMS else Send(200, BODIES[form])], on_text=pieces.append)
    assert done.text == "".join(pieces) == "Graz, 東京" and len(server.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_uncounted_tokens_are_estimated(stream):
    done, _ = ask([Say("twelve chars", None)], on_text=streaming(stream))
    # "Be short." and "Where?" have 9 and 6 characters.
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (3 + 2, 3)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Say("In the middle of", finish="length"), "In the middle of"),
        (Say(None, extra={"refusal": "I will not."}), "I will not."),
        ("<think>Lyon?</think>\nGraz.", "Graz."),
    ],
)
def test_reply_without_schema_is_text(answer, text):
    assert ask([answer])[0].text == text


# Schemas


def test_schema_is_sent_to_server():
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
        f"<think>Lyon? {{}}</think>{GRAZ}",
        f"It may be Lyon.</think>\n{GRAZ}",
        f'The form is {{"name": ...}}: {GRAZ}',
    ],
)
def test_object_is_found_between_other_text(text):
    done, server = ask([text], schema=Place)
    assert done.value.name == "Graz" and done.text == text and len(server.requests) == 1


def test_misfitting_reply_is_corrected_once():
    done, server = ask([Say('{"name": "Graz", "kind": "town"}', (10, 5)), Say(GRAZ, (20, 6))], schema=Place)
    assert done.value.name == "Graz" and (done.usage.prompt_tokens, done.usage.completion_tokens) == (30, 11)
    assert done.usage.calls == 2
    system, _user, reply, correction = server.requests[1].json["messages"]
    assert reply == {"role": "assistant", "content": '{"name": "Graz", "kind": "town"}'}
    assert "kind: Input should be 'city' or 'river'" in correction["content"]
    assert '"city"' in system["content"]  # a server that lets this through may not have told the model the schema


@pytest.mark.parametrize(
    "text",
    [
        "I would rather write a poem.",
        "{'name': 'Graz', 'kind': 'city'}",
        "",
        None,
        "{" * 50_000,
        '{"name": "\\ud800"}',
        f"<think>It may be {GRAZ}",
    ],
)
def test_uncorrected_reply_is_kept_in_error_but_not_shown(text):
    exc, server = ask([Say(text)], schema=Place)
    assert isinstance(exc, LLMResponseError) and len(server.requests) == 2 and "Place" in str(exc)
    assert "Graz" not in str(exc) and "poem" not in str(exc) and ("poem" not in str(text) or exc.text == text)


HALF = '{"name": "Styria", "kind": "river", "near": [{"name": "Graz", "kind": "city"}, {"na'


@pytest.mark.parametrize("stream", [False, True])
def test_object_inside_broken_object_is_ignored(stream):
    done, server = ask([Say(HALF), GRAZ], schema=Place, on_text=streaming(stream))
    assert done.value.name == "Graz"
    assert "no complete JSON object" in server.requests[1].json["messages"][-1]["content"]


@pytest.mark.parametrize("stream", [False, True])
def test_cut_reply_is_not_corrected(stream):
    exc, server = ask([Say(HALF, finish="length"), GRAZ], schema=Place, on_text=streaming(stream))
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
def test_object_is_found_whole_or_not_at_all(made, before, share):
    text = made.model_dump_json()
    assert parse_reply(Loose, f"{before}{text} That is all. {{}}") == made
    half = text[: int(share * (len(text) - 1))]
    assert parse_reply(Loose, before + half) == Mismatch("it holds no complete JSON object")


def test_property_names_may_equal_keywords():
    class Odd(BaseModel):
        default: str | None = None
        properties: dict[str, int] = {}
        kind: Literal["default", "oneOf"] = "oneOf"

    made = strict_schema(Odd)
    assert made["required"] == list(made["properties"]) == ["default", "properties", "kind"]
    assert made["properties"]["kind"]["enum"] == ["default", "oneOf"]
    assert made["properties"]["properties"]["additionalProperties"] == {"type": "integer"}


def test_invalid_schema_raises():
    with LLMServer(["ok"]) as server, pytest.raises(OptionError, match="pydantic"):
        OpenAILLM("m", server.url).complete("", "a", schema=dict)
    assert not server.requests


# Parameters that a server refuses


def test_forms_of_schema_that_server_refuses_are_not_sent_again():
    def answer(asked):
        form = asked.get("response_format", {}).get("type")
        return error(400, f"'response_format.type' {form} is not supported") if form else GRAZ

    with LLMServer(answer) as server:
        llm = OpenAILLM("m", server.url)
        for _ in range(2):
            assert llm.complete("", "Where?", schema=Place).value.name == "Graz"
    forms = [request.json.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", None, None]
    assert ['"near"' in str(request.json["messages"]) for request in server.requests] == [False, True, True, True]


@pytest.mark.parametrize(
    "names", [("max_tokens", "temperature", "stream_options"), ("seed", "reasoning_effort")], ids=len
)
def test_parameters_that_server_refuses_are_not_sent_again(names):
    def answer(asked):
        refused = next((name for name in names if name in asked), None)
        return error(400, f"Unsupported parameter: '{refused}'.") if refused else "fine"

    with LLMServer(answer) as server:
        llm = OpenAILLM("m", server.url, max_tokens=50, seed=1, reasoning_effort="high")
        assert [llm.complete("", "a", on_text=[].append).text for _ in range(2)] == ["fine"] * 2
    assert len(server.requests) == len(names) + 2
    assert ("max_completion_tokens" in server.requests[-1].json) == ("max_tokens" in names)


def test_useless_omission_is_not_remembered():
    with LLMServer([error(400, "max_tokens?"), error(400, "no"), "fine"]) as server:
        llm = OpenAILLM("m", server.url)
        with pytest.raises(HTTPStatusError, match="no"):
            llm.complete("", "a")
        llm.complete("", "a")
    assert "max_tokens" in server.requests[2].json


class Numbers(BaseModel):
    reason: Sentence
    numbers: list[Number]


@pytest.mark.parametrize("name", ["'maxLength'", '"maximum"', "`minimum`"])
def test_limits_of_schema_that_server_refuses_are_not_sent_again(name):
    def behave(asked):
        refused = name[1:-1] in str(asked["response_format"])
        return error(400, f"Invalid schema: {name} is not permitted.") if refused else '{"numbers": [1], "reason": ""}'

    with LLMServer(behave) as server:
        llm = OpenAILLM("m", server.url)
        assert [llm.complete("", "a", schema=Numbers).value.numbers for _ in range(2)] == [[1]] * 2
    limited, bare, _ = (str(request.json["response_format"]["json_schema"]) for request in server.requests)
    assert name[1:-1] in limited and "maxLength" not in bare and "maximum" not in bare


def test_other_maximum_is_not_schema_limit():
    with LLMServer([error(400, "max_tokens is above the maximum of 4096."), '{"numbers": [1]}']) as server:
        assert OpenAILLM("m", server.url).complete("", "a", schema=REPLIES["choose"]).value.numbers == [1]
    second = server.requests[1].json
    assert "max_completion_tokens" in second and "maximum" in str(second["response_format"])


# Grammars


def test_grammar_is_sent_by_constrained_model_only():
    with LLMServer(["a", "plain"]) as server:
        llm = OpenAILLM("m", server.url, extra_body={"top_k": 1})
        held = llm.with_grammar('root ::= "a" | "b"')
        assert held._connection is llm._connection and held.id != llm.id and isinstance(held, LLM)
        assert held.complete("", "Write.").text == "a" and llm.complete("", "Write.").text == "plain"
    first, second = (request.json for request in server.requests)
    assert first["grammar"] == 'root ::= "a" | "b"' and first["top_k"] == second["top_k"] == 1
    assert "grammar" not in second and llm.extra_body == {"top_k": 1}


@pytest.mark.parametrize(
    ("status", "kind", "match"),
    [
        *((status, LLMResponseError, r"refuses a request with a grammar.*Unrecognized") for status in (400, 422, 501)),
        (401, HTTPStatusError, "Unrecognized"),
    ],
)
def test_refused_grammar_is_not_sent_again(status, kind, match):
    with LLMServer([error(status, "Unrecognized request argument supplied: grammar")]) as server:
        held = OpenAILLM("m", server.url, retries=0).with_grammar('root ::= "a"')
        with pytest.raises(kind, match=match):
            held.complete("", "Write.")
    assert len(server.requests) == 1


# Options


def test_key_is_argument_else_environment_else_placeholder(monkeypatch):
    with LLMServer(["ok"]) as server:
        OpenAILLM("m", server.url).complete("", "a")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        OpenAILLM("m", server.url).complete("", "a")
        OpenAILLM("m", server.url, "mine").complete("", "a")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
        assert OpenAILLM("m").complete("", "a").text == "ok"
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["Bearer none", f"Bearer {KEY}", "Bearer mine", f"Bearer {KEY}"]
    assert [request.headers.get("openai-organization") for request in server.requests] == [None] * 3 + ["org-1"]


def test_missing_key_raises_with_remedy():
    with pytest.raises(OptionError, match=r"OPENAI_API_KEY.*api_key.*base_url"):
        OpenAILLM("gpt-4o-mini")


@pytest.mark.parametrize("key", ["sk-\n-secret", "sk secret", "sk-sécret"])
def test_invalid_key_raises_and_is_not_shown(key):
    with pytest.raises(OptionError) as caught:
        OpenAILLM("m", api_key=key)
    assert "cret" not in str(caught.value)


def test_model_equality_and_pickle_follow_options():
    llm = OpenAILLM("m", "http://localhost:1/v1", KEY, max_tokens=9, prices=Prices(1.0, 2.0), extra_body={"top_k": 1})
    again = pickle.loads(pickle.dumps(llm))
    assert isinstance(llm, LLM)
    assert again == llm == eval(repr(llm)) and hash(again) == hash(llm) and again.api_key == KEY
    assert KEY not in repr(llm) + llm.id
    others = [
        OpenAILLM("n", "http://localhost:1/v1", max_tokens=9),
        OpenAILLM("m", "http://localhost:2/v1", max_tokens=9),
        OpenAILLM("m", "http://localhost:1/v1", max_tokens=8),
        OpenAILLM("m", "http://localhost:1/v1", max_tokens=9, temperature=1.0),
    ]
    assert len({other.id for other in [llm, *others]}) == 5 and llm not in others


def test_making_model_loads_no_client():
    code = (
        "import sys; from graphwright.models.openai.llm import OpenAILLM; import graphwright.models.cache;"
        "from graphwright.models.openai.model import OpenAIEncoder; OpenAILLM('m', 'http://localhost:1/v1');"
        "print([name for name in ('openai', 'pydantic', 'httpx', 'httpx2', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reasoning_options_are_sent():
    options = {"reasoning_effort": "low", "max_completion_tokens": 900, "seed": 7, "extra_body": {"top_k": 1}}
    with LLMServer(["ok"]) as server:
        llm = OpenAILLM("m", server.url, **options)
        llm.complete("", "a")
        OpenAILLM("m", server.url).complete("", "a")
    sent, plain = (request.json for request in server.requests)
    expected = {"reasoning_effort": "low", "max_completion_tokens": 900, "seed": 7, "top_k": 1}
    assert expected.items() <= sent.items() and "max_tokens" not in sent and not expected.keys() & plain.keys()
    assert "reasoning_effort=low max_completion_tokens=900 seed=7 extra_body=" in llm.id


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model is ''"),
        ({"model": "half \ud800"}, "model is .* it must be text"),
        ({"model": 5}, "model is 5; it must be text"),
        ({"reasoning_effort": "\ud800"}, "reasoning_effort is .* it must be text"),
        ({"seed": 10**5000}, "seed is a value of type int that is too large to show; it must be a whole number"),
        ({"max_tokens": 10**30}, "max_tokens is 10+; it must be a whole number"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"temperature": 3.0}, "temperature is 3"),
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": float("inf")}, "timeout is inf"),
        ({"retries": -1}, "retries"),
        ({"concurrency": 0}, "concurrency"),
        *(
            ({"extra_body": body}, "extra_body is .* it must be a JSON object")
            for body in (5, {"a": float("nan")}, {"a": date(2024, 1, 1)}, {1: 2}, {"a": "\ud800"}, {"a": 2**64})
        ),
        ({"extra_body": json.loads('{"a":' * 500 + "1" + "}" * 500)}, "extra_body is .{199}…; it must be"),
        *(({"base_url": f"http://{user}"}, "api_key") for user in ("me:hidden@host/v1", "host/v1?key=hidden")),
        ({"base_url": "ftp://me:hidden@host/v1?key=hidden"}, "base_url contains"),
        *(
            ({"base_url": url}, "base_url is .* give an address such as http://localhost:11434/v1")
            for url in (
                "localhost:11434",
                "http://",
                "http://a b/v1",
                "http://a/\r\nX: y",
                f"http://{'a' * 64}/v1",
                "http://é。../v1",
                "http://☃.net/v1",
            )
        ),
        ({"base_url": f"http://a/{'v' * 5000}"}, "base_url is .{200,300} give an address"),
    ],
)
def test_invalid_option_raises_without_secret(options, message):
    with pytest.raises(OptionError, match=message) as caught:
        OpenAILLM(**{"model": "m", "base_url": "http://localhost:1/v1", **options})
    assert "hidden" not in str(caught.value)


def test_images_follow_the_prompt_and_are_counted_as_tokens_and_cached_by_content(tmp_path):
    with LLMServer([Say("A boat.", None), Say("A crane.", None)]) as server:
        budget = BudgetedLLM(OpenAILLM("m", server.url, max_tokens=100), max_tokens=4_000)
        llm = CachedLLM(budget, tmp_path / "replies.sqlite")
        boat, crane = "data:image/png;base64,Ym9hdA==", "data:image/png;base64,Y3JhbmU="
        replies = [llm.complete("Look.", "What is it?", images=[image]).text for image in (boat, crane, boat)]
        with pytest.raises(BudgetError, match=r"may take 1,\d+ tokens"):
            llm.complete("Look.", "And this?", images=[boat])
    assert replies == ["A boat.", "A crane.", "A boat."] and len(server.requests) == 2
    assert server.requests[0].json["messages"][1]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": boat}},
    ]
