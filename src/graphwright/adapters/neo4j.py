"""Neo4j: import and export of graphs, through its driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from graphwright import Evidence, Graph
from graphwright.adapters.results import missing_extra
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.dump import NO_RELATION
from graphwright.data.graph_files.property_graphs import edge_of, node_of
from graphwright.errors import DataError
from graphwright.graph.export import Exported, Part

try:
    from neo4j.exceptions import DriverError, Neo4jError
except ImportError as error:
    raise missing_extra("neo4j", error) from error

_NODES = "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties ORDER BY id"
_EDGES = (
    "MATCH (a)-[r]->(b) RETURN elementId(a) AS head, elementId(b) AS tail, type(r) AS type, "
    "properties(r) AS properties ORDER BY elementId(r)"
)
_KEY = "graphwright_id"
_BATCH = 10_000


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


def to_neo4j(
    graph: Graph, driver: Any, database: str | None = None, *, evidence: Evidence | None = None, batch: int = _BATCH
) -> Exported:
    """Write a graph into a Neo4j database; return the number of nodes and edges.

    Node labels are kinds (Entity, Chunk, Document); relationship types are relations. Nodes and edges are merged by
    their id, the property `graphwright_id`, so an interrupted export can be run again. `evidence`: export only the
    nodes and edges of the evidence. Rows are sent `batch` at a time. Raises DataError if the server refuses a query.
    """
    part = Part(graph, evidence)
    by_kind = defaultdict[str, list[dict[str, Any]]](list)
    for node, attributes in part.described_nodes():
        by_kind[attributes.pop("kind").capitalize()].append({"id": node, "properties": attributes})
    for kind, rows in by_kind.items():
        _run(driver, f"CREATE INDEX graphwright_{kind} IF NOT EXISTS FOR (n:{kind}) ON (n.{_KEY})", database)
        query = f"UNWIND $rows AS row MERGE (n:{kind} {{{_KEY}: row.id}}) SET n += row.properties"
        _send(driver, query, rows, database, batch)
    kinds = {row["id"]: kind for kind, rows in by_kind.items() for row in rows}
    by_type = defaultdict[tuple[str, str, str], list[dict[str, Any]]](list)
    for edge, head, tail, attributes in part.described_edges():
        row = {"id": edge, "head": head, "tail": tail}
        by_type[attributes.pop("relation"), kinds[head], kinds[tail]].append({**row, "properties": attributes})
    for (relation, head_kind, tail_kind), rows in by_type.items():
        query = (
            f"UNWIND $rows AS row MATCH (a:{head_kind} {{{_KEY}: row.head}}) "
            f"MATCH (b:{tail_kind} {{{_KEY}: row.tail}}) "
            f"MERGE (a)-[r:{_quoted(relation)} {{{_KEY}: row.id}}]->(b) SET r += row.properties"
        )
        _send(driver, query, rows, database, batch)
    return Exported(*part.size)


def _quoted(name: str) -> str:
    """Return a name in backticks for Cypher, which takes no parameters for relationship types."""
    plain = (name or NO_RELATION).replace("\\u0060", "`")  # Cypher reads the escape as the character
    return f"`{plain.replace('`', '``')}`"


def _send(driver: Any, query: str, rows: Sequence[dict[str, Any]], database: str | None, batch: int) -> None:
    parts: Iterator[dict[str, Any]] = iter(rows)
    while block := list(islice(parts, batch)):
        _run(driver, query, database, rows=block)


def _run(driver: Any, query: str, database: str | None, **parameters: Any) -> list[Any]:
    try:
        records: list[Any] = driver.execute_query(query, parameters_=parameters, database_=database)[0]
        return records
    except (DriverError, Neo4jError) as error:
        raise DataError(f"Neo4j refused a query ({error}). Check the address, the user and the database.") from error
