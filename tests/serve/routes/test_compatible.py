"""Clients of OpenAI's newer and older routes and of Ollama read what they expect; limits of a text are kept."""

from __future__ import annotations

import asyncio
import json
import struct
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import ollama
import pytest
from tests.llm_server import LLMServer, Say
from tests.serve.conftest import Running, events_of, serving, wait_until
from tests.serve.guarded import Guarded

from graphwright import Event, Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.serve.chat import Limits

QUESTION = "On which river does Graz lie?"
RIVER = [{"role": "user", "content": QUESTION}]
REPLY = (
    '{"reasoning": "It says so.", "found": true, "text": "Graz lies on the Mur [1].", "answers": ["the Mur"], '
    '"citations": [{"passage": 1, "quote": "Graz lies on the Mur in Styria."}]}'
)


def post(server: Running, path: str, **body: Any) -> Any:
    return server.client.post(path, json={"model": "cities:bm25", **body})


@pytest.fixture(scope="module")
def answer(server: Running) -> str:
    """The text of the whole answer."""
    reply = server.client.post("/v1/indexes/cities/ask", json={"question": QUESTION, "method": "bm25"})
    text: str = reply.json()["answer"]
    assert "Graz lies on the Mur" in text and "[1]" in text
    return text


# --- Limits


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("body", "finish"),
    [
        ({"stop": " Mur"}, "stop"),
        ({"stop": ["", "nowhere", "lies on", "Mur"]}, "stop"),
        ({"max_tokens": 3}, "length"),
        ({"max_tokens": 1, "max_completion_tokens": 3}, "length"),
        ({"max_tokens": 1_000, "stop": ["no such text"]}, "stop"),
    ],
)
def test_chat_text_ends_at_limit(server: Running, answer: str, body: dict[str, Any], finish: str, stream: bool) -> None:
    reply = post(server, "/v1/chat/completions", messages=RIVER, stream=stream, **body)
    if stream:
        choices = [data["choices"][0] for _, data in events_of(reply.text)[:-1]]
        text = "".join(choice["delta"].get("content", "") for choice in choices)
        annotations, reason = choices[-1]["delta"]["annotations"], choices[-1]["finish_reason"]
    else:
        (choice,) = reply.json()["choices"]
        text, annotations = choice["message"]["content"], choice["message"]["annotations"]
        reason = choice["finish_reason"]
    stops = [body.get("stop", [])] if isinstance(body.get("stop"), str) else body.get("stop", [])
    ends = [answer.find(stop) for stop in stops if stop and stop in answer]
    whole = body.get("max_tokens", 0) == 1_000
    assert text == answer[: len(answer) if whole else min(ends, default=len(text))] and reason == finish
    assert whole or finish == "stop" or len(text.encode()) <= 12
    assert bool(annotations) == whole and all(place["url_citation"]["end_index"] <= len(text) for place in annotations)


async def spoken(limits: Limits, pieces: list[str], answer: str) -> list[Any]:
    output = {"question": "", "method": "", "found": True, "short": [], "verified": True, "unsupported": [], "turn": ""}
    output |= {"dropped": [], "choices": [], "fallback": None, "citations": [], "answer": answer}
    usage = {"prompt_tokens": 0, "completion_tokens": 0}

    async def events() -> Any:
        for piece in pieces:
            yield "token", {"text": piece}
        yield "done", {**output, "usage": usage}

    return [said async for said in limits.spoken(events())]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_stop_over_pieces_is_never_sent(size: int) -> None:
    text = "Ω One. STO, and STOP here."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    *sent, said = asyncio.run(spoken(Limits(stop=("STOP", "here")), pieces, text))
    assert "".join(sent) == said.text == "Ω One. STO, and " and len(sent) > 1
    *sent, said = asyncio.run(spoken(Limits(max_tokens=2), pieces, text))
    assert "".join(sent) == said.text == "Ω One. " and said.finish == "length"


