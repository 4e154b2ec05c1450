"""The record of an index folder, remote.json: the URL that it was last pushed to or pulled from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from graphwright.errors import StoreError
from graphwright.files import write_text

_FILE = "remote.json"


@dataclass(frozen=True)
class Unfinished:
    """An unfinished push or pull: the name of the push, and the revision of the store that is sent or fetched."""

    action: str
    push: str
    revision: int


@dataclass(frozen=True)
class Record:
    """The last push or pull of a folder, and the revision of its store at that time."""

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
