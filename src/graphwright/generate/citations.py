"""Citations: character spans of documents, each with the walk in the evidence that leads to it."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.walks import Bundle, bundle_of, relation_label
from graphwright.kernels.paths import nearest_path
from graphwright.models.protocols import PassageText
from graphwright.operators.state import Citation, State

__all__ = ["PathWriter", "bundle_path", "citation", "passage_text", "path_text", "path_to"]

_HOPS = 4


def passage_text(graph: Graph, node: int) -> PassageText:
    """Return the title of a passage's document, on one line, and the text of the passage."""
    return PassageText(" ".join(graph.title_of(node).split()), graph.passage(node))


def citation(state: State, node: int, start: int, end: int) -> Citation:
    """Return characters `start` to `end` of a passage's text as a citation of its document.

    On a graph without passages the citation has the name of the node as its chunk and no document, and its offsets
    count in the node's own text.
    """
    graph = state.graph
    text = graph.passage(node)[start:end]
    passage = graph.passages.of(node) if graph.passages is not None else None
    path = path_to(state, node)
    if passage is None:
        return Citation("", graph.names[node], start, end, text, path)
    return Citation(passage.document, passage.id, passage.start + start, passage.start + end, text, path)


def path_to(state: State, node: int) -> tuple[str, ...]:
    """Return the walk that leads to a passage, as names and relations in turn.

    It is the walk of the best evidence item that passes through the passage or that the passage states, up to there.
    Where no item is such a walk, as for a passage that was ranked alone, it is the shortest walk of at most four
    edges from what the question names, empty if there is none. A relation walked against its direction ends in ⁻¹.
    """
    graph = state.graph
    for nodes, edges in state.evidence or ():
        path = _path_in(graph, nodes, edges, node)
        if path:
            return path
    return _nearest(state, node)


def _path_in(graph: Graph, nodes: Ints, edges: Ints, node: int) -> tuple[str, ...]:
    """Return the walk of an item up to a passage, or to the last edge that it states; empty if there is none."""
    if not len(edges) or (node not in nodes and node not in graph.chunks_of((), edges)):
        return ()
    if not (_is_walk(graph, nodes, edges) or len(nodes) == 0):
        bundle = bundle_of(graph, nodes, edges)
        return () if bundle is None or node not in bundle.levels()[-1] else bundle_path(graph, bundle, node)
    if node in nodes:
        steps = int(np.flatnonzero(nodes == node)[0])
    else:
        steps = max(at for at, edge in enumerate(edges, 1) if node in graph.chunks_of((), [edge]))
    return path_text(graph, nodes[: steps + 1], edges[:steps]) if steps else ()


def _is_walk(graph: Graph, nodes: Ints, edges: Ints) -> bool:
    if len(nodes) != len(edges) + 1:
        return False
    ends = graph.ends(edges).reshape(-1, 2).tolist()
    return all(sorted(end) == sorted(pair) for end, pair in zip(ends, pairwise(nodes.tolist()), strict=True))


def _nearest(state: State, node: int) -> tuple[str, ...]:
    graph = state.graph
    seeds = [anchor.seeds(graph) for anchor in state.anchors or ()]
    sources = graph.local(np.unique(np.concatenate(seeds))) if seeds else np.empty(0, np.int64)
    target = graph.local([node])
    if not len(sources) or not len(target):
        return ()
    nodes = graph.at(nearest_path(*graph.adjacency, sources, int(target[0]), _HOPS))
    edges = np.array([graph.edges_between(a, b)[0] for a, b in pairwise(nodes.tolist())], np.int64)
    return path_text(graph, nodes, edges)


def bundle_path(graph: Graph, bundle: Bundle, end: int) -> tuple[str, ...]:
    """Return the walk of a bundle to one of its ends, as `path_text` does."""
    names = [graph.names[node] for node in bundle.walk_to(end)]
    labels = [relation_label(graph, relation, forward) for relation, forward in bundle.relations]
    return (*(part for step in zip(names, labels, strict=False) for part in step), names[-1])


def path_text(graph: Graph, nodes: Ints, edges: Ints) -> tuple[str, ...]:
    """Return a walk as names and relations in turn; a relation walked against its direction ends in ⁻¹.

    Nodes and edges that are no walk give the names of the nodes; a triple without nodes gives itself.

    >>> import numpy as np
    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "s", "b")])
    >>> path_text(graph, np.array([0, 1, 2]), np.array([0, 1]))
    ('a', 'r', 'b', 's⁻¹', 'c')
    """
    return PathWriter(graph).path(nodes, edges)


class PathWriter:
    """The names and relations of a graph, each read from disk once, because paths share most of theirs."""

    def __init__(self, graph: Graph) -> None:
        """Start with nothing read."""
        self.graph = graph
        self.name = cache(graph.names.__getitem__)
        self.label = cache(partial(relation_label, graph))

    def path(self, nodes: Ints, edges: Ints) -> tuple[str, ...]:
        """Return a walk as `path_text` does."""
        ids, columns = nodes.tolist(), self.graph.columns
        if not ids and len(edges):
            return self.graph.triple(int(edges[-1]))
        names = [self.name(node) for node in ids]
        if len(edges) + 1 != len(names):
            return tuple(names)
        steps = names[:1]
        relations, heads = columns.relation[edges].tolist(), columns.heads[edges].tolist()
        for relation, head, before, name in zip(relations, heads, ids, names[1:], strict=False):
            steps += [self.label(relation, head == before), name]
        return tuple(steps)