def test_verified_answer_follows_cut_draft(cities: Any) -> None:
    draft = REPLY.replace("the Mur in Styria.", "the Danube.")
    with LLMServer([Say(draft)]) as llm, serving(cities, llm=LLMSettings("any", llm.url)) as running:
        reply = post(running, "/v1/chat/completions", messages=RIVER, stream=True, max_tokens=6)
        chunks = [data["choices"][0]["delta"].get("content", "") for _, data in events_of(reply.text)[:-1]]
    draft, _, checked = "".join(chunks).partition("\n\nChecked against the documents:\n")
    assert (draft, checked) == ("Graz lies on the Mur [1]", "Graz lies on the Mur [un")


@pytest.mark.parametrize(
    "form", [{"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "a"}}, "json"]
)
def test_other_formats_than_text_are_refused(server: Running, form: Any) -> None:
    for path, body, name in (
        ("/v1/chat/completions", {"messages": RIVER, "response_format": form}, "response_format"),
        ("/v1/responses", {"input": QUESTION, "text": {"format": form}}, "text.format"),
        ("/api/chat", {"messages": RIVER, "format": form}, "format"),
    ):
        reply = post(server, path, **body)
        error = reply.json()["error"]
        assert reply.status_code == 400 and f"leave {name} out" in (error if path == "/api/chat" else error["message"])


@pytest.mark.parametrize("name", ["a/b", "a%2Fb", "cities%20", "%F0%9F%98%80:bm25", "..%2Fcities", "a%3Fb%23c"])
def test_model_of_odd_name_is_told_to_be_unknown(server: Running, name: str) -> None:
    reply = server.client.get(f"/v1/models/{name}")
    assert reply.status_code == 404
    assert f"There is no index {unquote(name).removesuffix(':bm25')!r} here" in reply.json()["error"]["message"]


# --- OpenAI's responses, completions and embeddings


def test_response_has_annotated_text(server: Running, answer: str) -> None:
    parts = [{"type": "input_text", "text": QUESTION}]
    items = [{"type": "reasoning", "summary": []}, {"role": "developer", "content": "Be brief."}]
    for input in (QUESTION, [*items, {"type": "message", "role": "user", "content": parts}]):
        reply = post(server, "/v1/responses", input=input, instructions="Be brief.", text={"format": {"type": "text"}})
        response = reply.json()
        (item,) = response["output"]
        (part,) = item["content"]
        assert (response["object"], response["status"], item["role"]) == ("response", "completed", "assistant")
        assert part["text"] == answer and response["usage"]["total_tokens"] == 0
        cited = part["annotations"][0]
        assert (cited["type"], answer[cited["start_index"] : cited["end_index"]]) == ("url_citation", "[1]")
        assert response["citations"][0]["url"] == cited["url"]


@pytest.mark.parametrize("limit", [None, 3])
def test_streamed_response_is_put_together(server: Running, limit: int | None) -> None:
    body = {"input": QUESTION, "max_output_tokens": limit}
    events = events_of(post(server, "/v1/responses", stream=True, **body).text)
    assert all(kind == data["type"] for kind, data in events)
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    kinds = [kind.removeprefix("response.") for kind, _ in events]
    assert kinds[:5] == ["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"]
    ends = ["output_text.done", "content_part.done", "output_item.done", "incomplete" if limit else "completed"]
    assert kinds[-4:] == ends and ("output_text.annotation.added" in kinds) is (limit is None)
    text = "".join(data["delta"] for kind, data in events if kind.endswith("output_text.delta"))
    streamed, whole = events[-1][1]["response"], post(server, "/v1/responses", **body).json()
    assert streamed["output"][0]["content"][0] == whole["output"][0]["content"][0]
    assert streamed["output"][0]["content"][0]["text"] == text
    assert (whole["incomplete_details"] == {"reason": "max_output_tokens"}) is (limit is not None)


def test_response_to_kept_response_is_refused(server: Running) -> None:
    for body in ({"previous_response_id": "resp_1"}, {"conversation": {"id": "conv_1"}}):
        reply = post(server, "/v1/responses", input=QUESTION, **body)
        assert reply.status_code == 400 and "send the earlier messages" in reply.json()["error"]["message"]


def test_completion_continues_text(server: Running, answer: str) -> None:
    reply = post(server, "/v1/completions", prompt=[QUESTION], max_tokens=500).json()
    assert (reply["object"], reply["id"][:5]) == ("text_completion", "cmpl-")
    assert reply["choices"] == [{"index": 0, "text": answer, "logprobs": None, "finish_reason": "stop"}]
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, counted, end = events_of(post(server, "/v1/completions", prompt=QUESTION, stop=["Mur"], **usage).text)
    text = "".join(data["choices"][0]["text"] for _, data in chunks)
    assert text == answer.partition("Mur")[0] and chunks[-1][1]["choices"][0]["finish_reason"] == "stop"
    assert counted[1]["usage"]["total_tokens"] == 0 and end[1] == "[DONE]"
    assert post(server, "/v1/completions", prompt=["a", "b"]).status_code == 422


def test_embeddings_are_those_of_encoder(server: Running) -> None:
    texts = ["Graz lies on the Mur.", "Linz", "Linz"]
    expected = HashEncoder().encode(texts).tolist()
    reply = post(server, "/v1/embeddings", input=texts).json()
    assert [(row["index"], row["embedding"]) for row in reply["data"]] == list(enumerate(expected))
    assert reply["usage"] == {"prompt_tokens": 6, "total_tokens": 6}  # each text is encoded once
    (row,) = post(server, "/v1/embeddings", input="Linz", encoding_format="base64", dimensions=64).json()["data"]
    assert list(struct.unpack("<64f", b64decode(row["embedding"]))) == expected[1]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"input": "Linz", "dimensions": 32}, 400, "have 64 dimensions"),
        ({"input": [[9906, 1917]]}, 400, "Send the texts"),
        ({"input": [9906, 1917]}, 400, "check_embedding_ctx_length=False"),
        ({"input": ["Linz", 9906]}, 422, "/body/input"),
        ({"input": []}, 422, "/body/input"),
        ({"input": "Linz", "model": "nowhere"}, 404, "no index 'nowhere'"),
    ],
)
def test_embedding_errors_have_openai_form(server: Running, body: dict[str, Any], status: int, text: str) -> None:
    reply = post(server, "/v1/embeddings", **body)
    assert reply.status_code == status and text in reply.json()["error"]["message"]


