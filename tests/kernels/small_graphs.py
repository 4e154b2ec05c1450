"""Adjacency of small graphs for the tests of kernels."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np

from graphwright.kernels.csr import Csr, undirected


def adjacency(pairs: Iterable[tuple[int, int]], n: int = 10) -> Csr:
    """Return the undirected adjacency of `n` nodes joined by pairs."""
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    return undirected(n, ends[:, 0], ends[:, 1])


def from_networkx(graph: nx.Graph) -> Csr:
    """Return the adjacency of a graph whose nodes are numbered from 0."""
    return adjacency(graph.edges, graph.number_of_nodes())
