"""What is gathered over arcs, against plain sums of Python's floats."""

from __future__ import annotations

import numpy as np
import pytest
from tests.toys import GRAPHS

from graphwright.learn.retrievers.arcs import arcs_of, seen

H = 3


def drawn(*shape: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def plain(messages: list[list[float]]) -> list[float]:
    """Mean, maximum, minimum and deviation, column by column; zeros where there is no message."""
    columns = list(zip(*messages, strict=True)) or [()] * H
    mean = [sum(one) / max(len(one), 1) for one in columns]
    spread = [
        (sum((m - middle) ** 2 for m in one) / len(one) + 1e-6) ** 0.5 if one else 0.0
        for one, middle in zip(columns, mean, strict=True)
    ]
    return [*mean, *(max(one, default=0.0) for one in columns), *(min(one, default=0.0) for one in columns), *spread]


@pytest.mark.parametrize("name", ["family", "apart", "loops", "star", "club"])
def test_a_node_gathers_what_its_arcs_bring(name: str) -> None:
    graph = GRAPHS[name]
    at = seen(graph, np.array([0]), 2)
    triples = list(zip(at.heads.tolist(), at.relation.tolist(), at.tails.tolist(), strict=True))
    plain_arcs = [(h, t, 2 * r + 1) for h, r, t in triples] + [(t, h, 2 * r) for h, r, t in triples]
    x, gates, arcs = drawn(len(graph), H), drawn(2 * len(at.relations), H, seed=6), arcs_of(at)
    found = arcs.gathered(x, gates, arcs.way)
    assert found.dtype == np.float32 and found.shape == (len(graph), 4 * H)
    for node in range(len(graph)):
        here = [(x[u].astype(float) * gates[way]).tolist() for u, end, way in plain_arcs if end == node]
        assert found[node].tolist() == pytest.approx(plain(here), abs=1e-5)
