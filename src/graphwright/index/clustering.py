"""Communities of the graph's entities: groups that are joined more among themselves than with others, in levels."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Csr, Graph, Kind
from graphwright.index.snapshot import SnapshotCache
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import Floats

__all__ = ["Communities", "clusters", "communities", "needs_igraph"]

_drawing = Lock()


@dataclass(frozen=True, eq=False)
class Communities:
    """Communities in levels, 0 the widest; those of a level are disjoint, and each lies inside one of the level above.

    `level`, `parent: int32[c]`: of each community its level and the one that it is a part of, -1 at level 0.
    `members`: its nodes, ascending. Communities are numbered by level, then by their smallest node. An entity that
    nothing joins with another is in none.
    """

    nodes: int
    level: NDArray[np.int32]
    parent: NDArray[np.int32]
    members: Csr

    def __len__(self) -> int:
        return len(self.level)

    def at(self, level: int) -> Ints:
        """Return the communities of a level, and those above it that have no parts: together all that are joined."""
        undivided = np.setdiff1d(np.arange(len(self)), self.parent)
        above = undivided[self.level[undivided] < level]
        return np.union1d(np.flatnonzero(self.level == level), above)

    def of_nodes(self, level: int) -> NDArray[np.int32]:
        """Return for each node of the snapshot its community at a level (see `at`), -1 for one that is in none."""
        kept = self._of_nodes.get(level)
        if kept is None:
            kept = np.full(self.nodes, -1, np.int32)
            for at in self.at(level).tolist():
                kept[self.members.row(at)] = at
            self._of_nodes[level] = kept
        return kept

    @cached_property
    def _of_nodes(self) -> dict[int, NDArray[np.int32]]:
        return {}


def communities(graph: Graph, largest: int = 10, resolution: float = 1.0, seed: int = 0) -> Communities:
    """Return the communities of a snapshot's entities, computed once: hierarchical Leiden (Edge et al., 2024).

    The Leiden algorithm (Traag et al., 2019) maximises modularity over the edges between entities, seen undirected,
    parallel ones counting as often as they are; then again inside each community of more than `largest` nodes, as long
    as that divides it. `resolution`: above 1 more and smaller ones; `seed`: the same gives the same. Of a part of a
    graph those of its whole snapshot are returned.

    46,000 entities with 128,000 joined pairs take about a second. Needs the extra `communities` (igraph): raises
    OptionError without it, and for options that cannot be used.

    >>> pairs = ["ab", "bc", "ca", "cx", "xy", "yz", "zx"]
    >>> graph = Graph.from_triples([(pair[0], "knows", pair[1]) for pair in pairs])
    >>> found = communities(graph)
    >>> [graph.names.take(found.members.row(at)) for at in found.at(0)]
    [['a', 'b', 'c'], ['x', 'y', 'z']]
    """
    if isinstance(largest, bool) or not hasattr(largest, "__index__") or largest < 1:
        raise OptionError(f"communities(largest={largest!r}): a number of nodes, 1 or more.")
    if not (math.isfinite(resolution) and resolution > 0):
        raise OptionError(f"communities(resolution={resolution!r}): a number above 0.")
    needs_igraph("communities()")
    columns = graph.columns
    return _kept.get(columns, (largest, resolution, seed), lambda: _divided(columns, largest, resolution, seed))


def needs_igraph(who: object) -> None:
    """Raise OptionError where the extra `communities` is missing."""
    if find_spec("igraph") is None:
        raise OptionError(
            f'{who!r} needs igraph, as GraphRAG\'s communities do. Install it: pip install "graphwright[communities]", '
            f'or in a clone pip install ".[communities]"'
        )


def _divided(columns: Columns, largest: int, resolution: float, seed: int) -> Communities:
    entities, network = _network(columns)
    found: list[tuple[int, int, Ints]] = []  # level, parent by position here, members
    waiting: list[tuple[int, int, Any, Ints]] = [(0, -1, network, entities)]
    with _seeded(seed):
        while waiting:
            level, parent, part, nodes = waiting.pop(0)
            groups = _leiden(part, resolution)
            if level and len(groups) < 2:
                continue
            for group in groups:
                if part.degree(group[0]):
                    found.append((level, parent, nodes[group]))
                if len(group) > largest:
                    waiting.append((level + 1, len(found) - 1, part.induced_subgraph(group), nodes[group]))
    return _numbered(len(columns.names), found)


def _network(columns: Columns) -> tuple[Ints, Any]:
    """Return the entities, and igraph's graph of them by position, weighted by the number of parallel edges."""
    import igraph

    entity = columns.kinds == Kind.ENTITY
    between = entity[columns.heads] & entity[columns.tails] & (columns.heads != columns.tails)
    ends = np.sort(np.stack((columns.heads[between], columns.tails[between]), axis=1).astype(np.int64), axis=1)
    pairs, times = np.unique(ends, axis=0, return_counts=True)
    entities = np.flatnonzero(entity)
    network = igraph.Graph(n=len(entities), edges=np.searchsorted(entities, pairs))
    network.es["weight"] = times.astype(np.float64).tolist()
    return entities, network


