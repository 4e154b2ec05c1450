"""Edits by hand over HTTP: made and undone as jobs, listed, and suggested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Running, serving
from tests.serve.routes.test_documents import ended

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.store import Edit, RenameEntity

EDITS = "/v1/indexes/cities/edits"


@pytest.fixture
def edited(tmp_path: Path) -> Iterator[Running]:
    with Index.create(tmp_path / "cities", encoder=HashEncoder(), extractor="rules") as index:
        index.add([{"id": "a", "text": "Graz lies on the Mur. Ida Huber lives in Graz. Gratz is a town in Styria."}])
    with serving(tmp_path / "cities") as running:
        yield running


def post(server: Running, *changes: dict[str, Any], **more: str) -> Any:
    return server.client.post(EDITS, json={"changes": changes, **more})


def test_duplicate_is_suggested_merged_and_the_edit_undone(edited: Running) -> None:
    address = "/v1/indexes/cities/duplicates"
    (pair,) = edited.client.get(address).json()["duplicates"]
    assert {pair["first"], pair["second"]} == {"Graz", "Gratz"} and pair["reasons"] == ["spelled alike (89%)"]
    job = ended(edited, post(edited, {"kind": "merge", "names": ["Gratz"], "into": "Graz"}, who="Ida", why="a typo"))
    assert (job["kind"], job["state"], job["message"]) == ("edit", "done", "1 edit made.")
    (edit,) = edited.client.get(EDITS).json()["edits"]
    assert (edit["words"], edit["who"], edit["why"]) == ("merge Gratz into Graz", "Ida", "a typo")
    assert edited.client.get("/v1/indexes/cities/entities/Gratz").json()["name"] == "Graz"
    assert ended(edited, edited.client.delete(f"{EDITS}/{edit['id']}"))["message"] == "The edit is undone."
    assert edited.client.get(EDITS).json() == {"edits": []} and len(edited.client.get(address).json()["duplicates"])
    assert edited.client.delete(f"{EDITS}/{edit['id']}").status_code == 404


def test_edit_of_what_is_not_there_fails_and_changes_nothing(edited: Running) -> None:
    changes = {"kind": "delete", "name": "Graz"}, {"kind": "delete", "name": "Linz"}
    job = ended(edited, post(edited, *changes))
    assert job["state"] == "failed" and "there is no entity 'Linz'" in job["message"]
    assert edited.client.get(EDITS).json() == {"edits": []}
    assert edited.client.get("/v1/indexes/cities/entities/Graz").status_code == 200


@pytest.mark.parametrize("change", [{}, {"kind": "x"}, {"kind": "delete"}, {"kind": "delete", "name": 3}])
def test_malformed_change_is_refused(edited: Running, change: dict[str, Any]) -> None:
    assert post(edited, change).status_code in (400, 422)


def test_edits_of_another_index_are_imported_once(edited: Running, tmp_path: Path) -> None:
    with Index.create(tmp_path / "other", encoder=HashEncoder(), extractor="rules") as other:
        other.add([{"id": "a", "text": "Gratz is a town. Linz is a town."}])
        other.edit(RenameEntity("Gratz", "Graz"), RenameEntity("Linz", "Lentia"), who="Ida", why="old names")
        exported = [edit.to_dict() for edit in other.edits()]
    address = f"{EDITS}/import"
    assert ended(edited, edited.client.post(address, json={"edits": exported}))["message"] == "2 edits made."
    first, second = edited.client.get(EDITS).json()["edits"]
    assert (first["who"], first["why"], first["time"]) == ("Ida", "old names", exported[0]["time"])
    assert "there is no entity 'Linz'" in second["idle"]  # it waits for a document that names it
    again = ended(edited, edited.client.post(address, json={"edits": [first, second]}))
    assert (again["state"], again["message"]) == ("done", "The index has all of these edits.")
    assert edited.client.get(EDITS).json()["edits"] == [first, second]


@pytest.mark.parametrize("second", [{}, {"change": {"kind": "x"}, "time": "", "who": "", "why": ""}, {"time": 3}])
def test_malformed_import_is_refused_whole(edited: Running, second: dict[str, Any]) -> None:
    first = Edit.made([RenameEntity("Graz", "Gratz")])[0].to_dict()
    reply = edited.client.post(f"{EDITS}/import", json={"edits": [first, second]})
    assert reply.status_code == 422 and reply.json()["detail"].startswith("edit 2: ")
    assert reply.json()["detail"].endswith("Nothing was imported.")
    assert edited.client.get(EDITS).json() == {"edits": []}
