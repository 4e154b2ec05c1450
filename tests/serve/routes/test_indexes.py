"""Indexes are made, renamed, read again, exported and deleted over HTTP, on a server that starts without any."""

from __future__ import annotations

import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running, serving, wait_until
from tests.shared.served import serving_home

from graphwright import Index
from graphwright.build.rebuild import _Division
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.serve.keys import Keys
from graphwright.store import writer_lock

INDEXES = "/v1/indexes"
TEXT = "The Enns rises in the Radstadt Tauern. Steyr lies on the Enns."


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Running]:
    """A server without an index, which can make some."""
    with serving_home(tmp_path / "home", llm=LLMSettings("small", "http://127.0.0.1:9/v1")) as running:
        yield running


def names(server: Running) -> list[str]:
    return [index["name"] for index in server.client.get(INDEXES).json()["indexes"]]


def made(server: Running, name: str, **values: Any) -> Any:
    reply = server.client.post(INDEXES, json={"name": name, **values})
    assert reply.status_code == 201, reply.text
    return reply.json()


def changed(server: Running, reply: Any) -> Any:
    """Wait until the job of a reply has ended."""
    assert reply.status_code == 202, reply.text
    address = f"/v1/jobs/{reply.json()['job']['id']}"
    wait_until(lambda: server.client.get(address).json()["finished"])
    return server.client.get(address).json()


def add(server: Running, name: str, *texts: str) -> Any:
    documents = [{"id": f"d{at}", "text": text} for at, text in enumerate(texts)]
    return changed(server, server.client.post(f"{INDEXES}/{name}/documents", json={"documents": documents}))


def test_server_without_index_makes_one_that_takes_documents_and_answers(home: Running) -> None:
    listed = home.client.get(INDEXES).json()
    assert listed["indexes"] == [] and listed["new"]["models"] == ["small"] and "en" in listed["new"]["languages"]
    facts = made(home, "Flüsse & Städte", extraction="rules")
    assert (facts["documents"], facts["llm"], facts["extraction"], facts["own"]) == (0, None, "rules", True)
    assert add(home, "Flüsse & Städte", TEXT)["state"] == "done"
    answer = home.client.post(f"{INDEXES}/Flüsse & Städte/ask", json={"question": "On which river does Steyr lie?"})
    assert "Enns" in answer.json()["answer"]


def test_index_with_unusable_name_is_refused(home: Running) -> None:
    for name in ("", "a/b", "..", " padded", "c:d", "tab\there", "x" * 101):
        assert home.client.post(INDEXES, json={"name": name}).status_code == 422
    assert names(home) == []


def test_index_with_unusual_name_is_changed_exported_and_deleted(home: Running) -> None:
    for name in ("מסמכים", "100 % <b>", "a#b?c&d"):
        made(home, name)
        address = f"{INDEXES}/{quote(name, safe='')}"
        document = {"id": "../../up/a.txt", "text": TEXT}
        assert changed(home, home.client.post(f"{address}/documents", json={"documents": [document]}))
        packed = home.client.get(f"{address}/export", params={"what": "documents"})
        assert zipfile.ZipFile(io.BytesIO(packed.content)).namelist() == ["up/a.txt.txt"]
        assert home.client.patch(address, json={"name": f"{name} 2"}).json()["name"] == f"{name} 2"
        assert home.client.delete(f"{INDEXES}/{quote(name + ' 2', safe='')}").status_code == 204
    assert names(home) == []


def test_index_with_taken_name_or_unknown_model_is_refused(home: Running) -> None:
    made(home, "Notes")
    for values in ({"name": "NOTES"}, {"name": "a", "model": "large"}, {"name": "a", "extraction": "llm"}):
        assert home.client.post(INDEXES, json=values).status_code == 422
    assert names(home) == ["Notes"]
    assert made(home, "read", model="small", extraction="llm")["reader"] == "small"


def test_renamed_index_keeps_documents_and_jobs(home: Running) -> None:
    made(home, "first")
    job = add(home, "first", TEXT)
    assert home.client.patch(f"{INDEXES}/first", json={"name": "second"}).json()["documents"] == 1
    assert names(home) == ["second"] and home.client.get(f"{INDEXES}/first").status_code == 404
    assert home.client.get(f"/v1/jobs/{job['id']}").json()["index"] == "second"
    assert add(home, "second", TEXT, "Linz lies on the Danube.")["changes"]["added"] == 1
    assert home.client.patch(f"{INDEXES}/second", json={"name": "a:b"}).status_code == 422


