"""Jobs that sync an imported graph with its database, beside jobs that change documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import graph_database_server as served
from tests.graph_database_server import DATABASE, PASSWORD, USER
from tests.serve.conftest import serving, wait_until

from graphwright import Index
from graphwright.data import GraphDatabase
from graphwright.models.fake import HashEncoder
from graphwright.serve.settings import SyncSource

pytestmark = pytest.mark.slow
if not served.is_installed():
    pytest.skip("the driver of Neo4j and ArcadeDB are not installed", allow_module_level=True)


def test_server_syncs_a_graph_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    (tmp_path / "database").mkdir()
    with served.graph_database_server(tmp_path / "database") as address, served.opened(address) as driver:

        def run(cypher: str) -> None:
            driver.execute_query(cypher, database_=DATABASE)

        run("CREATE (:City {name: 'Graz'})-[:LIES_ON]->(:River {name: 'Mur'})")
        Index.from_graph(tmp_path / "cities", GraphDatabase(address, DATABASE, USER), encoder=HashEncoder()).close()
        sources = {"rivers": SyncSource(address, 3_600), "elsewhere": SyncSource("bolt://localhost:1", 3_600)}
        with serving(tmp_path / "cities", folders={"cities": sources}) as running:
            client = running.client

            def last() -> dict[str, dict]:
                listed = client.get("/v1/indexes/cities/sources").json()["sources"]
                return {item["name"]: item["last"] or {"finished": None} for item in listed}

            wait_until(lambda: all(job["finished"] for job in last().values()), 60)
            assert last()["rivers"]["changes"]["unchanged"] == 3
            assert "was imported from" in last()["elsewhere"]["message"]
            run("MATCH (n {name: 'Mur'}) SET n.km = 464 CREATE (:City {name: 'Bruck'})-[:LIES_ON]->(n)")
            texts = {"documents": [{"id": "leoben", "text": "Leoben lies on the Mur."}]}
            client.post("/v1/indexes/cities/documents", json=texts)
            client.post("/v1/indexes/cities/documents/sync", json={"folder": "rivers"})
            client.post("/v1/indexes/cities/documents", json={"documents": [{"id": "linz", "text": "Linz is a city."}]})
            wait_until(lambda: all(job["finished"] for job in client.get("/v1/jobs").json()["jobs"]), 60)
            changes = last()["rivers"]["changes"]
            assert (changes["added"], changes["replaced"], changes["removed"]) == (2, 1, 0)
            found = client.get("/v1/indexes/cities/entities?q=Bruck").json()["entities"]
            assert [entity["name"] for entity in found] == ["Bruck"]
            documents = client.get("/v1/indexes/cities/documents").json()["documents"]
            assert {"leoben", "linz"} <= {document["id"] for document in documents}
