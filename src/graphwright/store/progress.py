"""Progress of the process that changes an index, in a file that other processes read."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from graphwright.store.changes import Progress


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
        """Pass on the progress, and record it."""
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
