"""The records that reading gives, and what the rest of the package knows a document by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Chunk", "Document", "Skipped", "text_of"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id; every span that is cited later counts characters of `text`.

    `whole` marks a passage that came as a row and is never split. `links` are the ids of the documents that
    it refers to, by citation or hyperlink; those that are not there are of no account. `file` marks one that was a file
    of its own, whose name is its id; it is no part of what the document says.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    whole: bool = False
    links: tuple[str, ...] = ()
    file: bool = field(default=False, compare=False)


def text_of(value: object) -> str:
    """Return a value of metadata as the text that it is kept and compared as.

    >>> text_of(True), text_of(2024), text_of("x")
    ('true', '2024', 'x')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: `text` is exactly `document.text[start:end]`, `ordinal` counts from 0."""

    document: str
    ordinal: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not read: a file, or a line of one (`path:line`), and why.

    `unread`: it may well hold something, as far as anyone can tell (no permission, a broken row).
    """

    path: str
    reason: str
    unread: bool = False
