"""Property graphs: nodes and edges with attributes, from Neo4j's exports and node-link JSON.

They are read in memory. A node is named by its attribute `name`, `title`, `label` or `entity_id`, else by its id; its
text is "name (types): description", as far as it has any. An edge's relation is its type, or its attribute `relation`,
`predicate`, `label`, `type` or `name`, else "linked to"; its text is its `text`, `description` or `summary`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphwright.data.decoding import lines, suffix_of
from graphwright.data.graph_files.dump import NO_RELATION
from graphwright.data.records.delimited import table_rows
from graphwright.errors import DataError

_NAMES = ("name", "title", "label", "entity_id")
_RELATIONS = ("relation", "predicate", "label", "type", "name")
_TEXTS = ("text", "description", "summary")
_TYPES = ("entity_type", "type", "kind")
_GENERIC = ("entity", "node", "__entity__", "")  # types without information
_HEADER = re.compile(r"^(?P<name>[^:]*):(?P<kind>ID|LABEL|START_ID|END_ID|TYPE)(?:\(.*\))?$", re.IGNORECASE)
_APOC = ("_id", "_labels", "_start", "_end", "_type")


@dataclass(frozen=True, slots=True)
class Node:
    """A node: the id that edges name it by, its name, and its text, "" where it equals the name."""

    id: str
    name: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two ids, with its relation and the text that states it, or ""."""

    head: str
    relation: str
    tail: str
    text: str = ""


@dataclass
class PropertyGraph:
    """Nodes and edges in the order of the file. The ids of an edge need not be among the nodes."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def node_of(key: object, attributes: Mapping[str, Any], types: Iterable[str] = ()) -> Node:
    """Return a node, given its id and its attributes. `types`: its labels; by default its attribute `entity_type`.

    >>> node_of(7, {"name": "Graz", "entity_type": "city", "description": "On the Mur."})
    Node(id='7', name='Graz', text='Graz (city): On the Mur.')
    >>> node_of("Graz", {"kind": "entity", "text": "Graz (city): On the Mur."}).text
    'Graz (city): On the Mur.'
    """
    name = _first(attributes, _NAMES) or str(key)
    kinds = [kind for kind in types or [_first(attributes, _TYPES)] if kind.lower() not in _GENERIC]
    text = _first(attributes, _TEXTS)
    if text.startswith((f"{name} (", f"{name}: ")):
        return Node(str(key), name, text)
    described = f"{name} ({', '.join(kinds)})" if kinds else name
    described = f"{described}: {text}" if text and text != name else described
    return Node(str(key), name, "" if described == name else described)


def edge_of(head: object, tail: object, attributes: Mapping[str, Any], relation: str = "") -> Edge:
    """Return an edge, given the ids of its ends and its attributes. `relation`: its type.

    >>> edge_of(1, 2, {"relation": "flows through", "text": "The Mur flows through Graz."})
    Edge(head='1', relation='flows through', tail='2', text='The Mur flows through Graz.')
    """
    relation = relation or _first(attributes, _RELATIONS) or NO_RELATION
    return Edge(str(head), relation, str(tail), _first(attributes, _TEXTS))


def _first(attributes: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first of these attributes that has a text or a number, as text."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str | int | float) and value == value and (text := str(value).strip()):  # not NaN
            return text
    return ""


def is_property_graph(path: Path) -> bool:
    """Return whether a file is a property graph: JSON, JSON lines, or CSV with the header of Neo4j's nodes or exports.

    CSV of relationships alone is a table of triples.
    """
    suffix = suffix_of(path)
    if suffix in (".json", ".jsonl"):
        return True
    if suffix != ".csv" or not path.is_file():
        return False
    header = next(iter(_csv(path)), [])
    return "_start" in header or any((match := _HEADER.match(cell)) and match["kind"] == "ID" for cell in header)


def read_property_graph(paths: Sequence[Path]) -> PropertyGraph:
    """Read the files of one property graph.

    Formats: JSON of nodes and links, as networkx, d3 and `graphwright export` write it; JSON lines of APOC's export
    (`apoc.export.json`); CSV of APOC's export; CSV files of nodes and relationships as neo4j-admin imports them. Raises
    DataError, with the line, for anything else.
    """
    graph = PropertyGraph()
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; give a file.")
        suffix = suffix_of(path)
        (_read_csv if suffix == ".csv" else _read_json)(path, graph)
    if not graph.edges:
        raise DataError(f"{', '.join(map(str, paths))}: there is no edge; expected nodes and relationships.")
    return graph


def _read_json(path: Path, graph: PropertyGraph) -> None:
    """Read one JSON value, or one in each line."""
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
        value = _parsed(path, "\n".join(lines(path)), 0)
        if isinstance(value, dict) and isinstance(value.get("graph"), dict) and "nodes" in value["graph"]:
            value = value["graph"]  # the JSON Graph Format
        _add_value(graph, path, value)


def _parsed(path: Path, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of more than 4,300 digits
        place = f"{path}, line {line}" if line else str(path)
        raise DataError(f"{place}: not JSON ({error}); nothing was imported.") from error


def _add_value(graph: PropertyGraph, path: Path, value: Any) -> None:
    """Add the nodes and edges of one JSON value: node-link, or APOC's export with all in one object or array."""
    if isinstance(value, list):
        for number, row in enumerate(value, 1):
            _add_row(graph, f"{path}, item {number}", row)
        return
    nodes = value.get("nodes") if isinstance(value, dict) else None
    edges = next((value[k] for k in ("edges", "links", "rels", "relationships") if k in value), None) if nodes else None
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise DataError(
            f"{path} holds no graph: expected an object with `nodes` and `edges` or `links`, or lines of APOC's export."
        )
    for number, row in enumerate(nodes):
        if isinstance(row, dict) and row.get("type") == "node" and "properties" in row:
            _add_row(graph, f"{path}, node {number}", row)
            continue
        if not isinstance(row, dict) or "id" not in row:
            raise DataError(f"{path}, node {number} is {str(row)[:80]!r}; expected an object with an id.")
        attributes = {name: value for name, value in row.items() if name != "id"} | _object(row, "metadata")
        graph.nodes.append(node_of(row["id"], attributes))
    for number, row in enumerate(edges):
        if isinstance(row, dict) and row.get("type") == "relationship" and "start" in row:
            _add_row(graph, f"{path}, edge {number}", row)
            continue
        if not isinstance(row, dict) or not {"source", "target"} <= row.keys():
            raise DataError(f"{path}, edge {number} is {str(row)[:80]!r}; expected an object with source and target.")
        graph.edges.append(edge_of(row["source"], row["target"], row))


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


