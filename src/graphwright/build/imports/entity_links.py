"""Links from the entities of documents, and from fields of their records, to the nodes of an imported graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphwright.build.record_merge import numbered_together
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Ids32
from graphwright.graph.records import RecordColumns
from graphwright.search.name_index import NameIndex, name_index_of
from graphwright.text.values import is_value

_MAX_MEANINGS = 5  # nodes that a name may mean


@dataclass(frozen=True, eq=False)
class EntityLinks:
    """The nodes of an imported graph that the entities of documents are, by the normal forms of their names.

    `base`: the imported graph; `added`: that of the documents, whose first `p` nodes are chunks; `first`: the number of
    the imported graph's first node in the combination, where chunks stay, and entities that only documents name follow.
    """

    base: Columns
    added: Columns
    p: int
    first: int

    @property
    def _index(self) -> NameIndex:
        return name_index_of(self.base)

    @cached_property
    def _links(self) -> tuple[Ints, list[tuple[int, int]]]:
        maybe = list[tuple[int, int]]()
        node_of = np.full(len(self.added.names) - self.p, -1)
        for entity in range(len(node_of)):
            meant, is_same = self._nodes_of(self._index.form(self.added.names[self.p + entity]))
            if is_same:
                node_of[entity] = meant[0]
            else:
                maybe += [(entity, node) for node in meant if len(meant) <= _MAX_MEANINGS]
        return node_of, maybe

    @property
    def node_of(self) -> Ints:
        """The node of the graph that each entity of the documents is, -1 for none."""
        return self._links[0]

    @property
    def maybe(self) -> list[tuple[int, int]]:
        """Pairs (entity of the documents, node of the graph that it may mean)."""
        return self._links[1]

    def _nodes_of(self, form: str) -> tuple[list[int], bool]:
        """Return the nodes of the graph that a form names or may mean, and whether it is the name of just one."""
        named = self._index.find(form).tolist() if form else []
        same = [node for node in named if self._index.form(self.base.names[node]) == form]
        return same or named, len(same) == 1

    @cached_property
    def number(self) -> Ints:
        """The number in the combination of each node of the documents' graph."""
        new = self.node_of < 0
        entities = np.where(new, self.first + len(self.base.names) + np.cumsum(new) - 1, self.first + self.node_of)
        return np.concatenate((np.arange(self.p), entities))

    def of_fields(self, records: RecordColumns) -> Ids32:
        """Return the number in the combination of the node that each field of documents names, -1 for none.

        A text that names no entity of the documents may name a node of the graph.
        """
        forms, of_text = records.forms, records.form_text
        if not self._index.normalised:
            forms, of_text = records.texts, np.arange(len(records.texts), dtype=np.int32)
        node_of_text = np.full(len(records.texts), -1)
        _, (known, named), _ = numbered_together([self._index.forms, forms])
        for at in np.flatnonzero(np.isin(named, known)).tolist():
            nodes, is_same = self._nodes_of(forms[at])
            if is_same and not is_value(records.texts[int(of_text[at])]):
                node_of_text[of_text[at]] = self.first + nodes[0]
        return np.where(records.node < 0, node_of_text[records.text], self.number[records.node]).astype(np.int32)
