"""Extractions made beforehand: entities and triples of passages, by any model (open information extraction)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graphwright.data.decoding import existing
from graphwright.data.document import Skipped
from graphwright.data.records.read import Record, field_names, first_value, read_records
from graphwright.errors import DataError
from graphwright.text.characters import clean

_OPENIE_IDS = ("id", "idx", "_id", "passage_id")
_ENTITIES = ("entities", "extracted_entities")
_TRIPLES = ("triples", "extracted_triples")


@dataclass(frozen=True, slots=True)
class OpenieRecord:
    """Entities and triples of the passage `id`, extracted beforehand by any model (open information extraction)."""

    id: str
    entities: tuple[str, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()


def read_openie(path: Path | str, skip: Callable[[Skipped], None]) -> Iterator[OpenieRecord]:
    """Yield the extractions of a file, one record per passage.

    The file holds JSON lines of `{id, entities, triples}`, or HippoRAG's JSON, `{"docs": [{"idx", "extracted_entities",
    "extracted_triples"}]}`. A triple that is not three texts is dropped, and reported to `skip`. Raises DataError with
    file and line for a record that cannot be read or repeats an id.
    """
    path = existing(path)
    first: dict[str, int] = {}
    for number, source in read_records(path, _TRIPLES + _ENTITIES):
        record = source if isinstance(source, str) else _extractions(source)
        if isinstance(source, str) or isinstance(record, str):
            raise DataError(f"{path}:{number}: {record}. Repair or remove this record.")
        if record.id in first:
            raise DataError(
                f"{path}:{number}: passage {record.id!r} was already given at {first[record.id]}. Join the two."
            )
        first[record.id] = number
        if dropped := len(first_value(source, _TRIPLES) or ()) - len(record.triples):
            skip(Skipped(f"{path}:{number}", f"triples that are not three texts: {dropped}"))
        yield record
    if not first:
        raise DataError(f"{path}: no extractions in it. Expected JSON lines of id, entities and triples.")


def _extractions(source: Record) -> OpenieRecord | str:
    """Return the extractions of a passage, or the reason why they cannot be read."""
    identity = first_value(source, _OPENIE_IDS)
    if not isinstance(identity, str | int) or identity == "":
        return f"no id; it has {field_names(source)}"
    if source.keys().isdisjoint(_TRIPLES + _ENTITIES):
        return f"passage {identity!r} has neither entities nor triples; it has {field_names(source)}"
    entities, triples = (first_value(source, names) or [] for names in (_ENTITIES, _TRIPLES))
    if not isinstance(entities, list) or not isinstance(triples, list):
        return f"passage {identity!r}: entities and triples must be lists"
    names = tuple(dict.fromkeys(filter(None, map(_name, entities))))
    parts = (map(_name, triple) for triple in triples if isinstance(triple, list) and len(triple) == 3)
    return OpenieRecord(str(identity), names, tuple((h, r, t) for h, r, t in parts if h and r and t))


def _name(value: object) -> str:
    """Return a name in one line, or an empty string for a value that is not text."""
    return " ".join(clean(value).split()) if isinstance(value, str) else ""
