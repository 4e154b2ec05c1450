"""The record of an index folder, remote.json: where it was pushed to or pulled from last."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from graphwright.errors import StoreError
from graphwright.files import write_text

_FILE = "remote.json"


@dataclass(frozen=True)
class Unfinished:
    """A push or pull that has begun: the name of its push, the revision of the store that it sends or brings."""

    action: str
    push: str
    revision: int


@dataclass(frozen=True)
class Record:
    """The push that a folder had the same content as last, and the revision of its store then."""

    url: str
    push: str | None
    revision: int
    unfinished: Unfinished | None = None


def read_record(folder: Path) -> Record | None:
    """Return the record of an index folder, None if it was neither pushed nor pulled. Raises StoreError if damaged."""
    path = folder / _FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        unfinished = values.pop("unfinished")
        return Record(**values, unfinished=None if unfinished is None else Unfinished(**unfinished))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}). Delete it: the folder then counts as never pushed or pulled."
        ) from error


def write_record(folder: Path, record: Record) -> None:
    """Write the record of an index folder, atomically."""
    write_text(folder / _FILE, json.dumps(asdict(record), indent=1) + "\n")
