"""Entities and triples extracted beforehand, by whatever model: open information extraction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphwright.data.base import Skipped
from graphwright.data.decoding import clean
from graphwright.data.jsonfiles import json_records
from graphwright.data.questions import existing
from graphwright.errors import DataError

__all__ = ["OpenieRecord", "read_openie"]

Triple = tuple[str, str, str]

_ID = ("id", "idx", "_id", "passage_id")
_ENTITIES = ("entities", "extracted_entities")
_TRIPLES = ("triples", "extracted_triples")


@dataclass(frozen=True, slots=True)
class OpenieRecord:
    """What was extracted from one passage: its id, and its text where the file repeats it."""

    id: str
    entities: tuple[str, ...] = ()
    triples: tuple[Triple, ...] = ()
    text: str = ""


def read_openie(path: Path | str, skip: Callable[[Skipped], None]) -> Iterator[OpenieRecord]:
    """Return an iterator over the extractions of a file, one record a passage.

    Read are JSON lines of `{id, entities, triples}`, and HippoRAG's JSON, `{"docs": [{"idx", "passage",
    "extracted_entities", "extracted_triples"}]}`. Names are stripped; a triple that is not three texts,
    or has an empty one, is dropped, and each record with such is told to `skip` with their number.
    Raises DataError with file and line where a record cannot be read or repeats an id.
    """
    return _read(existing(path), skip)


def _read(path: Path, skip: Callable[[Skipped], None]) -> Iterator[OpenieRecord]:
    first: dict[str, int] = {}
    for number, source in json_records(path, _TRIPLES + _ENTITIES):
        record = source if isinstance(source, str) else _record(source)
        if isinstance(source, str) or isinstance(record, str):
            raise DataError(f"{path}:{number}: {record}. Repair or remove this record.")
        if record.id in first:
            raise DataError(
                f"{path}:{number}: passage {record.id!r} was already given at {first[record.id]}. Join the two."
            )
        first[record.id] = number
        if dropped := len(_field(source, _TRIPLES)) - len(record.triples):
            skip(Skipped(f"{path}:{number}", f"{dropped} triples that are not three texts"))
        yield record
    if not first:
        raise DataError(f"{path}: no extractions in it. Expected JSON lines of id, entities and triples.")


def _record(source: dict[str, Any]) -> OpenieRecord | str:
    """Make a record of one passage's object, or say what is wrong with it."""
    identity = next((source[name] for name in _ID if source.get(name) is not None), None)
    if not isinstance(identity, str | int) or identity == "":
        return f"no id; it has {', '.join(list(source)[:8]) or 'no fields'}"
    if not any(name in source for name in _TRIPLES + _ENTITIES):
        return f"passage {identity!r} has neither entities nor triples; it has {', '.join(list(source)[:8])}"
    entities, triples = _field(source, _ENTITIES), _field(source, _TRIPLES)
    if not isinstance(entities, list) or not isinstance(triples, list):
        return f"passage {identity!r}: entities and triples must be lists"
    text = source.get("passage", "")
    return OpenieRecord(
        id=str(identity),
        entities=tuple(dict.fromkeys(name for entity in entities if (name := _name(entity)))),
        triples=tuple(triple for item in triples if (triple := _triple(item))),
        text=clean(text) if isinstance(text, str) else "",
    )


def _field(source: dict[str, Any], names: tuple[str, ...]) -> Any:
    found = next((source[name] for name in names if name in source), None)
    return [] if found is None else found


def _triple(item: object) -> Triple | None:
    if not isinstance(item, list) or len(item) != 3:
        return None
    head, relation, tail = map(_name, item)
    return (head, relation, tail) if head and relation and tail else None


def _name(value: object) -> str:
    """Return a name in one line, or an empty string for what is no text."""
    return " ".join(clean(value).split()) if isinstance(value, str) else ""
