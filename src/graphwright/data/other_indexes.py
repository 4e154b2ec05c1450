"""Indexes that other systems made: the output of Microsoft GraphRAG, the working folder of LightRAG."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from graphwright.data.graph_files.graphml import graphml_elements
from graphwright.data.records.read import read_records
from graphwright.errors import DataError


class SourceDocument(NamedTuple):
    """A document; its text is "" where the other system did not store it."""

    id: str
    title: str
    text: str


class TextUnit(NamedTuple):
    """A text that entities were extracted from; `document` is "" if it belongs to none."""

    id: str
    text: str
    document: str


class Entity(NamedTuple):
    """An entity, and the ids of the text units that name it."""

    name: str
    type: str
    description: str
    units: Sequence[str]


class Relationship(NamedTuple):
    """A relationship of two named entities, with its text units; `label`: "" where there is a description alone."""

    source: str
    target: str
    label: str
    description: str
    keywords: tuple[str, ...]
    units: Sequence[str]


class Community(NamedTuple):
    """The report on a community, and the names of its entities."""

    id: str
    level: str
    title: str
    report: str
    entities: Sequence[str]


@dataclass
class OtherIndex:
    """Documents, text units, entities, relationships and reports of a `system`; `remarks`: what is incomplete."""

    system: str
    documents: list[SourceDocument]
    units: list[TextUnit]
    entities: list[Entity]
    relationships: list[Relationship]
    communities: list[Community] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Drop dangling references, with remarks. Raises DataError for repeated ids, and where nothing is left."""
        for kind, ids in (("documents", [d.id for d in self.documents]), ("text units", [u.id for u in self.units])):
            repeated = [i for i, count in Counter(ids).items() if count > 1]
            if repeated:
                raise DataError(
                    f"two {kind} have the id {repeated[0]!r} ({len(repeated)} such ids); nothing was imported. Make "
                    f"the index again with {self.system}."
                )
        documents = {document.id for document in self.documents}
        lost = sum(bool(unit.document) and unit.document not in documents for unit in self.units)
        self.units = [unit if unit.document in documents else unit._replace(document="") for unit in self.units]
        self._remark(lost, "text units name a document that is missing; each is a document of its own")
        self._leave_out_dangling({unit.id for unit in self.units})
        if not self.units or not self.entities:
            missing = "entity of a text unit" if self.units else "text unit"
            raise DataError(f"there is no {missing}; nothing was imported. Finish the index with {self.system} first.")

    def _leave_out_dangling(self, units: set[str]) -> None:
        before = self._references
        self.entities = [e._replace(units=[u for u in e.units if u in units]) for e in self.entities]
        self.relationships = [r._replace(units=[u for u in r.units if u in units]) for r in self.relationships]
        self._remark(before - self._references, "references to text units that are missing were left out")
        names = {entity.name for entity in self.entities}
        related = [r for r in self.relationships if r.source in names and r.target in names]
        self._remark(len(self.relationships) - len(related), "relationships name an entity that is missing; left out")
        self.relationships = [r for r in related if r.units]
        self._remark(len(related) - len(self.relationships), "relationships have no text unit; left out")
        mentioned = [entity for entity in self.entities if entity.units]
        self._remark(len(self.entities) - len(mentioned), "entities have no text unit; left out")
        self.entities = mentioned

    @property
    def _references(self) -> int:
        return sum(len(e.units) for e in self.entities) + sum(len(r.units) for r in self.relationships)

    def _remark(self, count: int, text: str) -> None:
        if count > 0:
            self.remarks.append(f"{count:,} {text}")


_OLD = "create_final_entities.parquet"  # version 1 and before
_REMEDY = "Only the output of GraphRAG 2 and 3 can be read; index with one of these."
Row = dict[str, Any]


def is_graphrag(folder: Path) -> bool:
    """Return whether a folder is the output of GraphRAG, or a project folder that contains it."""
    return any((folder / part / name).is_file() for part in (".", "output") for name in ("entities.parquet", _OLD))


