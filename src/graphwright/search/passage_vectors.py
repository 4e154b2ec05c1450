"""Vectors of an index's passages by another encoder, for baselines such as Contriever."""

from __future__ import annotations

import numpy as np

from graphwright.graph.graph import Graph, Kind
from graphwright.models.protocols import Encoder, Floats
from graphwright.search.vector_index import VectorIndex

_BLOCK = 512  # passages that are encoded together


def dense_index(graph: Graph, encoder: Encoder) -> VectorIndex:
    """Encode the passages of a graph with their titles; without passages its nodes, by their triples as text.

    Vectors that do not have unit length, such as Contriever's, are compared by the dot product, as in VectorSearch. The
    vectors are only in memory. `SparseIndex.of` does the same with a sparse encoder, such as SPLADE.

    >>> from graphwright.models.fake import HashEncoder
    >>> dense_index(Graph.from_triples([("Lyon", "in", "France")]), HashEncoder())
    VectorIndex(2 × 64, ...)
    """
    nodes, read = graph.nodes, graph.passage
    if graph.passages is not None:
        nodes, read = nodes[graph.columns.kinds[nodes] == Kind.CHUNK], graph.reading
    blocks: list[Floats] = [
        encoder.encode([read(node) for node in nodes[start : start + _BLOCK].tolist()])
        for start in range(0, len(nodes), _BLOCK)
    ]
    row_of = np.full(len(graph.columns.names), -1, np.int32)
    row_of[nodes] = np.arange(len(nodes))
    whole = VectorIndex.from_array(np.concatenate(blocks) if blocks else np.empty((0, 0)), encoder)
    return VectorIndex(whole.vectors, row_of, encoder)
