"""Extraction of entities and relations from chunks: results and protocol of extractors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from graphwright.data.document import Chunk, Labels, cut_at, passage_title
from graphwright.text.sentences import sentence_spans

ALSO_KNOWN_AS = "also known as"  # the relation between two names of one entity, which a text states


class Excerpt(NamedTuple):
    """A chunk for an extractor: document, title, text, headings above; `labels`: those in it, which name nothing."""

    document: str
    title: str
    text: str
    heading: str = ""
    labels: Labels = ()

    @classmethod
    def of(cls, title: str, chunk: Chunk) -> Excerpt:
        """Return a chunk of a document with this title."""
        return cls(chunk.document, title, chunk.text, chunk.heading, chunk.labels)

    @property
    def reading(self) -> str:
        """The text as encoders read it: after the title of the passage."""
        title = passage_title(self.title, self.heading)
        return f"{title}\n{self.text}" if title else self.text

    def sentences(self) -> list[tuple[int, int]]:
        """Return the span of each sentence; one begins at a line that begins with a label, as the row of a table does.

        >>> text = "Part: hexagonal nuts of brass; stored in: Hall B.\\nPart: bolts; stored in: Hall C."
        >>> [len(Excerpt("d", "", text, labels=labels).sentences()) for labels in ((), ((0, 4), (50, 54)))]
        [1, 2]
        """
        text = self.text
        lines = [start for start, _ in self.labels if text.endswith("\n", 0, start)]
        return cut_at(text, sentence_spans(text), lines)


class Mention(NamedTuple):
    """An entity as the chunk names it: its surface form, and its character span in the chunk (start, end).

    A name that does not occur in the chunk (its title, or a name that a model wrote) has the span (0, 0). `type` and
    `description` come from a language model, if one was used.
    """

    name: str
    start: int = 0
    end: int = 0
    type: str = ""
    description: str = ""


class Relation(NamedTuple):
    """A directed, labelled relation of surface forms; `text`: the sentence or description; `keywords`: a model's."""

    head: str
    relation: str
    tail: str
    text: str
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction:
    """Entities and relations of one chunk, in reading order; `off_schema`: how many of them do not fit a schema."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    off_schema: int = 0

    @property
    def types(self) -> dict[str, str]:
        """The type of each mention by name; of several mentions that of the first that has one."""
        types: dict[str, str] = {}
        for mention in self.mentions:
            types[mention.name] = types.get(mention.name) or mention.type
        return types


@dataclass(frozen=True, slots=True)
class ExtractionFailure:
    """Extraction failure of a chunk, retried on the next run. `final`: no other chunk can be read either, as it is."""

    reason: str
    final: bool = False


@runtime_checkable
class Extractor(Protocol):
    """An extractor of entities and relations from chunks.

    `id` changes whenever the extractor would return something else for the same chunk. `extract` may have an argument
    `usage`, to which it adds its work. An extractor that encodes the excerpts has an `encoder` and a method
    `extract_encoded(excerpts, usage)`, which also returns their vectors.
    """

    @property
    def id(self) -> str:
        """Name and version."""
        ...

    def extract(self, excerpts: Sequence[Excerpt]) -> Sequence[Extraction | ExtractionFailure]:
        """Return one extraction or failure per excerpt, in order."""
        ...


@runtime_checkable
class DeferredExtractor(Extractor, Protocol):
    """An extractor that is slow or costs money.

    New chunks are read by the `provisional` extractor first, so that they can be searched at once. Then this one reads
    and stores them, batch by batch. Chunks that fail stay pending.
    """

    @property
    def provisional(self) -> Extractor:
        """The extractor whose results are used until this one has read a chunk."""
        ...


def located(mentions: Iterable[Mention], excerpt: Excerpt, title: str) -> tuple[Mention, ...]:
    """Return mentions in reading order, each with the span of its name's first occurrence in the text.

    An exact match is preferred to one in another case, and a whole word to a part of a word. The mention of the
    `title` comes first, names that do not occur come last.

    >>> excerpt = Excerpt("d", "", "Article on art, Graz.")
    >>> mentions = located([Mention("Austria"), Mention("GRAZ"), Mention("Art")], excerpt, "")
    >>> [(m.name, m.start, m.end) for m in mentions]
    [('Art', 11, 14), ('GRAZ', 16, 20), ('Austria', 0, 0)]
    """
    lowered = _lowered(excerpt.text)
    spans = []
    for mention in mentions:
        start = _first_occurrence(mention.name, excerpt.text, lowered)
        spans.append(mention._replace(start=start, end=start + len(mention.name)) if start >= 0 else mention)
    spans.sort(key=lambda m: (bool(title) and m.name != title, m.start if m.end else len(excerpt.text)))
    return tuple(spans)


def _lowered(text: str) -> str:
    """Return the text in lower case with the same length: a character with a longer lower case is unchanged."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _first_occurrence(name: str, text: str, lowered: str) -> int:
    """Return the position of a name's first occurrence in a text, -1 if there is none."""
    lower = _lowered(name)
    for pattern, haystack in ((name, text), (lower, lowered)):
        # A letter or digit at an end of the name must not continue a word.
        before = r"(?<![^\W_])" if pattern[:1].isalnum() else ""
        after = r"(?![^\W_])" if pattern[-1:].isalnum() else ""
        if match := re.search(before + re.escape(pattern) + after, haystack):
            return match.start()
    return lowered.find(lower)