def test_deleted_index_leaves_neither_folder_nor_right_of_a_key(home: Running, tmp_path: Path) -> None:
    made(home, "minutes")
    keys: Keys = home.app.state.server.keys
    token, _ = keys.create("reader", "read", ["minutes"])
    home.client.headers["Authorization"] = f"Bearer {keys.create('other', 'admin')[0]}"
    headers = {"Authorization": f"Bearer {token}"}
    assert home.client.patch(f"{INDEXES}/minutes", json={"name": "protocols"}).status_code == 200
    assert home.client.get(f"{INDEXES}/protocols", headers=headers).status_code == 200
    assert home.client.delete(f"{INDEXES}/protocols", headers=headers).status_code == 403
    assert home.client.delete(f"{INDEXES}/protocols").status_code == 204
    assert names(home) == [] and list((tmp_path / "home").iterdir()) == []
    made(home, "protocols")
    some = {"Authorization": f"Bearer {keys.create('some', 'admin', ['protocols'])[0]}"}
    assert home.client.post(INDEXES, json={"name": "mine"}, headers=some).status_code == 403
    assert home.client.get(f"{INDEXES}/protocols", headers=headers).status_code == 404


def test_renamed_index_tells_its_former_names(home: Running) -> None:
    assert home.client.post("/v1/indexes", json={"name": "one"}).json()["former"] == []
    for before, after in (("one", "two"), ("two", "three"), ("three", "two")):
        changed = home.client.patch(f"/v1/indexes/{before}", json={"name": after}).json()
    assert changed["former"] == ["one", "three"]


def test_index_with_running_job_is_neither_renamed_nor_deleted(home: Running) -> None:
    made(home, "busy 🚧")
    with writer_lock(home.app.state.server.catalog["busy 🚧"].path):  # so that the job waits
        reply = home.client.post(f"{INDEXES}/busy 🚧/documents", json={"documents": [{"text": TEXT}]})
        assert home.client.delete(f"{INDEXES}/busy 🚧").status_code == 409
        assert home.client.patch(f"{INDEXES}/busy 🚧", json={"name": "idle"}).status_code == 409
    assert changed(home, reply)["state"] == "done"
    assert home.client.patch(f"{INDEXES}/busy 🚧", json={"name": "idle"}).json()["documents"] == 1


def test_documents_are_extracted_again_by_another_extractor(home: Running) -> None:
    made(home, "again", extraction="mentions")
    add(home, "again", TEXT)
    facts = home.client.patch(f"{INDEXES}/again", json={"extraction": "rules"}).json()
    assert facts["extraction"] == "rules"
    job = changed(home, home.client.post(f"{INDEXES}/again/reextract"))
    assert (job["kind"], job["state"]) == ("reextract", "done")
    folder = home.app.state.server.catalog["again"].path
    with Index.open(folder) as index:
        assert index.chunks_to_extract([{"id": "d0", "text": TEXT}]) == []


def test_language_model_that_is_chosen_later_reads_the_documents_again(tmp_path: Path) -> None:
    model = LLMServer([json.dumps({"entities": [], "relations": []})])
    with model, serving_home(tmp_path / "home", llm=LLMSettings("reader", model.url)) as home:
        made(home, "notes")
        add(home, "notes", TEXT)
        assert not model.requests
        chosen = {"model": "reader", "extraction": "llm"}
        assert home.client.patch(f"{INDEXES}/notes", json=chosen).json()["reader"] == "reader"
        job = changed(home, home.client.post(f"{INDEXES}/notes/reextract"))
        assert job["state"] == "done" and job["changes"]["extracted"] == 1 and model.requests
        assert add(home, "notes", TEXT, "Krems lies on the Danube.")["changes"]["extracted"] == 1


