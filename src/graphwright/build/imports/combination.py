"""Combine an imported graph with the documents that were added to it into one snapshot, linked by entity names.

Chunks come first, then the nodes of the graph, then the entities that only documents name. Each node of the graph that
has an edge or a text gets a passage, which is its text and triples, so that documents and facts are searched together.
An entity of the documents is a node of the graph where the normal forms of their names are equal and no other node has
that form. Where its name may mean several nodes, or is a shorter form of a node's name, edges "alias" lead to them.
Edges of the graph come first, then those of the documents, so that the graph can be seen alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.build.imports.node_passages import EntityLinks, NodePassages
from graphwright.build.record_merge import joined_records
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, OWN_RELATIONS, Columns, Graph, Kind
from graphwright.graph.records import RecordColumns
from graphwright.kernels.csr import Csr, group
from graphwright.models.protocols import Encoder
from graphwright.search.name_index import distinct_forms, name_index_of
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex
from graphwright.search.vector_pages import VectorRows

Encode = Callable[[str, TextColumn], VectorRows]  # returns the vectors of texts, given a name for progress


class Combination:
    """The snapshot of an imported graph and of documents.

    Numbers: p chunks of documents, q passages of nodes, n nodes of the graph from `first` on, then entities that only
    documents name (`new`, by their number there); `number`: of each node of the documents' graph.
    """

    def __init__(self, imported: Snapshot, documents: Snapshot) -> None:
        self.imported, self.documents = imported, documents
        self.base, self.added = imported.graph.columns, documents.graph.columns
        self.nodes = NodePassages(imported.graph)
        self.p = len(documents.graph.passages or ())
        self.first = self.p + len(self.nodes.described)
        self.links = EntityLinks(self.base, self.added, self.p, self.first)
        self.number, self.new = self.links.number, self.p + np.flatnonzero(self.links.node_of < 0)
        passage, node = self.nodes.mentions
        self.mentions = self.p + passage, self.first + node
        self._about, self._topics = np.arange(self.p, self.first), self.first + self.nodes.described

    def graph(self) -> Graph:
        """Return the graph."""
        own = self.added.names
        names = TextColumn.joined(
            (own.gather(np.arange(self.p)), self.nodes.ids, self.base.names, own.gather(self.new))
        )
        kinds = np.full(len(names), Kind.ENTITY, np.uint8)
        kinds[: self.first] = Kind.CHUNK
        forms, alias_node = self._aliases()
        about = np.stack((self._about, self._topics))
        chunks = np.concatenate((self._owners(), np.stack(self.mentions), about), axis=1)
        edges: dict[str, Any] = self._edges()
        return Graph(
            Columns(
                names=names,
                texts=self._texts(),
                kinds=kinds,
                **edges,
                node_chunks=group(len(names), chunks[1].astype(np.int32), chunks[0].astype(np.int32)),
                passages=self._passages(),
                aliases=forms,
                alias_node=alias_node,
                records=self._records(),
                types=self.added.types,
                node_type=self._node_types(len(names)),
            )
        )

    def _node_types(self, count: int) -> NDArray[np.int32] | None:
        """Return the type of each of the nodes by the schema of the documents; None without one."""
        if self.added.node_type is None:
            return None
        node_type = np.full(count, -1, np.int32)
        node_type[self.number] = self.added.node_type
        return node_type

    def _owners(self) -> NDArray[np.int64]:
        """Return pairs (chunk, entity) of the documents: int64[2, pairs]."""
        chunks = self.added.node_chunks
        assert chunks is not None  # the graph of documents has them
        return np.stack((chunks.values.astype(np.int64), np.repeat(self.number, np.diff(chunks.indptr))))

    def _records(self) -> RecordColumns | None:
        """Return the records of documents, then those of the graph, each in the passage of its subject."""
        parts, own, stated = list[RecordColumns](), self.added.records, self.base.records
        if own is not None:
            parts.append(replace(own, node=self.links.of_fields(own)))
        if stated is not None:
            passage = self.p + np.searchsorted(self.nodes.described, stated.chunk)
            node = np.where(stated.node < 0, -1, self.first + stated.node)
            parts.append(replace(stated, chunk=passage.astype(np.int32), node=node.astype(np.int32)))
        return joined_records(parts)

    def _texts(self) -> TextColumn:
        texts, nodes, names = self.added.every_text, self.base.every_text, self.base.names
        longer = dict[int, str]()  # descriptions by documents of nodes without a text
        for entity in np.flatnonzero(self.links.node_of >= 0).tolist():
            node, name = int(self.links.node_of[entity]), self.added.names[self.p + entity]
            if nodes[node] == names[node] and (text := texts[self.p + entity]) != name:
                longer[node] = longer.get(node, nodes[node]) + text.removeprefix(name)
        at = np.arange(len(nodes))
        at[list(longer)] = len(nodes) + np.arange(len(longer))
        nodes = TextColumn.joined((nodes, TextColumn.of(longer.values()))).gather(at)
        return TextColumn.joined((texts.gather(np.arange(self.p)), self.nodes.texts, nodes, texts.gather(self.new)))

    def _edges(self) -> dict[str, object]:
        """Return the columns of edges: of documents, of the graph, from passages of nodes, and of aliases."""
        relations, own, of_base, of_added = self._relations()
        sentences = self.added.sentences or TextColumn.of([])
        entity, node = np.array(self.links.maybe, np.int64).reshape(-1, 2).T
        passage, mentioned = self.mentions
        m, tails = len(self.nodes.heads), self.first + self.nodes.tails
        text = None if self.base.edge_text is None else np.asarray(self.base.edge_text)
        none = np.full(len(passage) + len(self._about) + len(entity), -1)
        aliases, named, added = np.full(len(entity), own[ALIAS]), self.number[self.p + entity], self.added
        joined: dict[str, tuple[NDArray[Any], ...]] = {
            "heads": (self.first + self.nodes.heads, self.number[added.heads], self._about, passage, named),
            "relation": (
                of_base[np.asarray(self.base.relation)],
                of_added[np.asarray(added.relation)],
                np.full(len(self._about), own[ABOUT]),
                np.full(len(passage), own[MENTIONS]),
                aliases,
            ),
            "tails": (tails, self.number[added.tails], self._topics, mentioned, self.first + node),
        }
        base_text = np.full(m, -1) if text is None else np.where(text < 0, -1, text + len(sentences))
        added_text = np.full(len(self.added.heads), -1) if self.added.edge_text is None else self.added.edge_text
        base_sentences = () if self.base.sentences is None else (self.base.sentences,)
        return {
            **{name: np.concatenate(parts).astype(np.int32) for name, parts in joined.items()},
            "relations": relations,
            "edge_text": np.concatenate((base_text, added_text, none)).astype(np.int32),
            "sentences": TextColumn.joined((sentences, *base_sentences)),
            "edge_chunks": self._edge_chunks(sum(map(len, joined["heads"]))),
        }

    def _relations(self) -> tuple[TextColumn, dict[str, int], Ints, Ints]:
        """Return the relations, the index's own by name, and the number of each of the graph and of the documents.

        The index's own come last, also where the graph states one of that name, so that they stay apart.
        """
        added, base = list(self.added.relations), list(self.base.relations)
        is_own = [self.added.own.get(name) == at for at, name in enumerate(added)]
        texts = [name for name, own in zip(added, is_own, strict=True) if not own]
        stated = {name: at for at, name in enumerate(dict.fromkeys([*texts, *base]))}
        names = [*self.added.own, ABOUT, MENTIONS, ALIAS, *(name for name in base if name in OWN_RELATIONS)]
        own = {name: len(stated) + at for at, name in enumerate(dict.fromkeys(names))}
        of_added = [own[name] if mine else stated[name] for name, mine in zip(added, is_own, strict=True)]
        of_base = np.array([stated[name] for name in base], np.int64)
        return TextColumn.of([*stated, *own]), own, of_base, np.array(of_added, np.int64)

    def _edge_chunks(self, count: int) -> Csr:
        by_edge, m, k = self.added.edge_chunks, len(self.nodes.heads), len(self.added.heads)
        shown, edge = self.nodes.shown
        assert by_edge is not None
        passage = np.concatenate((self._about, self.mentions[0]))
        owners = np.concatenate(
            (edge, m + np.repeat(np.arange(k), np.diff(by_edge.indptr)), m + k + np.arange(len(passage)))
        )
        chunks = np.concatenate((self.p + shown, by_edge.values, passage))
        return group(count, owners.astype(np.int32), chunks.astype(np.int32))

    def _passages(self) -> Passages:
        added, q = self.documents.graph.passages, len(self.nodes.described)
        assert added is not None  # the graph of documents has them
        d = len(added.documents)
        sections = added.titles.gather(np.arange(d, len(added.titles)))
        title = np.where(added.title < d, added.title, added.title + q)
        return Passages(
            nodes=np.arange(self.first),
            document=np.concatenate((added.document, d + np.arange(q))).astype(np.int32),
            title=np.concatenate((title, d + np.arange(q))).astype(np.int32),
            start=np.concatenate((added.start, np.zeros(q, np.int64))),
            end=np.concatenate((added.end, self.nodes.texts.lengths())),
            names=TextColumn.joined((added.names, self.nodes.ids)),
            documents=TextColumn.joined((added.documents, self.nodes.ids)),
            titles=TextColumn.joined((added.titles.gather(np.arange(d)), self.nodes.names, sections)),
            places=TextColumn.joined((added.places, TextColumn.of_bytes([b""] * q))),
            copy_keys=np.concatenate((added.copy_keys, np.zeros((q, added.copy_keys.shape[1]), np.int32))),
        )

    def _aliases(self) -> tuple[TextColumn, Ints]:
        """Return the forms of names in order, and the node of each."""
        index = name_index_of(self.base)
        forms = TextColumn.joined((index.forms, self.added.aliases))
        node = np.concatenate((self.first + np.asarray(index.nodes), self.number[self.added.alias_node]))
        return distinct_forms(forms, node)

    def snapshot(self, node_words: TextColumn, encode: Encode, max_passages: int) -> Snapshot:
        """`node_words`: the words of nodes' passages; these are embedded if they are at most `max_passages`."""
        graph = self.graph()
        known = np.where(np.arange(self.first) < self.p, np.arange(self.first), -1)
        word_index = self.documents.words.changed(node_words.gather(self.nodes.described), known, np.arange(self.first))
        edges = np.arange(len(graph.edges))
        spaces = {"passages": self._passage_vectors(encode, max_passages, len(graph))}
        of_names = self.number, self.first + np.arange(len(self.base.names))
        of_triples = edges[len(self.nodes.heads) :], edges
        for name, size, ids in (("names", len(graph), of_names), ("triples", len(edges), of_triples)):
            if (space := self._vectors(name, size, *ids)) is not None:
                spaces[name] = space
        about = {
            **self.documents.about,
            "texts": {name: len(space.vectors) for name, space in spaces.items()},
            "graph passages": len(self.nodes.described),
            "imported": {"nodes": [self.first, self.first + len(self.base.names)], "edges": len(self.nodes.heads)},
        }
        return Snapshot.of(graph, spaces, word_index, self.documents.encoder, about, seconds=self.documents.seconds)

    def _passage_vectors(self, encode: Encode, max_passages: int, n: int) -> VectorIndex:
        added, row_of = self.documents.passages.by_text()
        assert row_of is not None
        parts, rows, count = [added], np.full(n, -1, np.int32), len(self.nodes.described)
        rows[: self.p] = row_of[: self.p]
        if count <= max_passages:
            rows[self.p : self.first] = len(added) + np.arange(count)
            parts.append(encode("passages", self.nodes.titled))
        return _joined(parts, rows, self.documents.encoder)

    def _vectors(self, name: str, size: int, added_ids: Ints, base_ids: Ints) -> VectorIndex | None:
        """Return the vectors of names or triples, None without any; `added_ids`, `base_ids`: the ids of their rows."""
        rows, parts = np.full(size, -1, np.int32), list[VectorRows]()
        for part, ids in ((self.documents, added_ids), (self.imported, base_ids)):
            space: VectorIndex | None = getattr(part, name)
            vectors, row_of = (None, None) if space is None else space.by_text()
            if vectors is not None and row_of is not None:
                ids = ids[: len(row_of)]
                rows[ids] = np.where(row_of >= 0, row_of + sum(map(len, parts)), rows[ids])
                parts.append(vectors)
        return _joined(parts, rows, self.documents.encoder) if parts else None


def _joined(parts: list[VectorRows], row_of: NDArray[np.int32], encoder: Encoder) -> VectorIndex:
    """Return the index of the rows of all parts; one without rows may have another width."""
    vectors = np.concatenate([np.asarray(part) for part in parts if len(part)] or [np.asarray(parts[0])])
    keys = np.concatenate([part.keys[part.row] for part in parts])
    return VectorIndex(vectors, row_of, encoder, keys=keys)
