"""Targets of fuzzing: RDF, property graphs, indexes of other systems, and graphs of other libraries.

Input of several files is divided by a line of two percent signs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb

from fuzzing.seeds import CELLS, GRAPHML_SEED, JSON
from fuzzing.target import Target, inputs, scratch, write
from graphwright.build.assembly import graph_of
from graphwright.build.graph_import import import_graph
from graphwright.build.other_import import documents_of
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.property_graphs import read_property_graph
from graphwright.data.other_indexes.read import read_other_index
from graphwright.graph.export import export
from graphwright.graph.graph import Graph

__all__ = ["targets"]

SEPARATOR = b"\n%%\n"
RDF_PARTS = (*CELLS, b"[" * 3000, b"(" * 3000, b"<<", b'"""', b"@base", b"\\u", b"^^", b"{", b"&a;", b"<!ENTITY a 'b'>")
LIGHTRAG_FILES = ("kv_store_full_docs.json", "kv_store_text_chunks.json", "graph_chunk_entity_relation.graphml")
LIGHTRAG_VECTORS_FILES = (*LIGHTRAG_FILES[:2], "vdb_entities.json", "vdb_relationships.json")
TABLE = b'{"source": ["Graz", "Mur"], "relation": ["on", null], "target": ["Mur", "Drava"], "text": ["x", 1]}'


def rdf(suffix: str, data: bytes) -> str:
    """Import a file of RDF."""
    folder = scratch() / "rdf"
    shutil.rmtree(folder, ignore_errors=True)
    graph = import_graph([dump_of(write(f"kb.{suffix}", data))], folder)
    return f"{min(len(graph.columns.heads), 3)} {min(graph.malformed, 2)}"


def property_graph(name: str, data: bytes) -> str:
    """Read the files of a property graph."""
    parts = data.split(SEPARATOR)[:4]
    read = read_property_graph([write(f"{at}-{name}", part) for at, part in enumerate(parts)])
    return checked(graph_of(read.nodes, read.edges))


def checked(graph: Graph) -> str:
    """Store and export a graph; return its size."""
    exported = export(graph, scratch() / "exported.json")
    return f"{min(exported.nodes, 3)} {min(exported.edges, 3)}"


@cache
def tables() -> Any:
    """Return the tables of an output of GraphRAG."""
    return json.loads(inputs("graphrag")[0])


def _folder(names: Iterable[str], parts: Iterable[bytes]) -> Path:
    place = scratch() / "other-index"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, part in zip(names, parts, strict=False):
        (place / name).write_bytes(part)
    return place


def other_index(place: Path) -> str:
    """Read the index of another system to its documents."""
    documents = documents_of(read_other_index(place), reports=True)
    for imported in documents:
        imported.document.text.encode()
        json.dumps([imported.document.id, imported.document.title])
    return str(min(len(documents), 3))


def lightrag(names: tuple[str, ...], data: bytes) -> str:
    """Read a working folder of LightRAG."""
    return other_index(_folder(names, data.split(SEPARATOR)))


def graphrag(data: bytes) -> str:
    """Read an output of GraphRAG whose tables are given as JSON."""
    place = _folder((), ())
    try:
        items = list(json.loads(data).items())
    except (ValueError, RecursionError, AttributeError):
        return "no tables"
    for name, rows in items:
        if name in tables():
            _write_table(place / f"{name}.parquet", rows)
    return other_index(place)


def _write_table(path: Path, rows: object) -> None:
    try:
        with duckdb.connect() as db:
            write("rows.json", json.dumps(rows).encode())
            db.execute(f"COPY (SELECT * FROM read_json_auto('{scratch() / 'rows.json'}')) TO '{path}' (FORMAT parquet)")
    except (duckdb.Error, UnicodeEncodeError):
        path.unlink(missing_ok=True)


@cache
def entities() -> bytes:
    """Return the file of a Parquet table."""
    _write_table(scratch() / "entities.parquet", tables()["entities"])
    return (scratch() / "entities.parquet").read_bytes()


def parquet(data: bytes) -> str:
    """Read an output of GraphRAG of which one table is edited."""
    place = _folder((), ())
    for name, rows in tables().items():
        _write_table(place / f"{name}.parquet", rows)
    (place / "entities.parquet").write_bytes(data)
    return other_index(place)


def of_json(make: Callable[[Any], Graph | None], data: bytes) -> str:
    """Make a graph by an adapter of what is given as JSON."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return "no JSON"
    graph = make(given)
    return "not made" if graph is None else checked(graph)


def of_table(given: Any) -> Graph | None:
    """Make a graph of a table, given as a dict of lists."""
    from graphwright.adapters.tables import from_tables

    return from_tables(given) if isinstance(given, dict) else None


def of_networkx(given: Any) -> Graph | None:
    """Make a graph of one of networkx."""
    import networkx

    from graphwright.adapters.networkx import from_networkx

    library = networkx.MultiDiGraph()
    try:
        library.add_nodes_from((key, dict(values)) for key, values in given["nodes"])
        library.add_edges_from((head, tail, dict(values)) for head, tail, values in given["edges"])
    except (TypeError, ValueError, KeyError, networkx.NetworkXException):
        return None
    return from_networkx(library)


def of_igraph(given: Any) -> Graph | None:
    """Make a graph of one of igraph."""
    import igraph

    from graphwright.adapters.igraph import from_igraph

    try:
        library = igraph.Graph([(0, 1)] * len(given["edges"]), directed=True)
        for at, (_, values) in enumerate(given["nodes"][:2]):
            library.vs[at].update_attributes(values)
        for at, (*_, values) in enumerate(given["edges"]):
            library.es[at].update_attributes(values)
    except (TypeError, ValueError, KeyError, IndexError):
        return None
    return from_igraph(library)


def targets() -> Iterable[Target]:
    """Yield the targets."""
    for suffix in ("ttl", "trig", "nq", "rdf", "jsonld"):
        yield Target(f"rdf-{suffix}", partial(rdf, suffix), inputs(f"rdf-{suffix}"), RDF_PARTS)
    for name, file in (("node-link", "graph.json"), ("apoc-json", "graph.jsonl"), ("neo4j-csv", "graph.csv")):
        yield Target(name, partial(property_graph, file), inputs(name), (*JSON, *CELLS))
    yield Target("graphrag", graphrag, inputs("graphrag"), JSON)
    yield Target("graphrag-parquet", parquet, lambda: (entities(),), (b"PAR1", b"\x15\x04", b"\xff\xff\xff\x7f"))
    parts = (*JSON, b"<SEP>", b"<node>", b"</node>", GRAPHML_SEED)
    for name, files in (("lightrag", LIGHTRAG_FILES), ("lightrag-vectors", LIGHTRAG_VECTORS_FILES)):
        yield Target(name, partial(lightrag, files), inputs(name), parts)
    yield Target("table", partial(of_json, of_table), (TABLE,), JSON)
    yield Target("networkx", partial(of_json, of_networkx), inputs("library-graph"), JSON)
    yield Target("igraph", partial(of_json, of_igraph), inputs("library-graph"), JSON)
