"""Sweeps compared with a dense solve, also on disconnected graphs.

Forward push: its invariant and estimates compared with dense algebra, and its table at any size.
"""

import networkx as nx
import numpy as np
import pytest
from tests.kernels.small_graphs import from_networkx

from graphwright.kernels import ppr_push as module
from graphwright.kernels.csr import undirected, workspace
from graphwright.kernels.ppr import push_ppr
from graphwright.kernels.ppr_push import Push, Walk, settled, swept
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


def _walk_ppr_push(graph, seeds, mass, restart):
    return Walk(*graph, np.array(seeds, np.int32), np.array(mass, np.float64), restart)


def _dense(indptr, neighbours):
    """P[u, v]: the chance to step from v to u."""
    n = indptr.size - 1
    step = np.zeros((n, n))
    step[neighbours, np.repeat(np.arange(n), np.diff(indptr))] = 1
    return step / np.maximum(np.diff(indptr), 1)


def _columns(push, n):
    """Residual and estimate of all nodes."""
    out = np.zeros((2, n))
    out[:, push.nodes[: push.size]] = push.rows[: push.size, :2].T
    return out


@pytest.fixture
def started():
    pushes = []

    def start(walk, k=1):
        pushes.append(Push(walk, k, workspace(walk.indptr.size - 1)))
        return pushes[-1]

    yield start
    pushes[-1].clear()


def test_ppr_push_on_path_equals_worked_number(started):
    # Restart 1/2 from the end a: the one push leaves p(a) = 1/2 and r(b) = 1/2; Σr/vol = 1/8, halved 1/16.
    walk = _walk_ppr_push(undirected(3, [0, 1], [1, 2]), [0], [1.0], 0.5)
    push = started(walk)
    assert push.until(0.5)
    assert push.nodes[: push.size].tolist() == [0, 1]
    assert push.scores() == pytest.approx([1 / 2 + 1 / 16, 1 / 4 + 2 / 16])
    assert push.until(0.25)  # b has 1/2 on 2 edges: it is pushed as well, a and c get 1/8 each
    assert push.scores() == pytest.approx([9 / 16 + 1 / 32, 1 / 4 + 2 / 32, 1 / 16 + 1 / 32])
    scores = push.scores()
    push.refine(np.array([1], np.int32), scores)
    # One step more for b: 1/2 of what a and c hold, restart·(1/8 + 1/8), and of its share 2/32 of what is spread.
    assert scores[1] == pytest.approx(1 / 4 + (1 / 8 + 2 / 32) / 2)


@pytest.mark.parametrize("threshold", [1e-2, 1e-3, 1e-4])
def test_push_keeps_invariant_and_refine_is_one_step(started, threshold, monkeypatch):
    monkeypatch.setattr(module, "_WIDE", 0)
    monkeypatch.setattr(module, "_LOCAL", 1000)  # no limit
    graph = from_networkx(nx.barabasi_albert_graph(300, 3, seed=1))
    walk, restart = _walk_ppr_push(graph, [4, 250], [0.25, 0.75], 0.2), 0.2
    push, step = started(walk), _dense(*graph)
    degree, start = np.diff(graph[0]), np.bincount([4, 250], [0.25, 0.75], 300)
    assert push.until(threshold)
    residual, estimate = _columns(push, 300)
    # p + restart·r = restart·s + (1 − restart)·P·p: nothing is lost, and nothing is counted twice.
    assert estimate + restart * residual == pytest.approx(restart * start + (1 - restart) * step @ estimate)
    assert (residual < threshold * degree).all() and push.left == pytest.approx(residual.sum())
    assert push.spent <= 1 / (restart * threshold)  # the bound of Andersen, Chung and Lang
    guess = estimate + restart * residual + (1 - restart) * residual.sum() * degree / degree.sum()
    touched = push.nodes[: push.size]
    scores = push.scores()
    assert scores == pytest.approx(guess[touched])
    push.refine(np.arange(push.size, dtype=np.int32), scores)
    refined = restart * start + (1 - restart) * step @ guess
    chosen = np.isclose(scores, refined[touched], rtol=1e-12)
    assert chosen.all() or degree[touched].sum() > module._MIN_REFINED
    assert np.isclose(scores, guess[touched], rtol=1e-12)[~chosen].all()


def test_refine_takes_small_neighbourhoods_within_budget(started, monkeypatch):
    graph = from_networkx(nx.barabasi_albert_graph(300, 3, seed=1))
    push = started(_walk_ppr_push(graph, [7], [1.0], 0.15))
    push.until(1e-3)
    monkeypatch.setattr(module, "_MIN_REFINED", 60)
    monkeypatch.setattr(module, "_REFINED", 10**9)
    scores = push.scores()
    push.refine(np.arange(push.size, dtype=np.int32), scores)
    changed = np.flatnonzero(~np.isclose(scores, push.scores(), rtol=1e-12))
    degree = np.diff(graph[0])[push.nodes[: push.size]]
    assert 0 < degree[changed].sum() <= 60
    assert degree[changed].max() <= np.sort(degree)[20]


def _watched(monkeypatch):
    """Note the bits of each table made."""
    bits, tabulate = [], Push._tabulate

    def watched(push, size):
        tabulate(push, size)
        bits.append(push.bits)

    monkeypatch.setattr(Push, "_tabulate", watched)
    return bits


@pytest.mark.parametrize("k", [5, 300])
def test_push_hashed_equals_direct_table(monkeypatch, k):
    graph = from_networkx(nx.barabasi_albert_graph(40_000, 3, seed=9))
    bits = _watched(monkeypatch)
    direct = push_ppr(*graph, [11, 39_000], [1.0, 2.0], k=k)
    monkeypatch.setattr(module, "_PLACES", 64)
    hashed = push_ppr(*graph, [11, 39_000], [1.0, 2.0], k=k)
    assert bits == [0, 15]
    assert hashed[0].tolist() == direct[0].tolist() and hashed[1].tolist() == direct[1].tolist()


def test_push_small_table_grows_without_loss(started, monkeypatch):
    graph = from_networkx(nx.barabasi_albert_graph(40_000, 3, seed=9))
    walk = _walk_ppr_push(graph, [11, 39_000], [0.25, 0.75], 0.15)
    bits = _watched(monkeypatch)
    monkeypatch.setattr(module, "_PLACES", 1)
    push = started(walk, 16)
    assert push.until(1e-4)
    assert bits[0] == 4 and max(bits) >= 12 and len(bits) > 3
    nodes = push.nodes[: push.size]
    assert np.unique(nodes).size == push.size
    assert push.rows[: push.size, 2].tolist() == np.diff(graph[0])[nodes].tolist()
    residual, estimate = _columns(push, 40_000)
    assert estimate.sum() + residual.sum() == pytest.approx(1)
    assert push.left == pytest.approx(residual.sum())
    assert (residual < 1e-4 * np.diff(graph[0])).all()


def test_push_hub_makes_room_for_all_neighbours(monkeypatch):
    monkeypatch.setattr(module, "_PLACES", 1)
    star = undirected(5001, np.zeros(5000, np.int64), np.arange(1, 5001))
    assert push_ppr(*star, [0], k=600)[0].tolist() == list(range(600))


def test_push_after_failed_query_starts_clean(monkeypatch):
    graph = from_networkx(nx.barabasi_albert_graph(500, 3, seed=2))
    wanted = push_ppr(*graph, [3], k=10)[0].tolist()
    with monkeypatch.context() as broken:
        broken.setattr(Push, "scores", lambda push: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            push_ppr(*graph, [3], k=10)
    assert push_ppr(*graph, [3], k=10)[0].tolist() == wanted
