"""Working folder of LightRAG with its file storages: GraphML of the graph, JSON of documents, chunks and vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from graphwright.data.graph_files.graphml import graphml_elements
from graphwright.data.other_indexes.content import Entity, OtherIndex, Relationship, SourceDocument, TextUnit
from graphwright.errors import DataError

_SYSTEM = "LightRAG"
_CHUNKS, _DOCUMENTS = "kv_store_text_chunks.json", "kv_store_full_docs.json"
_GRAPH = "graph_chunk_entity_relation.graphml"
_ENTITIES, _RELATIONS = "vdb_entities.json", "vdb_relationships.json"
_SEPARATOR = "<SEP>"
_UNKNOWN = ("", "unknown_source", "no-file-path")
Row = dict[str, Any]


def is_lightrag(folder: Path) -> bool:
    """Return whether a folder is a working folder of LightRAG."""
    return (folder / _CHUNKS).is_file()


def read_lightrag(folder: Path) -> OtherIndex:
    """Read documents, chunks, entities and relations.

    Entities and relations are read from the graph's GraphML, or where a database stores the graph from the JSON of
    their vectors. Where LightRAG limits the chunks of an entity in the graph, all of them are taken from
    kv_store_entity_chunks.json and kv_store_relation_chunks.json. Raises DataError for a file that is missing or
    damaged.
    """
    documents = {} if not (folder / _DOCUMENTS).is_file() else _table(folder / _DOCUMENTS)
    chunks = sorted(_table(folder / _CHUNKS).items(), key=lambda item: _order(item[1]))
    if (folder / _GRAPH).is_file():
        entities, relations = _graph(folder)
    elif (folder / _ENTITIES).is_file() and (folder / _RELATIONS).is_file():
        entities, relations = _vectors(folder)
    else:
        raise DataError(
            f"{folder} has neither {_GRAPH} nor {_ENTITIES} with {_RELATIONS}: LightRAG keeps its graph elsewhere. "
            f"Export it there, for example from Neo4j as JSON, and import that file."
        )
    return OtherIndex(
        _SYSTEM,
        [SourceDocument(i, _path(row), _text(row, "content")) for i, row in documents.items()],
        [TextUnit(i, _text(row, "content"), _text(row, "full_doc_id")) for i, row in chunks],
        entities,
        relations,
    )


def _order(row: Row) -> tuple[str, int]:
    order = row.get("chunk_order_index")
    return _text(row, "full_doc_id"), order if isinstance(order, int) else 0


def _path(row: Row) -> str:
    path = _text(row, "file_path")
    return "" if path in _UNKNOWN else path


def _graph(folder: Path) -> tuple[list[Entity], list[Relationship]]:
    entities, relations = list[Entity](), list[Relationship]()
    entity_chunks, relation_chunks = (_all_chunks(folder, kind) for kind in ("entity", "relation"))
    for tag, attributes, data in graphml_elements(folder / _GRAPH):
        units = _units(data)
        if tag == "node":
            name = data.get("entity_id") or attributes.get("id", "")
            units = entity_chunks.get(name, units)
            entities.append(Entity(name, _type(data), _joined(data), units))
        else:
            ends = attributes.get("source", ""), attributes.get("target", "")
            units = relation_chunks.get(_SEPARATOR.join(sorted(ends)), units)
            relations.append(Relationship(*ends, "", _joined(data), _keywords(data), units))
    return entities, relations


def _all_chunks(folder: Path, kind: str) -> dict[str, list[str]]:
    path = folder / f"kv_store_{kind}_chunks.json"
    rows = _table(path).items() if path.is_file() else ()
    return {name: list(map(str, row["chunk_ids"])) for name, row in rows if isinstance(row.get("chunk_ids"), list)}


def _vectors(folder: Path) -> tuple[list[Entity], list[Relationship]]:
    entities = []
    for row in _data(folder / _ENTITIES):
        name, content = _text(row, "entity_name"), _text(row, "content")
        entities.append(Entity(name, "", content.removeprefix(f"{name}\n"), _units(row)))
    relations = []
    for row in _data(folder / _RELATIONS):
        ends, content = (_text(row, "src_id"), _text(row, "tgt_id")), _text(row, "content")
        # "keywords TAB source LF target LF description", as LightRAG embeds it.
        description = content.rpartition("\n")[2] if content.count("\n") >= 2 else content
        relations.append(Relationship(*ends, "", description, _keywords(row), _units(row)))
    return entities, relations


def _units(row: Row) -> list[str]:
    return [unit for unit in _text(row, "source_id").split(_SEPARATOR) if unit]


def _type(data: Row) -> str:
    kind = _text(data, "entity_type").strip('"')
    return "" if kind.lower() in ("unknown", "other") else kind


def _joined(data: Row) -> str:
    """Return the descriptions, which LightRAG joins by a separator until it summarises them."""
    parts = (part.strip() for part in _text(data, "description").split(_SEPARATOR))
    return " ".join(dict.fromkeys(filter(None, parts)))


def _keywords(data: Row) -> tuple[str, ...]:
    parts = _text(data, "keywords").replace(_SEPARATOR, ",").split(",")
    return tuple(dict.fromkeys(filter(None, map(str.strip, parts))))


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is not readable JSON ({error}); nothing was imported. Copy the folder again."
        ) from error


def _table(path: Path) -> dict[str, Row]:
    """Return the rows of a key-value storage by key. Raises DataError for other JSON."""
    table = _json(path)
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        raise DataError(f"{path} is no storage of LightRAG: each key must have an object. Give its working folder.")
    return table


def _data(path: Path) -> Iterator[Row]:
    """Yield the rows of a storage of vectors. Raises DataError for other JSON."""
    table = _json(path)
    rows: Iterable[Any] = table.get("data") if isinstance(table, dict) else None  # type: ignore[assignment]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path} is no storage of LightRAG: it has no list of objects `data`.")
    yield from rows
