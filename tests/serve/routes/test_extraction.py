"""The schema of an index over HTTP: given, shown, replaced, removed and suggested; what did not fit; its estimate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running
from tests.serve.guarded import Guarded
from tests.serve.routes.test_indexes import INDEXES, add, changed, made
from tests.shared.served import serving_home

from graphwright.models.settings import LLMSettings

PEOPLE = '[entities.person]\ndescription = "A human being."\n'
FIRMS = f'{PEOPLE}\n[entities.company]\ndescription = "A business that sells goods or services."\n'
ACME = "Acme Ltd was founded by Ida Stone in 1974. Ida Stone leads it. Bob Miller repairs the pumps of Acme Ltd."
FAULTY = [
    ("[entities.person", "not TOML"),
    (f'{PEOPLE}\n[entities.firm]\nsynonym = ["company"]', "line 5: 'synonym' in [entities.firm] is unknown"),
    (f'{PEOPLE}[relations.leads]\npairs = [\n["person", "firm"]]', "line 4: a pair of the relation 'leads'"),
    ("# none", "has no types"),
    ("x" * 200_001, "at most 200000"),
]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Running]:
    with serving_home(tmp_path / "home") as running:
        yield running


def schema(server: Running, name: str = "firms") -> Any:
    return server.client.get(f"{INDEXES}/{name}/extraction-schema").json()


def types(server: Running, name: str = "firms") -> dict[str, int]:
    return {each["name"]: each["count"] for each in server.client.get(f"{INDEXES}/{name}/types").json()["types"]}


def reextract(server: Running, **body: Any) -> Any:
    return server.client.post(f"{INDEXES}/firms/reextract", json=body)


def test_schema_of_new_index_is_shown_and_types_what_is_added(home: Running) -> None:
    made(home, "firms", extraction_schema=FIRMS)
    assert schema(home)["entities"] == ["person", "company"] and schema(home)["strict"] is False
    job = add(home, "firms", ACME)
    off = job["changes"]["off_schema"]
    assert off >= 1 and job["message"] == f"1 added, {off} found outside the schema."
    assert types(home) == {"person": 2, "company": 1}
    found = home.client.get(f"{INDEXES}/firms/entities", params={"type": "company"}).json()["entities"]
    assert [(entity["name"], entity["type"]) for entity in found] == [("Acme Ltd", "company")]


def test_schema_is_given_replaced_and_removed_by_reading_again(home: Running) -> None:
    made(home, "firms")
    add(home, "firms", ACME)
    assert schema(home) == {"toml": "", "entities": [], "relations": [], "strict": False} and types(home) == {}
    assert home.client.post(f"{INDEXES}/firms/reextract/estimate").json()["chunks"] == 0
    assert home.client.post(f"{INDEXES}/firms/extraction-schema/suggest").json()["entities"] == ["person"]
    body = {"extraction_schema": FIRMS}
    estimate = home.client.post(f"{INDEXES}/firms/reextract/estimate", json=body).json()
    assert (estimate["chunks"], estimate["calls"], estimate["llm"], schema(home)["toml"]) == (1, 0, None, "")
    job = changed(home, reextract(home, **body))
    assert job["state"] == "done" and job["changes"]["off_schema"] and "1 chunk read again" in job["message"]
    assert types(home) == {"person": 2, "company": 1}
    assert changed(home, reextract(home))["changes"]["extracted"] == 0  # the schema stays
    changed(home, reextract(home, extraction_schema=PEOPLE))
    assert schema(home)["entities"] == ["person"] and "company" not in types(home)
    changed(home, reextract(home, extraction_schema=" "))
    assert schema(home)["toml"] == "" and types(home) == {}


@pytest.mark.parametrize(("toml", "told"), FAULTY)
def test_faulty_schema_is_refused_with_its_line(home: Running, toml: str, told: str) -> None:
    made(home, "firms", extraction_schema=PEOPLE)
    body = {"extraction_schema": toml}
    for path in ("firms/reextract", "firms/reextract/estimate"):
        reply = home.client.post(f"{INDEXES}/{path}", json=body)
        assert reply.status_code == 422 and told in reply.json()["detail"]
    assert home.client.post(INDEXES, json={"name": "other", **body}).status_code == 422
    assert home.client.get(f"{INDEXES}/other").status_code == 404 and schema(home)["entities"] == ["person"]


def test_schema_is_suggested_and_estimated_with_a_model(tmp_path: Path) -> None:
    person = {"name": "person", "description": "A human being.", "examples": ["Ida Stone"]}
    reply = json.dumps({"entities": [person], "relations": []})
    with LLMServer([reply]) as model, serving_home(tmp_path / "home", llm=LLMSettings("small", model.url)) as home:
        made(home, "firms", model="small", extraction="llm")
        add(home, "firms", ACME)
        path, asked = f"{INDEXES}/firms/extraction-schema/suggest", len(model.requests)
        assert home.client.post(path).status_code == 422 and len(model.requests) == asked  # its replies had no types
        suggested = home.client.post(path, json={"model": "small"}).json()
        assert suggested["entities"] == ["person"] and 'examples = ["Ida Stone"]' in suggested["toml"]
        assert not schema(home)["toml"] and len(model.requests) == asked + 1
        assert home.client.post(path, json={"model": "large"}).status_code == 422
        body = {"extraction_schema": suggested["toml"]}
        estimate = home.client.post(f"{INDEXES}/firms/reextract/estimate", json=body).json()
        assert (estimate["llm"], estimate["calls"]) == ("small", 1) and estimate["schema_tokens"] > 0
        assert len(model.requests) == asked + 1


def test_suggestion_without_anything_frequent_is_refused(home: Running) -> None:
    made(home, "firms")
    reply = home.client.post(f"{INDEXES}/firms/extraction-schema/suggest")
    assert reply.status_code == 422 and "write the schema by hand" in reply.json()["detail"]


def test_schema_is_seen_by_readers_and_changed_by_admins(guarded: Guarded) -> None:
    def status(method: str, path: str, key: str) -> int:
        return guarded.client.request(
            method, f"{INDEXES}/cities/{path}", headers=guarded.headers(key), json={}
        ).status_code

    assert [status("GET", "extraction-schema", key) for key in ("none", "read")] == [404, 200]
    for path in ("reextract", "reextract/estimate", "extraction-schema/suggest", "feedback/refit"):
        assert [status("POST", path, key) for key in ("none", "read", "write")] == [404, 403, 403]
