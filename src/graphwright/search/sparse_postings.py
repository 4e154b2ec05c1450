"""Postings of the columns of a sparse encoder, such as SPLADE."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError, StoreError
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.csr import group
from graphwright.models.protocols import Floats
from graphwright.models.sparse import SparseEncoder, SparseRows
from graphwright.search.checksummed_index import ChecksummedIndex
from graphwright.search.vector_index import EncodingRun

_BLOCK = 4096  # passages that are encoded at a time


@dataclass(frozen=True, eq=False, repr=False)
class SparseIndex(ChecksummedIndex):
    """Sparse rows of passages in columns: row i belongs to node `nodes[i]: int64`, ascending.

    Column c is not 0 in the rows `rows[indptr[c]:indptr[c + 1]]: int32`, ascending, with the `weights: float32` at the
    same positions. With SPLADE (Formal et al., 2021) a column is a token of the vocabulary. `encoder` maps questions to
    weights of the same columns.

    >>> from graphwright.models.fake import HashSparseEncoder
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> nodes, scores = SparseIndex.of(graph, HashSparseEncoder()).scores("Where is Graz?")
    >>> dict(zip(graph.names.take(nodes), scores.tolist()))
    {'Graz': 0.5, 'Austria': 0.5}
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: Floats
    nodes: NDArray[np.int64]
    encoder: SparseEncoder | None = None

    @classmethod
    def of(cls, graph: Graph, encoder: SparseEncoder) -> SparseIndex:
        """Index the passages of a graph with their titles; without passages its nodes, by their triples as text.

        Raises OptionError for an object that is not a sparse encoder, or returns invalid rows.
        """
        if isinstance(encoder, str) or not isinstance(encoder, SparseEncoder):
            raise OptionError(
                f"SparseIndex.of: {encoder!r} is not a sparse encoder; it must have encode_queries and encode_passages."
            )
        nodes, read = graph.nodes, graph.passage
        if graph.passages is not None:
            nodes, read = nodes[graph.columns.kinds[nodes] == Kind.CHUNK], graph.reading
        rows: list[tuple[NDArray[np.int32], Floats]] = []
        dimension = 0
        for start in range(0, len(nodes), _BLOCK):
            texts = [read(node) for node in nodes[start : start + _BLOCK].tolist()]
            block = _checked(encoder.encode_passages(texts), len(texts), encoder)
            rows += [(block.columns[a:b], block.values[a:b]) for a, b in pairwise(block.indptr.tolist())]
            dimension = block.dimension
        return cls.of_rows(SparseRows.of(rows, dimension), nodes, encoder)

    @classmethod
    def of_rows(cls, rows: SparseRows, nodes: ArrayLike, encoder: SparseEncoder | None = None) -> SparseIndex:
        """Index one row per node, nodes ascending; the encoder is needed to search by text."""
        ids = np.array(nodes, np.int64)
        ids.flags.writeable = False
        _checked(rows, len(ids), "SparseIndex.of_rows")
        if np.any(np.diff(ids) <= 0):
            raise OptionError("SparseIndex.of_rows: the nodes must be distinct and ascending.")
        nonzero = rows.values != 0
        owner = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(rows.indptr))[nonzero]
        columns, values = rows.columns[nonzero], np.asarray(rows.values[nonzero], np.float32)
        indptr, row = group(rows.dimension, columns, owner)
        # `group` moves whole numbers, so weights are grouped by their bits, in the same order as the rows.
        _, bits = group(rows.dimension, columns, values.view(np.int32))
        return cls(indptr, row, bits.view(np.float32), ids, encoder)

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of passages and of columns."""
        return len(self.nodes), self.dimension

    def scores(self, text: str, run: EncodingRun | None = None) -> tuple[NDArray[np.int64], Floats]:
        """Return the nodes that share a column with a question, ascending, and the dot products: float32 of each.

        The cost grows with the postings of the question's columns. Needs an encoder of this index's columns.
        """
        if self.encoder is None:
            raise OptionError(f"{self!r} has no encoder; give one to SparseIndex.of_rows to search by text.")
        if not len(self.nodes):
            return self.nodes, np.empty(0, np.float32)
        encoded = self.encoder.encode_queries([text]) if run is None else run.encode_queries(self.encoder, [text])
        query = _checked(encoded, 1, self.encoder)
        if query.dimension != self.dimension:
            raise StoreError(
                f"{self.encoder!r} gives {query.dimension} columns, but {self!r} has {self.dimension}. Use the "
                f"encoder that the index was created with."
            )
        rows, scores = self.products(query.columns, query.values)
        return self.nodes[rows], scores

    def products(self, columns: NDArray[np.int32], values: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows that have a weight in one of these columns, ascending, and their dot products with `values`.

        `columns: int32[m]`, `values: float32[m]`. Products are added up as float64.
        """
        nonzero = values != 0
        parts = [slice(int(self.indptr[c]), int(self.indptr[c + 1])) for c in columns[nonzero].tolist()]
        weighted = zip(parts, values[nonzero].tolist(), strict=True)
        products = [np.multiply(self.weights[part], value, dtype=np.float64) for part, value in weighted]
        terms = np.concatenate([np.empty(0), *products])
        row = np.concatenate([np.empty(0, np.int32), *(self.rows[part] for part in parts)])
        rows = np.flatnonzero(np.bincount(row))
        return rows, np.bincount(row, terms)[rows].astype(np.float32)

    def __eq__(self, other: object) -> bool:
        # Encoders of questions may differ with equal weights of passages, as with SPLADE-doc.
        return isinstance(other, SparseIndex) and super().__eq__(other) and self.encoder == other.encoder

    __hash__ = ChecksummedIndex.__hash__


def _checked(rows: SparseRows, count: int, source: object) -> SparseRows:
    """Return the rows. Raises OptionError if they are not `count`, inconsistent, or not finite."""
    name = source if isinstance(source, str) else repr(source)
    if len(rows) != count:
        raise OptionError(f"{name}: {len(rows)} rows for {count} texts or nodes; there must be one for each.")
    if not len(rows.columns) == len(rows.values) == rows.indptr[-1]:
        raise OptionError(
            f"{name}: {len(rows.columns)} columns and {len(rows.values)} values in rows that end at {rows.indptr[-1]}; "
            f"give a column and a value for each."
        )
    outside = (rows.columns < 0) | (rows.columns >= rows.dimension)
    if outside.any():
        raise OptionError(
            f"{name}: column {rows.columns[outside][0]} is not one of the {rows.dimension} columns, numbered from 0."
        )
    if not np.isfinite(rows.values).all():
        raise OptionError(f"{name}: the weight {rows.values[~np.isfinite(rows.values)][0]} is not finite.")
    return rows
