"""Output of Microsoft GraphRAG, versions 2 and 3: Parquet tables (https://microsoft.github.io/graphrag/index/outputs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from graphwright.data.other_indexes.content import Community, Entity, OtherIndex, Relationship, SourceDocument, TextUnit
from graphwright.data.records.read import read_records
from graphwright.errors import DataError

_SYSTEM = "Microsoft GraphRAG"
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
        _SYSTEM,
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
    rows = _rows(folder, "community_reports", ("community", "title", "full_content"), ("level",))
    return [
        Community(community, _text(r["level"]), _text(r["title"]), _text(r["full_content"]), members.get(community, []))
        for r in rows
        for community in [_text(r["community"])]
    ]


def _document_of(unit: Row) -> str:
    """Return the document of a text unit; version 2 lists several, of which the first is taken."""
    return _text(unit.get("document_id")) or next(iter(_list(unit.get("document_ids"))), "")


def _rows(folder: Path, table: str, columns: Sequence[str], optional: Iterable[str] = ()) -> list[Row]:
    """Return the rows of a table with all its columns, and None for an optional column that it lacks.

    Raises DataError for a table that is missing, damaged or lacks a column.
    """
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
