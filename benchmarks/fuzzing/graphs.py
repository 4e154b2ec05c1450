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

from fuzzing.seeds import CELLS, GRAPHML_SEED, JSON, SEPARATOR
from fuzzing.target import Target, scratch, write
from graphwright.build.imports.assembly import graph_of
from graphwright.build.imports.graph_import import import_graph
from graphwright.build.imports.other_import import documents_of, read_other_index
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.read_graph import read_property_graph
from graphwright.graph.export import export
from graphwright.graph.graph import Graph

__all__ = ["targets"]

TURTLE = b'@prefix a: <http://a/> . a:Graz a:on a:Mur ; a:name "Graz"@de . [] a:in ( a:Styria "x" ) .\n'
RDF = {
    "ttl": TURTLE,
    "trig": b"<http://a/g> { <http://a/Graz> <http://a/on> <http://a/Mur> . }\n" + TURTLE,
    "nq": b"<http://a/Graz> <http://a/on> <http://a/Mur> <http://a/g> .\n",
    "rdf": b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/"><r:Description '
    b'r:about="http://a/Graz"><a:on r:resource="http://a/Mur"/><a:name>Graz</a:name></r:Description></r:RDF>',
    "jsonld": b'{"@context": {"@vocab": "http://a/"}, "@id": "http://a/Graz", "on": {"@id": "http://a/Mur"}, "n": "x"}',
}
RDF_PARTS = (*CELLS, b"[" * 3000, b"(" * 3000, b"<<", b'"""', b"@base", b"\\u", b"^^", b"{", b"&a;", b"<!ENTITY a 'b'>")
PARTS_SEED = b"""<< <http://a/Graz> <http://a/on> <http://a/Mur> >> <http://a/since> "1128"^^<http://a/year> .
<http://a/r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <http://a/Mur> <http://a/in> _:l )>> .
_:l <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> _:e .
_:l <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:l .
_:e <http://www.w3.org/2002/07/owl#onProperty> <http://a/p> .
_:e <http://www.w3.org/2002/07/owl#someValuesFrom> _:l .
<http://a/r> <http://a/source> _:e .
"""
GEXF_SEED = b"""<gexf><graph><attributes class="node"><attribute id="0" title="year"><default>1</default></attribute>
</attributes><nodes><node id="a" label="Graz"><attvalues><attvalue for="0" value="1128"/></attvalues><nodes>
<node id="c" pid="a"/></nodes></node></nodes><edges><edge source="a" target="b" weight="2"/></edges></graph></gexf>"""
GML_SEED = b'graph [ node [ id 1 label "Graz &amp; Mur" x [ y 1 y 2 ] ]\n edge [ source 1 target 2 value 3 ] ] # end\n'
NODE_LINK = b"""{"nodes": [{"id": 1, "name": "Graz", "entity_type": "city", "description": "On the Mur."},
{"id": 2, "label": "Mur", "metadata": {"kind": "river"}}], "links": [{"source": 1, "target": 2, "relation": "on"}]}"""
APOC = b"""{"type": "node", "id": "0", "labels": ["City"], "properties": {"name": "Graz"}}
{"type": "node", "id": "1", "labels": ["River"], "properties": {"name": "Mur"}}
{"type": "relationship", "id": "0", "label": "ON", "start": {"id": "0"}, "end": {"id": "1"}, "properties": {"x": 1}}
"""
ADMIN = b":ID,name,:LABEL\n1,Graz,City\n2,Mur,River" + SEPARATOR + b":START_ID,:TYPE,:END_ID\n1,ON,2\n"
APOC_CSV = b"_id,_labels,name,_start,_end,_type\n0,:City,Graz,,,\n1,:River,Mur,,,\n,,,0,1,ON\n"
GRAPHRAG = {
    "documents": [{"id": "d", "title": "graz.txt", "text": "Graz lies on the Mur."}],
    "text_units": [{"id": "u", "text": "Graz lies on the Mur.", "document_id": "d"}],
    "entities": [
        {"id": name, "title": name, "type": "GEO", "description": "", "text_unit_ids": ["u"]}
        for name in ("GRAZ", "MUR")
    ],
    "relationships": [{"source": "GRAZ", "target": "MUR", "description": "It lies on it.", "text_unit_ids": ["u"]}],
    "communities": [{"community": 0, "entity_ids": ["GRAZ"]}],
    "community_reports": [{"community": 0, "title": "Towns", "full_content": "Graz is one.", "level": 0}],
    "covariates": [
        {"type": "T", "description": "x", "subject_id": "GRAZ", "object_id": "MUR", "text_unit_id": "u"},
    ],
}
LIGHTRAG_FILES = ("kv_store_full_docs.json", "kv_store_text_chunks.json", "graph_chunk_entity_relation.graphml")
LIGHTRAG = SEPARATOR.join(
    (
        b'{"d": {"content": "Graz lies on the Mur.", "file_path": "graz.txt"}}',
        b'{"c": {"content": "Graz lies on the Mur.", "full_doc_id": "d", "chunk_order_index": 0}}',
        b'<graphml><key id="d0" attr.name="entity_id"/><key id="d1" attr.name="source_id"/><graph><node id="Graz">'
        b'<data key="d0">Graz</data><data key="d1">c</data></node><node id="Mur"><data key="d1">c</data></node>'
        b'<edge source="Graz" target="Mur"><data key="d1">c</data></edge></graph></graphml>',
    )
)
LIGHTRAG_VECTORS_FILES = (*LIGHTRAG_FILES[:2], "vdb_entities.json", "vdb_relationships.json")
LIGHTRAG_VECTORS = SEPARATOR.join(
    (
        *LIGHTRAG.split(SEPARATOR)[:2],
        b'{"data": [{"entity_name": "Graz", "content": "Graz\\nA city", "source_id": "c"}]}',
        b'{"data": [{"src_id": "Graz", "tgt_id": "Graz", "content": "a\\tGraz\\nGraz\\nIt.", "source_id": "c"}]}',
    )
)
LIBRARY_GRAPH = b"""{"nodes": [["Graz", {"name": "Graz", "type": "city"}], [2, {"description": "A river"}]],
"edges": [["Graz", 2, {"relation": "on", "text": "It lies on it."}]]}"""


