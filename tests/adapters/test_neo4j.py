"""Neo4j through its driver: the queries, against a stand-in that keeps what they write; there is no server here."""

import re
from typing import Any

import pytest
from tests.adapters.graphs import RIVERS, content

from graphwright.errors import DataError

exceptions = pytest.importorskip("neo4j.exceptions")
from graphwright.adapters.neo4j import from_neo4j, to_neo4j  # noqa: E402


class Driver:
    """Executes the queries of the adapter on a dictionary, and checks what it is given."""

    def __init__(self) -> None:
        self.nodes: dict[int, dict[str, Any]] = {}
        self.edges: dict[int, dict[str, Any]] = {}
        self.sizes: list[int] = []

    def execute_query(self, query: str, parameters_: Any = None, database_: Any = None) -> Any:
        assert database_ == "rivers" and query.count("`") % 2 == 0
        rows = (parameters_ or {}).get("rows", [])
        self.sizes += [len(rows)] * bool(rows)
        if match := re.search(r"MERGE \(n:(\w+) ", query):
            for row in rows:
                self.nodes[row["id"]] = {"labels": [match[1]], "properties": row["properties"]}
        elif match := re.search(r"-\[r:`((?:[^`]|``)*)` ", query):
            for row in rows:
                self.edges[row["id"]] = {**row, "type": match[1].replace("``", "`")}
        elif query.startswith("MATCH (n)"):
            return [{"id": f"4:x:{i}", **node} for i, node in sorted(self.nodes.items())], None, None
        elif query.startswith("MATCH (a)"):
            ends = ("head", "tail")
            edges = (edge for _, edge in sorted(self.edges.items()))
            return [edge | {end: f"4:x:{edge[end]}" for end in ends} for edge in edges], None, None
        return [], None, None


def test_neo4j_graph_round_trips_and_export_repeats_nothing():
    driver = Driver()
    for _ in range(2):
        assert to_neo4j(RIVERS, driver, "rivers", batch=3) == (4, 4)
    assert content(from_neo4j(driver, "rivers")) == content(RIVERS)
    assert max(driver.sizes) == 3


def test_neo4j_relation_name_is_escaped():
    from graphwright import Graph

    driver = Driver()
    relation = "r`]->() DETACH DELETE a //\\u0060"
    to_neo4j(Graph.from_triples([("a", relation, "b")]), driver, "rivers")
    assert from_neo4j(driver, "rivers").triple(0)[1] == relation.replace("\\u0060", "`")


def test_neo4j_empty_or_refusing_database_raises():
    with pytest.raises(DataError, match="no relationship"):
        from_neo4j(Driver(), "rivers")

    class Refusing:
        def execute_query(self, *_: Any, **__: Any) -> Any:
            raise exceptions.ServiceUnavailable("no routing table")

    with pytest.raises(DataError, match="no routing table"):
        to_neo4j(RIVERS, Refusing())
