"""What one chunk contributes to the graph: the unit that extraction makes and the store keeps.

The graph is a pure function of the contributions that are present, so taking a chunk away is exact:
it leaves the graph that would have been built without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["DeferredExtractor", "Excerpt", "Extraction", "ExtractionFailure", "Extractor", "Mention", "Relation"]


class Excerpt(NamedTuple):
    """A chunk as an extractor reads it: the id and title of its document, and its text."""

    document: str
    title: str
    text: str


class Mention(NamedTuple):
    """An entity as the chunk names it: surface form, character span in the chunk (start, end).

    A name that does not stand in the chunk (its title, or one that a model wrote) has the span (0, 0).
    `type` and `description` are what a language model says of it, if one was asked.
    """

    name: str
    start: int = 0
    end: int = 0
    type: str = ""
    description: str = ""


class Relation(NamedTuple):
    """A directed, labelled link between two surface forms, and the text that states it.

    `text` is the sentence, or the description that a language model gives; `keywords` are the themes that such a
    model sees in it.
    """

    head: str
    relation: str
    tail: str
    text: str
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """Entities and relations that one chunk gives to the graph, in reading order."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionFailure:
    """In the place of a contribution: why a chunk could not be read. It is tried again, alone, in the next run.

    `closed`: nothing else will be read either, since the model is gone or the budget is spent.
    """

    reason: str
    closed: bool = False


@runtime_checkable
class Extractor(Protocol):
    """Reads entities and relations out of chunks.

    `id` changes whenever the extractor would give something else for the same chunk.
    """

    @property
    def id(self) -> str:
        """Name and version."""
        ...

    def extract(self, excerpts: Sequence[Excerpt]) -> Sequence[Extraction | ExtractionFailure]:
        """Return one contribution per excerpt, in order, or why there is none."""
        ...


@runtime_checkable
class DeferredExtractor(Extractor, Protocol):
    """An extractor that takes long or costs money.

    A new chunk is read by `meanwhile` at once, and waits; then this one reads what waits, batch by batch, and what it
    gives is kept as soon as it is there. What it sets aside goes on waiting.
    """

    @property
    def meanwhile(self) -> Extractor:
        """The extractor whose reading serves until this one has read a chunk."""
        ...
