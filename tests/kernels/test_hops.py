"""Neighbourhoods, components and walks against networkx and the distribution they draw from."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toys import GRAPHS, as_networkx

from graphwright.kernels.csr import undirected
from graphwright.kernels.hops import components, khop, random_walk, reachable
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


@settings(deadline=None)
@given(cases, st.integers(0, 5))
def test_khop_is_networkxs_distance_nearest_first(case, limit):
    n, pairs, seeds = case
    theirs, ours = _graph(n, pairs)
    expected = nx.multi_source_dijkstra_path_length(theirs, set(seeds)) if seeds else {}
    pairs = sorted((d, v) for v, d in expected.items() if d <= limit)
    nodes, distance = khop(*ours, seeds, limit)
    assert list(zip(distance.tolist(), nodes.tolist(), strict=True)) == pairs
    assert reachable(*ours, seeds).tolist() == sorted(expected)


def test_walks_repeat_for_a_seed_and_differ_between_seeds():
    _, graph = _graph(50, [(i, (i * 7 + 3) % 50) for i in range(50)])
    once, again, other = (random_walk(*graph, [4], seed=s) for s in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(once, again, strict=True))
    assert dict(zip(*map(np.ndarray.tolist, once), strict=True)) != dict(
        zip(*map(np.ndarray.tolist, other), strict=True)
    )
    assert once[1].sum() == 100 * 11


def test_the_generator_is_splitmix64():
    # The first outputs of splitmix64 from 1234567, as its authors publish them.
    from graphwright.kernels.hops import _draw

    state = np.array([1234567], np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [_draw(state) for _ in published] == [(x >> 11) * 2.0**-53 for x in published]


def test_long_walks_visit_as_pagerank_says():
    _, graph = _graph(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])
    nodes, visits = random_walk(*graph, [0, 5], [3.0, 1.0], walks=1, steps=400_000, restart=0.3, seed=7)
    expected = dict(zip(*push_ppr(*graph, [0, 5], [3.0, 1.0], restart=0.3), strict=True))
    assert nodes.size == 6 and (np.diff(visits) <= 0).all()
    for node, count in zip(nodes, visits, strict=True):
        assert count / 400_001 == pytest.approx(expected[node], abs=0.005)


def test_nothing_in_nothing_out_and_nonsense_is_refused():
    _, graph = _graph(3, [(0, 1)])
    assert khop(*graph, [], 2)[0].size == random_walk(*graph, [])[0].size == 0
    assert random_walk(*graph, [2], walks=2, steps=3)[1].tolist() == [8]
    for wrong in ({"restart": 1.5}, {"walks": -1}, {"weights": [np.nan]}, {"seeds": [9]}):
        with pytest.raises(ValueError):
            random_walk(*graph, **{"seeds": [0], **wrong})
    with pytest.raises(ValueError, match="hops is -1"):
        khop(*graph, [0], -1)


@settings(deadline=None)
@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=40))
def test_components_are_those_of_networkx(n: int, pairs: list[tuple[int, int]]) -> None:
    pairs = [(a % n, b % n) for a, b in pairs]
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pairs)
    wanted = sorted(nx.connected_components(graph), key=min)
    labels = components(*undirected(n, [a for a, _ in pairs], [b for _, b in pairs]))
    # Numbered by their smallest node.
    assert [set(np.flatnonzero(labels == at).tolist()) for at in range(len(wanted))] == wanted
    assert labels.max() == len(wanted) - 1 and labels.dtype == np.int32


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_of_a_part_of_a_graph_only_its_own_edges_join(name: str) -> None:
    part = GRAPHS[name].part([n for n in GRAPHS[name].nodes.tolist() if n % 3 != 1])
    labels = components(*part.adjacency)
    assert len(set(labels.tolist())) == nx.number_connected_components(as_networkx(part))


def test_no_node_no_component() -> None:
    assert components(*undirected(0, [], [])).tolist() == []
