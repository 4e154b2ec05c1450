from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.serve.conftest import DOCUMENTS, EMOJI, Running, serving

from graphwright import Index
from graphwright.extract import EntityType, Schema
from graphwright.models.fake import HashEncoder
from graphwright.store import AddEntity


def get(server: Running, address: str, **parameters: Any) -> Any:
    reply = server.client.get(f"/v1/indexes/cities/{address}", params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["id"])
def test_document_text_is_served_by_code_points(server: Running, document: dict[str, str]) -> None:
    address = f"documents/{quote(document['id'], safe='')}/text"
    assert get(server, address)["text"] == document["text"]
    part = get(server, address, start=3, end=8)
    assert part == {"document": document["id"], "start": 3, "end": 8, "text": document["text"][3:8]}


def test_characters_beyond_text_are_cut(server: Running) -> None:
    part = get(server, "documents/graz/text", start=len(EMOJI) - 3, end=10**6)
    assert (part["end"], part["text"]) == (len(EMOJI), EMOJI[-3:])
    assert get(server, "documents/graz/text", start=10**6)["text"] == ""


@pytest.mark.parametrize("document", ["nothing", "..%2F..%2Fetc%2Fpasswd", "%00", "graz%2F"])
def test_unknown_document_is_not_found(server: Running, document: str) -> None:
    assert server.client.get(f"/v1/indexes/cities/documents/{document}/text").status_code == 404


def test_entities_are_found_by_name_prefix_and_similarity(server: Running) -> None:
    names = [item["name"] for item in get(server, "entities", q="ida")["entities"]]
    assert names[0] == "Ida Pfeiffer"
    assert get(server, "entities", q="Vienna", limit=1)["entities"][0]["name"] == "Vienna"
    found = get(server, "entities")
    best, nodes = found["entities"], {item["node"] for item in found["entities"]}
    ranks = [({"": 1, "number": 2, "date": 2}.get(item["type"], 0), -item["degree"]) for item in best]
    assert ranks == sorted(ranks) and all(item["passages"] for item in best)
    assert found["links"] and all(set(link) <= nodes for link in found["links"])


def test_filters_that_can_be_chosen_are_listed(server: Running) -> None:
    filters = get(server, "filters")
    assert "a" in filters["folders"] and all(isinstance(values, list) for values in filters["metadata"].values())


def test_entity_has_statements_passages_and_neighbours(server: Running) -> None:
    view = get(server, "entities/Ida Pfeiffer")
    assert get(server, f"entities/{view['node']}") == view
    born = next(s for s in view["statements"] if s["tail"] == "Vienna")
    assert born["relation"] == "was born in" and born["passages"] == ["pfeiffer#0"]
    assert {place["document"] for place in view["passages"]} == {"pfeiffer", "a/b#c.md"}
    assert len(view["neighbours"]) == len(view["statements"]) == view["total_statements"]
    second = get(server, f"entities/{view['node']}", offset=1, limit=1)
    assert second["statements"] == view["statements"][1:2]


def test_paths_alternate_nodes_and_relations(server: Running) -> None:
    (path, *_) = get(server, "paths", **{"from": "Ida Pfeiffer", "to": "Danube"})["paths"]
    assert path[0]["name"] == "Ida Pfeiffer"
    assert path[-1]["name"] == "Danube" and len(path) == 5 and all("relation" in part for part in path[1::2])
    assert get(server, "paths", **{"from": "Graz", "to": "Ida Pfeiffer"})["paths"] == []
    (only,) = get(server, "paths", **{"from": "Graz", "to": "Graz"})["paths"]
    assert [part["name"] for part in only] == ["Graz"]


def test_unknown_node_is_not_found(server: Running) -> None:
    for address in ("entities/Atlantis", "entities/99999", "paths?from=Graz&to=Atlantis"):
        assert server.client.get(f"/v1/indexes/cities/{address}").status_code == 404


def test_sub_path_is_served_with_or_without_proxy_prefix(cities: Any) -> None:
    with serving(cities, root_path="/wiki") as running:
        body = {"model": "cities:bm25", "messages": [{"role": "user", "content": "On which river does Graz lie?"}]}
        for path in ("/v1", "/wiki/v1"):
            address = running.url.removesuffix("/wiki") + path
            assert running.client.get(f"{address}/indexes/cities/documents/a%2Fb%23c.md/text").status_code == 200
            reply = running.client.post(f"{address}/chat/completions", json=body).json()
            assert reply["citations"][0]["url"].startswith(f"{running.url}/#/document/")
        assert running.client.get("/openapi.json").json()["servers"] == [{"url": "/wiki"}]


def test_entities_like_unknown_name_are_none(server: Running) -> None:
    def found(name: str) -> list[str]:
        entities = server.client.get("/v1/indexes/cities/entities", params={"q": name}).json()["entities"]
        return [entity["name"] for entity in entities]

    assert found("Zzyzx") == [] and found("Viena") == ["Vienna"] and "Ida Pfeiffer" in found("Pfeiffer")


def test_neighbours_co_occurring_in_several_passages_are_listed_once(server: Running) -> None:
    about = server.client.get("/v1/indexes/cities/entities/Ida Pfeiffer").json()
    statements = [(item["head"], item["relation"], item["tail"]) for item in about["statements"]]
    others = [neighbour["node"] for neighbour in about["neighbours"]]
    assert len(set(statements)) == len(statements) == about["total_statements"]
    assert len(set(others)) == about["degree"]


def test_entities_of_schema_can_be_chosen_by_type(tmp_path: Path) -> None:
    schema = Schema((EntityType("river", "Flowing water."), EntityType("person", "A human being.")))
    with Index.create(tmp_path / "rivers", encoder=HashEncoder(), extractor="mentions", schema=schema) as index:
        index.add([{"id": "a", "text": "Ida Stone swam across the Mur. The Mur flows through Bruck."}])
        index.edit(*(AddEntity(f"Mura {n}", "person") for n in range(9)), AddEntity("Mura Z", "river"))
    with serving(tmp_path / "rivers") as running:
        rivers = get(running, "entities", type="river")["entities"]
        assert {item["type"] for item in rivers} == {"river"} and "Mur" in {item["name"] for item in rivers}
        assert get(running, "entities", q="Bruck", type="person")["entities"] == []
        of_type = get(running, "entities", q="Mura", type="river", limit=2)["entities"]
        assert "Mura Z" in {item["name"] for item in of_type}  # though others of this name come before it
        counts = {kind["name"]: kind["count"] for kind in get(running, "types")["types"]}
        assert counts["person"] == len(get(running, "entities", type="person", limit=200)["entities"]) >= 10
        listed = running.client.get("/v1/indexes/cities/schema").json()["types"]
        assert {"river", "person"} <= {kind["name"] for kind in listed}
