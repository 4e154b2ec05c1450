"""Citations: a stretch of a passage as the characters of its document, and the walk that led there."""

from __future__ import annotations

import numpy as np

from graphwright.graph.graph import Graph
from graphwright.kernels.paths import nearest_path
from graphwright.operators.state import Citation, State

__all__ = ["citation", "title_of", "walk_to"]


def citation(state: State, node: int, start: int, end: int) -> Citation:
    """Return characters `start` to `end` of a passage's text as a citation of its document.

    On a graph without passages the node is cited by its name, and the characters are those of its own text.
    """
    graph = state.graph
    text = graph.passage(node)[start:end]
    passage = graph.passages.of(node) if graph.passages is not None else None
    path = walk_to(state, node)
    if passage is None:
        return Citation("", graph.names[node], start, end, text, path)
    return Citation(passage.document, passage.id, passage.start + start, passage.start + end, text, path)


def title_of(graph: Graph, node: int) -> str:
    """Return the title of a passage's document on one line, "" where it has none."""
    return " ".join(graph.title_of(node).split())


def walk_to(state: State, node: int, hops: int = 4) -> tuple[str, ...]:
    """Return the shortest walk from what the question names to a node: names and relations in turn.

    A relation walked against its direction ends in ⁻¹. Empty if nothing named lies within `hops`.
    """
    graph = state.graph
    named = [anchor.seeds(graph) for anchor in state.anchors or ()]
    sources = graph.local(np.unique(np.concatenate(named))) if named else np.empty(0, np.int64)
    target = graph.local([node])
    if not len(sources) or not len(target):
        return ()
    path = graph.at(nearest_path(*graph.adjacency, sources, int(target[0]), hops))
    if not len(path):
        return ()
    steps = [graph.names[int(path[0])]]
    for a, b in zip(path.tolist(), path[1:].tolist(), strict=False):
        steps += [_label(graph, a, b), graph.names[b]]
    return tuple(steps)


def _label(graph: Graph, a: int, b: int) -> str:
    edge = int(graph.edges_between(a, b)[0])
    columns = graph.columns
    relation = columns.relations[int(columns.relation[edge])]
    return relation if columns.heads[edge] == a else f"{relation}⁻¹"