def test_embeddings_of_many_texts_delay_no_search_and_end_with_their_request(
    cities: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, calls = HashEncoder.encode, []

    def slow(self: HashEncoder, texts: list[str]) -> Any:
        if texts[0].startswith("Text"):
            calls.append(len(texts))
            time.sleep(0.05)
        return encode(self, texts)

    texts = [f"Text {number}" for number in range(6_400)]
    with serving(cities, threads=1, timeout=0.5) as running, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(HashEncoder, "encode", slow)
        embedding = pool.submit(post, running, "/v1/embeddings", input=texts)
        wait_until(lambda: calls)
        search = {"question": QUESTION, "method": "bm25"}
        assert running.client.post("/v1/indexes/cities/retrieve", json=search).status_code == 200
        assert not embedding.done() and embedding.result().status_code == 504
        wait_until(lambda: running.app.state.server.workers.pending == 0)
        ended = len(calls)
        time.sleep(0.2)
        assert len(calls) == ended < 50


# --- Ollama


def test_ollama_lists_and_describes_models(server: Running) -> None:
    (model,) = server.client.get("/api/tags").json()["models"]
    assert model["name"] == model["model"] == "cities:latest" and len(model["digest"]) == 64
    assert server.client.get("/api/version").json()["version"].count(".") == 2
    for name in (model["name"], "cities", "cities:bm25"):
        assert server.client.post("/api/show", json={"model": name}).json()["capabilities"] == ["completion"]


def test_ollama_chat_streams_lines_by_default(server: Running, answer: str) -> None:
    reply = post(server, "/api/chat", messages=RIVER, keep_alive="5m", options={"num_predict": -1, "temperature": 0})
    assert reply.headers["content-type"] == "application/x-ndjson"
    *lines, last = [json.loads(line) for line in reply.text.splitlines()]
    assert "".join(line["message"]["content"] for line in lines) == answer
    assert not any(line["done"] for line in lines) and last["message"] == {"role": "assistant", "content": ""}
    assert (last["done"], last["done_reason"], last["model"]) == (True, "stop", "cities:bm25")
    assert last["total_duration"] > 0 and last["eval_count"] == 0 and last["citations"][0]["document"] == "graz"
    whole = post(server, "/api/chat", messages=RIVER, stream=False, format="", options=None).json()
    assert (whole["message"]["content"], whole["done"]) == (answer, True)


def test_ollama_client_reads_completions_and_chat(server: Running, answer: str) -> None:
    with ollama.Client(host=str(server.client.base_url)) as client:
        parts = list(client.generate("cities:bm25", QUESTION, stream=True, options={"temperature": 0}))
        assert "".join(part.response for part in parts) == answer
        assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
        whole = client.generate("cities:bm25", QUESTION)
        assert (whole.response, whole.done_reason, whole.eval_count) == (answer, "stop", 0)
        assert whole.total_duration and whole.total_duration > 0
        assert client.chat("cities:bm25", messages=RIVER).message.content == answer
        loaded = client.generate("cities", keep_alive="5m")
        assert (loaded.response, loaded.done, loaded.done_reason) == ("", True, "load")
        assert [model.model for model in client.list().models] == ["cities:latest"]
        assert client.show("cities").capabilities == ["completion"]
        with pytest.raises(ollama.ResponseError, match="no index 'nowhere'") as caught:
            client.generate("nowhere")
        assert caught.value.status_code == 404


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"raw": True}, "leave raw out"),
        ({"suffix": "."}, "leave suffix out"),
        ({"images": ["aGk="]}, "leave images out"),
        ({"context": [1, 2]}, "send their messages to /api/chat"),
        ({"format": "json"}, "leave format out"),
    ],
)
def test_ollama_completion_refuses_what_it_cannot_keep(server: Running, option: dict[str, Any], reason: str) -> None:
    reply = post(server, "/api/generate", prompt=QUESTION, **option)
    assert reply.status_code == 400 and reason.lower() in reply.json()["error"].lower()


