"""Graphs of PyTorch Geometric, in and out."""

import numpy as np
import pytest
from hypothesis import given
from tests.adapters.graphs import RIVERS, TRIPLES

from graphwright import Graph, VectorIndex
from graphwright.errors import DataError

torch = pytest.importorskip("torch")
Data = pytest.importorskip("torch_geometric.data").Data
from graphwright.adapters.pyg import from_pyg, to_pyg  # noqa: E402


@given(TRIPLES)
def test_pyg_round_trips_any_graph(triples):
    graph = Graph.from_triples(triples)
    again = from_pyg(to_pyg(graph))
    assert list(again.names) == list(graph.names)
    assert [again.triple(edge) for edge in again.edges] == triples


def test_pyg_part_keeps_ids_and_vectors():
    vectors = VectorIndex.from_array(np.eye(4, dtype=np.float32))
    data = to_pyg(RIVERS.part([0, 2]), vectors)
    data.validate()
    assert data.node_id.tolist() == [0, 2] and data.edge_index.tolist() == [[0, 0], [1, 1]]
    assert data.x.tolist() == np.eye(4)[[0, 2]].tolist() and data.names == ["Mur", "Graz"]


def test_pyg_without_names_uses_numbers():
    index = torch.tensor([[0, 1], [1, 2]])
    assert from_pyg(Data(edge_index=index, num_nodes=3)).triple(0) == ("0", "linked to", "1")
    typed = Data(edge_index=index, edge_type=torch.tensor([1, 0]), num_nodes=3)
    assert from_pyg(typed).triple(0) == ("0", "relation 1", "1")
    assert from_pyg(typed, ["a", "b", "c"], ["r", "s"]).triple(1) == ("b", "r", "c")


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (Data(num_nodes=2), None, "no edge_index"),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), ["a"], "2 nodes, 1 names"),
        (Data(edge_index=torch.tensor([[0], [5]]), num_nodes=2), None, "edges up to 5"),
        (Data(edge_index=torch.tensor([[0], [1]]), edge_type=torch.tensor([0, 1]), num_nodes=2), None, "2 edge types"),
        (Data(edge_index=torch.tensor([[0], [1]]), edge_type=torch.tensor([1.5]), num_nodes=2), None, "whole numbers"),
        (Data(edge_index=torch.tensor([[0.0], [1.0]]), num_nodes=2), None, "whole numbers"),
        (Data(edge_index=torch.tensor([0, 1]), num_nodes=2), None, r"shape \(2, edges\)"),
    ],
)
def test_pyg_invalid_data_raises(data, names, message):
    with pytest.raises(DataError, match=message):
        from_pyg(data, names)
