"""The table of jobs, `jobs.sqlite`: task, state and result of each job."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from graphwright.data import is_database
from graphwright.serve.database import Database

Kind = Literal["add", "remove", "sync", "reextract", "rebuild", "edit", "undo", "refit"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")  # final states; only a retry changes them
_SCHEMA = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL, kind TEXT NOT NULL,
    task TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL, started TEXT, finished TEXT,
    message TEXT NOT NULL, changes TEXT, attempts INTEGER NOT NULL, runner TEXT, cancel INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS waiting ON jobs (path, state);
"""
_FIELDS = "id, path, kind, task, state, created, started, finished, message, changes, attempts, runner, cancel"


@dataclass(frozen=True)
class Progress:
    """Progress of a running job: `done` of `total` units, such as documents or chunks."""

    done: int
    total: int
    unit: str


@dataclass(frozen=True)
class Job:
    """A change to an index that is queued, runs or has ended.

    `path`: the index folder. `task`: input by kind: {"ids"} for remove and undo, {"folder"} for sync, {"schema"} for
    reextract (TOML, None for that of the index), {"edits", "strict"} for edit, {"encoder", "settings"} for rebuild,
    {"undo"} for refit, none for add (documents to add are files); and the limits "max_job_tokens" and "max_job_cost" of
    a language model. `changes`: numbers of documents added, replaced, removed and unchanged, and the failed parts; None
    for jobs about no documents. `attempts`: number of starts. `runner`: the process that runs the job. Times are ISO
    8601 in UTC.
    """

    id: str
    path: str
    kind: str
    task: Mapping[str, Any] = field(default_factory=dict)
    state: str = "queued"
    created: str = ""
    started: str | None = None
    finished: str | None = None
    message: str = ""
    changes: Mapping[str, Any] | None = None
    attempts: int = 0
    runner: str | None = None
    cancel: bool = False
    progress: Progress | None = None

    @property
    def reads_database(self) -> bool:
        """Whether it syncs an imported graph with its database."""
        return is_database(self.task.get("folder"))

    @property
    def has_ended(self) -> bool:
        """Whether the job is in a final state."""
        return self.state in ENDED

    @property
    def can_be_retried(self) -> bool:
        """Whether a retry may help: the job failed, was cancelled, or left chunks that a model has not read."""
        return self.state in ("failed", "cancelled") or bool(self.has_ended and (self.changes or {}).get("pending"))

    @property
    def cancelling(self) -> bool:
        """Whether the job is cancelled, but still runs until its next step."""
        return self.cancel and self.state == "running"

    def to_dict(self, index: str) -> dict[str, Any]:
        """Return the job as JSON for clients; `index` is the name of its index."""
        progress = None if self.progress is None else vars(self.progress)
        names = ("id", "kind", "state", "cancelling", "created", "started", "finished", "message", "attempts")
        return {
            **{name: getattr(self, name) for name in names},
            "index": index,
            "progress": progress,
            "changes": self.changes,
        }


