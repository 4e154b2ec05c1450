"""From contributions to one graph: names merged, mentions and relations turned into nodes and edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Csr, Graph, Kind
from graphwright.graph.passages import Passages
from graphwright.index.names import aliases_of, normal_form
from graphwright.index.store import StoredChunk, StoredDocument
from graphwright.kernels.csr import group

__all__ = ["Draft", "draft"]

MENTIONS = "mentions"
SYNONYM = "synonym"


@dataclass
class Draft:
    """A graph in the making. Chunks are nodes 0 to p - 1, entities follow in the order of first mention."""

    documents: Sequence[StoredDocument]
    chunks: list[StoredChunk] = field(default_factory=list)
    entity_of: dict[str, int] = field(default_factory=dict)  # by normal form
    surfaces: list[Counter[str]] = field(default_factory=list)  # of each entity
    forms: dict[str, str] = field(default_factory=dict)  # normal form by surface form
    edges: list[tuple[int, int, int, int, int]] = field(
        default_factory=list
    )  # head, relation, tail, sentence, chunk
    relation_of: dict[str, int] = field(default_factory=dict)
    sentence_of: dict[str, int] = field(default_factory=dict)

    def entity(self, surface: str) -> int:
        """Return the number of the entity that a surface form means, -1 for one without letter or digit."""
        form = self.forms.get(surface)
        if form is None:
            form = self.forms[surface] = normal_form(surface)
        if not form:
            return -1
        number = self.entity_of.setdefault(form, len(self.entity_of))
        if number == len(self.surfaces):
            self.surfaces.append(Counter())
        self.surfaces[number][surface] += 1
        return number

    def add(self, chunk: StoredChunk) -> None:
        """Add a chunk with its mentions and relations."""
        at = len(self.chunks)
        # Only the text is needed from here on; contributions are large.
        self.chunks.append(chunk._replace(contribution=None))  # type: ignore[arg-type]
        made = chunk.contribution
        mentioned = dict.fromkeys(self.entity(m.name) for m in made.mentions)
        relations = []
        for r in made.relations:
            head, tail = self.entity(r.head), self.entity(r.tail)
            if head < 0 or tail < 0 or head == tail:
                continue
            mentioned.update({head: None, tail: None})
            label = self.relation_of.setdefault(r.relation, len(self.relation_of))
            sentence = self.sentence_of.setdefault(r.text, len(self.sentence_of))
            relations.append((head, label, tail, sentence, at))
        mentioned.pop(-1, None)
        label = self.relation_of.setdefault(MENTIONS, len(self.relation_of))
        # Chunk nodes are told from entities by sign until their number is known.
        self.edges += [(-1 - at, label, entity, -1, at) for entity in mentioned]
        self.edges += relations

    def names(self) -> list[str]:
        """Return the entities' names: of each, the surface form most often seen, the first seen of equals."""
        return [seen.most_common(1)[0][0] for seen in self.surfaces]

    def sentences(self) -> list[str]:
        """Return the distinct texts of relations."""
        return list(self.sentence_of)

    def graph(self, synonyms: NDArray[np.int64]) -> Graph:
        """Return the graph; `synonyms: int64[pairs, 2]` are numbers of entities that mean nearly the same."""
        p, names = len(self.chunks), self.names()
        table = np.array(self.edges, np.int64).reshape(-1, 5)
        table[:, [0, 2]] = np.where(table[:, [0, 2]] < 0, -1 - table[:, [0, 2]], table[:, [0, 2]] + p)
        near = np.full((len(synonyms), 5), -1, np.int64)
        near[:, [0, 2]] = synonyms + p
        near[:, 1] = self.relation_of.setdefault(SYNONYM, len(self.relation_of))
        table = np.concatenate((table, near))
        heads, relation, tails, sentence, chunk = (np.ascontiguousarray(c, np.int32) for c in table.T)
        ids = [self.documents[d].id for d in self._document_rows()]
        chunk_names = [f"{i}#{c.ordinal}" for i, c in zip(ids, self.chunks, strict=True)]
        n = p + len(names)
        mentions = table[table[:, 0] < p]
        aliases = self._aliases(p)
        return Graph(
            Columns(
                names=TextColumn.of([*chunk_names, *names]),
                texts=TextColumn.of([*(c.text for c in self.chunks), *names]),
                kinds=np.repeat(np.array([Kind.CHUNK, Kind.ENTITY], np.uint8), [p, len(names)]),
                heads=heads,
                relation=relation,
                tails=tails,
                relations=TextColumn.of(self.relation_of),
                edge_text=sentence,
                sentences=TextColumn.of(self.sentence_of),
                node_chunks=Csr(*group(n, mentions[:, 2].astype(np.int32), mentions[:, 0].astype(np.int32))),
                edge_chunks=_edge_chunks(chunk),
                passages=self._passages(chunk_names),
                aliases=TextColumn.of(form for form, _ in aliases),
                alias_node=np.array([node for _, node in aliases], np.int64),
            )
        )

    def _document_rows(self) -> list[int]:
        row_of = {d.number: row for row, d in enumerate(self.documents)}
        return [row_of[c.document] for c in self.chunks]

    def _passages(self, names: list[str]) -> Passages:
        return Passages(
            nodes=np.arange(len(self.chunks)),
            document=np.array(self._document_rows(), np.int32),
            start=np.array([c.start for c in self.chunks], np.int64),
            end=np.array([c.end for c in self.chunks], np.int64),
            names=TextColumn.of(names),
            documents=TextColumn.of(d.id for d in self.documents),
            titles=TextColumn.of(d.title for d in self.documents),
        )

    def _aliases(self, first: int) -> list[tuple[str, int]]:
        """Return (normal form, node), sorted: each entity's own form, and shorter ones that no entity has as its own."""
        found = {(form, first + number) for form, number in self.entity_of.items()}
        for number, seen in enumerate(self.surfaces):
            for surface in seen:
                found |= {(a, first + number) for a in aliases_of(surface) if a not in self.entity_of}
        return sorted(found, key=lambda pair: (pair[0].encode("utf-8", "surrogatepass"), pair[1]))


def _edge_chunks(chunk: NDArray[np.int32]) -> Csr:
    known = chunk >= 0
    return Csr(np.concatenate(([0], np.cumsum(known))), chunk[known])


def draft(documents: Sequence[StoredDocument], chunks: Iterable[StoredChunk]) -> Draft:
    """Merge all contributions, in the order of documents and chunks."""
    made = Draft(documents)
    for chunk in chunks:
        made.add(chunk)
    return made
