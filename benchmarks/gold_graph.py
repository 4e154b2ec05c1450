"""The part of a graph that the gold passages of a question state and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from graphwright.graph.graph import ABOUT, Graph, Kind
from graphwright.graph.walks import Ways, relation_words

Passages: TypeAlias = frozenset[int]
"""Gold passages, by chunk node."""

_CHARACTERS = 200  # of a candidate in prompts that cut it
_LENGTH = 3  # edges of a walk
_MAX_SHARE = 0.02  # of all passages that name what joins gold passages


@dataclass(frozen=True, eq=False)
class Gold:
    """The part of a graph that gold passages state and name.

    `graph`: the graph that is searched. `passages`: its chunk nodes that hold the evidence of a question.
    """

    graph: Graph
    passages: Sequence[int]

    @cached_property
    def edges(self) -> Mapping[int, Passages]:
        """The gold passages that state each edge between entities."""
        rows, stated = self.graph.columns, dict[int, set[int]]()
        for passage in map(int, self.passages if rows.edge_chunks is not None else ()):
            for edge in rows.stated.row(passage).tolist():
                stated.setdefault(edge, set()).add(passage)
        return {edge: frozenset(passages) for edge, passages in stated.items()}

    @cached_property
    def statements(self) -> Mapping[str, Passages]:
        """The gold passages that state each text."""
        return united((self.graph.edge_text(edge), passages) for edge, passages in self.edges.items())

    @cached_property
    def begun(self) -> Mapping[str, Passages]:
        """The gold passages that state each node with a relation, without the other end, in either direction."""
        names, c = self.graph.names, self.graph.columns
        return united(
            (f"{names[int(node)]} {relation_words(self.graph, (2 * int(c.relation[edge]) + forward,))}", passages)
            for edge, passages in self.edges.items()
            for node, forward in ((c.heads[edge], 1), (c.tails[edge], 0))
        )

    @cached_property
    def names(self) -> Mapping[str, Passages]:
        """The gold passages that name each entity."""
        columns = self.graph.columns
        if columns.node_chunks is None:
            return {}
        owners = np.repeat(np.arange(len(columns.kinds)), np.diff(columns.node_chunks.indptr))
        inside = np.isin(columns.node_chunks.values, self.passages) & (columns.kinds[owners] != Kind.CHUNK)
        pairs = zip(owners[inside].tolist(), columns.node_chunks.values[inside].tolist(), strict=True)
        return united((self.graph.names[node], frozenset({passage})) for node, passage in pairs)

    @cached_property
    def joining(self) -> list[str]:
        """The names that the passages are about; then those that several name, but few others, the rarer first."""
        nodes = self.graph.columns.by_relation(ABOUT).rows(np.asarray(self.passages, np.int64))
        count = {name: len(self.graph.chunks_of(self.graph.ids(name))) for name, p in self.names.items() if len(p) > 1}
        limit = max(_MAX_SHARE * len(self.graph.passages or ()), len(self.passages))
        rare = [name for name in count if count[name] <= limit and any(map(str.isalpha, name))]
        return list(dict.fromkeys([*self.graph.names.take(nodes), *sorted(rare, key=lambda name: (count[name], name))]))

    def of_path(self, text: str) -> Passages:
        """Return the gold passages that state a text, or all parts of a path; none if one part is in none.

        The last part may lack its other end.
        """
        parts, passages = text.split("; "), frozenset[int]()
        while parts:
            sizes = range(len(parts), 0, -1)
            size = next((n for n in sizes if "; ".join(parts[:n]) in self.statements), len(parts))
            part = "; ".join(parts[:size])
            known = self.statements.get(part) or self.begun.get(part)
            if not known:
                return frozenset()
            passages, parts = passages | known, parts[size:]
        return passages

    def walks(self, names: Iterable[str], length: int = _LENGTH) -> Mapping[Ways, Passages]:
        """Return the relations, with directions, of the walks along stated edges from these names.

        No node is on a walk twice. A walk has the passages that state its edges; of walks by the same relations, the
        one with most.
        """
        c, at = self.graph.columns, dict[int, list[tuple[int, int, int]]]()
        for edge in self.edges:
            head, tail, relation = int(c.heads[edge]), int(c.tails[edge]), 2 * int(c.relation[edge])
            at.setdefault(head, []).append((tail, relation + 1, edge))
            at.setdefault(tail, []).append((head, relation, edge))
        walks: dict[Ways, Passages] = {}
        starts = [node for name in names for node in self.graph.ids(name).tolist()]
        level: list[tuple[tuple[int, ...], Ways, Passages]] = [((node,), (), frozenset()) for node in starts]
        for _ in range(length):
            level = [
                ((*nodes, other), (*ways, way), passages | self.edges[edge])
                for nodes, ways, passages in level
                for other, way, edge in at.get(nodes[-1], ())
                if other not in nodes
            ]
            for _, ways, passages in level:
                walks[ways] = max(walks.get(ways, frozenset()), passages, key=len)
        return walks


def united(pairs: Iterable[tuple[str, Passages]]) -> Mapping[str, Passages]:
    """Return the passages of each text, whole and as prompts cut it."""
    passages: dict[str, Passages] = {}
    for text, more in pairs:
        for shown in dict.fromkeys((text, text[:_CHARACTERS])):
            passages[shown] = passages.get(shown, frozenset()) | more
    return passages
