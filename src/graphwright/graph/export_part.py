"""The part of a graph that is exported: its nodes and edges with their attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence
from graphwright.graph.graph import Graph, Kind

Attributes = dict[str, Any]


class Part:
    """The nodes and edges to write, with the rank and score of those in the evidence."""

    def __init__(self, graph: Graph, evidence: Evidence | None) -> None:
        self.graph = graph
        self.nodes, self.edges = graph.nodes, graph.edges
        self.node_ranks: dict[int, Attributes] = {}
        self.edge_ranks: dict[int, Attributes] = {}
        if evidence is not None:
            _check(graph, evidence)
            self._mark(evidence)
            self.nodes, self.edges = (np.array(sorted(ids), np.int64) for ids in (self.node_ranks, self.edge_ranks))
            if not len(self.edges):
                self._connect()

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes and edges."""
        return len(self.nodes), len(self.edges)

    def _connect(self) -> None:
        """Add the entities that the passages mention, and the edges between all nodes."""
        columns = self.graph.columns
        chunks = self.nodes[columns.kinds[self.nodes] == Kind.CHUNK]
        mentioned = columns.tails[columns.out.rows(chunks)]
        near = self.graph.part(np.concatenate((self.nodes, mentioned)))
        self.nodes, self.edges = np.union1d(self.nodes, near.nodes), near.edges

    def _mark(self, evidence: Evidence) -> None:
        for at, (nodes, edges) in enumerate(evidence):
            score = -math.inf if evidence.scores is None else float(evidence.scores[at])
            joined = np.concatenate((nodes, self.graph.ends(edges)))
            for ids, ranks in ((joined, self.node_ranks), (edges, self.edge_ranks)):
                for i in ids.tolist():
                    mark = ranks.setdefault(i, {"rank": at + 1})
                    # Readers disagree on how infinity is written.
                    if math.isfinite(score) and score > mark.get("score", -math.inf):
                        mark["score"] = score

    def described_nodes(self) -> Iterator[tuple[int, Attributes]]:
        """Yield each node by id, with its attributes."""
        columns = self.graph.columns
        for node in map(int, self.nodes):
            name = columns.names[node]
            attributes: Attributes = {"name": name, "kind": Kind(columns.kinds[node]).name.lower()}
            if (text := self.graph.text(node)) != name:
                attributes["text"] = text
            passage = None if columns.passages is None else columns.passages.of(node)
            if passage is not None:
                attributes["document"] = passage.document
                if passage.title:
                    attributes["title"] = passage.title
                attributes["start"], attributes["end"] = passage.start, passage.end
            yield node, attributes | self.node_ranks.get(node, {})

    def described_edges(self) -> Iterator[tuple[int, int, int, Attributes]]:
        """Yield each edge by id, its head, its tail, and its attributes."""
        columns = self.graph.columns
        for edge in map(int, self.edges):
            attributes: Attributes = {"relation": columns.relations[int(columns.relation[edge])]}
            if columns.edge_text is not None and columns.edge_text[edge] >= 0:
                attributes["text"] = self.graph.edge_text(edge)
            chunks = () if columns.edge_chunks is None else columns.edge_chunks.row(edge)
            if len(chunks):
                attributes["chunks"] = columns.names.take(chunks)
            attributes |= self.edge_ranks.get(edge, {})
            yield edge, int(columns.heads[edge]), int(columns.tails[edge]), attributes


def _check(graph: Graph, evidence: Evidence) -> None:
    sizes = {"node": (evidence.nodes, len(graph.columns.names)), "edge": (evidence.edges, len(graph.columns.heads))}
    for kind, (ids, count) in sizes.items():
        if len(ids) and ids.max() >= count:
            raise OptionError(
                f"The evidence holds {kind} {ids.max()}, but the graph has {count} {kind}s. "
                f"Export it with the graph that it was retrieved from."
            )
