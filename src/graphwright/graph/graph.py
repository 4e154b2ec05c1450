"""Graph: an immutable snapshot over arrays, and compact parts of it that keep snapshot ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import DataError, OptionError, meant
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.records import RecordColumns
from graphwright.kernels.blocks import digest
from graphwright.kernels.csr import Csr, group, readonly, undirected
from graphwright.kernels.far import together
from graphwright.kernels.ranking import sorted_distinct
from graphwright.kernels.walks import Labelled

# Relations that an index adds over passages, see `Columns.own`. Texts and imported graphs may have any of these names.
ABOUT = "about"  # from a chunk to the entity that its title names
MENTIONS = "mentions"  # from a chunk to any other entity in it
ALIAS = "alias"  # from a shorter name to the entities that it may mean
CO_OCCURS = "co-occurs with"  # between two names of a sentence for which no predicate was extracted
SYNONYM = "synonym"  # between two names whose vectors are close
REFERS = "refers to"  # from a chunk to the first chunk of a document that its own document refers to
_OF_CHUNKS = (ABOUT, MENTIONS, REFERS)
OWN_RELATIONS = (*_OF_CHUNKS, ALIAS, SYNONYM, CO_OCCURS)

Ids32 = NDArray[np.int32]
WRITTEN = 20  # maximum triples in the text of a node on a graph without passages


class Kind(IntEnum):
    """Kind of a node."""

    ENTITY = 0
    CHUNK = 1
    DOCUMENT = 2

    def __repr__(self) -> str:
        return f"Kind.{self.name}"


@dataclass(eq=False)
class Columns:
    """The arrays of a snapshot, by snapshot id; n nodes and m edges. Parts of a graph share them.

    `names`: n strings; `texts`: those of the first nodes, the text of each further node is its name; `kinds: uint8[n]`.
    `heads`, `tails`: int32[m]; `relation: int32[m]` indexes `relations`; `edge_text: int32[m]`
    indexes `sentences`, -1 where the text is "head relation tail".
    `node_chunks`, `edge_chunks`: the chunk nodes that each node and edge came from.
    `aliases`: further names, sorted, and `alias_node: int64`, the node that each means.
    `records`: those of the documents, None where they have none.
    `types`: names of the types of a schema, and `node_type: int32[n]`, which indexes them, -1 for a node without one;
    None without a schema.
    """

    names: TextColumn
    heads: Ids32
    tails: Ids32
    relation: Ids32
    relations: TextColumn
    kinds: NDArray[np.uint8]
    texts: TextColumn = field(default_factory=lambda: TextColumn.of([]))
    edge_text: Ids32 | None = None
    sentences: TextColumn | None = None
    node_chunks: Csr | None = None
    edge_chunks: Csr | None = None
    passages: Passages | None = None
    aliases: TextColumn = field(default_factory=lambda: TextColumn.of([]))
    alias_node: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    records: RecordColumns | None = None
    types: TextColumn | None = None
    node_type: Ids32 | None = None

    def __post_init__(self) -> None:
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray) and column.flags.writeable:
                column = column.copy()
                column.flags.writeable = False
                setattr(self, name, column)

    @property
    def every_text(self) -> TextColumn:
        """The text of each node."""
        return TextColumn.joined((self.texts, self.names.gather(np.arange(len(self.texts), len(self.names)))))

    @cached_property
    def name_order(self) -> Ints:
        """Node ids sorted by name: int64[n]."""
        return self.names.order()

    @cached_property
    def adjacency(self) -> Csr:
        """Distinct neighbours of each node, both directions, without self-loops."""
        return undirected(len(self.names), self.heads, self.tails)

    @cached_property
    def out(self) -> Csr:
        """The edges that begin at each node, by edge id."""
        return group(len(self.names), self.heads, np.arange(len(self.heads), dtype=np.int32))

    @cached_property
    def into(self) -> Csr:
        """The edges that end at each node, by edge id."""
        return group(len(self.names), self.tails, np.arange(len(self.tails), dtype=np.int32))

    @cached_property
    def related(self) -> Csr:
        """The edges of each relation, by edge id."""
        return group(len(self.relations), self.relation, np.arange(len(self.relation), dtype=np.int32))

    def between_entities(self, edges: Ints | Ids32) -> NDArray[np.bool_]:
        """Return which edges join two entities, rather than a passage and an entity."""
        heads, tails = self.kinds[self.heads[edges]], self.kinds[self.tails[edges]]
        inside: NDArray[np.bool_] = (heads != Kind.CHUNK) & (tails != Kind.CHUNK)
        return inside

    @cached_property
    def stated(self) -> Csr:
        """The edges that each passage states, by edge id: those that join two entities."""
        edges = np.arange(len(self.heads), dtype=np.int32)
        if self.edge_chunks is None:
            return group(len(self.names), np.empty(0, np.int32), edges[:0])
        owner = np.repeat(edges, np.diff(self.edge_chunks.indptr))
        inside = self.between_entities(owner)
        return group(len(self.names), self.edge_chunks.values[inside], owner[inside])

    @cached_property
    def own(self) -> dict[str, int]:
        """The number of each relation that the index adds itself, by name; none without passages.

        Of relations of the same name it is the last; the others are stated by texts or by an imported graph.
        """
        if self.passages is None:
            return {}
        number, _ = TextColumn.joined((TextColumn.of(OWN_RELATIONS), self.relations)).numbered()
        named = np.flatnonzero(number[len(OWN_RELATIONS) :] < len(OWN_RELATIONS))
        last = {OWN_RELATIONS[number[len(OWN_RELATIONS) + at]]: at for at in named.tolist()}
        return {name: number for name, number in last.items() if name not in _OF_CHUNKS or self._of_chunks(number)}

    def _of_chunks(self, relation: int) -> bool:
        """Return whether the edges of a relation begin at chunks."""
        edges = self.related.row(relation)
        return not len(edges) or self.kinds[self.heads[edges[0]]] == Kind.CHUNK

    def stated_edges(self, relation: str) -> Ids32 | Ints:
        """Return the edges of a relation that the index does not add itself, by edge id."""
        own = self.own.get(relation, -1)
        numbers = [number for number, name in enumerate(self.relations) if name == relation and number != own]
        edges = self.related.rows(numbers)
        return edges if len(numbers) < 2 else np.sort(edges)

    def by_relation(self, *relations: str) -> Csr:
        """Return the neighbours of each node over the index's own relations of these names, in both directions."""
        if relations not in self._by_relation:
            edges = self.edges_of(*relations)
            self._by_relation[relations] = undirected(len(self.names), self.heads[edges], self.tails[edges])
        return self._by_relation[relations]

    @cached_property
    def references(self) -> tuple[Ids32, Ids32]:
        """Heads and tails of the edges from passages to passages that their documents refer to, by edge id."""
        edges = self.edges_of(REFERS)
        return self.heads[edges], self.tails[edges]

    def edges_of(self, *relations: str) -> Ints:
        """Return the edges of the index's own relations of these names, by edge id."""
        numbers = sorted(self.own[name] for name in relations if name in self.own)
        edges = self.related.rows(numbers)
        return edges if len(numbers) < 2 else np.sort(edges)

    @cached_property
    def _by_relation(self) -> dict[tuple[str, ...], Csr]:
        return {}

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over names, edges and texts."""
        every = (self.names, self.relations, self.texts, self.sentences, self.types)
        texts = [column for column in every if column is not None]
        statements = [column for column in (self.edge_text, self.node_type) if column is not None]
        blocks = [block for column in texts for block in (column.data, column.offsets)]
        records = [] if self.records is None else self.records.arrays()
        return digest(self.heads, self.tails, self.relation, *statements, *blocks, *records)


class Graph:
    """Nodes with names and texts, and directed labelled edges, parallel ones allowed.

    A part of a graph keeps the ids of the snapshot.

    >>> graph = Graph.from_triples([("Bertha", "mother of", "Lothair II"), ("Lothair II", "spouse", "Teutberga")])
    >>> len(graph), graph.names[1], graph.id("Teutberga"), graph.edge_text(1)
    (3, 'Lothair II', 2, 'Lothair II spouse Teutberga')
    >>> part = graph.part([1, 2])
    >>> part, part.nodes.tolist(), part.edges.tolist()
    (Graph(2 of 3 nodes, 1 of 2 edges, ...), [1, 2], [1])
    """

    __slots__ = ("__dict__", "_edges", "_nodes", "columns")

    def __init__(self, columns: Columns, nodes: Ints | None = None, edges: Ints | None = None) -> None:
        """Make a graph of a snapshot, or of a part of it: ascending snapshot ids `nodes` and `edges`."""
        self.columns, self._nodes, self._edges = columns, nodes, edges

    @classmethod
    def from_triples(cls, triples: Iterable[tuple[str, str, str]]) -> Graph:
        """Make a graph of (head, relation, tail) names.

        Nodes are numbered by first appearance, edges in the order given, repeats kept. Raises OptionError for a triple
        that is not three strings, or for a path; `Index.from_graph` reads files.
        """
        if isinstance(triples, str | Path):
            raise OptionError(f"{str(triples)!r} is not a list of triples. Use Index.from_graph(folder, file).")
        node_of: dict[str, int] = {}
        relation_of: dict[str, int] = {}
        rows: list[tuple[int, int, int]] = []
        for i, triple in enumerate(triples):
            head, relation, tail = _checked(triple, i)
            head_id, tail_id = (node_of.setdefault(name, len(node_of)) for name in (head, tail))
            rows.append((head_id, relation_of.setdefault(relation, len(relation_of)), tail_id))
        table = np.array(rows, np.int32).reshape(-1, 3)
        heads, relation_ids, tails = map(np.ascontiguousarray, table.T)
        names, relations = TextColumn.of(node_of), TextColumn.of(relation_of)
        return cls(Columns(names, heads, tails, relation_ids, relations, np.zeros(len(node_of), np.uint8)))

    @property
    def nodes(self) -> Ints:
        """Snapshot ids of the nodes here, ascending: int64[len(graph)]."""
        return np.arange(len(self.columns.names)) if self._nodes is None else self._nodes

    @property
    def edges(self) -> Ints:
        """Snapshot ids of the edges here, ascending."""
        return np.arange(len(self.columns.heads)) if self._edges is None else self._edges

    @property
    def names(self) -> TextColumn:
        """Names of all nodes of the snapshot, by snapshot id."""
        return self.columns.names

    @property
    def passages(self) -> Passages | None:
        """Documents and spans of the snapshot's chunks; None for a graph without passages."""
        return self.columns.passages

    @property
    def whole(self) -> bool:
        """Whether this is all of the snapshot."""
        return self._nodes is None

    def __len__(self) -> int:
        return len(self.columns.names) if self._nodes is None else len(self._nodes)

    def __contains__(self, node: object) -> bool:
        return isinstance(node, int | np.integer) and bool(self.holds(np.array([node]))[0])

    def holds(self, ids: ArrayLike) -> NDArray[np.bool_]:
        """Return for each node id whether the node is here."""
        return self._local(np.asarray(ids, np.int64)) >= 0

    def local(self, ids: ArrayLike) -> Ints:
        """Return positions in `nodes` of the ids that are here, in the order given; others are left out."""
        positions = self._local(np.asarray(ids, np.int64))
        return positions[positions >= 0]

    def at(self, positions: ArrayLike) -> Ints:
        """Return the snapshot ids of positions in `nodes`."""
        local = np.asarray(positions, np.int64)
        return local if self._nodes is None else self._nodes[local]

    def _local(self, ids: Ints) -> Ints:
        if self._nodes is None:
            return np.where((ids >= 0) & (ids < len(self)), ids, -1)
        return positions_in(self._nodes, ids)

    @cached_property
    def adjacency(self) -> Csr:
        """Distinct neighbours inside this graph by local position, both directions, without self-loops."""
        if self._nodes is None:
            return self.columns.adjacency
        return undirected(len(self), *self._local_ends())

    def _local_ends(self) -> tuple[Ints, Ints]:
        """Return the heads and the tails of the edges by local position."""
        c = self.columns
        return self._local(c.heads[self.edges].astype(np.int64)), self._local(c.tails[self.edges].astype(np.int64))

    @cached_property
    def labelled(self) -> Labelled:
        """The edges here by their ends, with their relations; nodes and edges by local position."""
        c = self.columns
        heads, tails, relation, out, into = c.heads, c.tails, c.relation, c.out, c.into
        if not self.whole:
            heads, tails = (ends.astype(np.int32) for ends in self._local_ends())
            order, relation = np.arange(len(self.edges), dtype=np.int32), relation[self.edges]
            out, into = (group(len(self), ends, order) for ends in (heads, tails))
        ids = [readonly(part, np.int32) for part in (out.values, into.values, heads, tails, relation)]
        return Labelled(readonly(out.indptr, np.int64), ids[0], readonly(into.indptr, np.int64), *ids[1:])

    def part(self, nodes: ArrayLike) -> Graph:
        """Return the given nodes that are here, with the edges here between them; costs as many steps as they have."""
        inside = sorted_distinct(np.asarray(nodes, np.int64))
        inside = inside[self.holds(inside)]
        without_edges = Graph(self.columns, inside, np.empty(0, np.int64))
        edges = self.columns.out.rows(inside)
        edges = self.inside(np.sort(edges[without_edges.holds(self.columns.tails[edges])]))
        for array in (inside, edges):
            array.flags.writeable = False
        return Graph(self.columns, inside, edges)

    def ids(self, name: str) -> Ints:
        """Return the ids of all nodes here of exactly that name, ascending."""
        order = self.columns.name_order
        first, last = self.names.ends(name, order)
        nodes = np.sort(order[first:last])
        return nodes[self.holds(nodes)]

    def id(self, name: str) -> int:
        """Return the smallest id of a node of that name. Raises DataError for a name that no node here has."""
        nodes = self.ids(name)
        if len(nodes):
            return int(nodes[0])
        spellings = (name, *(change(name.strip()) for change in (str, str.lower, str.capitalize, str.title, str.upper)))
        near = dict.fromkeys(other for spelling in spellings for other in self.around(spelling))
        listed = f" Near it in alphabetical order: {', '.join(map(repr, self.around(name))) or '-'}."
        hint = meant(name.strip(), near) or listed
        raise DataError(f"No node of {self!r} is named {name!r}; give a name as the graph spells it.{hint}")

    def around(self, name: str) -> list[str]:
        """Return the names here that are next to a name in alphabetical order."""
        order = self.columns.name_order
        first = self.names.first(name, order)
        return [other for other in self.names.take(order[max(first - 1, 0) : first + 1]) if len(self.ids(other))]

    def text(self, node: int) -> str:
        """Return a node's text, by default its name."""
        texts = self.columns.texts
        return texts[node] if node < len(texts) else self.names[node]

    def title_of(self, node: int) -> str:
        """Return the title of a passage's document, "" where it has none and for a node that is not a passage."""
        return self.passages.title_of(node) if self.passages is not None else ""

    def reading(self, node: int) -> str:
        """Return a node's text for a model: a passage with its document's title before it."""
        text, title = self.text(node), self.title_of(node)
        return f"{title}\n{text}" if title else text

    def passage(self, node: int) -> str:
        """Return the text of a node to read and quote: a passage's text, or on a graph without passages its triples.

        The node's text comes first if it differs from the name. An edge with a text gives this text, not its triple.

        >>> Graph.from_triples([("Graz", "lies_on", "Mur"), ("Ida", "born_in", "Graz")]).passage(0)
        'Graz lies on Mur. Ida born in Graz.'
        """
        if self.passages is not None:
            return self.text(node)
        c = self.columns
        edges = np.union1d(c.out.row(node)[:WRITTEN], c.into.row(node)[:WRITTEN])[:WRITTEN]
        text = self.text(node)
        parts = [] if text == self.names[node] else [text if text[-1:] in ".!?" else f"{text}."]
        parts += [self._sentence(edge) for edge in edges.tolist()]
        return " ".join(parts) or text

    def _sentence(self, edge: int) -> str:
        c = self.columns
        if c.edge_text is not None and c.edge_text[edge] >= 0:
            text = self.edge_text(edge)
            return text if text[-1:] in ".!?" else f"{text}."
        head, relation, tail = self.triple(edge)
        return f"{head} {relation.replace('_', ' ')} {tail}."

    def triple(self, edge: int) -> tuple[str, str, str]:
        """Return the names of an edge: head, relation, tail."""
        c = self.columns
        return c.names[int(c.heads[edge])], c.relations[int(c.relation[edge])], c.names[int(c.tails[edge])]

    def edge_text(self, edge: int) -> str:
        """Return an edge's text: the sentence that states it, else "head relation tail"."""
        c = self.columns
        if c.edge_text is not None and c.sentences is not None and c.edge_text[edge] >= 0:
            return c.sentences[int(c.edge_text[edge])]
        return " ".join(self.triple(edge))

    def fetch_texts(self, edges: ArrayLike) -> None:
        """Read the texts of edges together, before they are read one by one, where they are kept elsewhere."""
        c = self.columns
        if c.edge_text is not None and c.sentences is not None:
            rows = c.edge_text[np.asarray(edges, np.int64)]
            together(c.sentences.reading(rows[rows >= 0]))

    def co_occurs(self, edge: int) -> bool:
        """Return whether an edge joins two names of a sentence without a predicate: only its text has a meaning."""
        c = self.columns
        return c.edge_text is not None and bool(c.edge_text[edge] >= 0 and c.relation[edge] == c.own.get(CO_OCCURS, -1))

    def ends(self, edges: ArrayLike) -> Ints:
        """Return the two nodes of each edge: int64[2 * len(edges)], head and tail in turn."""
        ids = np.asarray(edges, np.int64)
        return np.stack((self.columns.heads[ids], self.columns.tails[ids]), axis=1).ravel().astype(np.int64)

    def inside(self, edges: Ints) -> Ints:
        """Return the edges that are here, in the order given."""
        return edges if self._edges is None else edges[positions_in(self._edges, edges) >= 0]

    def edges_between(self, a: int, b: int) -> Ints:
        """Return the edges here that join two nodes, in either direction, ascending."""
        c = self.columns
        out, back = c.out.row(a).astype(np.int64), c.into.row(a).astype(np.int64)
        return self.inside(sorted_distinct(np.concatenate((out[c.tails[out] == b], back[c.heads[back] == b]))))

    def chunks_of(self, nodes: Sequence[int] | Ints = (), edges: Sequence[int] | Ints = ()) -> Ints:
        """Return the chunk nodes that these nodes and edges came from, ascending; a chunk comes from itself."""
        c = self.columns
        ids = np.asarray(nodes, np.int64)
        chunks = [ids[c.kinds[ids] == Kind.CHUNK]]
        if c.node_chunks is not None:
            chunks.append(c.node_chunks.rows(ids))
        if c.edge_chunks is not None:
            chunks.append(c.edge_chunks.rows(np.asarray(edges, np.int64)))
        return sorted_distinct(np.concatenate(chunks))

    @property
    def place(self) -> tuple[int, int, int]:
        """Identity of the underlying arrays: graphs with equal values are the same graph."""
        return id(self.columns), id(self._nodes), id(self._edges)

    def afresh(self) -> Graph:
        """Return this graph without its cached values, such as the adjacency."""
        return Graph(self.columns, self._nodes, self._edges)

    @property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits that change with the nodes and edges."""
        if self._nodes is None:
            return self.columns.checksum
        return digest(np.frombuffer(self.columns.checksum.encode(), np.uint8), self._nodes, self.edges)

    def __repr__(self) -> str:
        n, m = len(self.columns.names), len(self.columns.heads)
        if self._nodes is None:
            return f"Graph({n} nodes, {m} edges, {self.checksum[:8]})"
        return f"Graph({len(self)} of {n} nodes, {len(self.edges)} of {m} edges, {self.checksum[:8]})"


def positions_in(ascending: NDArray[np.integer], ids: NDArray[np.integer]) -> Ints:
    """Return the position of each id in an ascending array, -1 where it is absent."""
    if not len(ascending):
        return np.full(len(ids), -1)
    at = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.where(ascending[at] == ids, at, -1)


def _checked(triple: object, at: int) -> tuple[str, str, str]:
    match triple:
        case (str(head), str(relation), str(tail)):
            return head, relation, tail
    raise OptionError(f"Triple {at} is {triple!r}; a triple must be three strings: head, relation, tail.")
