"""Vectors of the nodes or edges of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError, StoreError
from graphwright.graph.graph import Graph, Kind
from graphwright.kernels.blocks import FarArray, HalfArray, digest, products
from graphwright.kernels.csr import readonly
from graphwright.kernels.far import Reading, together
from graphwright.models.protocols import Encoder, Floats
from graphwright.search.checksummed_index import ChecksummedIndex
from graphwright.search.vector_pages import Keys, Pages, VectorRows, row_sums

_T = TypeVar("_T")


class EncodingRun(Protocol):
    """The part of a pipeline's run that indexes use: encoding with usage counts and caches."""

    ahead: list[Reading[Any]]  # of what is wanted next, if it is kept elsewhere

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the value of a key, computed by `make` at its first use in the run."""

    def encode(self, encoder: Encoder, texts: Sequence[str]) -> Floats:
        """Return one vector per text."""


@dataclass(frozen=True, eq=False, repr=False)
class VectorIndex(ChecksummedIndex):
    """Vectors, not normalised: `vectors: float32[rows, dimension]`, of an index's snapshot in half precision.

    `row_of: int32[n]`: the row of each node (or edge) id, -1 for none; several ids may share a row, for example edges
    that one sentence states. Without it row i belongs to id i. Two indexes are equal if each id has an equal vector in
    both, at any row. `keys`: those of the texts of the rows (see `text_keys`), by which a later index finds them; the
    `pages` of a snapshot may have rows without a text.

    >>> index = VectorIndex.from_array([[1, 0], [0, 1]]); index.scores(np.float32([0.5, 2])).tolist()
    [0.5, 2.0]
    """

    vectors: Any  # Floats or HalfArray; VectorRows in a snapshot that can only be written
    row_of: NDArray[np.int32] | None = None
    encoder: Encoder | None = None
    keys: Keys | None = field(default=None, kw_only=True)
    pages: Pages | None = field(default=None, kw_only=True)

    @classmethod
    def from_array(cls, vectors: ArrayLike, encoder: Encoder | None = None) -> VectorIndex:
        """Index one row per node. A search by text needs the encoder, which maps questions into the same space."""
        array = np.ascontiguousarray(vectors, np.float32)
        if array.ndim != 2:
            raise OptionError(f"the vectors must have one row per node; their shape is {array.shape}.")
        if not np.isfinite(array).all():
            raise OptionError(f"row {int(np.argwhere(~np.isfinite(array))[0, 0])} of the vectors is not finite.")
        array = array.copy() if array is vectors else array
        array.flags.writeable = False
        return cls(array, None, encoder)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The numbers of vectors that belong to an id, and of their components."""
        has_id = np.zeros(len(self.vectors) + 1, bool)  # the last is that of ids without a row, -1
        has_id[np.arange(len(self.vectors)) if self.row_of is None else np.asarray(self.row_of)] = True
        return int(has_id[:-1].sum()), self.dimension

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over the vectors of all ids."""
        sums = row_sums(self.vectors) if self.pages is None else self.pages.sums
        return vectors_checksum(sums, self.row_of, self.dimension)

    def encode(self, text: str, run: EncodingRun | None = None) -> Floats:
        """Return the vector of a text: float32[dimension]. Needs an encoder of this index's dimension."""
        return self.encode_all([text], run)[0]  # type: ignore[no-any-return]

    def encode_all(self, texts: Sequence[str], run: EncodingRun | None = None) -> Floats:
        """Return the vectors of texts: float32[len(texts), dimension]; faster than one by one."""
        if self.encoder is None:
            raise OptionError(f"{self!r} has no encoder; give one to VectorIndex.from_array to search by text.")
        if not len(self.vectors) or not texts:
            return np.zeros((len(texts), self.dimension), np.float32)  # the encoder need not run
        encoded = self.encoder.encode(list(texts)) if run is None else run.encode(self.encoder, list(texts))
        vectors: Floats = np.asarray(encoded, np.float32)
        if vectors.shape != (len(texts), self.dimension):
            raise StoreError(
                f"{self.encoder!r} gives vectors of shape {vectors.shape}, but {self!r} holds {self.dimension} "
                f"numbers a row. Use the encoder that the index was written with."
            )
        return vectors

    def scores(self, query: Floats, run: EncodingRun | None = None) -> Floats:
        """Return the dot product of every row with `query`: float32[rows]; computed once in a run."""
        if run is None:
            if isinstance(self.vectors, HalfArray):
                return self.vectors @ query  # verifies a mapped matrix as a whole, faster than by rows
            return products(self.vectors, np.arange(len(self.vectors)), query)
        key = "scores", id(self), query.tobytes()
        return run.once(key, lambda: readonly(self._scores(query, run), np.float32))

    def _scores(self, query: Floats, run: EncodingRun) -> Floats:
        """Return the scores; where they are computed elsewhere, what is wanted next is read with them."""
        if not isinstance(self.vectors, FarArray):
            return self.scores(query)
        scores: Floats = together(self.vectors.multiplying(query), *run.ahead)[0]
        run.ahead.clear()
        return scores

    def scores_of(
        self, ids: NDArray[np.int64], query: Floats, run: EncodingRun | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return those of `ids` that have a vector, and its dot product with `query`."""
        if ids is self.ids:
            return ids, self.scores(query, run)[self._rows]
        known, rows = self.rows_of(ids)
        if len(rows) * 2 < self.shape[0]:
            return known, products(self.vectors, rows, query)
        return known, self.scores(query, run)[rows]

    def cosines(self, ids: NDArray[np.int64], query: Floats) -> NDArray[np.float64]:
        """Return the cosine of each id's vector with `query`, 0 without a vector or with a zero vector."""
        result: NDArray[np.float64] = together(self.comparing(ids, query))[0]
        return result

    def comparing(self, ids: NDArray[np.int64], query: Floats) -> Reading[NDArray[np.float64]]:
        """Read the cosines."""
        result, rows = np.zeros(len(ids)), self.rows_of(ids)[1]
        new = np.diff(rows, prepend=-1) != 0  # edges of one sentence follow one another, and share a row
        if isinstance(self.vectors, FarArray):
            found = yield from self.vectors.comparing(rows[new], query)
        else:
            found = row_cosines(self.vectors, rows[new], query)
        result[self.has(ids)] = found[np.cumsum(new) - 1]
        return result

    def has(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each id whether it has a vector."""
        if self.row_of is None:
            return ids < len(self.vectors)
        known = ids < len(self.row_of)
        known[known] = self.row_of[ids[known]] >= 0
        return known

    def rows_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return those of `ids` that have a vector, and their rows."""
        size = len(self.vectors) if self.row_of is None else len(self.row_of)
        known = ids[ids < size]
        rows = known if self.row_of is None else self.row_of[known].astype(np.int64)
        return known[rows >= 0], rows[rows >= 0]

    def of(self, ids: NDArray[np.int64]) -> Floats:
        """Return the vector of each id, zeros for one without: float32[len(ids), dimension]."""
        vectors: Floats = together(self.reading(ids))[0]
        return vectors

    def reading(self, ids: NDArray[np.int64]) -> Reading[Floats]:
        """Read the vectors."""
        vectors, rows = np.zeros((len(ids), self.dimension), np.float32), self.rows_of(ids)[1]
        is_far = isinstance(self.vectors, FarArray)
        vectors[self.has(ids)] = (yield from self.vectors.reading(rows)) if is_far else self.vectors[rows]
        return vectors

    def by_text(self) -> tuple[VectorRows, NDArray[np.int32] | None]:
        """Return the vectors that have a text, in the order of rows, and the position of each id's among them."""
        if self.keys is None or isinstance(self.vectors, VectorRows):
            return VectorRows.of(self.vectors), self.row_of
        with_text = np.flatnonzero(self.keys[:, 0])
        position = np.full(len(self.vectors) + 1, -1, np.int32)
        position[with_text] = np.arange(len(with_text))
        none, sums = np.empty((0, self.dimension), np.float32), None if self.pages is None else self.pages.sums
        rows = VectorRows(self.vectors, none, with_text, sums, self.keys)
        return rows, None if self.row_of is None else position[np.asarray(self.row_of)]

    @cached_property
    def lengths(self) -> NDArray[np.floating]:
        """The length of each vector."""
        return self.vectors.lengths() if isinstance(self.vectors, HalfArray) else np.linalg.norm(self.vectors, axis=1)

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The ids that have a vector, ascending."""
        return np.arange(len(self.vectors)) if self.row_of is None else np.flatnonzero(self.row_of >= 0)

    @cached_property
    def _rows(self) -> NDArray[np.int32] | slice:
        return slice(None) if self.row_of is None else self.row_of[self.ids]


def vectors_checksum(sums: NDArray[np.uint64], row_of: NDArray[np.int32] | None, dimension: int) -> str:
    """Return sixteen hexadecimal digits over the vectors of all ids, given the fingerprint of each row."""
    row = np.arange(len(sums)) if row_of is None else np.asarray(row_of)
    of_ids = np.where(row >= 0, np.append(np.asarray(sums), np.uint64(0))[row], np.uint64(0))
    return digest(of_ids, salt=dimension)


def row_cosines(vectors: Any, rows: NDArray[np.int64], query: Floats) -> NDArray[np.float64]:
    """Return the cosine of each of some rows of a matrix with a vector, as `cosines`."""
    return cosines(vectors[rows].astype(np.float64), query.astype(np.float64))


def cosines(vectors: NDArray[np.float64], query: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each row with a vector, 0 with a zero vector; the same at any position of the row."""
    # A product of BLAS depends on the place of a row in its last digits; einsum does not.
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.linalg.norm(query)
    products = np.einsum("ij,j->i", vectors, query)
    return np.asarray(np.divide(products, lengths, out=np.zeros(len(vectors)), where=lengths != 0))


def normalised(vectors: Floats) -> Floats:
    """Return the rows at length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))


_BLOCK = 512  # passages that are encoded together


def dense_index(graph: Graph, encoder: Encoder) -> VectorIndex:
    """Encode the passages of a graph with their titles; without passages its nodes, by their triples as text.

    Vectors are compared by the dot product, as in VectorSearch, and are only in memory.

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
