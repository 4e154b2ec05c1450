"""Graphs as JSON: nodes and links, Cytoscape's elements, and the export of APOC for Neo4j."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import Any

from graphwright.data.decoding import lines
from graphwright.data.graph_files.property_graphs import (
    GROUP,
    PropertyGraph,
    edge_of,
    is_vector,
    node_of,
)
from graphwright.errors import DataError

_EDGES = ("edges", "links", "rels", "relationships")
_ENDS = (("source", "target"), ("from", "to"), ("_from", "_to"))
_IDS = ("id", "key", "_id")
_PACKED = ("data", "attributes", "metadata")  # objects in a row that hold its attributes
_STRUCTURE = frozenset({*_IDS, "source", "target"})
_CYTOSCAPE = frozenset({"SUID", "shared_name", "shared name", "shared_interaction", "shared interaction", "selected"})


def read_node_link(path: Path, graph: PropertyGraph) -> None:
    """Add the nodes and edges of a JSON file to a graph.

    Formats: nodes and links, as networkx, d3, vis.js, sigma.js and `graphwright export` write them, Cytoscape's
    elements, and APOC's export (`apoc.export.json`), as lines, an array or an object. Raises DataError with the line
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
    for wrapper in ("graph", "elements"):
        if isinstance(value, dict) and ("nodes" in _object(value, wrapper) or isinstance(value.get(wrapper), list)):
            value = value[wrapper] or value
    if isinstance(value, list) and not any(isinstance(row, dict) and _object(row, "data") for row in value):
        for number, row in enumerate(value, 1):
            _add_row(graph, f"{path}, item {number}", row)
        return
    nodes, edges = _parts(value)
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise DataError(
            f"{path} holds no graph: expected an object with `nodes` and `edges` or `links`, or lines of APOC's export."
        )
    by_place = bool(edges) and all(isinstance(edge, dict) and isinstance(edge.get("source"), int) for edge in edges)
    for number, row in enumerate(nodes):
        _add_node(graph, f"{path}, node {number}", row, number if by_place else None)
    for number, row in enumerate(edges):
        _add_edge(graph, f"{path}, edge {number}", row)


def _parts(value: Any) -> tuple[Any, Any]:
    """Return the nodes and the edges of an object or a list of Cytoscape's elements, None where it has none."""
    if isinstance(value, list):
        is_edge = [_ends(_unpacked(row)) is not None for row in value]
        return [row for row, edge in zip(value, is_edge, strict=True) if not edge], [*compress(value, is_edge)]
    nodes = value.get("nodes") if isinstance(value, dict) else None
    edges = next((value[k] for k in _EDGES if k in value), None) if nodes else None
    return nodes, edges


def _key(row: Any) -> Any:
    return next((row[name] for name in _IDS if name in row), None) if isinstance(row, dict) else None


def _ends(row: Any) -> tuple[str, str] | None:
    """Return the keys of the ends of an edge, None if a row has none."""
    return next((ends for ends in _ENDS if isinstance(row, dict) and row.keys() >= {*ends}), None)


def _add_node(graph: PropertyGraph, place: str, row: Any, number: int | None) -> None:
    """Add a node; `number`: its place in the list, which edges name it by if it has no id."""
    if isinstance(row, dict) and row.get("type") == "node" and "properties" in row:
        _add_row(graph, place, row)
        return
    row = _unpacked(row)
    key = number if _key(row) is None else _key(row)
    if key is None or not isinstance(row, dict):
        raise DataError(f"{place} is {str(row)[:80]!r}; expected an object with an id.")
    attributes = _attributes(row)
    if _object(row, "data") and isinstance(parent := attributes.pop("parent", None), str | int):
        graph.edges.append(edge_of(key, parent, {}, GROUP))
    graph.nodes.append(node_of(key, attributes))


def _add_edge(graph: PropertyGraph, place: str, row: Any) -> None:
    if isinstance(row, dict) and row.get("type") == "relationship" and "start" in row:
        _add_row(graph, place, row)
        return
    row = _unpacked(row)
    if (ends := _ends(row)) is None:
        raise DataError(f"{place} is {str(row)[:80]!r}; expected an object with source and target.")
    used = {*ends, "name"} if "interaction" in row else {*ends}
    attributes = {key: value for key, value in _attributes(row).items() if key not in used}
    graph.edges.append(edge_of(row[ends[0]], row[ends[1]], attributes))


def _unpacked(row: Any) -> Any:
    """Return a row with the attributes that it has in an object of its own; Cytoscape has all of them in `data`."""
    if not isinstance(row, dict):
        return row
    data = _object(row, "data")
    if _key(data) is not None or _ends(data):
        return data | {"data": data}
    return row | {key: value for name in _PACKED for key, value in _object(row, name).items()}


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {*_STRUCTURE, *(name for name in _PACKED if _object(row, name)), *(_CYTOSCAPE if "SUID" in row else ())}
    return {name: value for name, value in row.items() if name not in left_out}


def _object(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a value that is an object, {} for any other value."""
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _add_row(graph: PropertyGraph, place: str, row: Any) -> None:
    """Add a node or a relationship of APOC's export, without vectors and what `unread` names."""
    properties = _object(row, "properties") if isinstance(row, dict) else {}
    vectors = [name for name, value in properties.items() if is_vector(value)]
    for name in (*vectors, *(row.get("unread", ()) if isinstance(row, dict) else ())):
        graph.left_out[f"values of {name}, which are vectors or bytes"] += 1
    properties = {name: value for name, value in properties.items() if name not in vectors}
    match row:
        case {"type": "node", "id": key}:
            labels = row.get("labels")
            types = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
            graph.nodes.append(node_of(key, properties, types))
        case {"type": "relationship", "start": {"id": head}, "end": {"id": tail}, "label": str(label)}:
            graph.edges.append(edge_of(head, tail, properties, label))
        case _:
            raise DataError(
                f"{place} is {str(row)[:80]!r}; expected a node (type, id) or a relationship (type, label, start, end)."
            )