def _leiden(part: Any, resolution: float) -> list[list[int]]:
    """Return the communities of one graph, each with ascending nodes, by their smallest."""
    if not part.ecount():
        return []
    groups = part.community_leiden("modularity", weights="weight", resolution=resolution, n_iterations=2)
    return sorted(sorted(group) for group in groups)


def _numbered(nodes: int, found: Sequence[tuple[int, int, Ints]]) -> Communities:
    order = sorted(range(len(found)), key=lambda i: (found[i][0], int(found[i][2][0])))
    place = np.full(len(found) + 1, -1, np.int32)  # the last is where -1 points
    place[order] = np.arange(len(found))
    sizes = [len(found[i][2]) for i in order]
    members = np.concatenate([np.empty(0, np.int64), *(found[i][2] for i in order)])
    return Communities(
        nodes,
        np.array([found[i][0] for i in order], np.int32),
        place[[found[i][1] for i in order]] if order else np.empty(0, np.int32),
        Csr(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), members.astype(np.int32)),
    )


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Let igraph draw from a generator of our own; it has one for the whole process."""
    import igraph

    with _drawing:
        igraph.set_random_number_generator(random.Random(seed))
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


_kept: SnapshotCache[Communities] = SnapshotCache()


_ROUNDS = 15


def clusters(vectors: Floats, size: int, seed: int = 0) -> list[Ints]:
    """Return the positions of the vectors in clusters of about `size`, each ascending, by their smallest.

    Spherical k-means (Dhillon and Modha, 2001): clusters by the cosine with their mean, from means drawn from the
    vectors by `seed`, until nothing changes or 15 rounds are done. First into the square root of the clusters wanted,
    then inside each of these into those wanted: so n vectors cost in proportion to n·√(n/size). `vectors`: unit rows,
    float32[n, d].

    >>> import numpy as np
    >>> near = np.float32([[1, 0], [0.8, 0.6], [0, 1], [-0.6, 0.8]])
    >>> [part.tolist() for part in clusters(near, 2)]
    [[0, 1], [2, 3]]
    """
    if isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
        raise OptionError(f"clusters(size={size!r}): a number of vectors, 1 or more.")
    draw = np.random.default_rng(seed)
    wanted = -(-len(vectors) // size)
    found = []
    for wide in _means(vectors, np.arange(len(vectors)), round(wanted**0.5), draw):
        found += _means(vectors, wide, -(-len(wide) // size), draw)
    return sorted(found, key=lambda part: int(part[0]))


def _means(vectors: Floats, ids: Ints, count: int, draw: np.random.Generator) -> list[Ints]:
    """Return these ids in at most `count` clusters, none of them empty."""
    if count < 2:
        return [ids] if len(ids) else []
    rows = vectors[ids]
    means = rows[np.sort(draw.choice(len(ids), count, replace=False))]
    nearest = np.full(len(ids), -1)
    for _ in range(_ROUNDS):
        before, nearest = nearest, (rows @ means.T).argmax(axis=1)
        if (before == nearest).all():
            break
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, rows)
        means = normalised(sums)
    return [ids[nearest == at] for at in range(count) if (nearest == at).any()]
