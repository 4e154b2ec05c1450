"""Sparse encoders, and the rows of numbers that they return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False, slots=True)
class SparseRows:
    """Sparse rows over `dimension` columns, in CSR layout.

    Row i has the `values[indptr[i]:indptr[i + 1]]: float32` in the `columns: int32` of the same positions, ascending,
    and 0 in every other column; `indptr: int64[rows + 1]`.

    >>> rows = SparseRows.of([([0, 2], [1.5, 2.0]), ([], [])], dimension=3)
    >>> len(rows), rows.dense().tolist()
    (2, [[1.5, 0.0, 2.0], [0.0, 0.0, 0.0]])
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    dimension: int

    @classmethod
    def of(cls, rows: Iterable[tuple[ArrayLike, ArrayLike]], dimension: int) -> SparseRows:
        """Build the rows from the columns and values of each."""
        columns, values, ends = [np.empty(0, np.int32)], [np.empty(0, np.float32)], [0]
        for row_columns, row_values in rows:
            columns.append(np.asarray(row_columns, np.int32))
            values.append(np.asarray(row_values, np.float32))
            ends.append(ends[-1] + len(columns[-1]))
        return cls(np.array(ends, np.int64), np.concatenate(columns), np.concatenate(values), dimension)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def dense(self) -> NDArray[np.float32]:
        """Return the rows with their zeros: float32[rows, dimension]."""
        table = np.zeros((len(self), self.dimension), np.float32)
        table[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.columns] = self.values
        return table


@runtime_checkable
class SparseEncoder(Protocol):
    """A model that maps texts to sparse weights over a vocabulary; it may encode questions and passages differently."""

    def encode_queries(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per question."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> SparseRows:
        """Return one row per passage; its dot product with a question's row is its score."""
        ...
