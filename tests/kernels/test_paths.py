"""The path shown for a passage, against all shortest paths of networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.kernels.csr import undirected
from graphwright.kernels.paths import nearest_path

cases = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
        st.lists(st.integers(0, n - 1), max_size=3),
        st.integers(0, n - 1),
        st.integers(0, 8),
    )
)


@settings(deadline=None, max_examples=300)
@given(cases)
def test_it_is_the_first_of_all_shortest_paths(case):
    n, pairs, sources, target, limit = case
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    graph = nx.empty_graph(n)
    graph.add_edges_from(pairs)
    every = [
        path for s in set(sources) if nx.has_path(graph, s, target) for path in nx.all_shortest_paths(graph, s, target)
    ]
    best = min(every, key=lambda path: (len(path), path), default=[])
    found = nearest_path(*undirected(n, ends[:, 0], ends[:, 1]), sources, target, limit)
    assert found.tolist() == (best if len(best) <= limit + 1 else [])


def test_nonsense_is_refused():
    graph = undirected(3, [0], [1])
    with pytest.raises(ValueError, match="target holds 3"):
        nearest_path(*graph, [0], 3, 2)
    with pytest.raises(ValueError, match="limit is -1"):
        nearest_path(*graph, [0], 1, -1)
