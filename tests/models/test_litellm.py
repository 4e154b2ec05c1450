"""LiteLLM against local servers with the interfaces of Anthropic and Ollama."""

import json
import pickle
import threading
import time
from importlib.util import find_spec

import pytest
from pydantic import BaseModel
from tests.models.llm_server import LLMServer, Send

from graphwright.errors import LLMResponseError, ModelError, OptionError, ReplyCutError
from graphwright.models import BudgetedLLM, Cancellation, LiteLLM, LiteLLMEncoder, LLMSettings, Prices, Usage
from graphwright.models.registry import encoder_of, llm_of

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs the extra litellm"),
    pytest.mark.filterwarnings("ignore"),  # of LiteLLM and its dependencies
]
KEY = "sk-ant-0123456789"
MODEL = "anthropic/claude-haiku-4-5"


class Place(BaseModel):
    name: str


def says(text, finish="end_turn"):
    usage = {"input_tokens": 11, "output_tokens": 5}
    content = [{"type": "text", "text": text}]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content}
    return Send(200, {**message, "stop_reason": finish, "stop_sequence": None, "usage": usage})


def refuses(status, text):
    return Send(status, {"type": "error", "error": {"type": "x", "message": text}})


def streams(*texts, end=True):
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": []}
    events = [{"type": "message_start", "message": {**message, "usage": {"input_tokens": 11, "output_tokens": 1}}}]
    events += [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
    deltas = ({"type": "text_delta", "text": text} for text in texts)
    events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    if end:
        events += [{"type": "content_block_stop", "index": 0}]
        events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}]
        events += [{"type": "message_stop"}]
    else:
        events += [{"type": "error", "error": {"type": "overloaded_error", "message": f"overloaded {KEY}"}}]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Send(200, body, {"content-type": "text/event-stream"})


def model(server, **options):
    return LiteLLM(MODEL, server.url.removesuffix("/v1"), KEY, **{"retries": 0, **options})


def test_anthropic_answers_with_its_usage():
    with LLMServer([says("Graz.")]) as server:
        completion = model(server, max_tokens=50, prices=Prices(1, 10)).complete("Be brief.", "Where?")
    (request,) = server.requests
    assert request.path == "/v1/messages" and request.headers["x-api-key"] == KEY
    assert request.json["max_tokens"] == 50 and "Be brief." in json.dumps(request.json["system"])
    assert completion.text == "Graz."
    usage = completion.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost) == (11, 5, 61 / 1e6)


def test_prices_that_litellm_knows_are_the_default():
    with LLMServer([says("Graz.")]) as server:
        assert model(server).complete("", "Where?").usage.cost > 0


def test_a_reply_is_streamed_and_counted():
    pieces = []
    with LLMServer([streams("Gr", "az.")]) as server:
        completion = model(server).complete("", "Where?", on_text=pieces.append)
    assert server.requests[0].json["stream"] is True
    assert pieces == ["Gr", "az."] and completion.text == "Graz."
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (11, 5)


def test_a_stream_that_breaks_off_is_cut_and_hides_the_key():
    with LLMServer([streams("Gr", end=False)]) as server, pytest.raises(ReplyCutError) as caught:
        model(server, retries=3).complete("", "Where?", on_text=lambda text: None)
    assert len(server.requests) == 1 and caught.value.text == "Gr" and KEY not in str(caught.value)
    assert caught.value.usage.prompt_tokens


def test_a_schema_is_asked_for_and_corrected_once():
    with LLMServer([says("It is Graz."), says('{"name": "Graz"}')]) as server:
        completion = model(server).complete("", "Where?", schema=Place)
    assert completion.value == Place(name="Graz") and completion.usage.prompt_tokens == 22
    assert [message["role"] for message in server.requests[1].json["messages"]] == ["user", "assistant", "user"]
    with LLMServer([says("no")]) as server, pytest.raises(LLMResponseError):
        model(server).complete("", "Where?", schema=Place)


def test_what_may_pass_is_tried_again():
    with LLMServer([refuses(529, "overloaded"), says("Graz.")]) as server:
        assert model(server, retries=1).complete("", "Where?").text == "Graz."
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_will_not_pass_is_not_and_the_key_is_never_shown(status, monkeypatch):
    monkeypatch.setenv("OTHER_API_KEY", "another-secret")
    with LLMServer([refuses(status, f"no: {KEY} another-secret")]) as server, pytest.raises(ModelError) as caught:
        model(server, retries=3).complete("", "Where?")
    assert len(server.requests) == 1
    for text in (str(caught.value), repr(caught.value.__cause__), repr(model(server)), model(server).id):
        assert KEY not in text and "another-secret" not in text
    assert "Check its name, server and key" in str(caught.value)


def test_a_server_that_is_down_and_one_that_says_nonsense():
    with pytest.raises(ModelError, match="did not answer"):
        LiteLLM(MODEL, "http://127.0.0.1:9", KEY, retries=0).complete("", "Where?")
    with LLMServer([Send(200, "nonsense")]) as server, pytest.raises(ModelError, match="did not answer"):
        model(server).complete("", "Where?")


