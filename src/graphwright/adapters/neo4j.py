"""Neo4j: import of graphs, through its driver."""

from __future__ import annotations

from typing import Any

from graphwright import Graph
from graphwright.adapters.results import missing_extra
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.property_graphs import edge_of, node_of
from graphwright.errors import DataError

try:
    from neo4j.exceptions import DriverError, Neo4jError
except ImportError as error:
    raise missing_extra("neo4j", error) from error

_NODES = "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties ORDER BY id"
_EDGES = (
    "MATCH (a)-[r]->(b) RETURN elementId(a) AS head, elementId(b) AS tail, type(r) AS type, "
    "properties(r) AS properties ORDER BY elementId(r)"
)


def from_neo4j(driver: Any, database: str | None = None) -> Graph:
    """Read the graph of a Neo4j database, given an open driver (`neo4j.GraphDatabase.driver(...)`).

    The name of a node is its property `name`, `title`, `label` or `entity_id`, else its id; its text has its labels and
    its `description`. Nodes and edges are in the order of their ids. Raises DataError if the server refuses a query, or
    the database has no relationship.
    """
    nodes = (node_of(r["id"], r["properties"], r["labels"]) for r in _run(driver, _NODES, database))
    edges = [edge_of(r["head"], r["tail"], r["properties"], r["type"]) for r in _run(driver, _EDGES, database)]
    if not edges:
        raise DataError(f"the database {database or '(default)'!r} has no relationship; nothing was imported.")
    return graph_of(nodes, edges)


def _run(driver: Any, query: str, database: str | None) -> list[Any]:
    try:
        records: list[Any] = driver.execute_query(query, database_=database)[0]
        return records
    except (DriverError, Neo4jError) as error:
        raise DataError(f"Neo4j refused a query ({error}). Check the address, the user and the database.") from error
