"""Entities and triples extracted beforehand by any model (open information extraction)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphwright.data.decoding import clean, existing
from graphwright.data.document import Skipped
from graphwright.data.records import field_names, json_records
from graphwright.errors import DataError

__all__ = ["OpenieRecord", "read_openie"]

Triple = tuple[str, str, str]

_ID = ("id", "idx", "_id", "passage_id")
_ENTITIES = ("entities", "extracted_entities")
_TRIPLES = ("triples", "extracted_triples")


@dataclass(frozen=True, slots=True)
class OpenieRecord:
    """Entities and triples of the passage `id`; `text` is the passage where the file repeats it."""

    id: str
    entities: tuple[str, ...] = ()
    triples: tuple[Triple, ...] = ()
    text: str = ""


def read_openie(path: Path | str, skip: Callable[[Skipped], None]) -> Iterator[OpenieRecord]:
    """Return an iterator over the extractions of a file, one record per passage.

    The file holds JSON lines of `{id, entities, triples}`, or HippoRAG's JSON, `{"docs": [{"idx", "passage",
    "extracted_entities", "extracted_triples"}]}`. Names are stripped. A triple that is not three texts, or has an
    empty one, is dropped; `skip` gets each record with such triples, and their number. Raises DataError with file
    and line for a record that cannot be read or repeats an id.
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
    """Return the record of a passage, or the reason why it cannot be read."""
    identity = next((source[name] for name in _ID if source.get(name) is not None), None)
    if not isinstance(identity, str | int) or identity == "":
        return f"no id; it has {field_names(source)}"
    if not any(name in source for name in _TRIPLES + _ENTITIES):
        return f"passage {identity!r} has neither entities nor triples; it has {field_names(source)}"
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
    value = next((source[name] for name in names if name in source), None)
    return [] if value is None else value


def _triple(item: object) -> Triple | None:
    if not isinstance(item, list) or len(item) != 3:
        return None
    head, relation, tail = map(_name, item)
    return (head, relation, tail) if head and relation and tail else None


def _name(value: object) -> str:
    """Return a name in one line, or an empty string for a value that is not text."""
    return " ".join(clean(value).split()) if isinstance(value, str) else ""
