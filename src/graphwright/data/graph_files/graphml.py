"""GraphML, GEXF and GML, as networkx, igraph, yEd, Gephi and Cytoscape write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, iterparse

from graphwright.data.decoding import lines, open_bytes
from graphwright.data.formats.parsing.xml import local
from graphwright.data.graph_files.property_graphs import GROUP, PropertyGraph, edge_of, node_of
from graphwright.data.records.objects import scalar_text
from graphwright.errors import DataError

_LABELS = ("NodeLabel", "EdgeLabel", "Label.Text")  # elements of yEd and yEd Live
_PARTS = ("key", "node", "edge", "hyperedge", "port")
_DRAWN = frozenset({"r", "g", "b", "x", "y", "z", "size"})  # keys of Gephi for colour, place and size
_CYTOSCAPE = frozenset({"suid", "shared name", "shared interaction", "selected"})
_TITLES = {"graphml": "GraphML", "gexf": "GEXF"}


def read_graphml(path: Path, graph: PropertyGraph) -> None:
    """Add the nodes and edges of a GraphML file to a graph; a node inside another is `part of` it.

    How elements are drawn, and what Cytoscape repeats, is left out. Raises DataError with the line for a file that is
    not GraphML, or is cut short.
    """
    for tag, attributes, data in graphml_elements(path):
        known = {name: value for name, value in data.items() if name.lower() not in _CYTOSCAPE}
        if known.keys() & {"x", "r"}:
            known = {name: value for name, value in known.items() if name not in _DRAWN}
        if tag == "node":
            key = attributes.get("id", "")
            types = known.pop("labels").split(":") if known.get("labels", "").startswith(":") else ()  # of Neo4j
            graph.nodes.append(node_of(key, known, filter(None, types)))
            if "group" in attributes:
                graph.edges.append(edge_of(key, attributes["group"], {}, GROUP))
        elif tag == "edge":
            if "interaction" in known:
                known.pop("name", None)  # "source (interaction) target"
            graph.edges.append(edge_of(attributes.get("source", ""), attributes.get("target", ""), known))
        else:
            graph.left_out[f"{tag}s of {path.name}"] += 1
    graph.add_missing()


def graphml_elements(path: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Yield each part of a GraphML file: its tag (node, edge, …), its attributes, and its data by the keys' names.

    Data that is missing has the default of its key. A label that yEd draws is the data `label`. A node inside another
    has the attribute `group`, the id of that one. Raises DataError with the line for no or cut GraphML.
    """
    names: dict[str, str] = {}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    for element, around in closed_elements(path, "graphml", _PARTS):
        tag, key = local(element), element.get("id", "")
        if tag == "key":
            names[key] = element.get("attr.name", key)
            default = "".join(element.itertext()).strip()
            for kind in defaults if default else ():
                if element.get("for", "all") in (kind, "all"):
                    defaults[kind][names[key]] = default
            continue
        group = next((outer.get("id") for outer in reversed(around) if local(outer) == "node"), None)
        attributes = element.attrib | ({} if group is None or tag != "node" else {"group": group})
        yield tag, attributes, defaults.get(tag, {}) | dict(_data(element, names))


