"""GML, the Graph Modelling Language, as networkx, igraph, yEd and Gephi write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from graphwright.data.decoding import lines
from graphwright.data.graph_files.property_graphs import GROUP, PropertyGraph, edge_of, node_of
from graphwright.errors import DataError

_TOKEN = re.compile(r'\s+|#[^\n]*(?=\n|$)|"(?P<text>[^"]*)"|(?P<mark>[\[\]])|(?P<word>[^\s\[\]"]+)')
_DRAWN = ("graphics", "LabelGraphics", "isGroup", "gid")
_ENDS = ("source", "target")


def read_gml(path: Path, graph: PropertyGraph) -> None:
    """Add the nodes and edges of a GML file to a graph; how they are drawn is left out.

    Raises DataError for a file that is not GML, or is cut short.
    """
    root = _parsed(path, "\n".join(lines(path)))
    if not isinstance(described := root.get("graph"), dict):
        raise DataError(f"{path} is not GML: it has no graph [ … ].")
    for number, row in enumerate(_listed(described, "node")):
        if not isinstance(row, dict) or "id" not in row:
            raise DataError(f"{path}, node {number} has no id.")
        graph.nodes.append(node_of(row["id"], {name: v for name, v in row.items() if name not in ("id", *_DRAWN)}))
        if isinstance(group := row.get("gid"), str):
            graph.edges.append(edge_of(row["id"], group, {}, GROUP))
    for number, row in enumerate(_listed(described, "edge")):
        if not isinstance(row, dict) or not row.keys() >= set(_ENDS):
            raise DataError(f"{path}, edge {number} has no source or no target.")
        attributes = {name: value for name, value in row.items() if name not in ("id", *_ENDS, *_DRAWN)}
        graph.edges.append(edge_of(row["source"], row["target"], attributes))
    graph.add_missing()


def _listed(values: dict[str, Any], name: str) -> list[Any]:
    value = values.get(name, [])
    return value if isinstance(value, list) else [value]


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """Return the keys of a GML text with their values; a key that recurs has a list of values."""
    stack, key = [dict[str, Any]()], ""
    for kind, token, at in _tokens(path, text):
        if token == "]" and kind == "mark":
            if len(stack) == 1:
                raise _refused(path, text, at, "a bracket is closed that was not opened")
            stack.pop()
        elif kind == "word" and not key:
            key = token
            continue
        else:
            value: Any = {} if kind == "mark" else token
            _add(stack[-1], key, value)
            stack += [value] if kind == "mark" else []
        key = ""
    if len(stack) > 1:
        raise DataError(f"{path} is not GML that can be read to its end: a bracket is not closed.")
    return stack[0]


def _tokens(path: Path, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the kind (text, mark or word), the text and the place of each token."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _refused(path, text, at, "a quotation mark is not closed")
        at = match.end()
        if kind := match.lastgroup:
            yield kind, unescape(match[kind]) if kind == "text" else match[kind], match.start()


def _refused(path: Path, text: str, at: int, problem: str) -> DataError:
    return DataError(f"{path}, line {text.count(chr(10), 0, at) + 1}: not GML; {problem}.")


def _add(values: dict[str, Any], key: str, value: Any) -> None:
    if key not in values:
        values[key] = value
    elif isinstance(values[key], list):
        values[key].append(value)
    else:
        values[key] = [values[key], value]