def imported(suffix: str, data: bytes) -> str:
    """Import a file of triples."""
    folder = scratch() / "import"
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
        tables = json.loads(data)
        items = list(tables.items())
    except (ValueError, RecursionError, AttributeError):
        return "no tables"
    for name, rows in items:
        if name in GRAPHRAG:
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
    _write_table(scratch() / "entities.parquet", GRAPHRAG["entities"])
    return (scratch() / "entities.parquet").read_bytes()


def parquet(data: bytes) -> str:
    """Read an output of GraphRAG of which one table is edited."""
    place = _folder((), ())
    for name, rows in GRAPHRAG.items():
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


def targets() -> Iterable[Target]:
    """Yield the targets."""
    for suffix, seed in RDF.items():
        yield Target(f"rdf-{suffix}", partial(imported, suffix), (seed,), RDF_PARTS)
    for name, file, seeds in (
        ("node-link", "graph.json", (NODE_LINK, b'{"graph": ' + NODE_LINK + b"}")),
        ("apoc-json", "graph.jsonl", (APOC,)),
        ("neo4j-csv", "graph.csv", (ADMIN, APOC_CSV)),
        ("graphml", "graph.graphml", (GRAPHML_SEED,)),
        ("gexf", "graph.gexf", (GEXF_SEED,)),
        ("gml", "graph.gml", (GML_SEED,)),
    ):
        yield Target(name, partial(property_graph, file), seeds, (*JSON, *CELLS))
    yield Target("graphrag", graphrag, (json.dumps(GRAPHRAG).encode(),), JSON)
    yield Target("graphrag-parquet", parquet, lambda: (entities(),), (b"PAR1", b"\x15\x04", b"\xff\xff\xff\x7f"))
    parts = (*JSON, b"<SEP>", b"<node>", b"</node>", GRAPHML_SEED)
    yield Target("lightrag", partial(lightrag, LIGHTRAG_FILES), (LIGHTRAG,), parts)
    yield Target("lightrag-vectors", partial(lightrag, LIGHTRAG_VECTORS_FILES), (LIGHTRAG_VECTORS,), parts)
    yield Target("networkx", partial(of_json, of_networkx), (LIBRARY_GRAPH,), JSON)