def _data(element: Element, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for data in element:
        if local(data) != "data":
            continue
        if len(data):
            labels = (" ".join("".join(part.itertext()).split()) for part in data.iter() if local(part) in _LABELS)
            if label := next(filter(None, labels), ""):
                yield "label", scalar_text(label)
        elif text := " ".join((data.text or "").split()):
            yield names.get(data.get("key", ""), ""), text


def closed_elements(path: Path, root: str, parts: Sequence[str]) -> Iterator[tuple[Element, Sequence[Element]]]:
    """Yield each closed element whose local name is among `parts`, with those around it, and then free its memory.

    `root`: the local name of an element that a file of this format has. Raises DataError, with the line, for a file
    that is no such XML, or is cut short.
    """
    stack, has_root = list[Element](), False
    try:
        with open_bytes(path) as file:
            for event, element in iterparse(file, ("start", "end")):
                if event == "start":
                    has_root = has_root or local(element) == root
                    stack.append(element)
                    continue
                stack.pop()
                if local(element) in parts:
                    yield element, stack
                    if stack and local(stack[-1]) not in parts:
                        del stack[-1][:]
    except (ParseError, OSError, LookupError, ValueError) as error:  # LookupError: unknown encoding
        raise DataError(f"{path} is not {_TITLES[root]} that can be read to its end: {error}.") from error
    if not has_root:
        raise DataError(f"{path} is XML, but not {_TITLES[root]}: it has no element {root}.")


_TIMES = ("start", "end", "timestamp")
_OF_EDGES = (*_TIMES, "weight")


def read_gexf(path: Path, graph: PropertyGraph) -> None:
    """Add the nodes and edges of a GEXF file to a graph; a node inside another is `part of` it.

    Times of dynamic elements are attributes; how elements are drawn is left out. Raises DataError with the line for a
    file that is not GEXF, or is cut short.
    """
    titles: dict[tuple[str, str], str] = {}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    for element, around in closed_elements(path, "gexf", ("attribute", "node", "edge")):
        tag, key = local(element), element.get("id", "")
        if tag == "attribute":
            kind = around[-1].get("class", "node") if around else "node"
            titles[kind, key] = title = element.get("title", key)
            if default := "".join(part.text or "" for part in element if local(part) == "default").strip():
                defaults[kind][title] = default
            continue
        given = dict(_values(element, titles))
        if tag == "node":
            times = {name: element.get(name) for name in _TIMES}
            graph.nodes.append(node_of(key, defaults[tag] | times | given | _label(element, "name")))
            outer = element.get("pid") or next((o.get("id") for o in reversed(around) if local(o) == "node"), None)
            if outer:
                graph.edges.append(edge_of(key, outer, {}, GROUP))
        else:
            own = {name: element.get(name) for name in _OF_EDGES}
            attributes = defaults[tag] | own | given | _label(element, "relation")
            relation = "" if "relation" in attributes else element.get("kind", "")
            graph.edges.append(edge_of(element.get("source", ""), element.get("target", ""), attributes, relation))
    graph.add_missing()


def _label(element: Element, name: str) -> dict[str, str]:
    """Return the label of an element, if it has one, as an attribute of this name."""
    label = " ".join(element.get("label", "").split())
    return {name: label} if label else {}


def _values(element: Element, titles: dict[tuple[str, str], str]) -> Iterator[tuple[str, str]]:
    for values in element:
        for value in values if local(values) == "attvalues" else ():
            key = value.get("for", value.get("id", ""))
            yield titles.get((local(element), key), key), value.get("value", "")


_TOKEN = re.compile(r'\s+|#[^\n]*(?=\n|$)|"(?P<text>[^"]*)"|(?P<mark>[\[\]])|(?P<word>[^\s\[\]"]+)')
_DRAWN_GML = ("graphics", "LabelGraphics", "isGroup", "gid")
_ENDS = ("source", "target")


def read_gml(path: Path, graph: PropertyGraph) -> None:
    """Add a GML file to a graph, without drawing. Raises DataError for a file that is not GML, or is cut short."""
    graphs = _parsed(path, "\n".join(lines(path))).get("graph", [])
    if len(graphs) != 1 or not isinstance(graphs[0], dict):
        raise DataError(f"{path} is not GML: it has no graph [ … ].")
    for number, row in enumerate(map(_attributes, graphs[0].get("node", ()))):
        if "id" not in row:
            raise DataError(f"{path}, node {number} has no id.")
        graph.nodes.append(node_of(row["id"], {name: v for name, v in row.items() if name not in ("id", *_DRAWN_GML)}))
        if isinstance(group := row.get("gid"), str):
            graph.edges.append(edge_of(row["id"], group, {}, GROUP))
    for number, row in enumerate(map(_attributes, graphs[0].get("edge", ()))):
        if not row.keys() >= set(_ENDS):
            raise DataError(f"{path}, edge {number} has no source or no target.")
        attributes = {name: value for name, value in row.items() if name not in ("id", *_ENDS, *_DRAWN_GML)}
        graph.edges.append(edge_of(row["source"], row["target"], attributes))
    graph.add_missing()


def _attributes(row: Any) -> dict[str, Any]:
    """Return the keys of a part of GML with their value, those that recur with a list; none for a text."""
    return {key: v[0] if len(v) == 1 else v for key, v in row.items()} if isinstance(row, dict) else {}


def _parsed(path: Path, text: str) -> dict[str, list[Any]]:
    """Return the keys of a GML text with their values."""
    stack, key = [dict[str, list[Any]]()], ""
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
            stack[-1].setdefault(key, []).append(value)
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
