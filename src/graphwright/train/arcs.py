"""The arcs of several graphs side by side, as tensors: what a batch is to a network that is written for arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphwright.retrieve.retrievers.arcs import ordered
from graphwright.train.samples import Sample

__all__ = ["TensorArcs", "side_by_side"]


@dataclass(eq=False)
class TensorArcs:
    """Arcs of torch (see `graphwright.retrieve.retrievers.arcs`); `owner`: the graph of each arc."""

    torch: Any
    begin: Any
    end: Any
    way: Any
    count: Any
    owner: Any

    def total(self, values: Any) -> Any:
        """Return for each node the sum over the arcs that lead to it."""
        return self.torch.zeros(len(self.count), values.shape[1]).index_add(0, self.end, values)

    def most(self, values: Any) -> Any:
        """Return for each node the maximum over the arcs that lead to it."""
        where = self.end[:, None].expand_as(values)
        empty = self.torch.zeros(len(self.count), values.shape[1])
        return empty.scatter_reduce(0, where, values, "amax", include_self=False)


def side_by_side(torch: Any, rows: Sequence[Sample]) -> tuple[TensorArcs, Any]:
    """Return the arcs of some graphs, their nodes numbered through, and where the nodes of each begin."""
    offsets = np.cumsum([0, *(len(row.nodes) for row in rows)])
    heads, tails = (
        np.concatenate([side + o for side, o in zip(sides, offsets, strict=False)])
        for sides in ([row.heads for row in rows], [row.tails for row in rows])
    )
    relation = np.concatenate([row.relation for row in rows])
    arcs = [part.astype(np.int64) for part in ordered(heads, tails, relation)]
    count = np.maximum(np.bincount(arcs[1], minlength=offsets[-1]), 1).astype(np.float32)[:, None]
    owner = np.repeat(np.arange(len(rows)), np.diff(offsets))[arcs[0]]
    return TensorArcs(torch, *map(torch.from_numpy, (*arcs, count, owner))), offsets
