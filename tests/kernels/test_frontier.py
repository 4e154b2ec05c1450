"""The nodes around a ranked list, dot products of rows, and smoothing, each against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels.csr import undirected, workspace
from graphwright.kernels.frontier import Around, products, smooth

pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)
lists = st.lists(st.integers(0, 9), unique=True, max_size=10)


def around(edges: list[tuple[int, int]], n: int) -> list[set[int]]:
    held: list[set[int]] = [set() for _ in range(n)]
    for a, b in edges:
        if a != b:
            held[a].add(b)
            held[b].add(a)
    return held


def graph_of(edges: list[tuple[int, int]], n: int = 10):
    return undirected(n, [a for a, _ in edges], [b for _, b in edges])


@settings(deadline=None)
@given(pairs, lists, st.floats(0, 1), st.integers(1, 5), st.integers(0, 2**32))
def test_smooth_agrees_with_dense_matrices(edges, nodes, alpha, width, seed) -> None:
    near = around(edges, 10)
    signal = np.random.default_rng(seed).normal(size=(len(nodes), width)).astype(np.float32)
    adjacent = np.array([[float(b in near[a]) for b in nodes] for a in nodes]).reshape(len(nodes), len(nodes))
    degree = np.array([max(len(near[a]), 1) for a in nodes], float)
    weights = adjacent / degree[None, :]  # A D^-1
    sums = weights.sum(1)
    alone = sums == 0
    mixed = weights / np.where(alone, 1, sums)[:, None]
    expected = np.where(alone[:, None], signal, (1 - alpha) * signal + alpha * (mixed @ signal))
    before = signal.copy()
    assert np.allclose(smooth(*graph_of(edges), nodes, signal, alpha), expected, atol=1e-6)
    assert (signal == before).all() and not workspace(10).marks.any()


def algorithm_3(near: list[set[int]], ranked: list[int], similar, beta: float) -> dict[int, float]:
    """Lines 1 to 14 as they are printed; a node whose similarity is NaN is left out."""
    scores = {}
    for n in set().union(*(near[r] for r in ranked)) - set(ranked):
        held = [v for v in ranked if v in near[n]]
        structure = 0.0
        if len(ranked) > 1:
            structure += 1 - (ranked.index(held[0]) + 1 - 1) / (len(ranked) - 1)
        most = min(len(near[n]), len(ranked))
        if most > 1:
            structure += (len(held) - 1) / (most - 1)
        if not np.isnan(similar[n]):
            scores[n] = similar[n] + beta * structure
    return scores


@settings(deadline=None)
@given(pairs, st.lists(lists, min_size=1, max_size=5), st.floats(0, 3), st.integers(0, 2**32))
def test_scores_around_a_list_are_algorithm_3_to_the_bit_whatever_was_asked_before(edges, asked, beta, seed) -> None:
    near, similar = around(edges, 10), np.random.default_rng(seed).normal(size=10)
    similar[seed % 10] = np.nan
    kept, told = Around(*graph_of(edges)), []

    def similarity(nodes):
        told.extend(nodes.tolist())
        return similar[nodes]

    for ranked in asked:
        nodes, scores = kept.scores(ranked, similarity, beta)
        found = dict(zip(nodes.tolist(), scores.tolist(), strict=True))
        assert found == algorithm_3(near, ranked, similar, beta) and len(found) == len(nodes)
        # Ties are many where all are alike: the smaller ids are kept.
        for values in (similar, np.zeros(10)):
            again = Around(*graph_of(edges))
            every = algorithm_3(near, ranked, values, beta)
            for k in range(8):
                nodes, scores = again.scores(ranked, values.__getitem__, beta, k)
                order = sorted(every, key=lambda v: (-every[v], v))[:k]
                assert nodes.tolist() == order and scores.tolist() == [every[v] for v in order]
    assert len(told) == len(set(told))  # each node's similarity is asked for once


def test_an_interrupted_call_is_not_taken_for_done() -> None:
    kept, similar = Around(*graph_of([(0, 1), (1, 2), (2, 3), (3, 4)])), np.arange(10.0)

    def stop(nodes):
        raise KeyboardInterrupt

    kept.scores([0], similar.__getitem__)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            kept.scores([0, 2], stop)
    nodes, scores = kept.scores([0, 2], similar.__getitem__)
    expected = algorithm_3(around([(0, 1), (1, 2), (2, 3), (3, 4)], 10), [0, 2], similar, 1.0)
    assert dict(zip(nodes.tolist(), scores.tolist(), strict=True)) == expected


def test_ids_that_look_alike_are_told_apart() -> None:
    """As in a graph of ten nodes, where ids agree in their last bits and whole rows are between them."""
    rng = np.random.default_rng(0)
    edges, far = [(int(a), int(b)) for a, b in rng.integers(0, 10, (20, 2))], 4096 * np.arange(10) + 5
    small, large = graph_of(edges), graph_of([(int(far[a]), int(far[b])) for a, b in edges], 50_000)
    signal = rng.normal(size=(6, 3)).astype(np.float32)
    assert smooth(*small, range(6), signal, 0.4).tolist() == smooth(*large, far[:6], signal, 0.4).tolist()
    kept = Around(*small), Around(*large)
    for ranked in ([3], [5, 3], [1, 2, 5, 3, 7]):
        nodes, scores = kept[0].scores(ranked, lambda nodes: nodes / 7)
        others, same = kept[1].scores(far[ranked], lambda nodes: nodes // 4096 / 7)
        assert far[nodes].tolist() == others.tolist() and scores.tolist() == same.tolist()


@settings(deadline=None)
@given(st.integers(1, 200), st.lists(st.integers(0, 6), max_size=30), st.integers(0, 2**32))
def test_products_agree_with_numpy_and_do_not_depend_on_what_else_was_asked(width, rows, seed) -> None:
    rng = np.random.default_rng(seed)
    table, query = rng.normal(size=(7, width)).astype(np.float32), rng.normal(size=width).astype(np.float32)
    found = products(table, rows, query)
    assert found.dtype == np.float32 and np.allclose(found, table[rows].astype(float) @ query, atol=1e-4)
    assert found.tolist() == [float(products(table, [row], query)[0]) for row in rows]


def test_what_lies_outside_is_refused() -> None:
    line = undirected(3, [0, 1], [1, 2])
    with pytest.raises(ValueError, match="ranked holds 3"):
        Around(*line).scores([3], np.zeros_like)
    with pytest.raises(ValueError, match="ranked holds -1"):
        Around(*line).scores([-1], np.zeros_like)
    with pytest.raises(ValueError, match=r"shape \(1,\) for 2 nodes"):
        Around(*line).scores([1], lambda nodes: [1.0])
    with pytest.raises(ValueError, match="rows holds 2"):
        products([[1.0], [2.0]], [2], [1.0])
    with pytest.raises(ValueError, match=r"the query \(2,\)"):
        products([[1.0], [2.0]], [0], [1.0, 2.0])
    with pytest.raises(ValueError, match="nodes holds"):
        smooth(*line, [5], [[1.0]], 0.2)
    with pytest.raises(ValueError, match="nodes holds 1 repeats"):
        smooth(*line, [1, 1], [[1.0], [2.0]], 0.2)
    with pytest.raises(ValueError, match=r"rows of shape .* for 2 nodes"):
        smooth(*line, [0, 1], [[1.0]], 0.2)
