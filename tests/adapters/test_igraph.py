"""Graphs of igraph, in and out."""

import pytest
from hypothesis import given
from tests.adapters.graphs import RIVERS, TRIPLES, content

from graphwright import Graph
from graphwright.errors import OptionError

igraph = pytest.importorskip("igraph")
from graphwright.adapters.igraph import from_igraph, to_igraph  # noqa: E402


@given(TRIPLES)
def test_any_graph_comes_back(triples):
    graph = Graph.from_triples(triples)
    assert content(from_igraph(to_igraph(graph))) == content(graph)


def test_texts_parallel_edges_and_nodes_of_one_name_come_back():
    assert content(from_igraph(to_igraph(RIVERS))) == content(RIVERS)


def test_a_graph_without_attributes_has_numbers_for_names():
    graph = from_igraph(igraph.Graph.Ring(3))
    assert list(graph.names) == ["0", "1", "2"] and graph.triple(0) == ("0", "linked to", "1")
    with pytest.raises(OptionError, match="no igraph graph"):
        from_igraph([(0, 1)])
