"""From contributions to one graph: names merged, mentions and relations turned into nodes and edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, SYNONYM, Columns, Csr, Graph, Kind
from graphwright.graph.passages import Passages
from graphwright.index.contribution import Contribution
from graphwright.index.names import normal_form
from graphwright.index.store import StoredChunk, StoredDocument
from graphwright.index.topics import claimed_aliases, named_in, topic_of
from graphwright.kernels.csr import group

__all__ = ["Draft", "draft"]

_LONGEST = 200  # characters; what is longer is no name
_OWN = frozenset({ABOUT, MENTIONS, ALIAS, SYNONYM})


@dataclass
class Draft:
    """A graph in the making. Chunks are nodes 0 to p - 1, entities follow in the order of first mention."""

    documents: Sequence[StoredDocument]
    chunks: list[StoredChunk] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)  # what each chunk is about, "" where nobody knows
    mentioned: list[dict[int, None]] = field(default_factory=list)  # entities of each chunk, in reading order
    entity_of: dict[str, int] = field(default_factory=dict)  # by normal form
    surfaces: list[Counter[str]] = field(default_factory=list)  # of each entity
    relations: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # head, label, tail, text, chunk
    aliases: dict[str, list[int]] = field(default_factory=dict)  # entities that a shorter form may mean
    _numbers: dict[str, int] = field(default_factory=dict)  # entity by surface form
    _labels: dict[str, int] = field(default_factory=dict)
    _sentences: dict[str, int] = field(default_factory=dict)

    def entity(self, surface: str, seen: bool = True) -> int:
        """Return the number of the entity that a surface form means, -1 for one too short or long.

        `seen`: whether this is a sighting of the form, which counts for the entity's name.
        """
        number = self._numbers.get(surface)
        if number is None:
            number = self._numbers[surface] = self._numbered(surface)
        if seen and number >= 0:
            self.surfaces[number][surface] += 1
        return number

    def _numbered(self, surface: str) -> int:
        form = normal_form(surface)
        if not 2 <= len(form) <= _LONGEST:
            return -1
        number = self.entity_of.setdefault(form, len(self.entity_of))
        if number == len(self.surfaces):
            self.surfaces.append(Counter())
        self.surfaces[number].setdefault(surface, 0)
        return number

    def add(self, chunk: StoredChunk, title: str) -> None:
        """Add a chunk with its mentions and relations; `title` is its document's."""
        made = chunk.contribution
        topic = topic_of(title, [m.name for m in made.mentions])
        named = dict.fromkeys([self.entity(topic, topic not in {m.name for m in made.mentions})] if topic else [])
        named |= dict.fromkeys(self.entity(m.name) for m in made.mentions)
        for r in made.relations:
            head, tail = self.entity(r.head, seen=False), self.entity(r.tail, seen=False)
            if head < 0 or tail < 0 or head == tail:
                continue
            named |= {head: None, tail: None}
            # A relation that a text states must not pass for one of the index's own.
            relation = f"{r.relation} (stated)" if r.relation in _OWN else r.relation
            label = self._labels.setdefault(relation, len(self._labels))
            sentence = self._sentences.setdefault(r.text, len(self._sentences))
            self.relations.append((head, label, tail, sentence, len(self.chunks)))
        named.pop(-1, None)
        self.topics.append(topic)
        self.mentioned.append(named)
        # Only the text is needed from here on; contributions are large.
        self.chunks.append(chunk._replace(contribution=Contribution()))

    def settle(self) -> None:
        """Find what only the whole corpus tells: shorter names of topics, and topics that other chunks name."""
        topics = {topic: self.entity(topic, seen=False) for topic in dict.fromkeys(self.topics) if topic}
        self.aliases = claimed_aliases({t: e for t, e in topics.items() if e >= 0})
        for alias in self.aliases:
            self.entity(alias, seen=False)
        sought = {normal_form(t): e for t, e in topics.items() if e >= 0}
        sought |= {alias: self.entity_of[alias] for alias in self.aliases if alias in self.entity_of}
        found = named_in([c.text for c in self.chunks], sought)
        for named, more in zip(self.mentioned, found, strict=True):
            named |= dict.fromkeys(more)

    def names(self) -> list[str]:
        """Return the entities' names: of each, the surface form most often seen, the first seen of equals."""
        return [seen.most_common(1)[0][0] for seen in self.surfaces]

    def sentences(self) -> list[str]:
        """Return the distinct texts of relations."""
        return list(self._sentences)

    def graph(self, synonyms: NDArray[np.int64]) -> Graph:
        """Return the graph; `synonyms: int64[pairs, 2]` are numbers of entities that mean nearly the same."""
        p, names = len(self.chunks), self.names()
        rows = self._rows_of_documents()
        chunk_names = [f"{self.documents[row].id}#{c.ordinal}" for row, c in zip(rows, self.chunks, strict=True)]
        heads, relation, tails, sentence, chunk = self._edges(p, synonyms)
        forms = self._lexicon(p)
        return Graph(
            Columns(
                names=TextColumn.of([*chunk_names, *names]),
                texts=TextColumn.of([*(c.text for c in self.chunks), *names]),
                kinds=np.repeat(np.array([Kind.CHUNK, Kind.ENTITY], np.uint8), [p, len(names)]),
                heads=heads,
                relation=relation,
                tails=tails,
                relations=TextColumn.of(self._labels),
                edge_text=sentence,
                sentences=TextColumn.of(self._sentences),
                node_chunks=self._node_chunks(p, len(names)),
                edge_chunks=_edge_chunks(chunk),
                passages=self._passages(chunk_names, rows),
                aliases=TextColumn.of(form for form, _ in forms),
                alias_node=np.array([node for _, node in forms], np.int64),
            )
        )

    def _edges(self, p: int, synonyms: NDArray[np.int64]) -> tuple[NDArray[np.int32], ...]:
        """Return heads, relations, tails, sentences and chunks of all edges: int32 each."""
        about, mentions, alias, synonym = (
            self._labels.setdefault(name, len(self._labels)) for name in (ABOUT, MENTIONS, ALIAS, SYNONYM)
        )
        table: list[tuple[int, int, int, int, int]] = []
        for at, (topic, named) in enumerate(zip(self.topics, self.mentioned, strict=True)):
            subject = self._numbers.get(topic, -1)
            table += ((at, about if e == subject else mentions, p + e, -1, at) for e in named)
        table += ((p + h, label, p + t, sentence, at) for h, label, t, sentence, at in self.relations)
        for form, meant in self.aliases.items():
            table += ((p + self.entity_of[form], alias, p + e, -1, -1) for e in meant if form in self.entity_of)
        table += ((p + a, synonym, p + b, -1, -1) for a, b in synonyms.tolist())
        columns = np.array(table, np.int32).reshape(-1, 5).T
        return tuple(np.ascontiguousarray(column) for column in columns)

    def _node_chunks(self, p: int, entities: int) -> Csr:
        counts = np.fromiter(map(len, self.mentioned), np.int64, p)
        nodes = np.fromiter((p + e for named in self.mentioned for e in named), np.int32, int(counts.sum()))
        return Csr(*group(p + entities, nodes, np.repeat(np.arange(p, dtype=np.int32), counts)))

    def _rows_of_documents(self) -> list[int]:
        row_of = {d.number: row for row, d in enumerate(self.documents)}
        return [row_of[c.document] for c in self.chunks]

    def _passages(self, names: list[str], rows: list[int]) -> Passages:
        return Passages(
            nodes=np.arange(len(self.chunks)),
            document=np.array(rows, np.int32),
            start=np.array([c.start for c in self.chunks], np.int64),
            end=np.array([c.end for c in self.chunks], np.int64),
            names=TextColumn.of(names),
            documents=TextColumn.of(d.id for d in self.documents),
            titles=TextColumn.of(d.title for d in self.documents),
        )

    def _lexicon(self, first: int) -> list[tuple[str, int]]:
        """Return (normal form, node) in order: each entity under its own form, topics under shorter ones too."""
        found = {(form, first + number) for form, number in self.entity_of.items()}
        found |= {(form, first + number) for form, meant in self.aliases.items() for number in meant}
        return sorted(found, key=lambda pair: (pair[0].encode("utf-8", "surrogatepass"), pair[1]))


def _edge_chunks(chunk: NDArray[np.int32]) -> Csr:
    known = chunk >= 0
    return Csr(np.concatenate(([0], np.cumsum(known))), chunk[known])


def draft(documents: Sequence[StoredDocument], chunks: Iterable[StoredChunk]) -> Draft:
    """Merge all contributions, in the order of documents and chunks."""
    made = Draft(documents)
    title_of = {document.number: document.title for document in documents}
    for chunk in chunks:
        made.add(chunk, title_of[chunk.document])
    made.settle()
    return made