def read_graphrag(folder: Path) -> OtherIndex:
    """Read the tables documents, text_units, entities and relationships, and covariates and reports, if present.

    A claim (covariate) about two entities is a relationship with the claim's type as its label. Raises DataError for a
    table or a column that is missing, and for a damaged file.
    """
    if not (folder / "entities.parquet").is_file() and (folder / "output").is_dir():
        folder = folder / "output"
    if (folder / _OLD).is_file() and not (folder / "entities.parquet").is_file():
        raise DataError(f"{folder / _OLD} is of GraphRAG 1 or before. {_REMEDY}")
    documents = _rows(folder, "documents", ("id", "title", "text"))
    units = _rows(folder, "text_units", ("id", "text"))
    entities = _rows(folder, "entities", ("title", "description", "text_unit_ids"), ("id", "type"))
    columns = ("source", "target", "description", "text_unit_ids")
    relationships = [
        Relationship(_text(r["source"]), _text(r["target"]), "", _text(r["description"]), (), _list(r["text_unit_ids"]))
        for r in _rows(folder, "relationships", columns)
    ]
    return OtherIndex(
        "Microsoft GraphRAG",
        [SourceDocument(_text(d["id"]), _text(d["title"]), _text(d["text"])) for d in documents],
        [TextUnit(_text(u["id"]), _text(u["text"]), _document_of(u)) for u in units],
        [
            Entity(_text(e["title"]), _text(e["type"]), _text(e["description"]), _list(e["text_unit_ids"]))
            for e in entities
            if _text(e["title"])
        ],
        relationships + _claims(folder),
        _communities(folder, {_text(e["id"]): _text(e["title"]) for e in entities}),
    )


def _claims(folder: Path) -> list[Relationship]:
    if not (folder / "covariates.parquet").is_file():
        return []
    columns = ("type", "description", "subject_id", "object_id", "text_unit_id")
    claims = [{name: _text(value) for name, value in row.items()} for row in _rows(folder, "covariates", columns)]
    return [
        Relationship(c["subject_id"], c["object_id"], c["type"].lower(), c["description"], (), [c["text_unit_id"]])
        for c in claims
        if c["object_id"] not in ("", "NONE")
    ]


def _communities(folder: Path, names: dict[str, str]) -> list[Community]:
    """Return the reports with the entities of their communities."""
    if not (folder / "community_reports.parquet").is_file():
        return []
    members: dict[str, list[str]] = {}
    if (folder / "communities.parquet").is_file():
        for row in _rows(folder, "communities", ("community", "entity_ids")):
            members[_text(row["community"])] = [names[i] for i in _list(row["entity_ids"]) if i in names]
    communities = []
    for row in _rows(folder, "community_reports", ("community", "title", "full_content"), ("level",)):
        identity, level, title, report = (_text(row[n]) for n in ("community", "level", "title", "full_content"))
        communities.append(Community(identity, level, title, report, members.get(identity, [])))
    return communities


def _document_of(unit: Row) -> str:
    """Return the document of a text unit; version 2 lists several, of which the first is taken."""
    return _text(unit.get("document_id")) or next(iter(_list(unit.get("document_ids"))), "")


def _rows(folder: Path, table: str, columns: Sequence[str], optional: Iterable[str] = ()) -> list[Row]:
    """Return a table's rows, None for missing optional columns. Raises DataError for a missing or damaged table."""
    path = folder / f"{table}.parquet"
    if not path.is_file():
        raise DataError(f"{path} is missing; an output of GraphRAG has it. {_REMEDY}")
    rows = [row for _, row in read_records(path) if isinstance(row, dict)]
    if rows and (missing := [name for name in columns if name not in rows[0]]):
        raise DataError(f"{path} has no column {missing[0]!r}; it has {', '.join(rows[0])}. {_REMEDY}")
    return [dict.fromkeys(optional) | row for row in rows]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _list(value: Any) -> list[str]:
    return [] if value is None else [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]


