"""Indexes are made, renamed, read again, exported and deleted over HTTP, on a server that starts without any."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running, serving, wait_until
from tests.shared.served import serving_home

from graphwright import Index
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
