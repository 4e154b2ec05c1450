"""Replace one value in JSON, lines of JSON, or TOML by one of another type or of an extreme size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["VALUES", "with_value"]

VALUES = (
    *("null", "true", "false", "0", "-1", "1.5", "1e999", "-1e999", "NaN", "9" * 30, "9" * 4000, "1e-320"),
    *('""', '" "', '"text"', '"5"', r'"\ud800"', r'"\u0000"', r'"\u001b[2J\u202e"', '"' + "x" * 3000 + '"', '"a/../b"'),
    *("[]", "{}", "[null]", "[[]]", '[""]', '["a", 5]', "[1e999]", '{"": null}', '{"text": 5}', '[{"text": "x"}]'),
    *("[" * 300 + "]" * 300, "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900),
)
"""Values as JSON writes them."""
_TOML = ("1979-05-27", "nan", "inf", "{a = 1}", "[[1]]", "'''\n'''", "07:32:00")
_ASSIGNED = re.compile(rb"^(\s*[\w.]+\s*=\s*)(.*)$", re.MULTILINE)
_MARK = "\ue000"


def with_value(data: bytes, place: float, value: str, as_name: bool = False) -> bytes:
    """Return data in which one value is replaced; as they are where they hold neither JSON nor TOML.

    `place`: of the value, from 0 to 1. `as_name`: give the value another name instead, in an object.

    >>> with_value(b'{"a": [1, 2]}', 0.99, "null"), with_value(b"a = 1\\nb = 2", 0.99, "{}")
    (b'{"a": [1, null]}', b'a = 1\\nb = {}')
    """
    if (whole := _replaced(data, place, value, as_name)) is not None:
        return whole + b"\n" * data.endswith(b"\n")  # a line without an end may count as cut short
    lines = data.split(b"\n")
    numbers = [number for number, line in enumerate(lines) if _replaced(_json_part(line)[1], 0.0, value) is not None]
    if numbers:
        scaled = min(place, 0.999999) * len(numbers)
        number = numbers[int(scaled)]
        prefix, part = _json_part(lines[number])
        lines[number] = prefix + (_replaced(part, scaled % 1, value, as_name) or b"")
        return b"\n".join(lines)
    if assigned := list(_ASSIGNED.finditer(data)):
        match = assigned[min(int(place * len(assigned)), len(assigned) - 1)]
        toml = _TOML[len(value) % len(_TOML)] if as_name or value in ("null", "NaN") else value
        return data[: match.start(2)] + toml.encode() + data[match.end(2) :]
    return data


def _json_part(line: bytes) -> tuple[bytes, bytes]:
    """Return what stands before JSON in a line, such as the name of a field of an event, and the JSON."""
    start = line.find(b"{")
    return (line[:start], line[start:]) if start > 0 else (b"", line)


def _replaced(data: bytes, place: float, value: str, as_name: bool = False) -> bytes | None:
    """Return a JSON object or list with one value replaced, None for anything else."""
    try:
        root = json.loads(data)
        paths = list(_paths(root))
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict | list):
        return None
    path = paths[min(int(place * len(paths)), len(paths) - 1)]
    text = json.dumps(_with(root, path, value if as_name else _MARK, as_name))
    return text.replace(json.dumps(_MARK), value).encode()


def _paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value, as the names and numbers that lead to it."""
    yield above
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from _paths(part, (*above, name))


def _with(value: Any, path: tuple[Any, ...], new: str, as_name: bool) -> Any:
    """Return a value with another one at a place, or with another name for it."""
    if not path:
        return value if as_name else new
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        if as_name and not rest:
            return {(new[:100] if name == first else name): part for name, part in value.items()}
        return {name: _with(part, rest, new, as_name) if name == first else part for name, part in value.items()}
    return [_with(part, rest, new, as_name) if at == first else part for at, part in enumerate(value)]
