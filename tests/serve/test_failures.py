"""Failures of language models: quotations with the reason in words, without the address of the model's server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.llm_server import Answered, Handler, LLMServer, Say, Send, error, event, events
from tests.serve.conftest import events_of, serving
from tests.serve.guarded import guarding

from graphwright.errors import LLMResponseError, ModelError, OptionError, ReplyCutError
from graphwright.models.openai import http
from graphwright.models.openai.errors import HTTPStatusError, NoServer
from graphwright.models.settings import LLMSettings
from graphwright.serve.failures import words_of

QUESTION = "On which river does Graz lie?"
REPLY = '{"found": true, "text": "Graz lies on the Mur [1].", "citations": [{"passage": 1, "quote": "Graz lies on"}]}'


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon."""
    monkeypatch.setattr(http, "_MAX_BACKOFF", 0.01)


def broken(handler: Handler) -> None:
    """Begin a reply, and close the connection."""
    handler.begin(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream"})
    for part in events(REPLY)[:8]:
        handler.chunk(part)
    handler.close_connection = True
    handler.connection.close()


def error_within(handler: Handler) -> None:
    """Begin a reply, and report an error in the stream."""
    failed = event({"error": {"message": "overloaded at http://10.0.0.7 sk-abcdefghijklmnopqrstuv", "code": 503}})
    handler.stream(*events(REPLY)[:8], failed)


FAILURES: list[tuple[Answered, str]] = [
    (error(500, "no memory at http://10.0.0.7"), "failed at its provider"),
    (error(429, "slow down"), "too many requests"),
    (error(401, "wrong key sk-abcdefghijklmnopqrstuv"), "refused this server’s key"),
    (Say('{"found": tru'), "could not be read"),
    (Say("<html><body>Sign in</body></html>"), "could not be read"),
    (Send(200, "<html><body>Sign in</body></html>", {"Content-Type": "text/html"}), "could not be read"),
    (broken, "broke off"),
    (error_within, ""),
]


@pytest.mark.parametrize(("answer", "reason"), FAILURES, ids=range(len(FAILURES)))
def test_question_to_failing_model_is_answered_by_quotations_with_reason(
    answer: Answered, reason: str, cities: Path, tmp_path: Path
) -> None:
    body = {"question": QUESTION, "method": "bm25"}
    with LLMServer([answer]) as model, serving(cities, data=tmp_path, llm=LLMSettings("any", model.url)) as running:
        whole = running.client.post("/v1/indexes/cities/ask", json=body)
        assert len(model.requests) <= 2
        stream = running.client.post("/v1/indexes/cities/ask", json={**body, "stream": True})
        chat = {"model": "cities:bm25", "messages": [{"role": "user", "content": QUESTION}]}
        completion = running.client.post("/v1/chat/completions", json=chat)
        done = events_of(stream.text)[-1][1]
        for told in (whole.json(), done, completion.json()["graphwright"]):
            assert reason in told["fallback"] and told["found"]
        assert "Mur" in whole.json()["answer"] and whole.json()["citations"]
        for told in (whole.json(), done, completion.json()):
            details = told.pop("fallback_details", "")
            assert not [part for part in (model.url, "10.0.0.7", "sk-abc") if part in json.dumps(told)]
            assert "sk-abc" not in details and "<html>" not in details


def test_details_of_failure_are_told_to_admin_alone(cities: Path, tmp_path: Path) -> None:
    body = {"question": QUESTION, "method": "bm25"}
    answers = [error(500, "no memory left, key sk-abcdefgh12345678")]
    with (
        LLMServer(answers) as model,
        guarding(cities, tmp_path / "data", llm=LLMSettings("any", model.url)) as running,
    ):
        replies = {}
        for key in ("read", "write", "admin"):
            asked = {"json": body, "headers": running.headers(key)}
            replies[key] = running.client.post("/v1/indexes/cities/ask", **asked).json()
            streamed = {"json": {**body, "stream": True}, "headers": running.headers(key)}
            done = events_of(running.client.post("/v1/indexes/cities/ask", **streamed).text)[-1][1]
            assert ("fallback_details" in done) is (key == "admin")
        details = replies["admin"].pop("fallback_details")
        assert "no memory left" in details and model.url in details and "sk-***" in details
        assert all("fallback_details" not in reply and "no memory" not in str(reply) for reply in replies.values())


def test_answer_of_working_model_has_no_fallback(cities: Path, tmp_path: Path) -> None:
    with LLMServer([REPLY]) as model, serving(cities, data=tmp_path, llm=LLMSettings("any", model.url)) as running:
        told = running.client.post("/v1/indexes/cities/ask", json={"question": QUESTION, "method": "bm25"}).json()
        assert told["fallback"] is None and told["answer"] == "Graz lies on the Mur [1]."


def test_method_of_model_alone_that_fails_gives_reason(cities: Path, tmp_path: Path) -> None:
    answers = [error(503, "busy")]
    with LLMServer(answers) as model, serving(cities, data=tmp_path, llm=LLMSettings("any", model.url)) as running:
        told = running.client.post("/v1/indexes/cities/ask", json={"question": QUESTION, "method": "vanilla"}).json()
        assert told["found"] is False and "failed at its provider" in told["fallback"]


def test_words_of_error_name_no_address() -> None:
    status = HTTPStatusError("http://10.0.0.7/v1 failed (500).")
    status.status = 500
    again = ModelError("http://10.0.0.7/v1 failed. Tried 2 times.")
    again.__cause__ = status
    kinds = (NoServer, LLMResponseError, ReplyCutError)
    shown = [words_of(error) for error in (status, again, *(kind("http://10.0.0.7/v1") for kind in kinds))]
    assert all(words.startswith("The language model") and "10.0.0.7" not in words for words in shown)
    assert words_of(OptionError("x")) == words_of(ModelError("the weights are missing")) == ""