def test_export_is_an_index_and_the_texts(home: Running, tmp_path: Path) -> None:
    made(home, "out")
    add(home, "out", TEXT, "Krems lies on the Danube.")
    reply = home.client.get(f"{INDEXES}/out/export")
    assert int(reply.headers["Content-Length"]) == len(reply.content)
    zipfile.ZipFile(io.BytesIO(reply.content)).extractall(tmp_path / "copy")
    with Index.open(tmp_path / "copy") as index:
        assert index.verify() == [] and index.text("d0") == TEXT
    texts = zipfile.ZipFile(io.BytesIO(home.client.get(f"{INDEXES}/out/export?what=documents").content))
    assert texts.namelist() == ["d0.txt", "d1.txt"] and texts.read("d0.txt").decode() == TEXT


def test_given_index_is_neither_renamed_nor_deleted(tmp_path: Path) -> None:
    Index.create(tmp_path / "given", encoder=HashEncoder()).close()
    with serving(tmp_path / "given") as running:
        assert running.client.get(INDEXES).json()["new"] is None
        assert running.client.delete(f"{INDEXES}/cities").status_code == 422
        assert running.client.patch(f"{INDEXES}/cities", json={"name": "towns"}).status_code == 422
        assert running.client.post(INDEXES, json={"name": "new"}).status_code == 422
    assert (tmp_path / "given" / "index.sqlite").exists()


RIVERS = [{"id": f"d{at}", "text": f"The river {at} passes Steyr and Linz. " * 12} for at in range(30)]


def asked(server: Running, name: str) -> Any:
    reply = server.client.post(f"{INDEXES}/{name}/ask", json={"question": "Which rivers pass Steyr?"})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_rebuild_with_other_chunks_is_a_job_that_readers_do_not_notice(home: Running) -> None:
    made(home, "rivers")
    changed(home, home.client.post(f"{INDEXES}/rivers/documents", json={"documents": RIVERS}))
    before = home.client.get(f"{INDEXES}/rivers").json()["chunks"]
    choices = home.client.get(f"{INDEXES}/rivers/rebuild").json()
    assert choices["chunk_tokens"] == 200 and "minilm" in choices["encoders"]
    body = {"chunk_tokens": 32, "overlap": 0}
    estimate = home.client.post(f"{INDEXES}/rivers/rebuild/estimate", json=body).json()
    assert (estimate["chunks"], estimate["calls"], estimate["llm"]) == (0, 0, None)
    reply = home.client.post(f"{INDEXES}/rivers/rebuild", json=body)
    later = home.client.post(f"{INDEXES}/rivers/documents", json={"documents": [{"id": "new", "text": TEXT}]})
    while home.client.get(f"/v1/jobs/{reply.json()['job']['id']}").json()["finished"] is None:
        assert asked(home, "rivers")["citations"]
    job = changed(home, reply)
    assert (job["kind"], job["state"]) == ("rebuild", "done") and job["message"].startswith("Rebuilt, ")
    assert changed(home, later)["state"] == "done"
    facts = home.client.get(f"{INDEXES}/rivers").json()
    assert facts["chunks"] > 2 * before and facts["documents"] == 31 and asked(home, "rivers")["citations"]
    assert home.client.get(f"{INDEXES}/rivers/rebuild").json()["chunk_tokens"] == 32


def test_rebuild_with_other_encoder_is_followed_by_the_server(tmp_path: Path) -> None:
    with Index.create(tmp_path / "given", encoder=HashEncoder()) as index:
        index.add([{"id": "steyr", "text": TEXT}])
    with serving(tmp_path / "given") as running:
        job = changed(running, running.client.post(f"{INDEXES}/cities/rebuild", json={"encoder": "minilm"}))
        assert job["state"] == "done", job
        assert asked(running, "cities")["citations"]
        assert running.client.get(f"{INDEXES}/cities/rebuild").json()["encoder"].startswith("all-minilm-l6-v2")
        Index.rebuild(tmp_path / "given", "minilm", chunk_tokens=16, overlap=0)  # by another process
        assert add(running, "cities", "Krems lies on the Danube.")["state"] == "done"
        assert running.client.get(f"{INDEXES}/cities").json()["documents"] == 2


