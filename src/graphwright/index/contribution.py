"""What one chunk contributes to the graph: the unit that extraction makes and the store keeps.

The graph is a pure function of the contributions that are present, so taking a chunk away is exact:
it leaves the graph that would have been built without it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["Contribution", "Deferred", "Excerpt", "Extractor", "Mention", "Relation", "SetAside"]


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
class Contribution:
    """Entities and relations that one chunk gives to the graph, in reading order.

    >>> made = Contribution((Mention("Graz", 0, 4),), (Relation("Graz", "in", "Austria", "Graz is in Austria."),))
    >>> Contribution.parse(made.dump()) == made
    True
    """

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()

    def dump(self) -> str:
        """Return this as compact JSON; a sentence that states several relations is written once."""
        texts: dict[str, int] = {}
        relations = [
            (r.head, r.relation, r.tail, texts.setdefault(r.text, len(texts)), *r.keywords) for r in self.relations
        ]
        return json.dumps([self.mentions, relations, list(texts)], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, dumped: str) -> Contribution:
        """Read what `dump` wrote."""
        mentions, relations, texts = json.loads(dumped)
        return cls(
            tuple(Mention(*mention) for mention in mentions),
            tuple(Relation(head, label, tail, texts[at], tuple(words)) for head, label, tail, at, *words in relations),
        )


@dataclass(frozen=True, slots=True)
class SetAside:
    """In the place of a contribution: why a chunk could not be read. It is tried again, alone, in the next run."""

    reason: str


@runtime_checkable
class Extractor(Protocol):
    """Reads entities and relations out of chunks.

    `id` changes whenever the extractor would give something else for the same chunk.
    """

    @property
    def id(self) -> str:
        """Name and version."""
        ...

    def extract(self, excerpts: Sequence[Excerpt]) -> Sequence[Contribution | SetAside]:
        """Return one contribution per excerpt, in order, or why there is none."""
        ...


@runtime_checkable
class Deferred(Extractor, Protocol):
    """An extractor that takes long or costs money.

    A new chunk is read by `meanwhile` at once, and waits; then this one reads what waits, batch by batch, and what it
    gives is kept as soon as it is there. What it sets aside goes on waiting.
    """

    @property
    def meanwhile(self) -> Extractor:
        """The extractor whose reading serves until this one has read a chunk."""
        ...
