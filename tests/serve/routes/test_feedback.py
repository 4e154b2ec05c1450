"""Feedback over HTTP: who may give and read it, what is kept and for how long, and the questions made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import DOCUMENTS, Running, serving
from tests.serve.guarded import Guarded
from tests.serve.routes.test_documents import ended
from tests.serve.routes.test_originals import done

from graphwright import Index
from graphwright.data import read_questions
from graphwright.evaluate import gate as gates
from graphwright.models.fake import HashEncoder
from graphwright.serve import feedback
from graphwright.serve.feedback import FEEDBACK_FILE

PATH = "/v1/indexes/cities/feedback"
RIVER = "On which river does Graz lie?"
MUR = {"document": "graz", "quote": "Graz lies on the Mur"}
BORN = {"document": "pfeiffer", "quote": "Ida Pfeiffer was born in Vienna."}
HELPFUL = {"question": RIVER, "verdict": "helpful", "answer": "Mur: Graz lies on the Mur. [1]", "answers": ["Mur"]}
WRONG = {"question": "Where was Ida Pfeiffer born?", "verdict": "wrong", "comment": "It says Linz."}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Running]:
    """A server of an index of its own."""
    with Index.create(tmp_path / "cities", encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    with serving(tmp_path / "cities", data=tmp_path / "data") as running:
        yield running


def give(server: Running, status: int = 201, **body: Any) -> Any:
    reply = server.client.post(PATH, json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def kept(server: Running) -> list[dict[str, Any]]:
    return server.client.get(PATH).json()["feedback"]


def test_give_feedback_keeps_it_newest_first(own: Running) -> None:
    first = give(own, **HELPFUL, quotes=[MUR])
    give(own, **WRONG, answers=["Vienna"], quotes=[{**BORN, "right": True}, {**MUR, "right": False}])
    entries = kept(own)
    assert [entry["question"] for entry in entries] == [WRONG["question"], RIVER]
    assert entries[1] == {**HELPFUL, "quotes": [{**MUR, "right": True}], "comment": "", **entries[1]} == first
    assert entries[1]["by"] == "local" and entries[1]["given"].startswith("20")
    page = own.client.get(PATH, params={"offset": 1, "limit": 5}).json()
    assert page == {"feedback": [first], "total": 2}


def test_delete_feedback_removes_one_entry(own: Running) -> None:
    id = give(own, **WRONG)["id"]
    give(own, **HELPFUL)
    assert own.client.delete(f"{PATH}/{id}").status_code == 204
    assert [entry["verdict"] for entry in kept(own)] == ["helpful"]
    gone = own.client.delete(f"{PATH}/{id}")
    assert gone.status_code == 404 and "lists it" in gone.json()["detail"]


def test_questions_are_read_by_evaluate(own: Running, tmp_path: Path) -> None:
    give(own, **WRONG)
    give(own, question=f"  {RIVER.upper()}", verdict="wrong", answers=["Drava"])
    give(own, **HELPFUL, quotes=[MUR])
    give(own, **WRONG, answers=["Vienna"], quotes=[BORN, {**MUR, "right": False}])
    reply = own.client.get(f"{PATH}/questions")
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    (tmp_path / "questions.jsonl").write_bytes(reply.content)
    river, born = read_questions(tmp_path / "questions.jsonl")
    assert (river.text, river.answers, river.gold) == (RIVER, ("Mur",), ("graz",))
    assert (born.answers, born.gold) == (("Vienna",), ("pfeiffer",))
    assert born.metadata["passages"] == [BORN]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"verdict": "helpful"}, "question"),
        ({**HELPFUL, "verdict": "great"}, "verdict"),
        ({**HELPFUL, "answers": [" "]}, "answers"),
        ({**HELPFUL, "answer": "x" * 20_001}, "answer"),
        ({**HELPFUL, "quotes": [MUR] * 51}, "quotes"),
        ({**HELPFUL, "quotes": [{"document": "graz", "quote": "Graz lies on the Danube"}]}, "has no text"),
        ({**HELPFUL, "quotes": [{"document": "nowhere", "quote": "Graz"}]}, "'nowhere' has no text"),
        ({**HELPFUL, "stars": 5}, "stars"),
    ],
)
def test_give_wrong_feedback_is_refused(own: Running, body: dict[str, Any], told: str) -> None:
    assert told in json.dumps(give(own, 422, **body))
    assert kept(own) == []


@pytest.mark.parametrize(("limit", "value"), [("MAX_ENTRIES", 1), ("MAX_CHARACTERS", 400)])
def test_full_feedback_is_refused(own: Running, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(feedback, limit, value)
    give(own, **HELPFUL)
    assert "Delete some" in give(own, 422, **HELPFUL)["detail"]


def test_feedback_of_removed_document_is_in_no_file(own: Running, tmp_path: Path) -> None:
    give(own, **HELPFUL, quotes=[MUR])
    give(own, **WRONG, answers=["Vienna"], quotes=[BORN])
    done(own, own.client.delete("/v1/indexes/cities/documents/graz"))
    left = b"".join(file.read_bytes() for file in (tmp_path / "data").glob(f"{FEEDBACK_FILE}*"))
    assert b"Graz" not in left and b"born in Vienna" in left
    assert [entry["question"] for entry in kept(own)] == [WRONG["question"]]


def test_feedback_of_replaced_document_stays_while_it_has_the_quote(own: Running) -> None:
    give(own, **HELPFUL, quotes=[MUR])
    give(own, **WRONG, quotes=[BORN])
    texts = {"graz": "Of old, Graz lies on the Mur.", "pfeiffer": "She was born in Vienna."}
    documents = [{"id": id, "title": "", "text": text} for id, text in texts.items()]
    done(own, own.client.post("/v1/indexes/cities/documents", json={"documents": documents}))
    assert [entry["question"] for entry in kept(own)] == [RIVER]


def test_feedback_outlives_server_and_follows_documents_removed_meanwhile(tmp_path: Path) -> None:
    folder, data = tmp_path / "cities", tmp_path / "data"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    with serving(folder, data=data) as server:
        give(server, **HELPFUL, quotes=[MUR])
        give(server, **WRONG, quotes=[BORN])
    with Index.open(folder, encoder=HashEncoder()) as index:
        index.remove(["graz"])
    with serving(folder, data=data):
        left = b"".join(file.read_bytes() for file in data.glob(f"{FEEDBACK_FILE}*"))
        assert b"Graz" not in left and b"born in Vienna" in left


def test_readers_give_and_writers_list_feedback(guarded: Guarded) -> None:
    def status(method: str, path: str, key: str, **more: Any) -> int:
        return guarded.client.request(method, path, headers=guarded.headers(key), **more).status_code

    assert status("POST", PATH, "none", json=WRONG) == 404
    assert status("POST", PATH, "wrong", json=WRONG) == 401
    assert status("POST", PATH, "read", json=WRONG) == 201
    for path in (PATH, f"{PATH}/questions"):
        assert [status("GET", path, key) for key in ("none", "read", "write", "admin")] == [404, 403, 200, 200]
    [entry] = guarded.client.get(PATH, headers=guarded.headers("admin")).json()["feedback"]
    assert entry["by"] == "reader"
    assert status("DELETE", f"{PATH}/{entry['id']}", "read") == 403
    assert status("DELETE", f"{PATH}/{entry['id']}", "write") == 204


def test_feedback_is_in_no_log(own: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    give(own, **HELPFUL, quotes=[MUR])
    give(own, 422, **HELPFUL, quotes=[{"document": "graz", "quote": "Graz lies elsewhere"}])
    assert RIVER not in caplog.text and "elsewhere" not in caplog.text


def test_refit_that_gains_nothing_is_refused(own: Running) -> None:
    give(own, **HELPFUL, quotes=[MUR])
    job = ended(own, own.client.post(f"{PATH}/refit"))
    assert job["state"] == "failed" and "1 question with right passages" in job["message"]
    assert own.client.get("/v1/indexes/cities").json()["gate"] == 0


def test_refit_ranks_with_the_fitted_gate_until_it_is_undone(own: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MIN_QUESTIONS", 1)
    monkeypatch.setattr(gates, "fitted", lambda quality: gates.GateFit(2.0, len(quality), 0.5, 0.75, 0.01))
    give(own, **HELPFUL, quotes=[MUR])
    job = ended(own, own.client.post(f"{PATH}/refit", json={}))
    assert (job["kind"], job["state"], job["changes"]) == ("refit", "done", None) and "gate +2" in job["message"]
    assert own.client.get("/v1/indexes/cities").json()["gate"] == 2
    assert ended(own, own.client.post(f"{PATH}/refit", json={"undo": True}))["state"] == "done"
    assert own.client.get("/v1/indexes/cities").json()["gate"] == 0
