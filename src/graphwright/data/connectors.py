"""Connectors to sources of files that change, such as a web site; other packages add theirs by an entry point."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple, Protocol, runtime_checkable

from graphwright.data.document import Skipped
from graphwright.data.formats.format import File
from graphwright.data.formats.registry import of_other_packages

GROUP = "graphwright.connectors"  # entry point group in which packages name connectors, by scheme of their addresses
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # of two letters at least, as C: is a disk


class SourceFile(NamedTuple):
    """A file of a source: its document's id; `tag`: its version, "" if unknown; `leads`: its links are files too."""

    name: str
    tag: str = ""
    leads: bool = False


class Fetched(NamedTuple):
    """The content of a file of a source. `tag`: its version, by default that of the list.

    `file`: Skipped with the reason for one that is not to be read, None for one that only leads to others. `links`:
    the names of the files that it leads to, which are fetched next, where the list has one that `leads`.
    """

    file: File | Skipped | None
    tag: str = ""
    links: Sequence[str] = ()


@runtime_checkable
class Connector(Protocol):
    """A source of files that changes. A sync calls `list` first, then `fetch` for each file that is not known."""

    @property
    def address(self) -> str:
        """The address of the source, `SCHEME:…`. An index removes only documents that it has from the same address."""

    def list(self) -> Iterable[SourceFile]:
        """Return all files of the source. Raises an error if some could be missing, as what is missing is removed."""

    def fetch(self, name: str, tag: str) -> Fetched | Skipped | None:
        """Fetch a listed file. `tag`: the version that the index has, "" for none.

        Returns None if the file is still of this version, and Skipped with the reason if it is not there, or not to be
        read. After an error the documents of the file stay as they are.
        """


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case, "" for a path.

    >>> scheme_of("S3://bucket/wiki"), scheme_of("maildir:Mail"), scheme_of("C:/docs"), scheme_of("docs/a")
    ('s3', 'maildir', '', '')
    """
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


@cache
def other_connectors() -> dict[str, Callable[[str], Connector]]:
    """Return other packages' makers of connectors, by scheme. Raises DataError for one that cannot be loaded."""
    return {name.lower(): maker for name, maker in of_other_packages(GROUP, "connector")}
