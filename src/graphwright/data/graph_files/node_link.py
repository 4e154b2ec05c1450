"""Graphs as JSON: nodes and links, Cytoscape's elements, and the export of APOC for Neo4j."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphwright.data.decoding import lines
from graphwright.data.graph_files.property_graphs import PropertyGraph, edge_of, node_of
from graphwright.errors import DataError

_EDGES = ("edges", "links", "rels", "relationships")
_STRUCTURE = frozenset({"id", "key", "source", "target", "metadata"})
_CYTOSCAPE = frozenset({"SUID", "shared_name", "shared name", "selected"})


def read_node_link(path: Path, graph: PropertyGraph) -> None:
    """Add the nodes and edges of a JSON file to a graph.

    Formats: nodes and links, as networkx, d3 and `graphwright export` write them, the JSON Graph Format, Cytoscape's
    `elements`, and APOC's export (`apoc.export.json`), as lines, an array or an object. Raises DataError with the line
    for anything else.
    """
    first = next((line for line in lines(path) if line.strip()), "")
    try:
        whole = json.loads(first)
        is_lines = isinstance(whole, dict) and "type" in whole
    except (ValueError, RecursionError):
        is_lines = False
    if is_lines:
        for number, line in enumerate(lines(path), 1):
            if line.strip():
                _add_row(graph, f"{path}, line {number}", _parsed(path, line, number))
    else:
        _add_value(graph, path, _parsed(path, "\n".join(lines(path)), 0))


def _parsed(path: Path, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of more than 4,300 digits
        place = f"{path}, line {line}" if line else str(path)
        raise DataError(f"{place}: not JSON ({error}); nothing was imported.") from error


def _add_value(graph: PropertyGraph, path: Path, value: Any) -> None:
    """Add the nodes and edges of one JSON value."""
    if isinstance(value, list):
        for number, row in enumerate(value, 1):
            _add_row(graph, f"{path}, item {number}", row)
        return
    for wrapper in ("graph", "elements"):
        if isinstance(value, dict) and "nodes" in _object(value, wrapper):
            value = value[wrapper]
    nodes = value.get("nodes") if isinstance(value, dict) else None
    edges = next((value[k] for k in _EDGES if k in value), None) if nodes else None
    if isinstance(nodes, dict):  # the JSON Graph Format 2
        nodes = [{"id": key, **node} for key, node in nodes.items() if isinstance(node, dict)]
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise DataError(
            f"{path} holds no graph: expected an object with `nodes` and `edges` or `links`, or lines of APOC's export."
        )
    for number, row in enumerate(map(_unpacked, nodes)):
        _add_node(graph, f"{path}, node {number}", row)
    for number, row in enumerate(map(_unpacked, edges)):
        _add_edge(graph, f"{path}, edge {number}", row)


def _add_node(graph: PropertyGraph, place: str, row: Any) -> None:
    if isinstance(row, dict) and row.get("type") == "node" and "properties" in row:
        _add_row(graph, place, row)
    elif not isinstance(row, dict) or "id" not in row:
        raise DataError(f"{place} is {str(row)[:80]!r}; expected an object with an id.")
    else:
        graph.nodes.append(node_of(row["id"], _attributes(row)))


def _add_edge(graph: PropertyGraph, place: str, row: Any) -> None:
    if isinstance(row, dict) and row.get("type") == "relationship" and "start" in row:
        _add_row(graph, place, row)
    elif not isinstance(row, dict) or not {"source", "target"} <= row.keys():
        raise DataError(f"{place} is {str(row)[:80]!r}; expected an object with source and target.")
    else:
        attributes = {k: v for k, v in _attributes(row).items() if "interaction" not in row or k != "name"}
        graph.edges.append(edge_of(row["source"], row["target"], attributes))


def _unpacked(row: Any) -> Any:
    """Return a row as an object; Cytoscape has it in `data`."""
    data = row.get("data") if isinstance(row, dict) else None
    return data if isinstance(data, dict) and ("id" in data or "source" in data) else row


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    left_out = _STRUCTURE | _CYTOSCAPE if "SUID" in row else _STRUCTURE
    return {name: value for name, value in row.items() if name not in left_out} | _object(row, "metadata")


def _object(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a value that is an object, {} for any other value."""
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _add_row(graph: PropertyGraph, place: str, row: Any) -> None:
    """Add a node or a relationship of APOC's export."""
    match row:
        case {"type": "node", "id": key}:
            labels = row.get("labels")
            types = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
            graph.nodes.append(node_of(key, _object(row, "properties"), types))
        case {"type": "relationship", "start": {"id": head}, "end": {"id": tail}, "label": str(label)}:
            graph.edges.append(edge_of(head, tail, _object(row, "properties"), label))
        case _:
            raise DataError(
                f"{place} is {str(row)[:80]!r}; expected a node (type, id) or a relationship (type, label, start, end)."
            )
