"""Records of JSON lines, JSON and Parquet files, and the check of their fields."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from graphwright.data.decoding import decode, lines, open_bytes, suffix_of
from graphwright.errors import DataError

__all__ = [
    "SUFFIXES",
    "Record",
    "Records",
    "checked",
    "field_names",
    "json_records",
    "read_records",
    "without_wildcards",
]

SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")
"""Suffixes of files that hold records; the first three may also be packed, as `.jsonl.gz`."""

Record = Mapping[str, Any]

Records = Iterator[tuple[int, dict[str, Any] | str]]
"""Records with their line, or their place from 1 where a file has no lines; a text says why one cannot be read."""

_BATCH = 64  # rows of Parquet in memory


def read_records(path: Path, fields: Collection[str]) -> Records:
    """Yield the records of a file.

    `fields` tell a `.json` file that is one record from one that holds an array of them (see `json_records`).
    Raises DataError for a damaged Parquet file.
    """
    return _parquet_records(path) if suffix_of(path) == ".parquet" else json_records(path, fields)


def without_wildcards(path: Path) -> str:
    """Return a path for DuckDB, with its wildcard characters escaped."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def _parquet_records(path: Path) -> Records:
    import duckdb

    try:
        with duckdb.connect() as db:
            rows, number = db.execute("SELECT * FROM read_parquet(?)", [without_wildcards(path)]), 0
            names = [name for name, *_ in rows.description]
            while batch := rows.fetchmany(_BATCH):
                for row in batch:
                    number += 1
                    yield number, dict(zip(names, row, strict=True))
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: not a readable Parquet file: {reason}. Fetch the file again.") from error


def json_records(path: Path, fields: Collection[str]) -> Records:
    """Yield the objects of a JSON file: JSON lines, or a `.json` file of one value.

    A `.json` file is an array of objects, an object with exactly one member that is such an array, a single object
    that has one of `fields`, or JSON lines under the wrong name.
    """
    if suffix_of(path) != ".json":
        yield from _json_lines(path)
        return
    with open_bytes(path) as file:
        text = decode(file.read())
    value = "not text" if text is None else _parsed(text)
    if isinstance(value, str):
        if "Extra data" in value:  # more than one value
            yield from _json_lines(path)
        else:
            yield 1, value
        return
    if isinstance(value, dict) and not any(value.get(name) for name in fields):
        arrays = [member for member in value.values() if _is_records(member)]
        value = arrays[0] if len(arrays) == 1 else value
    for number, record in enumerate(value if isinstance(value, list) else [value], start=1):
        yield number, record if isinstance(record, dict) else f"not a JSON object: {str(record)[:40]!r}"


def _json_lines(path: Path) -> Records:
    for number, line in enumerate(lines(path), start=1):
        if line and not line.isspace():
            record = _parsed(line.lstrip("\ufeff"))
            if isinstance(record, dict | str):
                yield number, record
            else:
                yield number, f"not a JSON object but {type(record).__name__}: {line.strip()[:40]}"


def _parsed(text: str) -> Any:
    """Parse a JSON object or array; anything else gives a text that says why it is neither."""
    try:
        value = json.loads(text)
    except RecursionError:
        return "not readable JSON: nested too deeply"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos:,} ({text[error.pos :][:30]!r})"
    except ValueError as error:  # a number of thousands of digits
        return f"not readable JSON: {error}"
    return f"not a JSON object but a string: {value[:40]!r}" if isinstance(value, str) else value


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def field_names(record: Record) -> str:
    """Return the first names of a record's fields, for an error message."""
    return ", ".join(str(name)[:40] for name in list(record)[:8]) or "no fields"


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def checked(kind: Any, value: object, where: str, name: str = "") -> Any:
    """Return a value as an instance of a type: a whole record, or its field `name`.

    Raises DataError with `where`, the place in the value, the type expected there and the value found.
    """
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        actual = "" if first["type"] == "missing" else f", and it is {str(first['input'])[:60]!r}"
        field = f"{name}{place}".lstrip(".")
        raise DataError(f"{where}: {field}: {first['msg']}{actual}. Repair or remove this record.") from error
