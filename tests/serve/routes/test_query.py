"""Queries over HTTP: the library's JSON, filters and problems."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.operators.query.tickets import tickets_table
from tests.serve.conftest import Running, serving

from graphwright import Index
from graphwright.models.fake import HashEncoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("queries") / "tickets"
    with Index.create(place, encoder=HashEncoder()) as index:
        index.add([tickets_table(30), {"id": "b", "text": "Graz lies on the Mur."}])
    return place


@pytest.fixture(scope="module")
def tickets(folder: Path) -> Iterator[Running]:
    with serving(folder) as running:
        yield running


def query(server: Running, **body: Any) -> Any:
    return server.client.post("/v1/indexes/cities/query", json=body)


@pytest.mark.parametrize(
    "text", ['count(tickets where status = "open")', 'tickets where owner = "Ida"', "max(tickets.id)"]
)
def test_query_reply_equals_library_json(folder: Path, tickets: Running, text: str) -> None:
    with Index.open(folder, encoder=HashEncoder()) as index:
        expected = index.query(text).to_dict()
    reply = query(tickets, query=text).json()
    for source in reply["support"]:
        source.setdefault("location", "")
    assert reply == expected | {"support": [{"location": "", **source} for source in expected["support"]]}


def test_query_filter_hides_other_documents(tickets: Running) -> None:
    assert query(tickets, query="count(tickets)", filter={"documents": ["tickets.csv"]}).json()["value"] == 30
    assert query(tickets, query="count(tickets)", filter={"documents": ["b"]}).status_code == 422


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"query": "count(tickets"}, "option"),
        ({"query": "tickets.statsu"}, "option"),
        ({"query": "(" * 299}, "option"),
        ({"query": " "}, "validation"),
        ({"query": "x" * 8_001}, "validation"),
        ({"query": "tickets", "question": "?"}, "validation"),
        ({"query": "tickets", "filter": {"documents": ["nothing"]}}, "data"),
    ],
)
def test_wrong_query_is_problem(tickets: Running, body: dict[str, Any], kind: str) -> None:
    reply = query(tickets, **body)
    assert (reply.status_code, reply.json()["type"]) == (422, f"urn:graphwright:problem:{kind}")
    assert "Traceback" not in reply.text


def test_query_error_names_near_relation(tickets: Running) -> None:
    assert "Did you mean 'status'?" in query(tickets, query="tickets.statsu").json()["detail"]


def test_schema_reply_lists_types_and_relations(tickets: Running) -> None:
    reply = tickets.client.get("/v1/indexes/cities/schema").json()
    assert reply["types"] == [{"name": "tickets", "count": 30, "relations": ["id", "status", "owner"]}]
    assert {"name": "status", "count": 30, "example": "closed"} in reply["relations"]
