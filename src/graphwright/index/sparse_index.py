"""A sparse index over passages: the weights of a sparse encoder such as SPLADE, column by column."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError, StoreError
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.csr import group
from graphwright.models.protocols import Floats, SparseEncoder, SparseRows

__all__ = ["SparseIndex"]

_BLOCK = 4096  # passages whose texts are held at a time
_FEW = 8  # where postings are fewer than one in so many rows, sorting them costs less than clearing a number per row


class SparseEncodingRun(Protocol):
    """What the run of a pipeline offers to a sparse index: encoding with its usage counted."""

    def encode_queries(self, encoder: SparseEncoder, texts: Sequence[str]) -> SparseRows:
        """Return one sparse row per question."""
        ...


@dataclass(frozen=True, eq=False)
class SparseIndex:
    """Rows of passages by column: row i belongs to node `nodes[i]: int64`, ascending.

    Column c stands in the rows `rows[indptr[c]:indptr[c + 1]]: int32`, ascending, with the `weights: float32` of the
    same places; what a row lacks is 0. A column is a token of the vocabulary where the encoder is SPLADE (Formal et
    al., 2021). `encoder` maps questions to weights of the same columns.

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
        """Index the passages of a graph, each with its title; without passages its nodes, by their triples written out.

        Raises OptionError for what is no sparse encoder, and for rows of one that no dot product can be made of.
        """
        if isinstance(encoder, str) or not isinstance(encoder, SparseEncoder):
            raise OptionError(f"SparseIndex.of: {encoder!r} is no sparse encoder, with encode_queries and so on.")
        nodes, read = graph.nodes, graph.passage
        if graph.passages is not None:
            nodes, read = nodes[graph.columns.kinds[nodes] == Kind.CHUNK], graph.reading
        blocks = []
        for start in range(0, max(len(nodes), 1), _BLOCK):
            texts = [read(node) for node in nodes[start : start + _BLOCK].tolist()]
            blocks.append(_checked(encoder.encode_passages(texts), len(texts), encoder))
        return cls.of_rows(_stacked(blocks), nodes, encoder)

    @classmethod
    def of_rows(cls, rows: SparseRows, nodes: ArrayLike, encoder: SparseEncoder | None = None) -> SparseIndex:
        """Index one row per node, nodes ascending; the encoder is needed to search by text."""
        ids = np.array(nodes, np.int64)
        ids.flags.writeable = False
        _checked(rows, len(ids), "SparseIndex.of_rows")
        if np.any(np.diff(ids) <= 0):
            raise OptionError("SparseIndex.of_rows: the nodes are not in ascending order, each once.")
        kept = rows.values != 0
        owner = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(rows.indptr))[kept]
        columns, values = rows.columns[kept], np.asarray(rows.values[kept], np.float32)
        indptr, stands = group(rows.dimension, columns, owner)
        # Grouped as whole numbers of the same bits, for that is what `group` moves; in the same order as the rows.
        _, bits = group(rows.dimension, columns, values.view(np.int32))
        return cls(indptr, stands, bits.view(np.float32), ids, encoder)

    @property
    def dimension(self) -> int:
        """Columns, of which most rows have few."""
        return len(self.indptr) - 1

    def scores(self, text: str, run: SparseEncodingRun | None = None) -> tuple[NDArray[np.int64], Floats]:
        """Return the nodes that share a column with a question, ascending, and the dot products: float32 of each.

        Costs what stands in the question's columns. Needs an encoder of this index's columns.
        """
        if self.encoder is None:
            raise OptionError(f"{self!r} has no encoder; give one to SparseIndex.of_rows to search by text.")
        if not len(self.nodes):
            return self.nodes, np.empty(0, np.float32)
        encoded = self.encoder.encode_queries([text]) if run is None else run.encode_queries(self.encoder, [text])
        query = _checked(encoded, 1, self.encoder)
        if query.dimension != self.dimension:
            raise StoreError(
                f"{self.encoder!r} gives {query.dimension} columns, but {self!r} holds {self.dimension}. Use the "
                f"encoder that the index was made with."
            )
        rows, scores = self.products(query.columns, query.values)
        return self.nodes[rows], scores

    def products(self, columns: NDArray[np.int32], values: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows that have a weight in one of these columns, ascending, and their dot products with `values`.

        `columns: int32[m]`, `values: float32[m]`. Products are added up as float64.
        """
        asked = values != 0
        parts = [slice(int(self.indptr[c]), int(self.indptr[c + 1])) for c in columns[asked].tolist()]
        weighed = zip(parts, values[asked].tolist(), strict=True)
        products = [np.multiply(self.weights[part], value, dtype=np.float64) for part, value in weighed]
        shares = np.concatenate([np.empty(0), *products])
        stands = np.concatenate([np.empty(0, np.int32), *(self.rows[part] for part in parts)])
        if len(stands) * _FEW < len(self.nodes):
            found, at = np.unique(stands, return_inverse=True)
            return found.astype(np.int64), np.bincount(at, shares, len(found)).astype(np.float32)
        found = np.flatnonzero(np.bincount(stands))
        return found, np.bincount(stands, shares)[found].astype(np.float32)

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over its weights and nodes."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.indptr, self.rows, self.weights, self.nodes):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        # With the encoder: of SPLADE-doc, encoders that read questions differently give passages the same weights.
        if not isinstance(other, SparseIndex):
            return NotImplemented
        return self.checksum == other.checksum and self.encoder == other.encoder

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"SparseIndex({len(self.nodes)} × {self.dimension}, {self.checksum[:8]})"


def _checked(rows: SparseRows, count: int, who: object) -> SparseRows:
    """Return the rows. Raises OptionError where they are not `count`, or hold what no dot product can be made of."""
    said = who if isinstance(who, str) else repr(who)
    if len(rows) != count:
        raise OptionError(f"{said}: {len(rows)} rows for {count} texts or nodes; there must be one for each.")
    if not len(rows.columns) == len(rows.values) == rows.indptr[-1]:
        raise OptionError(
            f"{said}: {len(rows.columns)} columns and {len(rows.values)} values in rows that end at {rows.indptr[-1]}; "
            f"give a column and a value for each."
        )
    outside = (rows.columns < 0) | (rows.columns >= rows.dimension)
    if outside.any():
        raise OptionError(f"{said}: column {rows.columns[outside][0]} of {rows.dimension}, which are counted from 0.")
    if not np.isfinite(rows.values).all():
        raise OptionError(f"{said}: the weight {rows.values[~np.isfinite(rows.values)][0]} is not finite.")
    return rows


def _stacked(blocks: list[SparseRows]) -> SparseRows:
    """Return the rows of all blocks as one."""
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    return SparseRows(
        np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64))),
        np.concatenate([block.columns for block in blocks]),
        np.concatenate([block.values for block in blocks]),
        blocks[0].dimension,
    )
