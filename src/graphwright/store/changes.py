"""Changes of an index: documents added, replaced and removed, and the progress of the process that changes it."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from graphwright.data.document import Skipped
from graphwright.models.protocols import Usage

Progress = Callable[[str, int, int], None]  # called with the name of the current work, the amount done and the total


@dataclass
class Changes:
    """Changes of an index: ids of documents by kind of change, and input that could not be read.

    `moved`: documents of a synced folder that have another id now, and the same text, as (earlier id, id).
    `retained`: documents that are gone from the synced folder but stay, because unreadable files, `unreadable`, may
    contain them. `resumed`: whether documents stored by an interrupted run became searchable only now.
    `unsuitable`: number of documents that the extractor does not support well, by reason. Chunks: `extracted` by a
    deferred extractor or `reextract`; `pending`, which wait for one, as (document, ordinal, reason); `released`, which
    no longer wait, because this extractor had read them. `off_schema`: entities and relations found that do not fit the
    schema of the index. `recognised`: documents with text read by OCR, each with its pages. `rebuilt`: whether the
    whole index was built again, with `extracted` chunks that are not as before. `refined`: number of values that a
    language model derived from the merged graph; `unrefined`: why others are missing. `seconds` by part of the build,
    `texts`: embedded, by kind.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    retained: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    resumed: bool = False
    recognised: list[tuple[str, str]] = field(default_factory=list)
    unsuitable: Counter[str] = field(default_factory=Counter)
    extracted: int = 0
    released: int = 0
    off_schema: int = 0
    pending: list[tuple[str, int, str]] = field(default_factory=list)
    rebuilt: bool = False
    refined: int = 0
    unrefined: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def renamed(self) -> int:
        """Number of the moved documents that are in the same folder as before."""
        return sum(PurePosixPath(earlier).parent == PurePosixPath(now).parent for earlier, now in self.moved)


class ProgressRecord(NamedTuple):
    """Progress of a process: its number, the name of the current work, the amount done and the total."""

    process: int
    work: str
    done: int
    total: int


def read_progress(file: Path) -> ProgressRecord | None:
    """Return the record of a file, None if there is none that can be read."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        return ProgressRecord(int(record["process"]), str(record["work"]), int(record["done"]), int(record["total"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass
class Recorder:
    """Callback that passes progress on, and records it in a file for other processes, at most once a second."""

    file: Path
    progress: Progress | None
    _due: float = 0

    def __call__(self, work: str, done: int, total: int) -> None:
        if (now := time.monotonic()) >= self._due:
            self._due = now + 1
            with suppress(OSError):  # the record is optional
                record = ProgressRecord(os.getpid(), work, done, total)._asdict()
                self.file.write_text(json.dumps(record), encoding="utf-8")
        if self.progress is not None:
            self.progress(work, done, total)

    def end(self) -> None:
        """Delete the record."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
