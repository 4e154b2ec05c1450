"""Syncs by a server itself: with watched folders after each change, with other sources at their intervals.

The table of jobs tells when a source was synced and how that ended, so that a restart begins nothing anew.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from graphwright.data import scheme_of, watched
from graphwright.engines import repeated
from graphwright.errors import DataError, GraphwrightError
from graphwright.serve.catalog import Catalog, tried
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.jobs.table import Job
from graphwright.serve.logs import log
from graphwright.serve.settings import ServeSettings, SyncSource

_POLL_SECONDS = 0.5  # between two checks whether a job has ended, or a source is due
_RETRY_SECONDS = 10.0  # after which a folder that is gone is looked for again
_FIRST_PAUSE = timedelta(minutes=1)  # after one failure; doubled by each further one
_LONGEST_PAUSE = timedelta(days=1)  # unless the interval is longer
_COUNTED = 15  # failures that are counted, after which no pause is longer


def due_at(source: SyncSource, jobs: Sequence[Job]) -> datetime | None:
    """Return when a source is synced next, None if not, after its last syncs; failures pause a minute to a day."""
    if source.every is None or (jobs and jobs[0].finished is None):
        return None
    if not jobs:
        return datetime.min.replace(tzinfo=UTC)
    failures = next((at for at, job in enumerate(jobs) if job.state != "failed"), len(jobs))
    pause = every = timedelta(seconds=source.every)
    if failures:
        pause = min(_FIRST_PAUSE * 2 ** (failures - 1), max(every, _LONGEST_PAUSE))
    return datetime.fromisoformat(str(jobs[0].finished)) + pause


def source_states(index: str, jobs: Jobs, settings: ServeSettings) -> list[dict[str, Any]]:
    """Return the sources of an index with their last syncs, in the form of SourcesReply."""
    states = []
    for name, source in settings.folders.get(index, {}).items():
        last = jobs.syncs(index, source.address, _COUNTED)
        due = due_at(source, last)
        states.append(
            {
                "name": name,
                "kind": "folder" if isinstance(source.place, Path) else scheme_of(source.place),
                "watched": settings.watch and isinstance(source.place, Path),
                "every": source.every,
                "due": None if due is None else max(due, datetime.now(UTC)).isoformat(timespec="seconds"),
                "last": last[0].to_dict(index) if last else None,
            }
        )
    return states


class SourceWatch:
    """The watched folders of a server, each with a thread, and the sources with an interval."""

    def __init__(self, catalog: Catalog, jobs: Jobs, settings: ServeSettings) -> None:
        self._catalog, self._jobs = catalog, jobs
        places = [(index, source) for index, named in settings.folders.items() for source in named.values()]
        places = [(index, source) for index, source in places if index in catalog]
        self._folders = [(index, source.place) for index, source in places if isinstance(source.place, Path)]
        self._folders = self._folders if settings.watch else []
        self._repeated = [
            tried(partial(self._sync_due, index, source), f"{index} is not synced with one of its sources")
            for index, source in places
            if source.every is not None
        ]
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch the folders, and sync the other sources, during the block."""
        threads = [threading.Thread(target=self._watch, args=place, daemon=True) for place in self._folders]
        for thread in threads:
            thread.start()
        try:
            with repeated(self._sync_repeated, _POLL_SECONDS):
                yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _sync_repeated(self) -> None:
        for work in self._repeated:
            work()

    def _sync_due(self, index: str, source: SyncSource) -> None:
        if index in self._catalog:
            due = due_at(source, self._jobs.syncs(index, source.address, _COUNTED))
            if due is not None and due <= datetime.now(UTC):
                self._jobs.submit(index, "sync", {"folder": source.address})

    def _watch(self, index: str, folder: Path) -> None:
        """Sync an index with a folder at first and after each change, until the server stops."""
        said = ""
        while not self._stop.is_set() and index in self._catalog:
            try:
                for changed in watched(folder, self._catalog[index].path, self._stop):
                    if index not in self._catalog:
                        return
                    if changed:
                        self._sync(index, folder)
            except DataError as error:
                if said != (said := str(error)):
                    log.warning("a folder of %s is looked for every %g s: %s", index, _RETRY_SECONDS, error)
                self._stop.wait(_RETRY_SECONDS)

    def _sync(self, index: str, folder: Path) -> None:
        """Sync an index by a job, and wait until it has ended: changes meanwhile need one more, and not one each."""
        try:
            job = self._jobs.submit(index, "sync", {"folder": str(folder.resolve())})
            while not (self._stop.wait(_POLL_SECONDS) or self._jobs.get(job.id).has_ended):
                pass
        except GraphwrightError as error:  # such as a queue that is full
            log.warning("%s was not synced with its folder: %s", index, error)
