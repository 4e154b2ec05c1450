"""What one chunk contributes to the graph: the unit that extraction makes and the store keeps.

The graph is a pure function of the contributions that are present, so taking a chunk away is exact:
it leaves the graph that would have been built without it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["Contribution", "Excerpt", "Extractor", "Mention", "Relation"]


class Excerpt(NamedTuple):
    """A chunk as an extractor reads it: the id and title of its document, and its text."""

    document: str
    title: str
    text: str


class Mention(NamedTuple):
    """An entity as the chunk names it: surface form, character span in the chunk (start, end).

    A name that does not stand in the chunk (its title, or one that a model wrote) has the span (0, 0).
    """

    name: str
    start: int = 0
    end: int = 0


class Relation(NamedTuple):
    """A directed, labelled link between two surface forms, and the text that states it."""

    head: str
    relation: str
    tail: str
    text: str


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
        relations = [(r.head, r.relation, r.tail, texts.setdefault(r.text, len(texts))) for r in self.relations]
        return json.dumps([self.mentions, relations, list(texts)], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def parse(cls, dumped: str) -> Contribution:
        """Read what `dump` wrote."""
        mentions, relations, texts = json.loads(dumped)
        return cls(
            tuple(map(Mention._make, mentions)),
            tuple(Relation(head, relation, tail, texts[at]) for head, relation, tail, at in relations),
        )


@runtime_checkable
class Extractor(Protocol):
    """Reads entities and relations out of chunks.

    `id` changes whenever the extractor would give something else for the same chunk.
    """

    @property
    def id(self) -> str:
        """Name and version."""
        ...

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Contribution]:
        """Return one contribution per excerpt, in order."""
        ...
