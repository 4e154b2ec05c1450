"""Choice of the reader of a property graph, by the suffix of its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from graphwright.data.decoding import suffix_of
from graphwright.data.graph_files.graphml import read_gexf, read_gml, read_graphml
from graphwright.data.graph_files.neo4j_csv import Header, read_neo4j_csv
from graphwright.data.graph_files.node_link import read_node_link
from graphwright.data.graph_files.property_graphs import PropertyGraph
from graphwright.data.graph_files.rdf import is_json_ld
from graphwright.errors import DataError

_READERS: dict[str, Callable[[Path, PropertyGraph], None]] = {
    ".graphml": read_graphml, ".gexf": read_gexf, ".gml": read_gml, ".json": read_node_link, ".jsonl": read_node_link,
    ".cyjs": read_node_link,
}  # fmt: skip

_TABLES = (".csv", ".tsv", ".tab", ".txt")


def is_property_graph(path: Path) -> bool:
    """Return whether a file is a property graph; a table of relationships alone, without properties, is of triples."""
    if suffix_of(path) == ".json" and path.is_file() and is_json_ld(path):
        return False
    if suffix_of(path) not in _TABLES or not path.is_file():
        return suffix_of(path) in _READERS
    header = Header.of(path)
    return header is not None and header.has_more and not header.is_table


def have_properties(paths: Sequence[Path]) -> bool:
    """Return whether all of some files are tables of triples, as CSV of at most 64 MB, with further columns."""
    headers = [Header.of(path) for path in paths if suffix_of(path) == ".csv" and path.is_file()]
    return 0 < len(paths) == sum(header is not None and header.is_table for header in headers)


def read_property_graph(paths: Sequence[Path]) -> PropertyGraph:
    """Read the files of one property graph.

    Formats: GraphML, GEXF, GML, JSON (see `read_node_link`) and CSV of Neo4j (see `read_neo4j_csv`), whose headers may
    be files of their own. Nodes and edges without a usual name or relation get it from another attribute (see
    `PropertyGraph.add_names`). Raises DataError, with the line, for anything else.
    """
    graph = PropertyGraph()
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; give a file.")
        if read := _READERS.get(suffix_of(path)):
            read(path, graph)
    graph.add_names()
    read_neo4j_csv([path for path in paths if suffix_of(path) not in _READERS], graph)
    if not graph.edges and not any(node.facts for node in graph.nodes):
        raise DataError(f"{', '.join(map(str, paths))}: there is no edge; expected nodes and relationships.")
    return graph
