"""The arcs of several graphs side by side, as tensors: what a batch is to a network that is written for arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from graphwright.kernels.messages import Messages, gathered, returned
from graphwright.learn.retrievers.arcs import ordered
from graphwright.learn.train.samples import Sample

__all__ = ["TensorArcs", "side_by_side"]


@dataclass(eq=False)
class TensorArcs:
    """Arcs of torch (see `graphwright.learn.retrievers.arcs`); `owner`: the graph of each arc."""

    torch: Any
    ptr: Any
    begin: Any
    end: Any
    way: Any
    count: Any
    owner: Any

    def most(self, values: Any) -> Any:
        """Return for each node the maximum over the arcs that lead to it."""
        where = self.end[:, None].expand_as(values)
        empty = self.torch.zeros(len(self.count), values.shape[1])
        return empty.scatter_reduce(0, where, values, "amax", include_self=False)

    def gathered(self, x: Any, gates: Any, gate: Any) -> Any:
        """Return for each node mean, maximum, minimum and deviation of its messages."""
        return _gathering(self.torch).apply(x, gates, self.ptr, self.begin.numpy(), gate.numpy())


@cache
def _gathering(torch: Any) -> Any:
    """Return `gathered` with its gradient, as a function of torch."""

    class Gathering(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, gates: Any, ptr: Any, begin: Any, gate: Any) -> Any:
            ctx.messages = Messages(ptr, begin, gate, x.detach().numpy(), gates.detach().numpy())
            ctx.found = gathered(ctx.messages)
            return torch.from_numpy(ctx.found.said)

        @staticmethod
        def backward(ctx: Any, slope: Any) -> Any:
            to_x, to_gates = returned(ctx.messages, ctx.found, slope.numpy())
            return torch.from_numpy(to_x), torch.from_numpy(to_gates), None, None, None

    return Gathering


def side_by_side(torch: Any, rows: Sequence[Sample]) -> tuple[TensorArcs, Any]:
    """Return the arcs of some graphs, their nodes numbered through, and where the nodes of each begin."""
    offsets = np.cumsum([0, *(len(row.nodes) for row in rows)])
    heads, tails = (
        np.concatenate([side + o for side, o in zip(sides, offsets, strict=False)])
        for sides in ([row.heads for row in rows], [row.tails for row in rows])
    )
    relation = np.concatenate([row.relation for row in rows])
    begin, end, way = (part.astype(np.int64) for part in ordered(heads, tails, relation))
    degree = np.bincount(end, minlength=offsets[-1])
    count, ptr = np.maximum(degree, 1).astype(np.float32)[:, None], np.concatenate(([0], np.cumsum(degree)))
    owner = np.repeat(np.arange(len(rows)), np.diff(offsets))[begin]
    parts = (torch.from_numpy(part) for part in (begin, end, way, count, owner))
    return TensorArcs(torch, ptr, *parts), offsets
