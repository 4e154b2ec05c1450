"""Tables of pandas, polars and Arrow, in and out."""

import math

import pytest
from hypothesis import given
from tests.adapters.graphs import RIVERS, TRIPLES, content

from graphwright import Graph
from graphwright.adapters.tables import from_tables, to_tables
from graphwright.errors import DataError, OptionError

LIBRARIES = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_tables_keep_texts_parallel_edges_and_equal_names(library):
    pytest.importorskip(library)
    nodes, edges = to_tables(RIVERS, library)
    assert content(from_tables(edges, nodes)) == content(RIVERS)


@pytest.mark.parametrize("library", LIBRARIES)
@given(triples=TRIPLES)
def test_tables_round_trip_any_graph(library, triples):
    pytest.importorskip(library)
    graph = Graph.from_triples(triples)
    nodes, edges = to_tables(graph, library)
    assert content(from_tables(edges, nodes)) == content(graph)


def test_edge_table_alone_names_nodes():
    graph = from_tables({"src": ["a", "b"], "p": ["r", None], "dst": ["b", 2**70]}, columns=["src", "p", "dst"])
    assert [graph.triple(edge) for edge in (0, 1)] == [("a", "r", "b"), ("b", "linked to", str(2**70))]


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        ({"from": ["a"], "x": ["b"]}, None, "no column 'tail'; it has 'from', 'x'"),
        ({"head": ["a", math.nan], "tail": ["b", "c"]}, None, "row 1 of edges has no head"),
        ({"head": ["a"], "tail": ["b"]}, {"name": ["a"]}, "no column 'id'"),
        ({"head": ["a"], "tail": ["b"]}, {"id": ["a"]}, "ends at 'b', which is no node"),
    ],
)
def test_invalid_table_raises(edges, nodes, message):
    with pytest.raises(DataError, match=message):
        from_tables(edges, nodes)


def test_unsupported_table_library_raises():
    with pytest.raises(OptionError, match="choose from pandas"):
        to_tables(RIVERS, "excel")
    with pytest.raises(OptionError, match="list is no table of edges"):
        from_tables([("a", "r", "b")])


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        (None, OptionError, "is no list"),
        ("ab", OptionError, "is no list"),
        (["a"], DataError, "differ in their length"),
    ],
)
def test_columns_of_different_lengths_raise(column, kind, message):
    with pytest.raises(kind, match=message):
        from_tables({"source": ["a", "b"], "target": column})