def test_a_cancellation_does_not_wait_for_the_reply():
    entered, leave = threading.Event(), threading.Event()

    def slow(asked):
        entered.set()
        leave.wait(20)
        return says("late")

    cancel = Cancellation()
    with LLMServer(slow) as server:
        threading.Thread(target=lambda: (entered.wait(20), cancel.set())).start()
        started = time.monotonic()
        with pytest.raises(ModelError, match="cancelled"):
            model(server).complete("", "Where?", cancel=cancel)
        assert not leave.is_set() and time.monotonic() - started < 20
        leave.set()


@pytest.mark.parametrize("on_text", [None, print])
def test_a_reply_that_comes_byte_by_byte_ends_within_the_timeout(on_text):
    leave = threading.Event()

    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while not leave.wait(0.05):
            handler.wfile.write(b": \n")
            handler.wfile.flush()

    with LLMServer(lambda body: drip) as server, pytest.raises(ModelError, match=r"nothing within 0\.5 seconds"):
        try:
            model(server, timeout=0.5).complete("", "Where?", on_text=on_text)
        finally:
            leave.set()


def test_ollama_answers_and_encodes():
    def answer(asked):
        if "input" in asked:
            return Send(200, {"model": "m", "embeddings": [[1.0, 2.0]] * len(asked["input"]), "prompt_eval_count": 4})
        message = {"role": "assistant", "content": "Graz."}
        return Send(200, {"model": "m", "message": message, "done": True, "prompt_eval_count": 7, "eval_count": 2})

    with LLMServer(answer) as server:
        url = server.url.removesuffix("/v1")
        completion = llm_of(f"litellm:ollama_chat/qwen3:8b@{url}").complete("", "Where?")
        usage = Usage()
        vectors = encoder_of(f"litellm:ollama/nomic@{url}").encode_metered(["a", "b"], usage)
    assert completion.text == "Graz." and completion.usage.prompt_tokens == 7 and completion.usage.cost == 0
    assert vectors.tolist() == [[1.0, 2.0]] * 2 and usage.texts == 2 and usage.tokens
    assert server.requests[0].path == "/api/chat"


def test_vectors_of_another_number_are_refused():
    with LLMServer([Send(200, {"model": "m", "embeddings": [[1.0]], "prompt_eval_count": 1})]) as server:
        encoder = LiteLLMEncoder("ollama/nomic", server.url.removesuffix("/v1"), retries=0)
        with pytest.raises(LLMResponseError, match="2 texts and returned 1 vectors"):
            encoder.encode(["a", "b"])
        assert encoder.encode([]).shape == (0, 0)
        with pytest.raises(OptionError, match="not one"):
            encoder.encode("text")


def test_a_budget_ends_it_before_it_asks():
    with LLMServer([says("Graz.")]) as server, pytest.raises(ModelError, match="Raise max_tokens"):
        BudgetedLLM(model(server, max_tokens=100), max_tokens=50).complete("", "Where?")
    assert not server.requests


def test_settings_and_pickles_give_the_same_model():
    settings = LLMSettings(f"litellm:{MODEL}", "http://localhost:1", max_tokens=9, prompt_price=1, completion_price=2)
    llm = settings.llm(KEY)
    assert llm == LiteLLM(MODEL, "http://localhost:1", max_tokens=9, prices=Prices(1, 2))
    assert pickle.loads(pickle.dumps(llm)).id == llm.id and KEY not in repr(llm)
    with pytest.raises(OptionError, match="requests_per_minute"):
        LLMSettings(f"litellm:{MODEL}", requests_per_minute=3).llm()


@pytest.mark.parametrize("name", ["", "/"])
def test_a_model_without_a_name_is_refused(name):
    with pytest.raises(OptionError, match="PROVIDER/MODEL"):
        LiteLLM(name)


def test_a_key_that_comes_in_two_parts_is_in_no_text():
    pieces = []
    with LLMServer([streams(f"It is {KEY[:9]}", f"{KEY[9:]}, I think.")]) as server:
        completion = model(server).complete("", "Where?", on_text=pieces.append)
    assert "".join(pieces) == completion.text == "It is ***, I think."


@pytest.mark.parametrize("count", [-5, 10**30, True, 1.5, "7"])
def test_a_count_of_tokens_beyond_reason_is_estimated(count):
    reply = says("Graz.")
    usage = {"input_tokens": count, "output_tokens": count}
    with LLMServer([Send(200, {**reply.body, "usage": usage})]) as server:
        try:
            spent = model(server, prices=Prices(1, 10)).complete("", "Where?").usage
        except ModelError:
            return  # LiteLLM itself refuses the response
    assert 0 < spent.prompt_tokens < 10**9 and 0 < spent.completion_tokens < 10**9 and spent.cost > 0


def test_a_stream_without_an_end_is_cut():
    too_long = pytest.raises(LLMResponseError, match="much more than max_tokens=10 allows")
    with LLMServer([streams(*["and so on " * 100] * 100)]) as server, too_long:
        model(server, max_tokens=10).complete("", "Where?", on_text=lambda text: None)
