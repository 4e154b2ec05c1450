"""GEXF, as Gephi writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from graphwright.data.formats.parsing.xml import local
from graphwright.data.graph_files.graphml import closed_elements
from graphwright.data.graph_files.property_graphs import GROUP, PropertyGraph, edge_of, node_of

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