_CHUNKS, _DOCUMENTS = "kv_store_text_chunks.json", "kv_store_full_docs.json"
_GRAPH = "graph_chunk_entity_relation.graphml"
_ENTITIES, _RELATIONS = "vdb_entities.json", "vdb_relationships.json"
_SEPARATOR = "<SEP>"
_UNKNOWN = ("unknown_source", "no-file-path", "unknown", "other")


def is_lightrag(folder: Path) -> bool:
    """Return whether a folder is a working folder of LightRAG."""
    return (folder / _CHUNKS).is_file()


def read_lightrag(folder: Path) -> OtherIndex:
    """Read documents, chunks, entities and relations.

    Entities and relations are read from the graph's GraphML, or where a database stores the graph from the JSON of
    their vectors. Where LightRAG limits the chunks of an entity in the graph, all of them are taken from
    kv_store_entity_chunks.json and kv_store_relation_chunks.json. Raises DataError for a missing or damaged file.
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
        "LightRAG",
        [SourceDocument(i, _known(row.get("file_path")), _text(row.get("content"))) for i, row in documents.items()],
        [TextUnit(i, _text(row.get("content")), _text(row.get("full_doc_id"))) for i, row in chunks],
        entities,
        relations,
    )


def _order(row: Row) -> tuple[str, int]:
    order = row.get("chunk_order_index")
    return _text(row.get("full_doc_id")), order if isinstance(order, int) else 0


def _graph(folder: Path) -> tuple[list[Entity], list[Relationship]]:
    entities, relations = list[Entity](), list[Relationship]()
    entity_chunks, relation_chunks = (_all_chunks(folder, kind) for kind in ("entity", "relation"))
    for tag, attributes, data in graphml_elements(folder / _GRAPH):
        units = _units(data)
        if tag == "node":
            name = data.get("entity_id") or attributes.get("id", "")
            units = entity_chunks.get(name, units)
            entities.append(Entity(name, _known(data.get("entity_type")), _joined(data), units))
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
        name, content = _text(row.get("entity_name")), _text(row.get("content"))
        entities.append(Entity(name, "", content.removeprefix(f"{name}\n"), _units(row)))
    relations = []
    for row in _data(folder / _RELATIONS):
        ends, content = (_text(row.get("src_id")), _text(row.get("tgt_id"))), _text(row.get("content"))
        # "keywords TAB source LF target LF description", as LightRAG embeds it.
        description = content.rpartition("\n")[2] if content.count("\n") >= 2 else content
        relations.append(Relationship(*ends, "", description, _keywords(row), _units(row)))
    return entities, relations


def _units(row: Row) -> list[str]:
    return [unit for unit in _text(row.get("source_id")).split(_SEPARATOR) if unit]


def _known(value: Any) -> str:
    """Return a path or a type, "" for one that LightRAG does not know."""
    text = _text(value).strip('"')
    return "" if text.lower() in _UNKNOWN else text


def _joined(data: Row) -> str:
    """Return the descriptions, which LightRAG joins by a separator until it summarises them."""
    parts = (part.strip() for part in _text(data.get("description")).split(_SEPARATOR))
    return " ".join(dict.fromkeys(filter(None, parts)))


def _keywords(data: Row) -> tuple[str, ...]:
    parts = _text(data.get("keywords")).replace(_SEPARATOR, ",").split(",")
    return tuple(dict.fromkeys(filter(None, map(str.strip, parts))))


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


def _data(path: Path) -> list[Row]:
    """Return the rows of a storage of vectors. Raises DataError for other JSON."""
    table = _json(path)
    rows = table.get("data") if isinstance(table, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path} is no storage of LightRAG: it has no list of objects `data`.")
    return rows