class JobTable(Database):
    """Jobs in an SQLite file that several servers may share."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _TABLE, _SCHEMA)

    def insert(self, path: str, kind: str, task: Mapping[str, Any], id: str | None = None) -> Job:
        """Add a queued job and return it."""
        job = Job(id or new_id(), path, kind, dict(task), created=now())
        values = (job.id, path, kind, json.dumps(job.task), "queued", job.created, None, None, "", None, 0, None, 0)
        self.execute(f"INSERT INTO jobs ({_FIELDS}) VALUES ({', '.join('?' * len(values))})", *values)
        return job

    def get(self, id: str) -> Job | None:
        """Return the job with this id, or None."""
        rows = self.execute(f"SELECT {_FIELDS} FROM jobs WHERE id = ?", id)
        return _job(rows[0]) if rows else None

    def find(
        self, paths: Iterable[str], state: str | None = None, *, offset: int = 0, limit: int = -1
    ) -> tuple[list[Job], int]:
        """Return the jobs of these index folders, the newest first, and their number without `offset` and `limit`."""
        query, values = "FROM jobs WHERE path IN (SELECT value FROM json_each(?))", [json.dumps(list(paths))]
        if state is not None:
            query, values = f"{query} AND state = ?", [*values, state]
        rows = self.execute(f"SELECT {_FIELDS} {query} ORDER BY number DESC LIMIT ? OFFSET ?", *values, limit, offset)
        return [_job(row) for row in rows], int(self.execute(f"SELECT count(*) {query}", *values)[0][0])

    def syncs(self, path: str, folder: str, limit: int) -> list[Job]:
        """Return the syncs of an index folder with a source, the newest first."""
        query = "path = ? AND kind = 'sync' AND json_extract(task, '$.folder') = ? ORDER BY number DESC LIMIT ?"
        return [_job(row) for row in self.execute(f"SELECT {_FIELDS} FROM jobs WHERE {query}", path, folder, limit)]

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of jobs by index folder and state."""
        rows = self.execute("SELECT path, state, count(*) FROM jobs GROUP BY path, state")
        return {(str(path), str(state)): int(number) for path, state, number in rows}

    def claim(self, path: str, runner: str, *, joins: bool = False) -> Job | None:
        """Mark the oldest queued job as running; return it or None. `joins`: no rebuild, which shares no snapshot."""
        oldest = "number = (SELECT min(number) FROM jobs WHERE path = ? AND state = 'queued') AND state = 'queued'"
        oldest += " AND kind <> 'rebuild'" if joins else ""
        began = {
            "state": "running",
            "runner": runner,
            "started": now(),
            "finished": None,
            "message": "",
            "changes": None,
        }
        rows = self._update(began, oldest, path, more=", attempts = attempts + 1")
        return _job(rows[0]) if rows else None

    def finish(self, id: str, state: str, message: str, changes: Mapping[str, Any] | None) -> None:
        """Record the end of a running job."""
        found = None if changes is None else json.dumps(changes)
        values = {"state": state, "message": message, "changes": found, "finished": now(), "runner": None}
        self._update(values, "id = ?", id)

    def queue_again(self, id: str, states: Collection[str]) -> bool:
        """Queue a job again if it is in one of these states; return whether it was."""
        values = {"state": "queued", "runner": None, "started": None, "finished": None, "cancel": 0, "message": ""}
        return bool(self._update(values, f"id = ? AND state IN ({', '.join('?' * len(states))})", id, *states))

    def cancel(self, id: str) -> bool:
        """Cancel a queued job, or mark a running one for cancellation; return whether the job has ended."""
        values = {"state": "cancelled", "finished": now(), "message": "Cancelled before it began."}
        if self._update(values, "id = ? AND state = 'queued'", id):
            return True
        self._update({"cancel": 1}, "id = ? AND state = 'running'", id)
        return False

    def runners(self) -> set[str]:
        """Return the processes with running jobs, even those that have ended."""
        return {str(row[0]) for row in self.execute("SELECT DISTINCT runner FROM jobs WHERE state = 'running'")}

    def release(self, runner: str) -> None:
        """Queue the running jobs of a process that has ended; cancel those marked for cancellation."""
        message = "Cancelled; the server ended while it ran."
        values = {"state": "cancelled", "finished": now(), "message": message, "runner": None}
        self._update(values, "runner = ? AND state = 'running' AND cancel = 1", runner)
        self._update({"state": "queued", "runner": None}, "runner = ? AND state = 'running'", runner)

    def delete_old(self, age: timedelta) -> None:
        """Delete the jobs that ended at least so long ago."""
        marks = ", ".join("?" * len(ENDED))
        self.execute(f"DELETE FROM jobs WHERE finished < ? AND state IN ({marks})", now(-age), *ENDED)

    def ids(self) -> set[str]:
        """Return the ids of all jobs."""
        return {str(row[0]) for row in self.execute("SELECT id FROM jobs")}

    def _update(self, values: Mapping[str, Any], where: str, *given: str, more: str = "") -> list[tuple[Any, ...]]:
        """Set columns of the jobs that meet a condition, and return them. `more`: columns set by an expression."""
        columns = ", ".join(f"{name} = ?" for name in values) + more
        query = f"UPDATE jobs SET {columns} WHERE {where} RETURNING {_FIELDS}"
        return self.execute(query, *values.values(), *given)


def new_id() -> str:
    """Return a random id."""
    return secrets.token_hex(8)


def now(later: timedelta = timedelta()) -> str:
    """Return the time, or a later one, such as 2026-03-01T12:00:00.000Z."""
    return (datetime.now(UTC) + later).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _job(row: tuple[Any, ...]) -> Job:
    job = Job(*row)
    changes = None if job.changes is None else json.loads(str(job.changes))
    return replace(job, task=json.loads(str(job.task)), changes=changes, cancel=bool(job.cancel))
