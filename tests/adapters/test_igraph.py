"""Graphs of igraph, in and out."""

import pytest
from hypothesis import given
from tests.adapters.graphs import RIVERS, TRIPLES, content

from graphwright import Graph
from graphwright.errors import OptionError

igraph = pytest.importorskip("igraph")
from graphwright.adapters.igraph import from_igraph, to_igraph  # noqa: E402


@given(TRIPLES)
def test_igraph_round_trips_any_graph(triples):
    graph = Graph.from_triples(triples)
    assert content(from_igraph(to_igraph(graph))) == content(graph)


def test_igraph_keeps_texts_parallel_edges_and_equal_names():
    assert content(from_igraph(to_igraph(RIVERS))) == content(RIVERS)


def test_igraph_without_attributes_uses_numbers_as_names():
    graph = from_igraph(igraph.Graph.Ring(3))
    assert list(graph.names) == ["0", "1", "2"] and graph.triple(0) == ("0", "linked to", "1")
    with pytest.raises(OptionError, match="no igraph graph"):
        from_igraph([(0, 1)])
