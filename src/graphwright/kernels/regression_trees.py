"""Regression trees: the sum of the leaves that a row of features reaches."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.compiled import kernel
from graphwright.kernels.csr import Ids, SingleMatrix, readonly


@kernel
def _add(
    rows: SingleMatrix, roots: Ids, feature: Ids, value: NDArray[np.float64], other: Ids,
    out: NDArray[np.float64],
) -> None:  # fmt: skip
    """Add the value of the leaf that each row reaches in each tree, tree by tree, whose nodes stay in the cache."""
    for root in roots:
        for row in range(len(rows)):
            at = root
            while feature[at] >= 0:
                at = at + 1 if rows[row, feature[at]] <= value[at] else other[at]
            out[row] += value[at]


@dataclass(frozen=True, eq=False, repr=False)
class RegressionTrees:
    """An ensemble of t regression trees with m nodes in all, each tree's nodes in preorder.

    `roots: int32[t]`: the first node of each tree. `feature: int32[m]`: the feature that a node tests, -1 in a leaf.
    `value: float64[m]`: the threshold of a node, or the value of a leaf. A row at or below the threshold goes on to the
    next node, any other row to `other: int32[m]`. Raises ValueError where a walk could leave the nodes or not end.

    >>> trees = RegressionTrees(roots=[0], feature=[0, -1, -1], value=[0.5, 10, 20], other=[2, 0, 0])
    >>> trees([[0.2], [0.5], [0.7]]).tolist()
    [10.0, 10.0, 20.0]
    """

    roots: Any
    feature: Any
    value: Any
    other: Any

    def __post_init__(self) -> None:
        for field in fields(self):
            array = readonly(getattr(self, field.name), np.float64 if field.name == "value" else np.int32)
            object.__setattr__(self, field.name, array)
        nodes = len(self.feature)
        if {len(self.value), len(self.other)} != {nodes}:
            raise ValueError(f"Trees have {nodes} features and {len(self.value)} values; give each node one of each.")
        inner = np.flatnonzero(self.feature >= 0)
        if np.any(self.other[inner] <= inner + 1) or np.any(self.other[inner] >= nodes):
            raise ValueError("A node of trees needs two others after it: the next one, and `other`.")
        if np.any((self.roots < 0) | (self.roots >= nodes)):
            raise ValueError(f"The roots of trees are not all among their {nodes} nodes.")

    @property
    def features(self) -> int:
        """Number of features that rows must have."""
        return int(self.feature.max(initial=-1)) + 1

    def __call__(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the trees' sum for rows of features: float32[n, f] -> float64[n]. Raises ValueError for too few."""
        table = np.ascontiguousarray(rows, np.float32)
        if table.ndim != 2 or table.shape[1] < self.features:
            raise ValueError(f"Trees test {self.features} features; rows are of shape {table.shape}.")
        out = np.zeros(len(table))
        _add(table, self.roots, self.feature, self.value, self.other, out)
        return out

    def __repr__(self) -> str:
        return f"RegressionTrees({len(self.roots)} trees, {len(self.feature)} nodes)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RegressionTrees) and self._bytes() == other._bytes()

    def __hash__(self) -> int:
        return hash(self._bytes())

    def _bytes(self) -> tuple[bytes, ...]:
        return tuple(getattr(self, field.name).tobytes() for field in fields(self))
