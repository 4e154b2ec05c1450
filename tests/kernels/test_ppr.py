"""Personalised PageRank against networkx, a dense solve, and the exact top k of seeded graphs."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.registry import CPUDispatcher
from tests.kernels.small_graphs import from_networkx

from graphwright.kernels import csr, hops, paths, ppr_push
from graphwright.kernels import ppr_push as ppr_sweep
from graphwright.kernels.csr import undirected, workspace
from graphwright.kernels.ppr import push_ppr


def _solved(indptr, neighbours, start, restart):
    """Solve x = restart·s + (1 − restart)·P·x, a node without neighbours going back to s."""
    n = indptr.size - 1
    step = np.zeros((n, n))
    for v in range(n):
        row = neighbours[indptr[v] : indptr[v + 1]]
        step[row, v] = 1 / max(row.size, 1)
        if not row.size:
            step[:, v] = start
    return np.linalg.solve(np.eye(n) - (1 - restart) * step, restart * start)


cases = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
        st.lists(st.tuples(st.integers(0, n - 1), st.floats(0.01, 10)), min_size=1, max_size=6),
        st.floats(0.02, 0.9),
    )
)


@given(cases, st.sampled_from([None, 1, 3, 100]))
def test_push_ppr_solves_equation(case, k):
    n, pairs, weighted, restart = case
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    graph = undirected(n, ends[:, 0], ends[:, 1])
    seeds, weights = [v for v, _ in weighted], [w for _, w in weighted]
    start = np.bincount(seeds, weights, n)
    exact = _solved(*graph, start / start.sum(), restart)
    nodes, scores = push_ppr(*graph, seeds, weights, restart=restart, k=k)
    assert len(set(nodes.tolist())) == nodes.size == min(k or n, np.count_nonzero(exact > 1e-15))
    assert (exact[nodes] > 0).all() and (np.diff(scores) <= 0).all()
    if k is None or k >= n:
        assert np.abs(exact[nodes] - scores).sum() <= 1e-7
        assert scores.sum() == pytest.approx(1)


SEEDED = {
    "heavy-tailed": (lambda: nx.barabasi_albert_graph(5000, 4, seed=2), 0.97),
    "random": (lambda: nx.gnm_random_graph(5000, 20000, seed=3), 0.97),
    "grid": (lambda: nx.convert_node_labels_to_integers(nx.grid_2d_graph(70, 70)), 0.97),
    "dense": (lambda: nx.gnm_random_graph(400, 20000, seed=4), 0.97),
    "in parts": (lambda: nx.disjoint_union(nx.barabasi_albert_graph(3000, 3, 5), nx.path_graph(3000)), 0.97),
}


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("k", [20, 300])
def test_ppr_recalls_exact_top_k(name, k):
    make, least = SEEDED[name]
    graph = from_networkx(make())
    recalls = []
    for seed in np.random.default_rng(0).choice(graph[0].size - 1, 10):
        exact = np.zeros(graph[0].size - 1)
        nodes, scores = push_ppr(*graph, [seed])
        exact[nodes] = scores
        size = min(k, np.count_nonzero(exact))
        result = push_ppr(*graph, [seed], k=k)[0]
        assert result.size == size
        recalls.append(np.mean(exact[result] >= np.partition(exact, -size)[-size] * (1 - 1e-6)))
    assert np.mean(recalls) >= least


def test_push_ppr_ties_go_to_smaller_id():
    star = from_networkx(nx.star_graph(6))
    assert push_ppr(*star, [0], k=4)[0].tolist() == push_ppr(*star, [0])[0][:4].tolist() == [0, 1, 2, 3]


def test_push_ppr_two_nodes_by_hand():
    # From a at restart c: π(a) = 1/(2 − c), π(b) = (1 − c)/(2 − c).
    nodes, scores = push_ppr(*undirected(2, [0], [1]), [0], restart=0.5)
    assert nodes.tolist() == [0, 1]
    assert scores == pytest.approx([2 / 3, 1 / 3])


def test_ppr_of_nothing_is_empty_and_invalid_arguments_raise():
    graph = undirected(3, [0], [1])
    assert [part.size for part in push_ppr(*graph, [])] == [0, 0]
    assert push_ppr(*graph, [0, 1], [0.0, 0.0])[0].size == 0
    assert push_ppr(*graph, [0], k=0)[0].size == 0
    for wrong in ({"seeds": [3]}, {"restart": 0.0}, {"k": -1}, {"weights": [-1.0]}, {"weights": [1.0, 2.0]}):
        with pytest.raises(ValueError):
            push_ppr(*graph, **{"seeds": [0], **wrong})


def test_push_ppr_leaves_scratch_clean_and_compiles_once(monkeypatch):
    graph = from_networkx(nx.barabasi_albert_graph(2000, 3, seed=6))
    fresh = [array.copy() for array in graph]  # writable, as a caller may pass them
    for pair in (graph, fresh):
        push_ppr(*pair, [1], k=5)
        push_ppr(*pair, np.array([1, 2], np.int64), k=500)
        hops.khop(*pair, [1], 2)
        hops.random_walk(*pair, [1])
        list(paths.paths_between(*pair, 1, 1999, 9))
        monkeypatch.setattr(ppr_push, "_PLACES", 1)  # hashed, the second time
    record = workspace(1)
    assert not record.rows.any() and not record.marks.any()
    for module in (csr, ppr_push, ppr_sweep, hops, paths):
        for function in vars(module).values():
            if isinstance(function, CPUDispatcher):
                assert len(function.signatures) <= 1, function
