"""Adjacency compared with scipy and with sets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array

from graphwright.kernels.csr import group, induced, undirected

edges = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
)


def _arrays(pairs):
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(edges)
def test_undirected_equals_symmetric_matrix_of_scipy(case):
    n, pairs = case
    heads, tails = _arrays(pairs)
    matrix = coo_array((np.ones(heads.size), (heads, tails)), (n, n)).toarray()
    matrix = (matrix + matrix.T) * (1 - np.eye(n)) > 0
    indptr, neighbours = undirected(n, heads, tails)
    assert [neighbours[a:b].tolist() for a, b in pairwise(indptr)] == [np.flatnonzero(row).tolist() for row in matrix]
    assert (indptr.dtype, neighbours.dtype) == (np.int64, np.int32)
    assert not indptr.flags.writeable and not neighbours.flags.writeable


@given(edges)
def test_group_equals_stable_sort_by_key(case):
    n, pairs = case
    keys, values = _arrays(pairs)
    indptr, grouped = group(n, keys, values)
    assert grouped.tolist() == values[np.argsort(keys, kind="stable")].tolist()
    assert np.diff(indptr).tolist() == np.bincount(keys, minlength=n).tolist()


@given(edges, st.sets(st.integers(0, 11)))
def test_induced_equals_rows_and_columns_of_matrix(case, chosen):
    n, pairs = case
    nodes = np.array(sorted(v for v in chosen if v < n), np.int32)
    indptr, neighbours = undirected(n, *_arrays(pairs))
    matrix = np.zeros((n, n), bool)
    matrix[np.repeat(np.arange(n), np.diff(indptr)), neighbours] = True
    rows, columns = induced(indptr, neighbours, nodes)
    part = np.zeros((nodes.size, nodes.size), bool)
    part[np.repeat(np.arange(nodes.size), np.diff(rows)), columns] = True
    assert (part == matrix[np.ix_(nodes, nodes)]).all()


def test_ids_outside_graph_raise_value_error():
    graph = undirected(3, [0], [1])
    with pytest.raises(ValueError, match=r"tails holds 3, but the graph's nodes are 0 to 2"):
        undirected(3, [0], [3])
    with pytest.raises(ValueError, match=r"nodes holds -1"):
        induced(*graph, [-1, 0])
    with pytest.raises(ValueError, match=r"strictly ascending"):
        induced(*graph, [1, 0])
    with pytest.raises(ValueError, match=r"heads holds 1 values and tails 2"):
        undirected(3, [0], [1, 2])
    with pytest.raises(ValueError, match=r"dtype float64"):
        group(3, [0.5], [1])
