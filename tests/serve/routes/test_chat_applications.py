"""The requests that Open WebUI and LibreChat send are answered as they read replies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.serve.conftest import Running

QUESTION = "On which river does Graz lie?"
WEB_UI = {  # what follows the form's own fields: parameters of a model, and those that Open WebUI adds
    "model": "cities",
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.8,
    "top_p": 0.9,
    "max_tokens": 128,
    "seed": 1,
    "stop": ["###"],
    "logit_bias": {"50256": -100},
    "response_format": {"type": "text"},
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello, how can I help?", "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ],
}
LIBRE_CHAT = {
    "model": "cities",
    "stream": True,
    "stream_options": {"include_usage": True},
    "user": "66f0a1b2c3d4e5f60718293a",
    "temperature": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "n": 1,
    "tools": [],
    "parallel_tool_calls": None,
    "messages": [{"role": "user", "content": QUESTION}],
    "graphwright": {"footer": True},
}


def chunks(server: Running, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the chunks of a streamed reply, read line by line as the applications do."""
    headers = {"Authorization": "Bearer any", "Accept": "text/event-stream", "Referer": "http://localhost:3000/"}
    reply = server.client.post("/v1/chat/completions", json=body, headers=headers)
    assert reply.status_code == 200 and reply.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in reply.text.splitlines() if line]
    assert all(line.startswith("data: ") for line in lines) and lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


@pytest.mark.parametrize("body", [WEB_UI, LIBRE_CHAT], ids=["Open WebUI", "LibreChat"])
def test_stream_has_text_and_ends_with_usage(server: Running, body: dict[str, Any]) -> None:
    *answer, last = chunks(server, body)
    assert {chunk["object"] for chunk in (*answer, last)} == {"chat.completion.chunk"}
    assert answer[0]["choices"][0]["delta"]["role"] == "assistant"
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in answer)
    assert "Graz lies on the Mur" in text and ("Sources" in text) == ("graphwright" in body)
    assert [chunk["choices"][0]["finish_reason"] for chunk in answer][-1] == "stop"
    assert last["choices"] == [] and last["usage"]["total_tokens"] == 0


def test_open_webui_finds_sources(server: Running) -> None:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(server, WEB_UI) if chunk["choices"]]
    cited = [part["url_citation"] for delta in deltas for part in delta.get("annotations", ())]
    assert cited and all(part["title"] and part["url"].startswith("http") for part in cited)