@pytest.mark.parametrize(("options", "reason"), [({"stop": ["Styria"]}, "stop"), ({"num_predict": 3}, "length")])
def test_ollama_options_limit_text(server: Running, answer: str, options: dict[str, Any], reason: str) -> None:
    whole = post(server, "/api/chat", messages=RIVER, stream=False, options=options).json()
    text = whole["message"]["content"]
    assert whole["done_reason"] == reason and answer.startswith(text) and "Styria" not in text


def test_ollama_errors_are_text(server: Running, guarded: Guarded) -> None:
    images = [{"role": "user", "content": QUESTION, "images": ["aGk="]}]
    for body, status, text in (
        ({"model": "nowhere", "messages": RIVER}, 404, "no index 'nowhere'"),
        ({"messages": images}, 422, "/images"),
        ({"messages": []}, 422, "/body/messages"),
    ):
        reply = post(server, "/api/chat", **body)
        assert reply.status_code == status and text in reply.json()["error"]
    assert "Send a key" in guarded.client.get("/api/tags").json()["error"]
    evil = {**guarded.headers("read"), "Origin": "https://evil.example"}
    assert "another site" in guarded.client.post("/api/chat", json={}, headers=evil).json()["error"]
    assert "not a known name" in guarded.client.get("/api/tags", headers={"Host": "evil.example"}).json()["error"]


def test_ollama_lists_visible_models(guarded: Guarded) -> None:
    for key, names in (("read", ["cities:latest"]), ("none", []), ("admin", ["cities:latest", "secret:latest"])):
        models = guarded.client.get("/api/tags", headers=guarded.headers(key)).json()["models"]
        assert [model["name"] for model in models] == names


def test_stream_that_fails_ends_with_error(cities: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, on_event: Any, **__: Any) -> None:
        on_event(Event("token", {"text": "Graz"}))
        raise RuntimeError("swordfish")

    with serving(cities) as running:
        monkeypatch.setattr(Index, "ask", broken)
        lines = post(running, "/api/chat", messages=RIVER).text.splitlines()
        assert (
            json.loads(lines[0])["message"]["content"] == "Graz" and "server failed" in json.loads(lines[-1])["error"]
        )
        kind, data = events_of(post(running, "/v1/responses", input=QUESTION, stream=True).text)[-1]
        assert kind == data["type"] == "error" and "server failed" in data["message"] and "swordfish" not in str(data)
