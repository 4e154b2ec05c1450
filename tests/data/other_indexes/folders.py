"""Small folders as Microsoft GraphRAG 3 and LightRAG 1.4 write them: the same two letters, in text units."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import duckdb

GRAZ = (
    "Graz is the capital of Styria. It lies on the Mur, which rises in Salzburg. "
    "Johannes Kepler taught mathematics in Graz from 1594."
)
PRAGUE = "In 1600 Johannes Kepler moved to Prague. There he worked with Tycho Brahe on the orbit of Mars."
DOCUMENTS = {"doc-1": ("graz.txt", GRAZ), "doc-2": ("prague.txt", PRAGUE)}
UNITS = {
    "unit-1": ("doc-1", "Graz is the capital of Styria. It lies on the Mur, which rises in Salzburg."),
    "unit-2": ("doc-1", "rises in Salzburg. Johannes Kepler taught mathematics in Graz from 1594."),
    "unit-3": ("doc-2", PRAGUE),
}
# name, type, description, text units
ENTITIES = [
    ("Graz", "geo", "Graz is the capital of Styria, and a town of Kepler's.", ["unit-1", "unit-2"]),
    ("Styria", "geo", "Styria is a state.", ["unit-1"]),
    ("Mur", "geo", "The Mur is a river.", ["unit-1"]),
    ("Johannes Kepler", "person", "Johannes Kepler was an astronomer.", ["unit-2", "unit-3"]),
    ("Tycho Brahe", "person", "Tycho Brahe was an astronomer in Prague.", ["unit-3"]),
    ("Rudolphine Tables", "event", "The tables that both began.", ["unit-3"]),
]
# source, target, description, keywords, text units
RELATIONS = [
    ("Graz", "Styria", "Graz is the capital of Styria.", "capital, region", ["unit-1"]),
    ("Johannes Kepler", "Graz", "Kepler taught mathematics in Graz.", "teaching", ["unit-2"]),
    ("Johannes Kepler", "Tycho Brahe", "Kepler worked with Brahe in Prague.", "work", ["unit-3"]),
]
REPORT = "# Astronomers\n\nJohannes Kepler and Tycho Brahe worked on the orbit of Mars."


def write_parquet(path: Path, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a Parquet table of typed columns."""
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        if rows:
            db.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
        db.execute(f"COPY t TO '{path}' (FORMAT parquet)")


def graphrag_folder(folder: Path) -> Path:
    """Write the tables with the columns of graphrag/data_model/schemas.py; titles and types in capitals, as it does."""
    folder.mkdir(parents=True)
    text, many, number = "VARCHAR", "VARCHAR[]", "BIGINT"
    ids = {"id": text, "human_readable_id": number}
    units_of = {d: [u for u, (document, _) in UNITS.items() if document == d] for d in DOCUMENTS}
    turn = {"conversation_id": text, "turn_index": number, "turn_timestamp": text, "turn_role": text}
    write_parquet(
        folder / "documents.parquet",
        {**ids, "title": text, "text": text, **turn, "text_unit_ids": many, "creation_date": text, "raw_data": text},
        [
            (i, n, title, content, None, None, None, None, units_of[i], "2026-01-01", None)
            for n, (i, (title, content)) in enumerate(DOCUMENTS.items())
        ],
    )
    listed = {"entity_ids": many, "relationship_ids": many, "covariate_ids": many}
    write_parquet(
        folder / "text_units.parquet",
        {**ids, "text": text, "n_tokens": number, "document_id": text, **turn, **listed},
        [(i, n, t, 20, d, None, None, None, None, [], [], []) for n, (i, (d, t)) in enumerate(UNITS.items())],
    )
    write_parquet(
        folder / "entities.parquet",
        {**ids, "title": text, "type": text, "description": text, "text_unit_ids": many}
        | {"frequency": number, "degree": number},
        [(f"e{n}", n, e.upper(), t.upper(), d, u, len(u), 1) for n, (e, t, d, u) in enumerate(ENTITIES)],
    )
    write_parquet(
        folder / "relationships.parquet",
        {**ids, "source": text, "target": text, "description": text}
        | {"weight": "DOUBLE", "combined_degree": number, "text_unit_ids": many},
        [(f"r{n}", n, s.upper(), t.upper(), d, 1.0, 3, u) for n, (s, t, d, _, u) in enumerate(RELATIONS)],
    )
    community = {"community": number, "level": number, "parent": number, "children": "BIGINT[]"}
    write_parquet(
        folder / "communities.parquet",
        {**ids, **community, "title": text, "entity_ids": many, "relationship_ids": many}
        | {"text_unit_ids": many, "period": text, "size": number},
        [("c0", 0, 0, 0, -1, [], "Community 0", ["e3", "e4"], ["r2"], ["unit-3"], "2026-01-01", 2)],
    )
    write_parquet(
        folder / "community_reports.parquet",
        {**ids, **community, "title": text, "summary": text, "full_content": text, "rank": "DOUBLE"}
        | {"rating_explanation": text, "findings": "STRUCT(summary VARCHAR, explanation VARCHAR)[]"}
        | {"full_content_json": text, "period": text, "size": number},
        [("p0", 0, 0, 0, -1, [], "Astronomers", "Two.", REPORT, 7.5, "x", [], "{}", "2026-01-01", 2)],
    )
    write_parquet(
        folder / "covariates.parquet",
        {**ids, "covariate_type": text, "type": text, "description": text, "subject_id": text, "object_id": text}
        | {"status": text, "start_date": text, "end_date": text, "source_text": text, "text_unit_id": text},
        [
            ("v0", 0, "claim", "MOVED TO", "Kepler moved.", "JOHANNES KEPLER", "GRAZ", "TRUE", "", "", "", "unit-2"),
            ("v1", 1, "claim", "FAME", "Brahe was known.", "TYCHO BRAHE", "NONE", "TRUE", "", "", "", "unit-3"),
        ],
    )
    return folder


