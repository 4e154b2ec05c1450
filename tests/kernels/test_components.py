"""Connected components against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toys import GRAPHS, as_networkx

from graphwright.kernels.components import components
from graphwright.kernels.csr import undirected


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
