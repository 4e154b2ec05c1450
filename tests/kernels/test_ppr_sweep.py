"""Sweeps compared with a dense solve, also on disconnected graphs."""

import networkx as nx
import numpy as np
import pytest
from tests.kernels.small_graphs import from_networkx

from graphwright.kernels import ppr_sweep as module
from graphwright.kernels.ppr_sweep import Walk, settled, swept
from graphwright.kernels.ranking import kth


def _walk(graph, seeds, mass, restart=0.15):
    return Walk(*from_networkx(graph), np.array(seeds, np.int32), np.array(mass, np.float64), restart)


def _exact(graph, walk):
    step = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    step /= np.maximum(step.sum(0), 1)
    start = np.bincount(walk.seeds, walk.mass, len(graph))
    return np.linalg.solve(np.eye(len(graph)) - (1 - walk.restart) * step, walk.restart * start)


GRAPHS = {
    "bipartite": nx.complete_bipartite_graph(20, 30),
    "path": nx.path_graph(60),
    "complete": nx.complete_graph(40),
    "tree": nx.balanced_tree(3, 4),
    "random": nx.gnm_random_graph(200, 700, seed=1),
    "heavy-tailed": nx.barabasi_albert_graph(300, 3, seed=2),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("restart", [0.02, 0.15, 0.7])
def test_settled_equals_dense_solution(name, restart):
    graph = nx.convert_node_labels_to_integers(GRAPHS[name])
    seed = max(graph, key=graph.degree)
    walk = _walk(graph, [seed], [1.0], restart)
    exact = _exact(graph, walk)
    nodes, scores = settled(walk)
    assert sorted(nx.node_connected_component(graph, seed)) == nodes.tolist()
    assert np.abs(scores - exact[nodes]).sum() <= 1e-8
    assert (scores > 0).all()


def test_settled_sweeps_fewer_than_chebyshev_bound(monkeypatch):
    # Errors shrink by (1 − √(1 − a²))/a = 0.557 a sweep or faster, a = 0.85: 1e-8 of what is first wrong in 33 or so.
    sweeps = []
    inner = module._sweep
    monkeypatch.setattr(module, "_sweep", lambda *given: sweeps.append(1) or inner(*given))
    settled(_walk(nx.path_graph(3000), [1500], [1.0]))
    assert 10 < len(sweeps) <= 45


def test_settled_checks_true_residual(monkeypatch):
    walk = _walk(GRAPHS["random"], [5], [1.0])
    inner, calls = module._iterate, []

    def careless(walk, value, enough):
        calls.append(1)
        return inner(walk, value, (lambda done, _: done == 3) if len(calls) == 1 else enough)

    monkeypatch.setattr(module, "_iterate", careless)
    nodes, scores = settled(walk)
    assert len(calls) == 3  # stopped too early, gone on with, found right
    assert np.abs(scores - _exact(GRAPHS["random"], walk)[nodes]).sum() <= 1e-8


@pytest.mark.parametrize("k", [1, 10, 100])
def test_swept_continues_within_reachable_nodes(k):
    graph = nx.disjoint_union(nx.barabasi_albert_graph(300, 3, seed=2), nx.complete_graph(50))
    walk = _walk(graph, [5, 40], [0.5, 0.5])
    touched = np.array(sorted(set(range(0, 300, 2)) | {5, 40}), np.int32)
    nodes, scores = swept(walk, k, touched, np.full(touched.size, 0.5 / touched.size))
    exact = _exact(graph, walk)
    assert nodes.max() < 300 and nodes.size >= k
    assert scores == pytest.approx(exact[nodes], rel=0.2)
    result = nodes[np.lexsort((nodes, -scores))][:k]
    assert np.mean(exact[result] >= kth(exact, k) * (1 - 1e-6)) >= 0.98


def test_swept_from_solution_returns_solution():
    graph = GRAPHS["random"]
    walk = _walk(graph, [5], [1.0])
    nodes, scores = settled(walk)
    again, selected = swept(walk, 10, nodes, scores)
    best = np.sort(np.argsort(-scores, kind="stable")[:10])
    assert again.tolist() == nodes[best].tolist() and selected == pytest.approx(scores[best], abs=1e-9)
