"""Records out of JSON files: lines of objects, arrays of them, or an object that holds one array."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from graphwright.data.decoding import decode, lines, open_bytes, suffix_of

__all__ = ["Numbered", "json_lines", "json_records"]

Numbered = Iterator[tuple[int, dict[str, Any] | str]]
"""Places in a file, counted from 1, with the object there or with what is wrong there."""


def json_records(path: Path, fields: Collection[str]) -> Numbered:
    """Yield the objects of a file with their lines, or in `.json` with their places in its array.

    A `.json` file is an array, an object that holds just one array of objects, a single object that has
    one of `fields`, or JSON lines under the wrong name; any other suffix is taken for JSON lines.
    """
    if suffix_of(path) != ".json":
        yield from json_lines(path)
        return
    with open_bytes(path) as file:
        text = decode(file.read())
    value = "not text" if text is None else _parsed(text)
    if isinstance(value, str):
        if "Extra data" in value:  # more than one value
            yield from json_lines(path)
        else:
            yield 1, value
        return
    if isinstance(value, dict) and not any(value.get(name) for name in fields):
        held = [member for member in value.values() if _is_records(member)]
        value = held[0] if len(held) == 1 else value
    for number, record in enumerate(value if isinstance(value, list) else [value], start=1):
        yield number, record if isinstance(record, dict) else f"not a JSON object: {str(record)[:40]!r}"


def json_lines(path: Path) -> Numbered:
    """Yield the line number and the object of each line that is not blank, or what is wrong with it."""
    for number, line in enumerate(lines(path), start=1):
        if line and not line.isspace():
            record = _parsed(line.lstrip("\ufeff"))
            if isinstance(record, dict | str):
                yield number, record
            else:
                yield number, f"not a JSON object but {type(record).__name__}: {line.strip()[:40]}"


def _parsed(text: str) -> Any:
    """Parse a JSON object or array; what is none gives a string that says why."""
    try:
        value = json.loads(text)
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos:,} ({text[error.pos :][:30]!r})"
    except ValueError as error:  # a number of thousands of digits
        return f"not JSON that can be read: {error}"
    return f"not a JSON object but a string: {value[:40]!r}" if isinstance(value, str) else value


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
