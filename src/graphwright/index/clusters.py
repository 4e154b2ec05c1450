"""Clusters of vectors that lie near each other, found in two steps and without another package."""

from __future__ import annotations

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.index.vectors import normalised
from graphwright.models.protocols import Floats

__all__ = ["clusters"]

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