def lightrag_folder(folder: Path, *, graph: bool = True) -> Path:
    """Write a working folder; without `graph` as one whose graph is in a database."""
    folder.mkdir(parents=True)
    stamps = {"create_time": 1_760_000_000, "update_time": 1_760_000_000}

    def store(name: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
        (folder / f"kv_store_{name}.json").write_text(json.dumps(rows, indent=2, ensure_ascii=False))

    store("full_docs", {i: {"content": c, "file_path": p, **stamps, "_id": i} for i, (p, c) in DOCUMENTS.items()})
    orders = {"unit-1": 0, "unit-2": 1, "unit-3": 0}
    store(
        "text_chunks",
        {
            i: {"tokens": 20, "content": t, "chunk_order_index": orders[i], "full_doc_id": d, **stamps}
            | {"file_path": DOCUMENTS[d][0], "llm_cache_list": [], "_id": i}
            for i, (d, t) in reversed(UNITS.items())
        },
    )
    store("entity_chunks", {e: {"chunk_ids": u, "count": len(u)} for e, _, _, u in ENTITIES})
    store("llm_response_cache", {})
    vectors = {"embedding_dim": 2, "matrix": base64.b64encode(bytes(16)).decode()}
    data = [
        {"__id__": f"ent-{n}", "entity_name": e, "content": f"{e}\n{d}", "source_id": "<SEP>".join(u), "vector": "AA=="}
        for n, (e, _, d, u) in enumerate(ENTITIES)
    ]
    (folder / "vdb_entities.json").write_text(json.dumps({**vectors, "data": data}))
    data = [
        {"__id__": f"rel-{n}", "src_id": s, "tgt_id": t, "keywords": k, "content": f"{k}\t{s}\n{t}\n{d}"}
        | {"source_id": "<SEP>".join(u), "vector": "AA=="}
        for n, (s, t, d, k, u) in enumerate(RELATIONS)
    ]
    (folder / "vdb_relationships.json").write_text(json.dumps({**vectors, "data": data}))
    if graph:
        (folder / "graph_chunk_entity_relation.graphml").write_text(_graphml(), encoding="utf-8")
    return folder


def _graphml() -> str:
    keys = {"node": ("entity_id", "entity_type", "description", "source_id", "file_path")}
    keys["edge"] = ("weight", "description", "keywords", "source_id", "file_path")
    numbers = {(of, name): f"d{at}" for at, (of, name) in enumerate((of, n) for of in keys for n in keys[of])}

    def data(of: str, *values: str) -> str:
        each = zip(keys[of], values, strict=True)
        return "".join(f'<data key="{numbers[of, name]}">{escape(value)}</data>' for name, value in each)

    lines = ["<?xml version='1.0' encoding='utf-8'?>", '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'<key id="{i}" for="{of}" attr.name="{n}" attr.type="string"/>' for (of, n), i in numbers.items()]
    lines.append('<graph edgedefault="undirected">')
    for e, t, d, u in ENTITIES:  # the graph keeps the first chunk only; a description that was not summarised yet
        lines.append(f'<node id="{e}">{data("node", e, t, f"{d}<SEP>{d}", u[0], "x.txt")}</node>')
    for s, t, d, k, u in RELATIONS:
        row = data("edge", "1.0", d, k, "<SEP>".join(u), "x.txt")
        lines.append(f'<edge source="{s}" target="{t}">{row}</edge>')
    return "\n".join([*lines, "</graph></graphml>"])
