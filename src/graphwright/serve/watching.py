"""Watching of the folders that a server's settings list: a job syncs an index whenever files of its folder change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphwright.data import watched
from graphwright.errors import DataError, GraphwrightError
from graphwright.serve.catalog import Catalog
from graphwright.serve.jobs.queue import Jobs
from graphwright.serve.settings import ServeSettings

_log = logging.getLogger("graphwright.serve")
_POLL_SECONDS = 0.5  # between two checks whether a job has ended
_RETRY_SECONDS = 10.0  # after which a folder that is gone is looked for again


class FolderWatch:
    """The watched folders of a server, each with a thread."""

    def __init__(self, catalog: Catalog, jobs: Jobs, settings: ServeSettings) -> None:
        self._catalog, self._jobs = catalog, jobs
        self._folders = [
            (index, folder)
            for index, folders in (settings.folders if settings.watch else {}).items()
            for folder in folders.values()
            if index in catalog and isinstance(folder, Path)
        ]
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch the folders during the block."""
        threads = [threading.Thread(target=self._watch, args=place, daemon=True) for place in self._folders]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

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
                    _log.warning("a folder of %s is looked for every %g s: %s", index, _RETRY_SECONDS, error)
                self._stop.wait(_RETRY_SECONDS)

    def _sync(self, index: str, folder: Path) -> None:
        """Sync an index by a job, and wait until it has ended: changes meanwhile need one more, and not one each."""
        try:
            job = self._jobs.submit(index, "sync", {"folder": str(folder.resolve())})
            while not (self._stop.wait(_POLL_SECONDS) or self._jobs.get(job.id).has_ended):
                pass
        except GraphwrightError as error:  # such as a queue that is full
            _log.warning("%s was not synced with its folder: %s", index, error)
