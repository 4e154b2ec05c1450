"""A vector space over the nodes, or the edges, of a snapshot."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError, StoreError
from graphwright.models.base import Encoder, Floats

__all__ = ["VectorIndex", "normalised"]


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """Vectors kept as given: `vectors: float32[rows, dimension]`, memory-mapped when an index is open.

    `row_of: int32[n]`, when given, is the row of each node (or edge) id, -1 for one that has none; several ids may
    share a row, as edges that one sentence states do. Without it row i belongs to id i.

    >>> index = VectorIndex.from_array([[1, 0], [0, 1]]); index.scores(np.float32([0.5, 2])).tolist()
    [0.5, 2.0]
    """

    vectors: Floats
    row_of: NDArray[np.int32] | None = None
    encoder: Encoder | None = None

    @classmethod
    def from_array(cls, vectors: ArrayLike, encoder: Encoder | None = None) -> VectorIndex:
        """Hold one row per node; the encoder, needed to search by text, maps questions into the same space."""
        array = np.ascontiguousarray(vectors, np.float32)
        if array.ndim != 2:
            raise OptionError(f"vectors are a table of one row per node; these have shape {array.shape}.")
        if not np.isfinite(array).all():
            raise OptionError(f"row {int(np.argwhere(~np.isfinite(array))[0, 0])} of the vectors is not finite.")
        array = array.copy() if array is vectors else array
        array.flags.writeable = False
        return cls(array, None, encoder)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    def encode(self, text: str) -> Floats:
        """Return the vector of a text: float32[dimension]. Needs an encoder of this index's dimension."""
        if self.encoder is None:
            raise OptionError(f"{self!r} has no encoder; give one to VectorIndex.from_array to search by text.")
        vector = np.asarray(self.encoder.encode([text]), np.float32)
        if vector.shape != (1, self.dimension):
            raise StoreError(
                f"{self.encoder!r} gives vectors of shape {vector.shape}, but {self!r} holds {self.dimension} "
                f"numbers a row. Use the encoder that the index was written with."
            )
        row: Floats = vector[0]
        return row

    def scores(self, query: Floats) -> Floats:
        """Return the dot product of every row with `query`: float32[rows]."""
        scores: Floats = self.vectors @ query
        return scores

    def scores_of(self, ids: NDArray[np.int64], query: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return those of `ids` that have a vector, and its dot product with `query`."""
        known, rows = self.rows_of(ids)
        if len(rows) * 2 < len(self.vectors):
            some: Floats = self.vectors[rows] @ query
            return known, some
        return known, self.scores(query)[rows]

    def rows_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return those of `ids` that have a vector, and their rows."""
        size = len(self.vectors) if self.row_of is None else len(self.row_of)
        known = ids[ids < size]
        rows = known if self.row_of is None else self.row_of[known].astype(np.int64)
        return known[rows >= 0], rows[rows >= 0]

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """The ids that have a vector, ascending."""
        return np.arange(len(self.vectors)) if self.row_of is None else np.flatnonzero(self.row_of >= 0)

    @cached_property
    def checksum(self) -> str:
        """Sixteen hexadecimal digits over the vectors and whom they belong to."""
        digest = hashlib.blake2b(np.ascontiguousarray(self.vectors).data, digest_size=8)
        if self.row_of is not None:
            digest.update(np.ascontiguousarray(self.row_of).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VectorIndex):
            return NotImplemented
        return self.vectors.shape == other.vectors.shape and self.checksum == other.checksum

    def __hash__(self) -> int:
        return hash(self.checksum)

    def __repr__(self) -> str:
        return f"VectorIndex({len(self.vectors)} × {self.dimension}, {self.checksum[:8]})"


def normalised(vectors: Floats) -> Floats:
    """Return the rows at length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return found
