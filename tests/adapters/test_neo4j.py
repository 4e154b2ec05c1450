"""Neo4j through its driver: the queries, against a stand-in that returns their rows; there is no server here."""

from typing import Any

import pytest
from tests.adapters.graphs import RIVERS, content

from graphwright import Graph
from graphwright.errors import DataError

exceptions = pytest.importorskip("neo4j.exceptions")
from graphwright.adapters.neo4j import from_neo4j  # noqa: E402


class Driver:
    """Returns the rows of a graph for the two queries of the adapter."""

    def __init__(self, graph: Graph | None = None) -> None:
        nodes, edges = ([], []) if graph is None else content(graph)
        self.nodes = [
            {"id": f"4:x:{node}", "labels": ["Entity"], "properties": {"name": name, "text": text}}
            for node, (name, text) in enumerate(nodes)
        ]
        self.edges = [
            {"head": f"4:x:{head}", "tail": f"4:x:{tail}", "type": triple[1], "properties": {"text": text}}
            for head, triple, tail, text in edges
        ]

    def execute_query(self, query: str, database_: Any = None) -> Any:
        assert database_ == "rivers"
        return self.nodes if query.startswith("MATCH (n)") else self.edges, None, None


def test_neo4j_graph_has_nodes_edges_and_texts_of_database():
    assert content(from_neo4j(Driver(RIVERS), "rivers")) == content(RIVERS)


def test_neo4j_empty_or_refusing_database_raises():
    with pytest.raises(DataError, match="no relationship"):
        from_neo4j(Driver(), "rivers")

    class Refusing:
        def execute_query(self, *_: Any, **__: Any) -> Any:
            raise exceptions.ServiceUnavailable("no routing table")

    with pytest.raises(DataError, match="no routing table"):
        from_neo4j(Refusing())
