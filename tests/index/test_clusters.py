"""Clusters: each vector in one of them, those that lie together in the same one, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import OptionError
from graphwright.index.clustering import clusters
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import Floats


def some(count: int, seed: int, dimension: int = 5) -> Floats:
    return normalised(np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32))


@given(st.integers(0, 60), st.integers(1, 12), st.integers(0, 5))
def test_every_vector_is_in_one_cluster(count: int, size: int, seed: int) -> None:
    vectors = some(count, seed)
    found = clusters(vectors, size, seed)
    assert sorted(np.concatenate([[], *found]).astype(int).tolist()) == list(range(count))
    assert all(len(part) and (np.diff(part) > 0).all() for part in found)
    assert [part[0] for part in found] == sorted(part[0] for part in found)
    assert [part.tolist() for part in clusters(vectors, size, seed)] == [part.tolist() for part in found]


def test_what_lies_together_stays_together() -> None:
    middles = np.eye(6, dtype=np.float32)
    vectors = normalised(np.repeat(middles, 5, axis=0) + 0.05 * some(30, 1, 6))
    of = np.empty(30, int)
    for at, part in enumerate(clusters(vectors, 5)):
        of[part] = at
    # Two means may begin in one group; no cluster holds vectors of groups that another could have split off whole.
    apart = [len({of[i] for i in range(at, at + 5)}) for at in range(0, 30, 5)]
    assert sum(number == 1 for number in apart) >= 4
    within = [float((vectors[part] @ vectors[part].mean(axis=0)).mean()) for part in clusters(vectors, 5)]
    assert np.mean(within) > 0.7


def test_clusters_are_about_the_size_asked_for() -> None:
    for size in (5, 10, 20):
        found = clusters(some(1000, 2, 32), size)
        assert 0.6 * 1000 / size <= len(found) <= 1.4 * 1000 / size


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_size_that_is_none_is_refused(size: object) -> None:
    with pytest.raises(OptionError, match="size"):
        clusters(some(3, 0), size)  # type: ignore[arg-type]
