"""GraphML, as networkx, igraph, yEd and Gephi write it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphwright.data.decoding import open_bytes
from graphwright.data.graph_files.dump import NO_RELATION, Dump
from graphwright.data.graph_files.tables import Quoted
from graphwright.errors import DataError


@dataclass(frozen=True)
class GraphML(Dump):
    """GraphML, as networkx, igraph, yEd and Gephi write it; `to_csv` converts it in one pass.

    A node is named by its data `name`, `label` or `title`, else by its id; an edge's relation is its data `relation`,
    `predicate`, `label`, `type` or `name`, else "linked to".
    """

    def rows(self, rejects: int = 0) -> str:
        """Raise DataError: only the CSV files of `to_csv` have a query."""
        raise DataError(f"{self.path}: GraphML is converted before it is read.")

    def to_csv(self, folder: Path) -> tuple[Quoted, Quoted]:
        """Write edges and names into a folder as CSV, and return both; a row of names is id, "name", name.

        Raises DataError with the line for a file that is not GraphML, or is cut short.
        """
        edges, names = folder / "edges.csv", folder / "names.csv"
        with (
            edges.open("w", newline="", encoding="utf-8", errors="replace") as edge_file,
            names.open("w", newline="", encoding="utf-8", errors="replace") as name_file,
        ):
            to_edges, to_names = (csv.writer(file, quoting=csv.QUOTE_ALL) for file in (edge_file, name_file))
            for kind, row in _elements(self.path):
                (to_edges if kind == "edge" else to_names).writerow(row)
        return Quoted(edges), Quoted(names)


_GRAPHML_KEYS = {"node": ("name", "label", "title"), "edge": ("relation", "predicate", "label", "type", "name")}


def _elements(path: Path) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield ("edge", (source, relation, target)) and ("node", (id, "name", name)) in the order of the file."""
    for tag, attributes, data in graphml_elements(path):
        by_key = {key.lower(): " ".join(value.split()) for key, value in data.items()}
        text = next((by_key[key] for key in _GRAPHML_KEYS[tag] if by_key.get(key)), "")
        if tag == "edge":
            yield tag, (attributes.get("source", ""), text or NO_RELATION, attributes.get("target", ""))
        elif text:
            yield tag, (attributes.get("id", ""), "name", text)


def graphml_elements(path: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Yield each node and edge of a GraphML file: "node" or "edge", its attributes, and its data by the keys' names.

    Raises DataError with the line for a file that is not GraphML, or is cut short.
    """
    from xml.etree.ElementTree import ParseError, iterparse

    keys: dict[str, str] = {}
    stack, is_graphml = [], False
    try:
        with open_bytes(path) as file:
            for event, element in iterparse(file, ("start", "end")):
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    is_graphml = is_graphml or tag == "graphml"
                    stack.append(element)
                    continue
                stack.pop()
                if tag == "key":
                    keys[element.get("id", "")] = element.get("attr.name", element.get("id", ""))
                elif tag in ("node", "edge"):
                    data = {keys.get(d.get("key", ""), ""): "".join(d.itertext()).strip() for d in element}
                    yield tag, dict(element.attrib), data
                    if stack and stack[-1].tag.rpartition("}")[2] not in ("node", "edge"):  # frees their memory
                        del stack[-1][:]
    except (ParseError, OSError, LookupError, ValueError) as error:  # LookupError: unknown encoding
        raise DataError(f"{path} is not GraphML that can be read to its end: {error}.") from error
    if not is_graphml:
        raise DataError(f"{path} is XML, but not GraphML: it has no element graphml.")
