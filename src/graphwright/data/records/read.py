"""Records of files: JSON, JSON lines, CSV, TSV and Parquet."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from graphwright.data.decoding import decode, lines, open_bytes, suffix_of
from graphwright.data.duckdb_session import duckdb_session
from graphwright.data.records.delimited import read_table
from graphwright.data.records.table import Note
from graphwright.errors import DataError
from graphwright.text.characters import clean

SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")  # of files of records; the first three also packed: `.jsonl.gz`

PARQUET = b"PAR1"  # first bytes of its files

Record = Mapping[str, Any]

Records = Iterator[tuple[int, dict[str, Any] | str]]  # by line, or position from 1; an unreadable one as error text

_NO_JSON = re.compile(r'("(?:[^"\\]|\\.)*+")|//[^\n]*|/\*.{0,2000}?\*/|,(?=\s*[\]}])', re.DOTALL)  # but a text, group 1
_BATCH = 64  # rows of Parquet in memory


def read_records(path: Path, fields: Collection[str] = ()) -> Records:
    """Return an iterator over the records of a file. Raises DataError for a damaged Parquet file.

    A `.json` file is an array of objects, an object with exactly one member that is such an array, a single object
    that has one of `fields`, or JSON lines under the wrong name.
    """
    suffix = suffix_of(path)
    if suffix == ".parquet":
        return _parquet_records(path)
    if suffix in (".csv", ".tsv"):
        return ((number, row) for number, row in read_table(path) if not isinstance(row, Note))
    value = json_value(path) if suffix == ".json" else None
    return _json_lines(path) if value is None else json_objects(value, fields)


def first_field(record: Record, names: Sequence[str]) -> str:
    """Return the first of these names that is a field of the record and not null, else an empty string."""
    return next((name for name in names if record.get(name) is not None), "")


def first_value(record: Record, names: Sequence[str]) -> Any:
    """Return the value of the first of these fields that is not null; None if there is none."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def without_wildcards(path: Path) -> str:
    """Return a path for DuckDB, with its wildcard characters escaped."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def _parquet_records(path: Path) -> Records:
    import duckdb

    try:
        with duckdb_session() as db:
            rows, number = db.execute("SELECT * FROM read_parquet(?)", [without_wildcards(path)]), 0
            names = [name for name, *_ in rows.description]
            while batch := rows.fetchmany(_BATCH):
                for row in batch:
                    number += 1
                    yield number, dict(zip(names, map(_json_like, row), strict=True))
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: not a readable Parquet file: {reason}. Fetch the file again.") from error


def _json_like(value: Any) -> Any:
    """Return a value of Parquet as one of JSON: dates, times and decimals as texts, bytes and NaN as null.

    >>> import datetime
    >>> _json_like(datetime.date(2024, 6, 3)), _json_like(b"PNG"), _json_like(float("nan")), _json_like(12.5)
    ('2024-06-03', None, None, 12.5)
    """
    if isinstance(value, bytes | bytearray) or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if value is None or isinstance(value, str | int | float | list | dict) else str(value)


def json_value(path: Path) -> Any:
    """Return the value of a `.json` file, None for JSON lines under the wrong name, an error text for neither.

    Several values after each other are a list. Comments and commas before a closing bracket are left out.
    """
    with open_bytes(path) as file:
        text = decode(file.read())
    if text is None:
        return "not text"
    value = _parsed(text.lstrip("\ufeff"))
    if isinstance(value, str) and "Extra data" not in value:
        plain = _parsed(_NO_JSON.sub(lambda match: match[1] or "", text))
        return value if isinstance(plain, str) else plain
    if not isinstance(value, str):
        return value
    return None if isinstance(_parsed(text.strip().partition("\n")[0]), dict) else _values(text)


def _values(text: str) -> list[Any] | None:
    """Return the values that stand after each other in a text; None if there is anything else."""
    values, at, decoder = list[Any](), 0, json.JSONDecoder()
    try:
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip(", \t\r\n"))
            value, at = decoder.raw_decode(text, at)
            values.append(value)
    except (ValueError, RecursionError):
        return None
    return values


def json_objects(value: Any, fields: Collection[str]) -> Records:
    """Yield the objects of a value with their positions from 1; `fields` as in `read_records`."""
    if isinstance(value, str):
        yield 1, value
        return
    if isinstance(value, dict) and not any(value.get(name) for name in fields):
        arrays = [part for part in value.values() if isinstance(part, list) and part and isinstance(part[0], dict)]
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
    """Parse a JSON object or array; return an error text for anything else."""
    try:
        value = json.loads(text)
    except RecursionError:
        return "not readable JSON: nested too deeply"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos:,} ({text[error.pos :][:30]!r})"
    except ValueError as error:  # a number of thousands of digits
        return f"not readable JSON: {error}"
    return f"not a JSON object but a string: {value[:40]!r}" if isinstance(value, str) else value


def field_names(record: Record) -> str:
    """Return the first names of a record's fields, for an error message."""
    return ", ".join(str(name)[:40] for name in list(record)[:8]) or "no fields"


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def checked(kind: Any, value: object, where: str, name: str = "") -> Any:
    """Return a value, or its field `name`, as a type. Raises DataError with `where`, the place, type and value."""
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        actual = "" if first["type"] == "missing" else f", and it is {str(first['input'])[:60]!r}"
        field = f"{name}{place}".lstrip(".")
        raise DataError(f"{where}: {field}: {first['msg']}{actual}. Repair or remove this record.") from error


def links_of(value: object) -> tuple[str, ...]:
    """Return the ids in a field of a record: a list of texts or whole numbers, or one text with all of them.

    A text is split at semicolons if it has any, so that ids may contain spaces, else at white space.
    Other values in a list are ignored.

    >>> links_of(["a b", 7, None]), links_of("a b"), links_of("a b; c")
    (('a b', '7'), ('a', 'b'), ('a b', 'c'))
    """
    if isinstance(value, str):
        parts = value.split(";") if ";" in value else value.split()
    elif isinstance(value, list | tuple):
        parts = [str(item) for item in value if isinstance(item, str | int) and not isinstance(item, bool)]
    else:
        parts = []
    return tuple(dict.fromkeys(filter(None, (clean(part).strip() for part in parts))))
