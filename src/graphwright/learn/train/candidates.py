"""Candidate paths: what could explain the answers of a question, before anybody judges it (ReG, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import Ways
from graphwright.learn.train.examples import Example
from graphwright.operators.state import Anchor, start
from graphwright.operators.subgraph.narrow import Induce
from graphwright.operators.subgraph.walk import PersonalizedPageRank

__all__ = ["ANSWER", "QUERY", "SHORTEST", "Candidate", "Pool", "pool", "surroundings"]

SHORTEST, QUERY, ANSWER = "shortest", "query", "answer"
"""P_sp, P_q, P_a: shortest paths, the one-hop neighbourhoods of query entities, and those of answers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """All paths from one node by the same relations: a relation path (ReG, appendix D.2), and where it was found.

    `source`: a query entity, by snapshot id, or where `pool` is ANSWER the representative answer; `ways`: its relations
    with their directions (see `graphwright.graph.relation_paths`).
    """

    source: int
    ways: Ways
    pool: str


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one question, and how many paths they stand for: those of Table 1 of ReG, without merging."""

    candidates: tuple[Candidate, ...]
    paths: int


def surroundings(graph: Graph, example: Example, nodes: int = 1000) -> Graph:
    """Return the part of the graph that a retriever sees: the PPR subgraph of what the question names."""
    anchors = [Anchor("", nodes=np.array([entity])) for entity in example.entities]
    narrowed = (PersonalizedPageRank(each=True) % nodes >> Induce())(start(example.text, graph, anchors=anchors))
    return narrowed.graph


def pool(graph: Graph, example: Example, length: int = 4) -> Pool:
    """Return the candidates P_sp ∪ P_q ∪ P_a of a question, merged, inside a graph such as its surroundings.

    Relation-chain merging: paths from one node by the same relations are one candidate. Answer merging: paths to one
    representative answer alone are listed; it is the one that is farthest from the query entities, no more than
    `length` edges, since an answer that is also nearer by is more likely to be there by chance. Ties: the answer listed
    first. The number of paths is that before either merging: all shortest paths from every query entity to every
    answer, and every edge at these.
    """
    edges = _Edges(graph)
    answers = [answer for answer in example.answers if answer in graph and answer not in example.entities]
    entities = [entity for entity in example.entities if entity in graph]
    if not answers or not entities:
        return Pool((), 0)
    inside = graph.local(answers)
    levels = {entity: _Levels(edges, int(graph.local([entity])[0]), length) for entity in entities}
    far = np.stack([levels[entity].distance[inside] for entity in entities]).max(axis=0)
    chosen = int(inside[int(np.argmax(far))])
    found: list[Candidate] = []
    paths = sum(edges.degree(int(node)) for node in (*graph.local(entities), *inside))
    for entity, level in levels.items():
        paths += int(level.paths[inside].sum())
        found += [Candidate(entity, ways, SHORTEST) for ways in level.ways_to(chosen)]
    for entity, level in levels.items():
        found += [Candidate(entity, (way,), QUERY) for way in edges.ways(level.source)]
    answer = int(graph.at([chosen])[0])
    found += [Candidate(answer, (way,), ANSWER) for way in edges.ways(chosen)]
    return Pool(tuple({(c.source, c.ways): c for c in reversed(found)}.values())[::-1], paths)


class _Edges:
    """The edges of a graph, each walked in both directions, with the way that this is; nodes by local position."""

    def __init__(self, graph: Graph) -> None:
        ends = graph.local(graph.ends(graph.edges)).reshape(-1, 2)
        relation = graph.columns.relation[graph.edges].astype(np.int64)
        loops = ends[:, 0] == ends[:, 1]
        heads, tails, relation = ends[~loops, 0], ends[~loops, 1], relation[~loops]
        begin, way = np.concatenate((heads, tails)), np.concatenate((2 * relation + 1, 2 * relation))
        order = np.argsort(begin, kind="stable")
        self.size = len(graph)
        self.end, self.way = np.concatenate((tails, heads))[order], way[order]
        self.ptr = np.concatenate(([0], np.cumsum(np.bincount(begin, minlength=self.size))))

    def at(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return the edges that begin at these nodes, and for each the position of its node among them."""
        counts = self.ptr[nodes + 1] - self.ptr[nodes]
        owner = np.repeat(np.arange(len(nodes)), counts)
        before = np.cumsum(counts) - counts
        return np.arange(len(owner)) - before[owner] + self.ptr[nodes][owner], owner

    def degree(self, node: int) -> int:
        """Return how many edges there are at a node."""
        return int(self.ptr[node + 1] - self.ptr[node])

    def ways(self, node: int) -> list[int]:
        """Return the distinct ways that lead on from a node."""
        return sorted(set(self.way[self.ptr[node] : self.ptr[node + 1]].tolist()))


class _Levels:
    """Breadth first from one node: how far each other is, and how many shortest paths lead there.

    `distance: int64[n]`, -1 beyond `length`; `paths: float64[n]`, parallel edges counted, for there may be many.
    """

    def __init__(self, edges: _Edges, source: int, length: int) -> None:
        self.edges, self.source = edges, source
        self.distance: NDArray[np.int64] = np.full(edges.size, -1, np.int64)
        self.paths = np.zeros(edges.size)
        self.distance[source], self.paths[source] = 0, 1.0
        front = np.array([source])
        for step in range(1, length + 1):
            along, owner = edges.at(front)
            new = self.distance[edges.end[along]] < 0
            reached = edges.end[along][new]
            np.add.at(self.paths, reached, self.paths[front][owner[new]])
            front = np.unique(reached)
            self.distance[front] = step
        self.paths[source] = 0.0

    def ways_to(self, target: int) -> Iterator[Ways]:
        """Yield the distinct ways of all shortest paths to a node; none to one that is too far."""
        steps = int(self.distance[target])
        if steps < 1:
            return
        between = np.zeros(self.edges.size, bool)
        between[target] = True
        front = np.array([target])
        for step in range(steps - 1, 0, -1):
            along = self.edges.end[self.edges.at(front)[0]]
            front = np.unique(along[self.distance[along] == step])
            between[front] = True
        level: dict[Ways, Ints] = {(): np.array([self.source])}
        for step in range(1, steps + 1):
            longer: dict[Ways, Ints] = {}
            for ways, nodes in level.items():
                along = self.edges.at(nodes)[0]
                ends, way = self.edges.end[along], self.edges.way[along]
                on = between[ends] & (self.distance[ends] == step)
                for one in np.unique(way[on]).tolist():
                    longer[(*ways, one)] = np.unique(ends[on & (way == one)])
            level = longer
        yield from sorted(level)