@pytest.mark.parametrize("is_waiting", [True, False])
def test_cancelled_rebuild_leaves_the_index_as_it_was(
    home: Running, is_waiting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(home, "kept")
    add(home, "kept", TEXT)
    before, body = home.client.get(f"{INDEXES}/kept/rebuild").json(), {"chunk_tokens": 16, "overlap": 0}
    at_work, go_on = threading.Event(), threading.Event()

    def store(division: _Division) -> None:
        at_work.set()
        assert go_on.wait(20)
        original(division)

    original = _Division.store
    monkeypatch.setattr(_Division, "store", store)
    with writer_lock(home.app.state.server.catalog["kept"].path) if is_waiting else nullcontext():
        reply = home.client.post(f"{INDEXES}/kept/rebuild", json=body)
        job = f"/v1/jobs/{reply.json()['job']['id']}"
        wait_until(lambda: home.client.get(job).json()["state"] == "running")  # if it waits, for the lock
        assert is_waiting or at_work.wait(20)
        assert home.client.post(f"{job}/cancel").status_code == 200
        go_on.set()
        ended = changed(home, reply)
    assert (ended["state"], ended["message"]) == ("cancelled", "Cancelled.")
    assert home.client.get(f"{INDEXES}/kept/rebuild").json() == before and asked(home, "kept")["citations"]
    assert changed(home, home.client.post(f"{INDEXES}/kept/rebuild", json=body))["state"] == "done"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"encoder": "mini"}, "choose from minilm.*server.toml"),
        ({"encoder": "openai:e@http://elsewhere"}, "choose from minilm"),
        ({"chunk_tokens": 20}, "overlap must be less than chunk_tokens"),
        ({"chunk_tokens": 2}, "greater than or equal to 16"),
        ({"resolve": ["llm"]}, "add aliases, vectors or both"),
        ({"embed": ["nodes"]}, "passages"),
        ({"chunks": 20}, "/body/chunks"),
    ],
)
def test_rebuild_with_wrong_values_is_refused(home: Running, body: dict[str, Any], message: str) -> None:
    made(home, "kept")
    for route in ("rebuild", "rebuild/estimate"):
        reply = home.client.post(f"{INDEXES}/kept/{route}", json=body)
        assert reply.status_code == 422 and re.search(message, reply.json()["detail"]), reply.text
    assert home.client.get("/v1/jobs").json()["total"] == 0


def test_rebuild_that_costs_needs_yes_and_model_reads_the_new_chunks(tmp_path: Path) -> None:
    model = LLMServer([json.dumps({"entities": [], "relations": []})])
    with model, serving_home(tmp_path / "home", llm=LLMSettings("reader", model.url)) as home:
        made(home, "notes", model="reader", extraction="llm")
        add(home, "notes", " ".join(f"Krems lies on the river {at}." for at in range(20)))
        body, sent = {"chunk_tokens": 32, "overlap": 0}, len(model.requests)
        estimate = home.client.post(f"{INDEXES}/notes/rebuild/estimate", json=body).json()
        assert estimate["chunks"] == estimate["calls"] > 3 and estimate["llm"] == "reader"
        refused = home.client.post(f"{INDEXES}/notes/rebuild", json=body)
        assert refused.status_code == 422 and "rebuild/estimate" in refused.json()["detail"]
        assert len(model.requests) == sent
        job = changed(home, home.client.post(f"{INDEXES}/notes/rebuild", json={**body, "yes": True}))
        assert job["state"] == "done" and job["changes"]["extracted"] == estimate["chunks"], job
        assert job["changes"]["usage"]["llm_calls"] == len(model.requests) - sent == estimate["chunks"]
        short = {"chunk_tokens": 48, "overlap": 0, "yes": True}
        job = changed(home, home.client.post(f"{INDEXES}/notes/rebuild?max_tokens=1", json=short))
        assert job["state"] == "done" and job["changes"]["pending"] and "try the job again" in job["message"], job


def test_export_of_an_index_that_another_process_writes_is_a_conflict(home: Running) -> None:
    made(home, "out")
    with writer_lock(home.app.state.server.catalog["out"].path):
        reply = home.client.get(f"{INDEXES}/out/export")
    assert (reply.status_code, reply.json()["type"]) == (409, "urn:graphwright:problem:conflict")
    assert "another process is indexing" in reply.json()["detail"]
    assert home.client.get(f"{INDEXES}/out/export").status_code == 200
