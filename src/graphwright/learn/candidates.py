"""Candidate paths: relation paths that may explain the answers of a question, before refinement (ReG, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import Ways
from graphwright.learn.examples import Example
from graphwright.operators.state import Anchor, start
from graphwright.operators.subgraph.narrow import Induce
from graphwright.operators.subgraph.walk import PersonalizedPageRank

__all__ = ["ANSWER", "QUERY", "SHORTEST", "Candidate", "Pool", "candidate_pool", "ppr_subgraph"]

SHORTEST, QUERY, ANSWER = "shortest", "query", "answer"
"""P_sp, P_q, P_a: shortest paths, the one-hop neighbourhoods of query entities, and those of answers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """All paths from one node by the same relations: a relation path (ReG, appendix D.2), and its pool.

    `source`: a query entity, by snapshot id, or the representative answer in the pool ANSWER; `ways`: its directed
    relations (see `graphwright.graph.relation_paths`).
    """

    source: int
    ways: Ways
    pool: str


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one question, and the number of paths without merging (Table 1 of ReG)."""

    candidates: tuple[Candidate, ...]
    paths: int


def ppr_subgraph(graph: Graph, example: Example, nodes: int = 1000) -> Graph:
    """Return the part of the graph that a retriever sees: the PPR subgraph of the query entities."""
    anchors = [Anchor("", nodes=np.array([entity])) for entity in example.entities]
    narrow = PersonalizedPageRank(each=True) % nodes >> Induce()
    return narrow(start(example.text, graph, anchors=anchors)).graph


def candidate_pool(graph: Graph, example: Example, length: int = 4) -> Pool:
    """Return the candidates P_sp ∪ P_q ∪ P_a of a question, merged, inside a graph such as its PPR subgraph.

    Relation-chain merging: paths from one node by the same relations are one candidate. Answer merging: paths lead to
    one representative answer, the farthest from the query entities within `length` edges, since a nearer one is more
    likely to be reached by chance; ties: the answer listed first. The number of paths is that before merging: all
    shortest paths from every query entity to every answer, and every edge at these.
    """
    edges = _Edges(graph)
    answers = [answer for answer in example.answers if answer in graph and answer not in example.entities]
    entities = [entity for entity in example.entities if entity in graph]
    if not answers or not entities:
        return Pool((), 0)
    targets = graph.local(answers)
    searches = {entity: _ShortestPaths(edges, int(graph.local([entity])[0]), length) for entity in entities}
    distance = np.stack([search.distance[targets] for search in searches.values()]).max(axis=0)
    representative = int(targets[int(np.argmax(distance))])
    answer = int(graph.at([representative])[0])
    candidates = [
        *(Candidate(e, ways, SHORTEST) for e, search in searches.items() for ways in search.ways_to(representative)),
        *(Candidate(e, (way,), QUERY) for e, search in searches.items() for way in edges.ways(search.source)),
        *(Candidate(answer, (way,), ANSWER) for way in edges.ways(representative)),
    ]
    paths = sum(edges.degree(int(node)) for node in (*graph.local(entities), *targets))
    paths += sum(int(search.paths[targets].sum()) for search in searches.values())
    first = {(c.source, c.ways): c for c in reversed(candidates)}
    return Pool(tuple(first.values())[::-1], paths)


class _Edges:
    """The directed edges of a graph, each edge in both directions, by source; nodes by local position."""

    def __init__(self, graph: Graph) -> None:
        ends = graph.local(graph.ends(graph.edges)).reshape(-1, 2)
        relation = graph.columns.relation[graph.edges].astype(np.int64)
        loops = ends[:, 0] == ends[:, 1]
        heads, tails, relation = ends[~loops, 0], ends[~loops, 1], relation[~loops]
        source, way = np.concatenate((heads, tails)), np.concatenate((2 * relation + 1, 2 * relation))
        order = np.argsort(source, kind="stable")
        self.size = len(graph)
        self.target, self.way = np.concatenate((tails, heads))[order], way[order]
        self.ptr = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=self.size))))

    def at(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return the edges that begin at these nodes, and for each the position of its node among them."""
        counts = self.ptr[nodes + 1] - self.ptr[nodes]
        owner = np.repeat(np.arange(len(nodes)), counts)
        before = np.cumsum(counts) - counts
        return np.arange(len(owner)) - before[owner] + self.ptr[nodes][owner], owner

    def degree(self, node: int) -> int:
        """Return the number of edges at a node."""
        return int(self.ptr[node + 1] - self.ptr[node])

    def ways(self, node: int) -> list[int]:
        """Return the distinct directed relations of the edges that begin at a node."""
        return sorted(set(self.way[self.ptr[node] : self.ptr[node + 1]].tolist()))


class _ShortestPaths:
    """Distances and numbers of shortest paths from one node, by breadth-first search.

    `distance`: int64[n], -1 beyond `length`; `paths`: float64[n], parallel edges counted, for there may be many.
    """

    def __init__(self, edges: _Edges, source: int, length: int) -> None:
        self.edges, self.source = edges, source
        self.distance: NDArray[np.int64] = np.full(edges.size, -1, np.int64)
        self.paths = np.zeros(edges.size)
        self.distance[source], self.paths[source] = 0, 1.0
        front = np.array([source])
        for step in range(1, length + 1):
            along, owner = edges.at(front)
            new = self.distance[edges.target[along]] < 0
            reached = edges.target[along][new]
            np.add.at(self.paths, reached, self.paths[front][owner[new]])
            front = np.unique(reached)
            self.distance[front] = step
        self.paths[source] = 0.0

    def ways_to(self, target: int) -> Iterator[Ways]:
        """Yield the distinct relation paths of all shortest paths to a node; none to one that is too far."""
        steps = int(self.distance[target])
        if steps < 1:
            return
        between = np.zeros(self.edges.size, bool)
        between[target] = True
        front = np.array([target])
        for step in range(steps - 1, 0, -1):
            along = self.edges.target[self.edges.at(front)[0]]
            front = np.unique(along[self.distance[along] == step])
            between[front] = True
        level: dict[Ways, Ints] = {(): np.array([self.source])}
        for step in range(1, steps + 1):
            longer: dict[Ways, Ints] = {}
            for ways, nodes in level.items():
                along = self.edges.at(nodes)[0]
                targets, way = self.edges.target[along], self.edges.way[along]
                on = between[targets] & (self.distance[targets] == step)
                for directed_relation in np.unique(way[on]).tolist():
                    after = np.unique(targets[on & (way == directed_relation)])
                    longer[(*ways, directed_relation)] = after
            level = longer
        yield from sorted(level)
