"""GraphML, as networkx, igraph, yEd, Gephi and Cytoscape write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from graphwright.data.decoding import open_bytes
from graphwright.data.formats.parsing.xml import local
from graphwright.data.graph_files.property_graphs import GROUP, PropertyGraph, edge_of, node_of
from graphwright.data.records.objects import scalar_text
from graphwright.errors import DataError

_LABELS = ("NodeLabel", "EdgeLabel", "Label.Text")  # elements of yEd and yEd Live
_PARTS = ("key", "node", "edge", "hyperedge", "port")
_DRAWN = frozenset({"r", "g", "b", "x", "y", "z", "size"})  # keys of Gephi for colour, place and size
_CYTOSCAPE = frozenset({"suid", "shared name", "shared interaction", "selected"})


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
    has the attribute `group`, the id of that one. Raises DataError with the line for a file that is not GraphML, or is
    cut short.
    """
    names: dict[str, str] = {}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    for element, around in _closed_elements(path):
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


def _closed_elements(path: Path) -> Iterator[tuple[Element, Sequence[Element]]]:
    """Yield each closed part with the elements around it, and then free its memory."""
    stack, has_root = list[Element](), False
    try:
        with open_bytes(path) as file:
            for event, element in iterparse(file, ("start", "end")):
                if event == "start":
                    has_root = has_root or local(element) == "graphml"
                    stack.append(element)
                    continue
                stack.pop()
                if local(element) in _PARTS:
                    yield element, stack
                    if stack and local(stack[-1]) not in _PARTS:
                        del stack[-1][:]
    except (ParseError, OSError, LookupError, ValueError) as error:  # LookupError: unknown encoding
        raise DataError(f"{path} is not GraphML that can be read to its end: {error}.") from error
    if not has_root:
        raise DataError(f"{path} is XML, but not GraphML: it has no element graphml.")
