"""The nodes around a ranked list, dot products of rows, and smoothing, each against plain Python."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels import frontier as module
from graphwright.kernels.csr import undirected
from graphwright.kernels.frontier import Products, frontier, smooth, structure
from graphwright.kernels.workspace import workspace

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
@given(pairs, lists)
def test_frontier_agrees_with_plain_python(edges, ranked) -> None:
    near = around(edges, 10)
    nodes, best, held = frontier(*graph_of(edges), ranked)
    found = {int(v): (int(b), int(h)) for v, b, h in zip(nodes, best, held, strict=True)}
    expected = {}
    for v in set().union(*(near[r] for r in ranked)) - set(ranked):
        ranks = [at for at, r in enumerate(ranked, 1) if r in near[v]]
        expected[v] = min(ranks), len(ranks)
    assert found == expected and len(nodes) == len(found)
    assert not workspace(10).marks.any()


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


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=4), st.integers(0, 2**32))
def test_products_agree_with_numpy_and_do_not_depend_on_what_else_was_asked(width, asked, seed) -> None:
    rng = np.random.default_rng(seed)
    table, queries = (rng.normal(size=(size, width)).astype(np.float32) for size in (7, 2))
    products = Products()
    for at, rows in enumerate(asked):
        query = queries[at % 3 // 2]
        found = products.of(table, rows, query)
        assert found.dtype == np.float32 and np.allclose(found, table[rows].astype(float) @ query, atol=1e-4)
        assert found.tolist() == [float(Products().of(table, [row], query)[0]) for row in rows]


def test_products_are_worked_out_once_for_a_query_and_a_table() -> None:
    table, query = np.ones((3, 2), np.float32), np.float32([1, 2])
    products = Products()
    assert products.of(table, [0, 1], query).tolist() == [3, 3]
    table[0] = 5  # not looked at again
    assert products.of(table, [0, 2], query).tolist() == [3, 3]
    assert products.of(table, [0], query * 2).tolist() == [30]
    query *= 2  # what was asked is remembered by value
    assert products.of(table, [0], query).tolist() == [30]
    assert products.of(table.copy(), [0, 1], query / 2).tolist() == [15, 3]


def test_an_interrupted_product_is_not_taken_for_known(monkeypatch) -> None:
    table, query = np.ones((3, 2), np.float32), np.float32([1, 2])
    products = Products()
    products.of(table, [0], query)

    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_dot_rows", stop)
        with pytest.raises(KeyboardInterrupt):
            products.of(table, [1], query)
    assert products.of(table, [0, 1, 2], query).tolist() == [3, 3, 3]


def test_each_thread_has_products_of_its_own() -> None:
    table = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    products, queries = Products(), np.random.default_rng(1).normal(size=(40, 8)).astype(np.float32)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda q: [products.of(table, range(k), q).tolist() for k in (5, 50)], queries))
    assert found == [[Products().of(table, range(k), q).tolist() for k in (5, 50)] for q in queries]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_structure_has_the_values_worked_by_hand(count: int) -> None:
    square = undirected(6, [0, 1, 2, 3, 0, 5], [1, 2, 3, 4, 3, 3])  # degree of 1: 2, of 3: 4
    given = [np.array(part, np.int32) for part in ([1, 3, 4], [1, count, 1], [1, min(3, count), 1])]
    near = [1.0, 0.0, 1.0] if count > 1 else [0.0] * 3
    held = [0.0, {1: 0.0, 2: 1.0, 5: 2 / 3}[count], 0.0]
    assert structure(square[0], *given, count).tolist() == pytest.approx(
        [a + b for a, b in zip(near, held, strict=True)]
    )


def test_what_lies_outside_is_refused() -> None:
    line = undirected(3, [0, 1], [1, 2])
    with pytest.raises(ValueError, match="ranked holds 3"):
        frontier(*line, [3])
    with pytest.raises(ValueError, match="rows holds 2"):
        Products().of([[1.0], [2.0]], [2], [1.0])
    with pytest.raises(ValueError, match=r"the query \(2,\)"):
        Products().of([[1.0], [2.0]], [0], [1.0, 2.0])
    with pytest.raises(ValueError, match="nodes holds"):
        smooth(*line, [5], [[1.0]], 0.2)
    with pytest.raises(ValueError, match="nodes holds 1 repeats"):
        smooth(*line, [1, 1], [[1.0], [2.0]], 0.2)
    with pytest.raises(ValueError, match="2 nodes and rows of shape"):
        smooth(*line, [0, 1], [[1.0]], 0.2)
