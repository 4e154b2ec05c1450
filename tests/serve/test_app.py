"""Limits of a running server: time, places in the queue, clients that go away, new snapshots."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.faulty_server import silent
from tests.llm_server import LLMServer
from tests.serve.conftest import DOCUMENTS, Running, events_of, serving, wait_until

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.serve.keys import Keys

ASK = "/v1/indexes/cities/ask"
QUESTION = {"question": "On which river does Graz lie?", "method": "bm25"}


def pending(running: Running) -> int:
    count: int = running.app.state.server.workers.pending
    return count


def test_request_has_time_limit(cities: Path) -> None:
    with (
        LLMServer([silent]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url), timeout=0.4, deadline=None) as running,
    ):
        for stream in (False, True):
            reply = running.client.post(ASK, json={**QUESTION, "stream": stream})
            problem = events_of(reply.text)[-1][1] if stream else reply.json()
            assert problem["status"] == 504 and "0.4 seconds" in problem["detail"]
            wait_until(lambda: pending(running) == 0)


def test_answer_after_deadline_is_offline(cities: Path) -> None:
    with (
        LLMServer([silent]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url), deadline=0.4) as running,
    ):
        for stream in (False, True):
            reply = running.client.post(ASK, json={**QUESTION, "stream": stream})
            answer = events_of(reply.text)[-1][1] if stream else reply.json()
            notes = [note for step in answer["trace"] for note in step["notes"]]
            assert answer["citations"] and any("cut short" in note for note in notes)


@pytest.mark.parametrize("body", [{}, {"stream": True}])
def test_work_ends_when_client_disconnects(cities: Path, body: dict[str, Any]) -> None:
    with (
        LLMServer([silent]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url), deadline=None) as running,
    ):

        def leave() -> None:
            with httpx.Client(base_url=running.url) as client, pytest.raises(httpx.ReadTimeout):
                client.post(ASK, json={**QUESTION, **body}, timeout=0.8)

        client = threading.Thread(target=leave)
        client.start()
        wait_until(lambda: pending(running) == 1)
        client.join()
        wait_until(lambda: pending(running) == 0)


def test_excess_requests_are_refused(cities: Path) -> None:
    with (
        LLMServer([silent]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url), llm_threads=1, queue=0, timeout=0.8, deadline=None) as running,
    ):
        first = threading.Thread(target=lambda: running.client.post(ASK, json=QUESTION))
        first.start()
        wait_until(lambda: pending(running) == 1)
        with httpx.Client(base_url=running.url) as client:
            refused = client.post(ASK, json=QUESTION)
            assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
            assert client.post(ASK, json={**QUESTION, "offline": True}).status_code == 200
            assert client.get("/healthz").status_code == 200
        first.join()


def test_snapshot_of_another_process_is_searched_soon(tmp_path: Path) -> None:
    with Index.create(tmp_path / "cities", encoder=HashEncoder()) as index:
        index.add(DOCUMENTS[:1])
        with serving(tmp_path / "cities") as running:
            before = running.client.get("/v1/indexes/cities").json()
            index.add(DOCUMENTS[1:])
            wait_until(lambda: running.client.get("/v1/indexes/cities").json()["snapshot"] > before["snapshot"])
            after = running.client.get("/v1/indexes/cities").json()
            question = {"question": "Where was Ida Pfeiffer born?", "method": "bm25", "top_k": 1}
            (best,) = running.client.post("/v1/indexes/cities/retrieve", json=question).json()["passages"]
    assert (before["documents"], after["documents"], best["document"]) == (1, 4, "pfeiffer")
    assert before["current"] and after["current"]


def test_empty_index_is_served(tmp_path: Path) -> None:
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    with serving(tmp_path / "cities") as running:
        reply = running.client.post(ASK, json=QUESTION)
        assert reply.status_code == 200 and reply.json()["found"] is False
        assert running.client.get("/v1/indexes/cities/entities").json() == {"entities": [], "links": []}


def test_damaged_index_is_not_ready_without_path(tmp_path: Path) -> None:
    with Index.create(tmp_path / "cities", encoder=HashEncoder()) as index:
        index.add(DOCUMENTS[:1])
    (tmp_path / "cities" / "CURRENT").write_text("snapshot-99")
    with serving(tmp_path / "cities", ready=False) as running:
        wait_until(lambda: "loads models" not in running.client.get("/readyz").text)
        reply = running.client.get("/readyz")
        assert reply.status_code == 503 and str(tmp_path) not in reply.text


def test_event_loop_answers_during_questions(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(Index, "retrieve", lambda *_, **__: free.wait(10))
    threads = server.app.state.server.settings.threads
    clients = [
        threading.Thread(target=lambda: httpx.post(f"{server.url}/v1/indexes/cities/retrieve", json=QUESTION))
        for _ in range(threads)
    ]
    for client in clients:
        client.start()
    wait_until(lambda: pending(server) == threads)
    begun = time.monotonic()
    assert server.client.get("/healthz").status_code == 200 and time.monotonic() - begun < 5
    free.set()
    for client in clients:
        client.join()


def test_key_for_unserved_index_is_warning(cities: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(Keys(tmp_path)) as keys:
        keys.create("reader", indexes=["cities", "citties"])
        keys.revoke(keys.create("former", indexes=["gone"])[1].id)
    with serving(cities, data=tmp_path, ready=False):
        lines = [record.getMessage() for record in caplog.records if "does not serve" in record.getMessage()]
    assert len(lines) == 1 and "(reader) is for an index 'citties'" in lines[0]


def test_schema_names_key_and_operations(server: Running) -> None:
    schema = server.client.get("/openapi.json").json()
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids) and all(id.isidentifier() and "v1" not in id for id in ids)
    assert schema["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    open_to_all = {operation["operationId"] for operation in operations if "security" not in operation}
    assert open_to_all == {"health", "session", "sign_in", "sign_out"}
