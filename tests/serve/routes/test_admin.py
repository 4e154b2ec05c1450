"""Keys are made, listed and revoked over HTTP, and language models added and deleted, by an admin for all indexes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import Running
from tests.shared.served import serving, serving_home

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.serve.catalog import Record
from graphwright.serve.settings import ModelServer

KEYS, MODELS = "/v1/keys", "/v1/language-models"
OWN = "http://127.0.0.1:9/v1"
ADDED = {"model": "team/large:7b", "base_url": OWN, "prompt_price": 1.0, "completion_price": 2.0}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Running]:
    """A server with a language model, of an index that is given to it."""
    Index.create(tmp_path / "minutes", encoder=HashEncoder()).close()
    with serving(f"minutes={tmp_path / 'minutes'}", llm=LLMSettings("small", OWN)) as running:
        yield running


def created(server: Running, **values: Any) -> Any:
    reply = server.client.post(KEYS, json=values)
    assert reply.status_code == 201, reply.text
    return reply.json()


def bearer(key: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {key['key']}"}


def test_first_key_is_an_admins_and_others_are_made_with_it(home: Running, tmp_path: Path) -> None:
    assert home.client.get(KEYS).json() == {"keys": []} and home.client.get("/session").json()["manages"]
    for values in ({}, {"scope": "write"}, {"scope": "admin", "indexes": ["minutes"]}):
        reply = home.client.post(KEYS, json={"name": "first", **values})
        assert reply.status_code == 422 and "From the first key on" in reply.json()["detail"]
    first = created(home, name="first", scope="admin")
    assert home.client.get(KEYS).status_code == 401
    home.client.headers.update(bearer(first))
    second = created(home, name="reader", indexes=["minutes"], expires="90d")
    assert home.client.get("/v1/indexes/minutes", headers=bearer(second)).status_code == 200
    assert not home.client.get("/session", headers=bearer(second)).json()["manages"]
    listed = home.client.get(KEYS)
    assert "gw_" not in listed.text and "hash" not in listed.text
    told = [(key["name"], key["scope"], key["indexes"], key["state"], key["own"]) for key in listed.json()["keys"]]
    assert told == [("first", "admin", None, "active", True), ("reader", "read", ["minutes"], "active", False)]
    assert listed.json()["keys"][1]["expires"] > listed.json()["keys"][1]["created"] and first["used"] is None
    entries = [json.loads(line) for line in (tmp_path / "data" / "audit.jsonl").read_text().splitlines()]
    told = [(entry["name"], entry["target_name"]) for entry in entries if entry["action"] == "keys create"]
    assert told == [("local", "first"), ("first", "reader")]


def test_unusable_key_is_refused(home: Running) -> None:
    home.client.headers.update(bearer(created(home, name="first", scope="admin")))
    for values, status in (
        ({"name": " "}, 422),
        ({"name": "a\nb"}, 422),
        ({"name": "a", "scope": "owner"}, 422),
        ({"name": "a", "indexes": []}, 422),
        ({"name": "a", "indexes": ["minutes", "nowhere"]}, 404),
        ({"name": "a", "expires": "soon"}, 422),
        ({"name": "a", "expires": "2020-01-01"}, 422),
        ({"name": "a", "expires": "999999y"}, 422),
    ):
        assert home.client.post(KEYS, json=values).status_code == status, values
    assert len(home.client.get(KEYS).json()["keys"]) == 1


def test_key_and_its_sessions_end_but_not_by_itself(home: Running) -> None:
    first = created(home, name="first", scope="admin")
    home.client.headers.update(bearer(first))
    other = created(home, name="other", scope="admin")
    home.client.post("/session", json={"key": other["key"]})
    session = {"Authorization": "", "Origin": home.url}
    for key, headers in ((first, {}), (other, session)):
        refused = home.client.delete(f"{KEYS}/{key['id']}", headers=headers)
        assert refused.status_code == 409 and "Revoke it by another one" in refused.json()["detail"]
    assert home.client.delete(f"{KEYS}/{other['id']}").status_code == 204
    assert home.client.get(KEYS, headers=bearer(other)).status_code == 401
    assert home.client.get(KEYS, headers=session).status_code == 401
    assert [key["state"] for key in home.client.get(KEYS).json()["keys"]] == ["active", "revoked"]
    assert home.client.delete(f"{KEYS}/00000000").status_code == 404


def test_added_model_answers_at_once_and_after_restart(tmp_path: Path) -> None:
    with LLMServer(["{}"]) as model:
        settings = {"llm": LLMSettings("small", OWN), "model_servers": (ModelServer(model.url),)}
        with serving_home(tmp_path / "home", HashEncoder(), **settings) as home:
            home.app.state.server.catalog.create(Record("minutes"), HashEncoder())
            assert home.client.get(MODELS).json()["addresses"] == [OWN, model.url]
            added = home.client.post(MODELS, json={**ADDED, "base_url": model.url})
            assert added.status_code == 201 and added.json()["added"] and added.json()["usable"]
            asked = {"question": "On which river does Steyr lie?", "model": ADDED["model"]}
            assert ADDED["model"] in home.client.get("/v1/indexes/minutes").json()["models"]
            assert home.client.post("/v1/indexes/minutes/ask", json=asked).status_code == 200
            chosen = home.client.patch("/v1/indexes/minutes", json={"model": ADDED["model"]})
            assert chosen.json()["llm"] == ADDED["model"]
        with serving_home(tmp_path / "home", HashEncoder(), **settings) as home:
            assert home.client.get("/v1/indexes/minutes").json()["llm"] == ADDED["model"]
            refused = home.client.delete(f"{MODELS}/{ADDED['model']}")
            assert refused.status_code == 409 and "answers minutes" in refused.json()["detail"]
            home.client.patch("/v1/indexes/minutes", json={"model": None})
            assert home.client.delete(f"{MODELS}/{ADDED['model']}").status_code == 204
            assert home.client.post("/v1/indexes/minutes/ask", json=asked).status_code == 422
    with serving_home(tmp_path / "home", HashEncoder(), **settings) as home:
        assert [known["model"] for known in home.client.get(MODELS).json()["models"]] == ["small"]


def test_model_elsewhere_or_of_the_settings_is_refused(home: Running) -> None:
    for values, words in (
        ({"base_url": "https://models.example/v1"}, '[[model_servers]] base_url = "https://models.example/v1"'),
        ({"base_url": None}, '[[model_servers]] base_url = "https://api.openai.com/v1"'),
        ({"base_url": "http://user:secret@127.0.0.1:9/v1"}, "user, a password or a query"),
        ({"model": "small"}, "a name stands for one model"),
        ({"model": " "}, "model is empty"),
        ({"completion_price": None}, "One of two prices"),
        ({"max_tokens": 0}, "max_tokens"),
    ):
        refused = home.client.post(MODELS, json={**ADDED, **values})
        assert refused.status_code == 422 and words in refused.json()["detail"], refused.text
    assert home.client.post(MODELS, json={**ADDED, "api_key": "sk-1"}).status_code == 422
    refused = home.client.delete(f"{MODELS}/small")
    assert refused.status_code == 409 and "in the settings" in refused.json()["detail"]
    assert home.client.delete(f"{MODELS}/nothing").status_code == 404


def test_added_model_that_the_settings_name_later_is_left_out_and_deleted(tmp_path: Path) -> None:
    with serving_home(tmp_path / "home", llm=LLMSettings("small", OWN)) as home:
        assert home.client.post(MODELS, json=ADDED).status_code == 201
        assert home.client.post(MODELS, json={**ADDED, "model": "other"}).status_code == 201
    with serving_home(tmp_path / "home", llm=LLMSettings(ADDED["model"], "http://127.0.0.1:7/v1")) as home:
        listed = home.client.get(MODELS).json()["models"]
        assert [(known["model"], known["added"], known["usable"]) for known in listed] == [
            (ADDED["model"], False, True),
            (ADDED["model"], True, False),
            ("other", True, False),
        ]
        for model in (ADDED["model"], "other"):
            assert home.client.delete(f"{MODELS}/{model}").status_code == 204
        assert [known["usable"] for known in home.client.get(MODELS).json()["models"]] == [True]
