"""Messages along arcs, aggregated at each node (principal neighbourhood aggregation), and the gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.kernels.csr import Ids, Pointers, kernel, readonly

__all__ = ["Aggregate", "Messages", "aggregate", "gradients"]

_EPSILON = np.float32(1e-6)  # added to a variance, so that its root has a gradient everywhere

Numbers = NDArray[np.float32]


class Messages(NamedTuple):
    """The messages of the arcs of a graph: `x[begin] * gates[gate]`; arcs to node v are at `ptr[v] : ptr[v + 1]`."""

    ptr: Pointers
    begin: Pointers
    gate: Pointers
    x: Numbers
    gates: Numbers


class Aggregate(NamedTuple):
    """Statistics of the messages to each node, and the arcs of the maximum and the minimum: `int32[n, 2 · h]`."""

    stats: Numbers
    top: Ids


@kernel
def _aggregate(
    ptr: Pointers, begin: Pointers, gate: Pointers, x: Numbers, gates: Numbers, stats: Numbers, top: Ids
) -> None:
    """Fill `stats[n, 4 · h]` and `top[n, 2 · h]`, initially zero; local rows without branches are vectorised."""
    n, h = x.shape
    mean, spread = np.empty(h, np.float32), np.empty(h, np.float32)
    maximum, minimum = np.empty(h, np.float32), np.empty(h, np.float32)
    highest, lowest = np.empty(h, np.int32), np.empty(h, np.int32)
    for v in range(n):
        first, end = ptr[v], ptr[v + 1]
        if first == end:
            continue
        mean[:], spread[:], maximum[:], minimum[:] = 0, 0, -np.inf, np.inf
        for e in range(first, end):
            u, r, at = begin[e], gate[e], np.int32(e)
            for c in range(h):
                message, above, below = x[u, c] * gates[r, c], maximum[c], minimum[c]
                mean[c] += message
                highest[c] = at if message > above else highest[c]
                lowest[c] = at if message < below else lowest[c]
                maximum[c] = message if message > above else above
                minimum[c] = message if message < below else below
        share = np.float32(1.0) / np.float32(end - first)
        mean *= share
        for e in range(first, end):
            u, r = begin[e], gate[e]
            for c in range(h):
                far = x[u, c] * gates[r, c] - mean[c]
                spread[c] += far * far
        for c in range(h):
            stats[v, c], stats[v, h + c], stats[v, 2 * h + c] = mean[c], maximum[c], minimum[c]
            stats[v, 3 * h + c] = np.sqrt(spread[c] * share + _EPSILON)
            top[v, c], top[v, h + c] = highest[c], lowest[c]


@kernel
def _gradients(
    ptr: Pointers, begin: Pointers, gate: Pointers, x: Numbers, gates: Numbers, stats: Numbers, top: Ids,
    slope: Numbers, to_x: Numbers, to_gates: Numbers,
) -> None:  # fmt: skip
    """Add the gradients to `to_x` and `to_gates`, given that of `stats`."""
    n, h = x.shape
    even, by, mean = np.empty(h, np.float32), np.empty(h, np.float32), np.empty(h, np.float32)
    up, down, here = np.empty(h, np.float32), np.empty(h, np.float32), np.empty(h, np.float32)
    highest, lowest, none = np.empty(h, np.int32), np.empty(h, np.int32), np.float32(0)
    for v in range(n):
        first, end = ptr[v], ptr[v + 1]
        share = np.float32(1.0) / np.float32(max(end - first, 1))
        for c in range(h):
            mean[c], highest[c], lowest[c] = stats[v, c], top[v, c], top[v, h + c]
            even[c], up[c], down[c] = share * slope[v, c], slope[v, h + c], slope[v, 2 * h + c]
            by[c] = share * slope[v, 3 * h + c] / max(stats[v, 3 * h + c], _EPSILON)
        for e in range(first, end):
            u, r, at = begin[e], gate[e], np.int32(e)
            for c in range(h):
                total = even[c] + by[c] * (x[u, c] * gates[r, c] - mean[c])
                total += up[c] if highest[c] == at else none
                here[c] = total + (down[c] if lowest[c] == at else none)
            for c in range(h):
                to_x[u, c] += here[c] * gates[r, c]
            for c in range(h):
                to_gates[r, c] += here[c] * x[u, c]


def aggregate(messages: Messages) -> Aggregate:
    """Return mean, maximum, minimum and deviation of the messages to each node, side by side: float32[n, 4 · h].

    All are 0 for a node without messages. The deviation is the root of the variance plus 1e-6, computed from centred
    messages: the mean of squares minus the square of the mean, as in Corso et al. (2020), is noise in float32.

    >>> both = Messages(np.array([0, 0, 2]), np.array([0, 0]), np.array([0, 1]), np.ones((2, 1)), np.array([[3], [5]]))
    >>> aggregate(both).stats.round(3).tolist()
    [[0.0, 0.0, 0.0, 0.0], [4.0, 5.0, 3.0, 1.0]]
    """
    n, h = messages.x.shape
    out = Aggregate(np.zeros((n, 4 * h), np.float32), np.zeros((n, 2 * h), np.int32))
    _aggregate(*_read(messages), *out)
    return out


def gradients(messages: Messages, by: Aggregate, slope: Numbers) -> tuple[Numbers, Numbers]:
    """Return the gradients of `x` and `gates`, given that of the statistics; of equal messages the first counts."""
    arcs = _read(messages)
    to_x, to_gates = np.zeros(arcs.x.shape, np.float32), np.zeros(arcs.gates.shape, np.float32)
    stats, top, outer = readonly(by.stats, np.float32), readonly(by.top, np.int32), readonly(slope, np.float32)
    _gradients(*arcs, stats, top, outer, to_x, to_gates)
    return to_x, to_gates


def _read(messages: Messages) -> Messages:
    places = [readonly(part, np.int64) for part in messages[:3]]
    return Messages(*places, *(readonly(part, np.float32) for part in messages[3:]))
