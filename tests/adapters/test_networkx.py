"""Graphs of networkx, in and out."""

import pytest
from hypothesis import given
from tests.adapters.graphs import RIVERS, TRIPLES, content

from graphwright import Evidence, Graph
from graphwright.errors import DataError, OptionError

nx = pytest.importorskip("networkx")
from graphwright.adapters.networkx import from_networkx, to_networkx  # noqa: E402


@given(TRIPLES)
def test_networkx_round_trips_any_graph(triples):
    graph = Graph.from_triples(triples)
    (nodes, edges), (own_nodes, own_edges) = content(from_networkx(to_networkx(graph))), content(graph)
    assert nodes == own_nodes and sorted(edges) == sorted(own_edges)  # networkx lists edges by their heads


def test_networkx_keeps_texts_parallel_edges_and_equal_names():
    assert content(from_networkx(to_networkx(RIVERS))) == content(RIVERS)


def test_networkx_evidence_is_subgraph_with_ranks():
    part = to_networkx(RIVERS, Evidence.of_edges([0], [0.5]))
    assert sorted(part) == [0, 1] and part.edges[0, 1, 0]["rank"] == 1


def test_networkx_reads_attributes_of_other_programs():
    rivers = nx.MultiGraph()
    rivers.add_node("Mur", type="river", description="It rises in Salzburg.")
    rivers.add_node(17, title="Graz")
    rivers.add_edge("Mur", 17, key="flows through")
    rivers.add_edge("Mur", 17, label="leaves")
    rivers.add_edge(17, 17)
    graph = from_networkx(rivers)
    assert graph.text(0) == "Mur (river): It rises in Salzburg." and graph.names[1] == "Graz"
    assert [graph.triple(edge)[1] for edge in range(3)] == ["flows through", "leaves", "linked to"]


def test_networkx_invalid_graph_raises():
    with pytest.raises(OptionError, match="dict is no networkx graph"):
        from_networkx({})
    graph = nx.DiGraph([(1, 2), ("1", 2)])
    graph.nodes[1]["name"] = "one"
    with pytest.raises(DataError, match="two nodes have the id '1'"):
        from_networkx(graph)
