"""Passages of the nodes of an imported graph: its texts and triples, so that facts are searched like documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import WRITTEN, Columns, Graph
from graphwright.kernels.ranking import sorted_distinct
from graphwright.kernels.strings import distinct

PREFIX = "graph:"
"""Prefix of the id of the passage of a node."""


@dataclass(frozen=True, eq=False)
class NodePassages:
    """A passage for each node that has an edge or a text; passages and nodes are counted from 0.

    The columns are made without an object for each string, because every change of the index needs them.

    >>> passages = NodePassages(Graph.from_triples([("Graz", "lies_on", "Mur"), ("Graz", "in", "Graz")]))
    >>> list(passages.ids), list(passages.texts)
    (['graph:Graz', 'graph:Mur'], ['Graz lies on Mur. Graz in Graz.', 'Graz lies on Mur.'])
    """

    graph: Graph

    @property
    def base(self) -> Columns:
        """The columns of the graph."""
        return self.graph.columns

    @cached_property
    def heads(self) -> Ints:
        """The heads of the edges."""
        return np.asarray(self.base.heads).astype(np.int64)

    @cached_property
    def tails(self) -> Ints:
        """The tails of the edges."""
        return np.asarray(self.base.tails).astype(np.int64)

    @cached_property
    def described(self) -> Ints:
        """The node of each passage, ascending."""
        has = np.zeros(len(self.base.names), bool)
        has[self.heads] = has[self.tails] = True
        texts = self.base.texts
        has[: len(texts)] |= np.array([text != name for text, name in zip(texts, self.base.names, strict=False)], bool)
        return np.flatnonzero(has)

    @cached_property
    def names(self) -> TextColumn:
        """The name of the node of each passage."""
        return self.base.names.gather(self.described)

    @cached_property
    def ids(self) -> TextColumn:
        """The ids of the passages: names, with the node's number where another node has the name."""
        number, _ = distinct(self.names.data, self.names.offsets)
        repeated = np.bincount(number)[number] > 1
        suffixes = (f" #{node}" if again else "" for node, again in zip(self.described, repeated, strict=True))
        prefixes = TextColumn.of([PREFIX] * len(self.names))
        return TextColumn.paired(prefixes, TextColumn.paired(self.names, TextColumn.of(suffixes)))

    @cached_property
    def shown(self) -> tuple[Ints, Ints]:
        """Pairs (passage, edge that it shows), ascending."""
        owner, edge = shown_edges(self.base)
        return np.searchsorted(self.described, owner), edge

    @cached_property
    def mentions(self) -> tuple[Ints, Ints]:
        """Pairs (passage, another node that it mentions), ascending."""
        passage, edge = self.shown
        ends = np.concatenate((self.heads[edge], self.tails[edge]))
        pairs = sorted_distinct(np.concatenate((passage, passage)) * len(self.base.names) + ends)
        passage, node = np.divmod(pairs, max(len(self.base.names), 1))
        other = self.described[passage] != node
        return passage[other], node[other]

    @cached_property
    def texts(self) -> TextColumn:
        """The texts of the passages, as Graph.passage returns them."""
        columns = self.base
        if len(columns.texts) or columns.edge_text is not None:
            return TextColumn.of(self.graph.passage(node) for node in self.described.tolist())
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
