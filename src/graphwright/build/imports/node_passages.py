"""Passages of the nodes of an imported graph, and links to them from the entities and records of documents."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from graphwright.build.record_merge import numbered_together
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import WRITTEN, Columns, Graph, Ids32
from graphwright.graph.records import RecordColumns
from graphwright.kernels.ranking import sorted_distinct
from graphwright.kernels.strings import distinct
from graphwright.search.name_index import name_index_of
from graphwright.text.values import is_value

_MAX_MEANINGS = 5  # nodes that a name may mean


class EntityLinks:
    """The nodes of an imported graph that the entities of documents are, by the normal forms of their names.

    `base`: the imported graph; `added`: that of the documents, whose first `p` nodes are chunks; `first`: the number of
    the imported graph's first node in the combination, where chunks stay, and entities that only documents name follow.

    `node_of`: the node of the graph that each entity of the documents is, -1 for none; `maybe`: pairs (entity of the
    documents, node of the graph that it may mean); `number`: that of each node of the documents in the combination.
    """

    def __init__(self, base: Columns, added: Columns, p: int, first: int) -> None:
        self._base, self._first, self._index = base, first, name_index_of(base)
        self.maybe = list[tuple[int, int]]()
        self.node_of = np.full(len(added.names) - p, -1)
        for entity, name in enumerate(added.names[p:]):
            meant, is_same = self._nodes_of(self._index.form(name))
            if is_same:
                self.node_of[entity] = meant[0]
            else:
                self.maybe += [(entity, node) for node in meant if len(meant) <= _MAX_MEANINGS]
        new = self.node_of < 0
        entities = np.where(new, first + len(base.names) + np.cumsum(new) - 1, first + self.node_of)
        self.number = np.concatenate((np.arange(p), entities))

    def _nodes_of(self, form: str) -> tuple[list[int], bool]:
        """Return the nodes of the graph that a form names or may mean, and whether it is the name of just one."""
        named = self._index.find(form).tolist() if form else []
        same = [node for node in named if self._index.form(self._base.names[node]) == form]
        return same or named, len(same) == 1

    def of_fields(self, records: RecordColumns) -> Ids32:
        """Return the node that each field of documents names: an entity of theirs, else one of the graph; or -1."""
        forms, of_text = records.forms, records.form_text
        if not self._index.normalised:
            forms, of_text = records.texts, np.arange(len(records.texts), dtype=np.int32)
        node_of_text = np.full(len(records.texts), -1)
        _, (known, named), _ = numbered_together([self._index.forms, forms])
        for at in np.flatnonzero(np.isin(named, known)).tolist():
            nodes, is_same = self._nodes_of(forms[at])
            if is_same and not is_value(records.texts[int(of_text[at])]):
                node_of_text[of_text[at]] = self._first + nodes[0]
        return np.where(records.node < 0, node_of_text[records.text], self.number[records.node]).astype(np.int32)


PREFIX = "graph:"  # prefix of the id of the passage of a node


class NodePassages:
    """A passage for each node that has an edge or a text; passages and nodes are counted from 0.

    `described`: the node of each passage, ascending; `names`: its name; `shown`: pairs (passage, edge that it shows),
    ascending; `heads`, `tails`: of all edges. Made without an object for each string, as every change needs them.

    >>> passages = NodePassages(Graph.from_triples([("Graz", "lies_on", "Mur"), ("Graz", "in", "Graz")]))
    >>> list(passages.ids), list(passages.texts)
    (['graph:Graz', 'graph:Mur'], ['Graz lies on Mur. Graz in Graz.', 'Graz lies on Mur.'])
    """

    def __init__(self, graph: Graph) -> None:
        self._graph, self._base = graph, graph.columns
        names, texts = graph.columns.names, graph.columns.texts
        self.heads, self.tails = (np.asarray(ends).astype(np.int64) for ends in (self._base.heads, self._base.tails))
        has = np.zeros(len(names), bool)
        has[self.heads] = has[self.tails] = True
        has[: len(texts)] |= np.array([text != name for text, name in zip(texts, names, strict=False)], bool)
        self.described = np.flatnonzero(has)
        self.names = names.gather(self.described)
        owner, edge = shown_edges(self._base)
        self.shown = np.searchsorted(self.described, owner), edge

    @cached_property
    def ids(self) -> TextColumn:
        """The ids of the passages: names, with the node's number where another node has the name."""
        number, _ = distinct(self.names.data, self.names.offsets)
        repeated = np.bincount(number)[number] > 1
        suffixes = (f" #{node}" if again else "" for node, again in zip(self.described, repeated, strict=True))
        prefixes = TextColumn.of([PREFIX] * len(self.names))
        return TextColumn.paired(prefixes, TextColumn.paired(self.names, TextColumn.of(suffixes)))

    @cached_property
    def mentions(self) -> tuple[Ints, Ints]:
        """Pairs (passage, another node that it mentions), ascending."""
        passage, edge = self.shown
        ends = np.concatenate((self.heads[edge], self.tails[edge]))
        pairs = sorted_distinct(np.concatenate((passage, passage)) * len(self._base.names) + ends)
        passage, node = np.divmod(pairs, max(len(self._base.names), 1))
        other = self.described[passage] != node
        return passage[other], node[other]

    @cached_property
    def texts(self) -> TextColumn:
        """The texts of the passages, as Graph.passage returns them."""
        columns = self._base
        if len(columns.texts) or columns.edge_text is not None:
            return TextColumn.of(self._graph.passage(node) for node in self.described.tolist())
        relations = TextColumn.of(name.replace("_", " ") for name in columns.relations)
        parts = TextColumn.joined((columns.names, relations, TextColumn.of([" ", ".", ". "])))
        n = len(columns.names)
        space, end = n + len(relations) + np.arange(2)
        passage, edge = self.shown
        triple = np.full((len(edge), 6), space)
        triple[:, 0], triple[:, 2], triple[:, 4] = self.heads[edge], n + columns.relation[edge], self.tails[edge]
        triple[:, 5] = end + (np.diff(passage, append=-1) == 0)
        column = parts.gather(triple.ravel())
        return TextColumn(column.data, column.offsets[6 * np.searchsorted(passage, np.arange(len(self.described) + 1))])

    @cached_property
    def titled(self) -> TextColumn:
        """The texts of the passages below their titles, as they are embedded."""
        return TextColumn.paired(TextColumn.paired(self.names, TextColumn.of(["\n"] * len(self.names))), self.texts)


def shown_edges(columns: Columns) -> tuple[Ints, Ints]:
    """Return pairs (node, edge that its passage shows), ascending."""
    apart = columns.heads != columns.tails
    owner = np.concatenate((columns.heads, columns.tails[apart])).astype(np.int64)
    edge = np.concatenate((np.arange(len(columns.heads)), np.flatnonzero(apart)))
    order = np.lexsort((edge, owner))
    owner, edge = owner[order], edge[order]
    first = np.arange(len(owner)) - np.searchsorted(owner, owner) < WRITTEN
    return owner[first], edge[first]
