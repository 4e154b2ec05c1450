"""Documents, their chunks, and notes on input that was not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Chunk", "Document", "Skipped", "metadata_text"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id; citations count characters of `text`.

    `whole` marks a passage that is never split. `links` are the ids of the documents that it cites or links to;
    ids that are not in the index are ignored. `file` marks a document that is a file of its own, named by its id;
    it does not count when documents are compared.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    whole: bool = False
    links: tuple[str, ...] = ()
    file: bool = field(default=False, compare=False)


def metadata_text(value: object) -> str:
    """Return a metadata value as the text under which it is stored and compared.

    >>> metadata_text(True), metadata_text(2024), metadata_text("x")
    ('true', '2024', 'x')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: `text` is exactly `document.text[start:end]`; `ordinal` counts from 0."""

    document: str
    ordinal: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a line of one (`path:line`), that was not read, with the reason.

    `unread`: it may hold data that could not be read, for example without permission or in a broken row.
    """

    path: str
    reason: str
    unread: bool = False
