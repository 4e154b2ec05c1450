"""Shortest paths, and all paths of some length, from the query entities (LEGO-GraphRAG)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast
from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.kernels.paths import paths_between, shortest_paths, simple_paths
from graphwright.operators.operator import Ranker
from graphwright.operators.paths.path_evidence import path_evidence, query_entities
from graphwright.operators.run import Run
from graphwright.operators.state import State

Ragged = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Paths end to end as local nodes, and the positions where each begins."""


@dataclass(frozen=True, repr=False)
class ShortestPaths(Ranker):
    """Find a path of fewest edges from each query entity to each node that it reaches (SPR, section 3.3.1 b).

    Query entities are the nodes of the anchors, or of the evidence if there are no anchors. Of several shortest paths
    it takes the path whose nodes have the smallest ids; with `all` it takes all. Paths are ranked by their number of
    edges, then by their nodes, and score 1/(1 + edges). Between two nodes the item has the smallest edge id.
    `max_paths`: more paths than this raise an OptionError, unless `% k` limits them. `to`: only the paths to a node of
    this name, by a search from both ends; without such a node a DataError is raised.

    >>> from graphwright import Graph, start
    >>> square = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "b"), ("c", "r", "d")])
    >>> evidence = ShortestPaths()(start("?", square, entities=["a"])).evidence
    >>> [nodes.tolist() for nodes, _ in evidence], evidence.texts(square)[2]
    ([[0, 1], [0, 2], [0, 1, 3]], 'a r b; d r b')
    >>> ShortestPaths(all=True, to="d")(start("?", square, entities=["a"])).evidence.texts(square)
    ['a r b; d r b', 'a r c; c r d']
    """

    all: bool = False
    max_paths: Annotated[int, AtLeast(1)] = 1_000_000
    to: str | None = None
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the paths, at most the first k."""
        arguments = *state.graph.adjacency, query_entities(state)
        if self.to is not None:
            state.graph.id(self.to)  # raises DataError if no node has the name
            ends = state.graph.local(state.graph.ids(self.to)).tolist()
            return _with_paths(self, state, k, lambda limit: _between(*arguments, ends, self.all, limit))
        return _with_paths(self, state, k, lambda limit: shortest_paths(*arguments, every=self.all, k=limit))


@dataclass(frozen=True, repr=False)
class EnumeratedPaths(Ranker):
    """Find all paths of at most `length` edges from each query entity, no node twice (EPR, section 3.3.1 a).

    Query entities, order, scores, edges and `max_paths` as for ShortestPaths. The paper gives no length. The number of
    paths grows with about the `length`-th power of the degrees, so narrow the graph first, or limit them by `% k`.

    >>> from graphwright import Graph, start
    >>> square = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "b"), ("c", "r", "d")])
    >>> evidence = EnumeratedPaths(length=2)(start("?", square, entities=["a"])).evidence
    >>> [nodes.tolist() for nodes, _ in evidence], evidence.scores.round(2).tolist()
    ([[0, 1], [0, 2], [0, 1, 3], [0, 2, 3]], [0.5, 0.5, 0.33, 0.33])
    """

    length: Annotated[int, AtLeast(1)]
    max_paths: Annotated[int, AtLeast(1)] = 1_000_000
    needs = ("anchors|evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Find the paths, at most the first k."""
        arguments = *state.graph.adjacency, query_entities(state)
        return _with_paths(self, state, k, lambda limit: simple_paths(*arguments, self.length, limit))


def _between(indptr: Ints, values: NDArray[np.int32], sources: Ints, ends: list[int], every: bool, k: int) -> Ragged:
    """Return the first k shortest paths from each source to each end, by length and then by their nodes."""
    pairs = [(source, end) for source in sources.tolist() for end in ends if source != end]
    shortest = [path for pair in pairs for path in islice(paths_between(indptr, values, *pair), k if every else 1)]
    paths = sorted(shortest, key=lambda path: (len(path), path))[:k]
    nodes = np.array([node for path in paths for node in path], np.int32)
    return nodes, np.cumsum([0, *map(len, paths)]).astype(np.int64)


def _with_paths(
    operator: ShortestPaths | EnumeratedPaths, state: State, k: int | None, search: Callable[[int], Ragged]
) -> State:
    """Return the state with the paths of a search, which receives the number of paths to find."""
    limit = operator.max_paths
    nodes, ptr = search(limit + 1 if k is None else k)
    if k is None and len(ptr) - 1 > limit:
        raise OptionError(
            f"{operator!r} finds more than {limit:,} paths in {state.graph!r}. Narrow the graph before it, limit the "
            f"length of paths, or keep the first k: {operator!r} % k."
        )
    return state.with_(evidence=path_evidence(state.graph, state.graph.at(nodes), ptr, 1.0 / np.diff(ptr)))
