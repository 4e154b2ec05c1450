"""Replicas: served copies of indexes on object storage, updated after each push."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graphwright.errors import GraphwrightError, OptionError
from graphwright.remote import pull
from graphwright.remote.bucket import is_url
from graphwright.store import IndexLayout

_log = logging.getLogger("graphwright.serve")


@dataclass(frozen=True)
class Replica:
    """A local copy of an index on object storage."""

    name: str
    url: str
    folder: Path

    @property
    def place(self) -> str:
        """The folder in the form NAME=DIR, for the catalog."""
        return f"{self.name}={self.folder}"

    def follow(self) -> None:
        """Pull the latest push. Raises GraphwrightError."""
        if pull(self.url, self.folder).changed:
            _log.info("%s was pulled from %s", self.name, self.url)


def local_folders(places: Iterable[str | Path], data: Path) -> tuple[list[str | Path], list[Replica]]:
    """Pull the URLs among `places` into folders below `data`; return all folders, and the replicas.

    A place is DIR, URL, NAME=DIR or NAME=URL. If a URL cannot be pulled, the last pulled state is served, with a
    warning. Raises GraphwrightError if there is none.
    """
    folders, replicas = list[str | Path](), list[Replica]()
    for place in places:
        if not is_url(str(place)):
            folders.append(place)
            continue
        replica = _replica(str(place), data)
        try:
            replica.follow()
        except GraphwrightError as error:
            if not IndexLayout(replica.folder).store.exists():
                raise
            _log.warning("%s serves its last pulled state: %s", replica.name, error)
        folders.append(replica.place)
        replicas.append(replica)
    return folders, replicas


def _replica(place: str, data: Path) -> Replica:
    """Return the replica of a place given as URL or NAME=URL."""
    before, equals, after = place.partition("=")
    named = bool(equals) and "://" not in before
    url = (after if named else place).rstrip("/")
    name = before if named else url.rpartition("/")[2]
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise OptionError(f"{name!r} is not usable as the name of {url}. Give NAME=URL, with letters and digits.")
    return Replica(name, url, data / "replicas" / name)


@contextmanager
def repeated(work: Callable[[], object], seconds: float, failure: str, *, wait: bool = True) -> Iterator[None]:
    """Do some work every `seconds`, in a thread, until the block ends.

    An error is logged once, as `failure` with its message, and the work is tried again. `wait`: at the end, for work
    that has begun.
    """
    ended = threading.Event()

    def repeat() -> None:
        logged = ""
        while not ended.wait(seconds):
            try:
                work()
                logged = ""
            except Exception as error:
                if str(error) != logged:
                    fault = None if isinstance(error, GraphwrightError) else error
                    _log.warning("%s: %s", failure, error, exc_info=fault)
                logged = str(error)

    thread = threading.Thread(target=repeat, name="graphwright-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        if wait:
            thread.join()