def _csv(path: Path) -> Iterator[list[str]]:
    yield from (row for _, row in table_rows(lines(path), ",", f"{path}, "))


def _read_csv(path: Path, graph: PropertyGraph) -> None:
    rows = _csv(path)
    header = next(rows, [])
    if "_start" in header:
        places = {name: header.index(name) for name in _APOC if name in header}
    else:
        kinds = [(_HEADER.match(cell) or {"kind": ""})["kind"].upper() for cell in header]
        columns = dict(zip(("ID", "LABEL", "START_ID", "END_ID", "TYPE"), _APOC, strict=True))
        places = {columns[kind]: at for at, kind in enumerate(kinds) if kind in columns}
    if "_id" not in places and not {"_start", "_end"} <= places.keys():
        raise DataError(f"{path}: its header has neither :ID nor :START_ID and :END_ID; it has {', '.join(header)}.")
    names = [cell.partition(":")[0] for cell in header]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise DataError(f"{path}, record {number} has {len(row)} cells, and the header {len(header)}.")
        cells = {name: row[at] for name, at in places.items()}
        attributes = {name: cell for name, cell in zip(names, row, strict=True) if name and cell}
        if cells.get("_start"):
            graph.edges.append(edge_of(cells["_start"], cells.get("_end", ""), attributes, cells.get("_type", "")))
        elif cells.get("_id"):
            types = [kind for kind in re.split("[;:]", cells.get("_labels", "")) if kind]
            graph.nodes.append(node_of(cells["_id"], attributes, types))
        else:
            raise DataError(f"{path}, record {number} has neither the id of a node nor the ends of a relationship.")
