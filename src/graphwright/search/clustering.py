"""Groups of entities and texts: communities of the graph in levels, and clusters of vectors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import check_installed
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph, Kind
from graphwright.kernels.csr import Csr
from graphwright.models.protocols import Floats
from graphwright.search.snapshot import per_snapshot
from graphwright.search.vector_index import normalised

_MAX_ROUNDS = 15  # of k-means
_seeding = Lock()


@dataclass(frozen=True, eq=False)
class Communities:
    """Communities in levels, 0 the widest: disjoint within a level, each inside one of the level above.

    `level`, `parent: int32[c]`: level of each community, and the community that contains it, -1 at level 0. `members`:
    its nodes, ascending. Communities are numbered by level, then by their smallest node. An entity without an edge to
    another is in none. `nodes`: number of nodes of the snapshot.
    """

    nodes: int
    level: NDArray[np.int32]
    parent: NDArray[np.int32]
    members: Csr
    _of_nodes: dict[int, NDArray[np.int32]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.level)

    def at(self, level: int) -> Ints:
        """Return the communities of a level, and undivided ones above it: together they cover all members."""
        undivided = np.setdiff1d(np.arange(len(self)), self.parent)
        above = undivided[self.level[undivided] < level]
        return np.union1d(np.flatnonzero(self.level == level), above)

    def of_nodes(self, level: int) -> NDArray[np.int32]:
        """Return the community of each node of the snapshot at a level (see `at`), -1 for none."""
        if level not in self._of_nodes:
            community = np.full(self.nodes, -1, np.int32)
            for number in self.at(level).tolist():
                community[self.members.row(number)] = number
            self._of_nodes[level] = community
        return self._of_nodes[level]


def communities(graph: Graph, max_size: int = 10, seed: int = 0) -> Communities:
    """Return the communities of a snapshot's entities, computed once: hierarchical Leiden (Edge et al., 2024).

    The Leiden algorithm (Traag et al., 2019) maximises modularity over the undirected edges between entities, weighted
    by the number of parallel ones; it is applied again inside each community of more than `max_size` nodes, until none
    is divided further. `seed` makes the result reproducible. Those of the whole snapshot are returned.

    Raises OptionError without the extra `communities` (igraph).

    >>> pairs = ["ab", "bc", "ca", "cx", "xy", "yz", "zx"]
    >>> graph = Graph.from_triples([(pair[0], "knows", pair[1]) for pair in pairs])
    >>> groups = communities(graph)
    >>> [graph.names.take(groups.members.row(number)) for number in groups.at(0)]
    [['a', 'b', 'c'], ['x', 'y', 'z']]
    """
    check_installed("igraph", "communities", "communities()")
    return _divided(graph.columns, max_size, seed)


def clusters(vectors: Floats, size: int, seed: int = 0) -> list[Ints]:
    """Return clusters of about `size` vectors: ascending positions, clusters in the order of their first.

    Spherical k-means (Dhillon and Modha, 2001): assignment by the cosine with the mean, from means drawn from the
    vectors by `seed`, until nothing changes or for 15 rounds. It runs on two levels, first into the square root of the
    number of clusters, then inside each of these. `vectors`: unit rows, float32[n, d].
    """
    rng = np.random.default_rng(seed)
    count = -(-len(vectors) // size)
    parts = []
    for wide in _k_means(vectors, np.arange(len(vectors)), round(count**0.5), rng):
        parts += _k_means(vectors, wide, -(-len(wide) // size), rng)
    return sorted(parts, key=lambda part: int(part[0]))


def _k_means(vectors: Floats, ids: Ints, count: int, rng: np.random.Generator) -> list[Ints]:
    """Return these ids in at most `count` clusters, none of them empty."""
    if count < 2:
        return [ids] if len(ids) else []
    rows = vectors[ids]
    means = rows[np.sort(rng.choice(len(ids), count, replace=False))]
    nearest = np.full(len(ids), -1)
    for _ in range(_MAX_ROUNDS):
        before, nearest = nearest, (rows @ means.T).argmax(axis=1)
        if (before == nearest).all():
            break
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, rows)
        means = normalised(sums)
    return [ids[nearest == mean] for mean in range(count) if (nearest == mean).any()]


@per_snapshot
def _divided(columns: Columns, max_size: int, seed: int) -> Communities:
    import igraph

    entities, network = _network(columns)
    parts: list[tuple[int, int, Ints]] = []  # level, position of the parent, members
    queue: list[tuple[int, int, Any, Ints]] = [(0, -1, network, entities)]
    with _seeding:  # igraph has one generator for the whole process
        igraph.set_random_number_generator(random.Random(seed))
        try:
            while queue:
                level, parent, part, nodes = queue.pop(0)
                groups = _leiden(part)
                if level and len(groups) < 2:
                    continue
                for group in groups:
                    if part.degree(group[0]):
                        parts.append((level, parent, nodes[group]))
                    if len(group) > max_size:
                        queue.append((level + 1, len(parts) - 1, part.induced_subgraph(group), nodes[group]))
        finally:
            igraph.set_random_number_generator(random)
    return _sorted(len(columns.names), parts)


def _network(columns: Columns) -> tuple[Ints, Any]:
    """Return the entities, and igraph's graph of them by position, weighted by the number of parallel edges."""
    import igraph

    entity = columns.kinds == Kind.ENTITY
    between = entity[columns.heads] & entity[columns.tails] & (columns.heads != columns.tails)
    ends = np.sort(np.stack((columns.heads[between], columns.tails[between]), axis=1).astype(np.int64), axis=1)
    pairs, counts = np.unique(ends, axis=0, return_counts=True)
    entities = np.flatnonzero(entity)
    network = igraph.Graph(n=len(entities), edges=np.searchsorted(entities, pairs))
    network.es["weight"] = counts.astype(np.float64).tolist()
    return entities, network


def _leiden(part: Any) -> list[list[int]]:
    """Return the communities of a graph: ascending nodes, communities in the order of their first."""
    if not part.ecount():
        return []
    groups = part.community_leiden("modularity", weights="weight", n_iterations=2)
    return sorted(sorted(group) for group in groups)


def _sorted(nodes: int, parts: Sequence[tuple[int, int, Ints]]) -> Communities:
    order = sorted(range(len(parts)), key=lambda i: (parts[i][0], int(parts[i][2][0])))
    number = np.full(len(parts) + 1, -1, np.int32)  # the last one is that of parent -1
    number[order] = np.arange(len(parts))
    sizes = [len(parts[i][2]) for i in order]
    members = np.concatenate([np.empty(0, np.int64), *(parts[i][2] for i in order)])
    return Communities(
        nodes,
        np.array([parts[i][0] for i in order], np.int32),
        number[[parts[i][1] for i in order]] if order else np.empty(0, np.int32),
        Csr(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), members.astype(np.int32)),
    )
