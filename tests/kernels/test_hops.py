"""Neighbourhoods, components and walks against networkx and the distribution they draw from."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.small_graphs import adjacency

from graphwright.kernels.csr import undirected
from graphwright.kernels.hops import Around, components, khop, random_walk
from graphwright.kernels.ppr import push_ppr


def _graph(n, pairs):
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    graph = nx.empty_graph(n)
    graph.add_edges_from(pairs)
    return graph, undirected(n, ends[:, 0], ends[:, 1])


cases = st.integers(1, 15).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=25),
        st.lists(st.integers(0, n - 1), max_size=4),
    )
)


@given(cases, st.integers(0, 5))
def test_khop_equals_distances_of_networkx(case, limit):
    n, pairs, seeds = case
    theirs, ours = _graph(n, pairs)
    expected = nx.multi_source_dijkstra_path_length(theirs, set(seeds)) if seeds else {}
    pairs = sorted((d, v) for v, d in expected.items() if d <= limit)
    nodes, distance = khop(*ours, seeds, limit)
    assert list(zip(distance.tolist(), nodes.tolist(), strict=True)) == pairs


def test_random_walk_repeats_for_seed():
    _, graph = _graph(50, [(i, (i * 7 + 3) % 50) for i in range(50)])
    once, again, other = (random_walk(*graph, [4], seed=s) for s in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(once, again, strict=True))
    assert dict(zip(*map(np.ndarray.tolist, once), strict=True)) != dict(
        zip(*map(np.ndarray.tolist, other), strict=True)
    )
    assert once[1].sum() == 100 * 11


def test_random_generator_is_splitmix64():
    # The first outputs of splitmix64 from 1234567, as its authors publish them.
    from graphwright.kernels.hops import _draw

    state = np.array([1234567], np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [_draw(state) for _ in published] == [(x >> 11) * 2.0**-53 for x in published]


def test_random_walk_visits_converge_to_pagerank():
    _, graph = _graph(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])
    nodes, visits = random_walk(*graph, [0, 5], [3.0, 1.0], walks=1, steps=400_000, restart=0.3, seed=7)
    expected = dict(zip(*push_ppr(*graph, [0, 5], [3.0, 1.0], restart=0.3), strict=True))
    assert nodes.size == 6 and (np.diff(visits) <= 0).all()
    for node, count in zip(nodes, visits, strict=True):
        assert count / 400_001 == pytest.approx(expected[node], abs=0.005)


def test_khop_of_nothing_is_empty_and_invalid_arguments_raise():
    _, graph = _graph(3, [(0, 1)])
    assert khop(*graph, [], 2)[0].size == random_walk(*graph, [])[0].size == 0
    assert random_walk(*graph, [2], walks=2, steps=3)[1].tolist() == [8]
    for wrong in ({"restart": 1.5}, {"walks": -1}, {"weights": [np.nan]}, {"seeds": [9]}):
        with pytest.raises(ValueError):
            random_walk(*graph, **{"seeds": [0], **wrong})
    with pytest.raises(ValueError, match="hops is -1"):
        khop(*graph, [0], -1)


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=40))
def test_components_equal_those_of_networkx(n: int, pairs: list[tuple[int, int]]) -> None:
    pairs = [(a % n, b % n) for a, b in pairs]
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pairs)
    wanted = sorted(nx.connected_components(graph), key=min)
    labels = components(*undirected(n, [a for a, _ in pairs], [b for _, b in pairs]))
    # Numbered by their smallest node.
    assert [set(np.flatnonzero(labels == at).tolist()) for at in range(len(wanted))] == wanted
    assert labels.max() == len(wanted) - 1 and labels.dtype == np.int32


def test_components_of_empty_graph_are_empty() -> None:
    assert components(*undirected(0, [], [])).tolist() == []


pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)
lists = st.lists(st.integers(0, 9), unique=True, max_size=10)


def around(edges: list[tuple[int, int]], n: int) -> list[set[int]]:
    record: list[set[int]] = [set() for _ in range(n)]
    for a, b in edges:
        if a != b:
            record[a].add(b)
            record[b].add(a)
    return record


def algorithm_3(near: list[set[int]], ranked: list[int], similar, beta: float) -> dict[int, float]:
    """Lines 1 to 14 as they are printed; a node whose similarity is NaN is left out."""
    scores = {}
    for n in set().union(*(near[r] for r in ranked)) - set(ranked):
        record = [v for v in ranked if v in near[n]]
        structure = 0.0
        if len(ranked) > 1:
            structure += 1 - (ranked.index(record[0]) + 1 - 1) / (len(ranked) - 1)
        most = min(len(near[n]), len(ranked))
        if most > 1:
            structure += (len(record) - 1) / (most - 1)
        if not np.isnan(similar[n]):
            scores[n] = similar[n] + beta * structure
    return scores


@given(pairs, st.lists(lists, min_size=1, max_size=5), st.floats(0, 3), st.integers(0, 2**32))
def test_around_scores_equal_algorithm_3(edges, asked, beta, seed) -> None:
    near, similar = around(edges, 10), np.random.default_rng(seed).normal(size=10)
    similar[seed % 10] = np.nan
    selected, messages = Around(*adjacency(edges)), []

    def similarity(nodes):
        messages.extend(nodes.tolist())
        return similar[nodes]

    for ranked in asked:
        nodes, scores = selected.scores(ranked, similarity, beta)
        result = dict(zip(nodes.tolist(), scores.tolist(), strict=True))
        assert result == algorithm_3(near, ranked, similar, beta) and len(result) == len(nodes)
        # Ties are many where all are alike: the smaller ids are kept.
        for values in (similar, np.zeros(10)):
            again = Around(*adjacency(edges))
            every = algorithm_3(near, ranked, values, beta)
            for k in range(8):
                nodes, scores = again.scores(ranked, values.__getitem__, beta, k)
                order = sorted(every, key=lambda v: (-every[v], v))[:k]
                assert nodes.tolist() == order and scores.tolist() == [every[v] for v in order]
    assert len(messages) == len(set(messages))  # each node's similarity is asked for once


def test_around_interrupted_call_is_repeated() -> None:
    selected, similar = Around(*adjacency([(0, 1), (1, 2), (2, 3), (3, 4)])), np.arange(10.0)

    def stop(nodes):
        raise KeyboardInterrupt

    selected.scores([0], similar.__getitem__)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            selected.scores([0, 2], stop)
    nodes, scores = selected.scores([0, 2], similar.__getitem__)
    expected = algorithm_3(around([(0, 1), (1, 2), (2, 3), (3, 4)], 10), [0, 2], similar, 1.0)
    assert dict(zip(nodes.tolist(), scores.tolist(), strict=True)) == expected


def test_stex_ids_outside_graph_raise() -> None:
    line = undirected(3, [0, 1], [1, 2])
    with pytest.raises(ValueError, match="ranked holds 3"):
        Around(*line).scores([3], np.zeros_like)
    with pytest.raises(ValueError, match="ranked holds -1"):
        Around(*line).scores([-1], np.zeros_like)
    with pytest.raises(ValueError, match=r"shape \(1,\) for 2 nodes"):
        Around(*line).scores([1], lambda nodes: [1.0])
