"""Personalised PageRank: pushes along a frontier with a hash table, and sweeps (conjugate gradients)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import FloatMatrix, Floats, Ids, Pointers, Workspace, induced, readonly
from graphwright.kernels.hops import khop
from graphwright.kernels.prefetch import prefetch
from graphwright.kernels.ranking import kth

_TOLERANCE = 1e-8
_SHARE = 0.1  # mean error of the top k, as a share of the k-th score, below which their order is settled
_STABLE = 0.99
_SMALLEST = 1e-300


@kernel
def _sweep(indptr: Pointers, neighbours: Ids, restart: float, value: Floats, out: Floats) -> float:
    """Write value − (1 − restart)·(mean over neighbours of value); return ⟨value, out⟩ weighted by degree."""
    product = 0.0
    for v in range(value.size):
        start, end = indptr[v], indptr[v + 1]
        even, odd = 0.0, 0.0  # two sums, so that additions run in parallel
        for i in range(start, end - 1, 2):
            even += value[np.uint32(neighbours[i])]
            odd += value[np.uint32(neighbours[i + 1])]
        if (end - start) & 1:
            even += value[np.uint32(neighbours[end - 1])]
        degree = end - start
        rest = value[v] * degree - (1.0 - restart) * (even + odd)
        product += value[v] * rest
        out[v] = rest / degree if degree else 0.0
    return product


@kernel
def _advance(
    indptr: Pointers, length: float, direction: Floats, image: Floats, value: Floats, residual: Floats
) -> tuple[float, float]:
    """Step by `length` in `direction`; return the residual's squared norm weighted by degree, and its L1 norm."""
    square, error = 0.0, 0.0
    for v in range(value.size):
        degree = indptr[v + 1] - indptr[v]
        value[v] += length * direction[v]
        rest = residual[v] - length * image[v]
        residual[v] = rest
        square += rest * rest * degree
        error += abs(rest) * degree
    return square, error


class Walk(NamedTuple):
    """A random walk with restart on a graph, from `seeds` with probabilities `mass`."""

    indptr: Pointers
    neighbours: Ids
    seeds: Ids
    mass: Floats
    restart: float


def settled(walk: Walk) -> tuple[Ids, Floats]:
    """Return all nodes that the walk can reach, ascending, and their PageRank, with an L1 error of at most 1e-8."""
    nodes, part = _component(walk)
    degree = np.diff(part.indptr)
    value = np.full(nodes.size, walk.mass.sum() / degree.sum())
    while _iterate(part, value, lambda _, error: error <= _TOLERANCE):
        pass  # repeat until the residual, computed from scratch, is small too
    return nodes, np.maximum(value, _SMALLEST) * degree


def swept(walk: Walk, k: int, touched: Ids, scores: Floats) -> tuple[Ids, Floats]:
    """Return the k nodes of highest PageRank, and all that tie with the last.

    Starts from the scores of the nodes `touched`, more than k. Sweeps end when two more leave 99 % of the top k the
    same, or when the bound on the L1 error is a tenth of k times the k-th score, where only near-ties change places.
    """
    degree = np.diff(walk.indptr)
    value = np.zeros(degree.size)  # 0 for nodes that the walk cannot reach
    value[touched] = scores / degree[touched] + (walk.mass.sum() - scores.sum()) / degree[touched].sum()
    before, floor = np.zeros(degree.size, np.bool_), 0.0

    def enough(done: int, error: float) -> bool:
        nonlocal before, floor
        if error <= _TOLERANCE or done % 2 or not done:
            return error <= _TOLERANCE
        now = value * degree
        bound = kth(now, k, floor)
        floor = bound / 2
        leading: NDArray[np.bool_] = now >= bound
        same, before = np.count_nonzero(leading & before), leading
        return bool(same >= _STABLE * k or error <= _SHARE * k * bound)

    _iterate(walk, value, enough)
    ranked = np.maximum(value, _SMALLEST) * degree
    nodes = readonly(np.flatnonzero((value != 0) & (ranked >= kth(ranked, k, floor))), np.int32)
    return nodes, ranked[nodes]


def _component(walk: Walk) -> tuple[Ids, Walk]:
    """Return the nodes that the walk can reach, ascending, and the walk on the graph of these, renumbered."""
    indptr, neighbours, seeds, _, _ = walk
    n = indptr.size - 1
    nodes = np.sort(khop(indptr, neighbours, seeds, n)[0])
    if nodes.size == n:
        return nodes, walk
    indptr, neighbours = induced(indptr, neighbours, nodes)
    seeds = readonly(np.searchsorted(nodes, seeds), np.int32)
    return nodes, walk._replace(indptr=indptr, neighbours=neighbours, seeds=seeds)


def _iterate(walk: Walk, value: Floats, enough: Callable[[int, float], bool]) -> int:
    """Improve `value`, PageRank per degree, until enough(steps, bound on the L1 error); return the number of steps.

    Conjugate gradients (Hestenes and Stiefel, 1952) for (I − (1 − restart)·D⁻¹·A)·value = restart·D⁻¹·s,
    a system that is symmetric and positive definite in the product ⟨x, y⟩ = Σ degree·x·y.
    """
    indptr, neighbours, seeds, mass, restart = walk
    source, image = np.zeros(value.size), np.empty(value.size)
    source[seeds] = restart * mass / (indptr[seeds + 1] - indptr[seeds])
    _sweep(indptr, neighbours, restart, value, image)
    direction, residual = np.zeros(value.size), source
    square, error = _advance(indptr, 1.0, direction, image, value, residual)
    ratio, done = 0.0, 0
    while not enough(done, error / restart):
        direction *= ratio
        direction += residual
        length = square / _sweep(indptr, neighbours, restart, direction, image)
        before = square
        square, error = _advance(indptr, length, direction, image, value, residual)
        ratio = square / before
        done += 1
    return done


Table: TypeAlias = NDArray[np.uint64]  # slots of nodes: 1 + node in the upper half, slot in the lower; 0 is free

_RESIDUAL, _ESTIMATE, _DEGREE, _INVERSE = 0, 1, 2, 3  # columns of rows
_GOLDEN, _LOWER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFFFFFFFF)
_HALF, _ONE, _FREE = np.uint64(32), np.uint64(1), np.uint64(0)
_AHEAD = 3  # pushes between prefetching a row of the adjacency and walking it
_PLACES = 128  # initial places for each of the top k: four times as many nodes as most pushes touch
_GROWN = 2  # bits added to a table half full
_WIDE = 8  # a push that has touched one node in 8 is no longer local
_LOCAL = 2  # sweeps' worth of edges that a local push may walk; other pushes a quarter
_REFINED = 2  # one in 2 of the edges walked may be walked again to refine the scores
_MIN_REFINED = 4096


@subkernel
def _find(table: Table, bits: int, node: np.uint64) -> np.uint64:
    """Return the place of `node` in a table of 2^bits places, or the free place where it belongs.

    Fibonacci hashing (Knuth, vol. 3, 6.4) with linear probing. With 0 bits each node has a place of its own.
    """
    if bits == 0:
        return node
    at = (node * _GOLDEN) >> np.uint64(64 - bits)
    while table[at] != _FREE and (table[at] >> _HALF) != node + _ONE:
        at = (at + _ONE) & ((_ONE << np.uint64(bits)) - _ONE)
    return at


@kernel
def _enter(nodes: Ids, table: Table, bits: int) -> None:
    """Enter `nodes`, all new, with slots 0, 1, and so on."""
    for slot in range(nodes.size):
        node = np.uint64(nodes[slot])
        table[_find(table, bits, node)] = ((node + _ONE) << _HALF) | np.uint64(slot)


@subkernel
def _meet(indptr: Pointers, known: int, size: int, nodes: Ids, rows: FloatMatrix) -> None:
    """Fill the rows of nodes[known:size] with their degrees, in independent reads."""
    for new in range(known, size):
        v = np.uint32(nodes[new])
        degree = indptr[v + np.uint32(1)] - indptr[v]
        rows[new, _ESTIMATE] = 0.0
        rows[new, _DEGREE] = degree
        rows[new, _INVERSE] = 1.0 / degree


@subkernel
def _enqueue(threshold: float, known: int, size: int, rows: FloatMatrix, queue: Ids, tail: int) -> int:
    """Append the slots known to size − 1 with a residual of `threshold` per degree; return their number."""
    count = 0
    for slot in range(known, size):
        if rows[slot, _RESIDUAL] * rows[slot, _INVERSE] >= threshold:
            queue[tail] = slot
            tail = tail + 1 if tail + 1 < queue.size else 0
            count += 1
    return count


@kernel
def _push(
    indptr: Pointers, neighbours: Ids, restart: float, threshold: float, budget: int, room: int, size: int,
    table: Table, bits: int, nodes: Ids, rows: FloatMatrix, queue: Ids,
) -> tuple[int, int, float, bool]:  # fmt: skip
    """Push, first in first out, until every residual is below `threshold` times its degree.

    Stops early after `budget` edges, or before a push that may bring the nodes touched, nodes[:size], above `room`.
    Returns the number of nodes touched, the edges walked, the mass settled, and whether the push is complete. A slot
    enters the queue when its residual crosses the threshold from below, so it is queued at most once. Nearly all the
    time goes to cache misses, so memory is prefetched, and the degrees of new nodes are read together.
    """
    none = int(np.int64(0))  # a literal 0 has a type of its own, for which _enqueue would be compiled again
    waiting = _enqueue(threshold, none, size, rows, queue, none)
    head, work, pushed = 0, 0, 0.0
    while waiting:
        slot = np.uint32(queue[head])  # unsigned, to skip the test for a negative index
        v = np.uint32(nodes[slot])
        start, end = indptr[v], indptr[v + np.uint32(1)]
        if work >= budget or size + end - start > room:
            return size, work, pushed, False
        head = head + 1 if head + 1 < queue.size else 0
        waiting -= 1
        if waiting > _AHEAD and head + _AHEAD < queue.size:
            prefetch(neighbours, indptr[np.uint32(nodes[np.uint32(queue[head + _AHEAD])])])
        mass = rows[slot, _RESIDUAL]
        rows[slot, _RESIDUAL] = 0.0
        rows[slot, _ESTIMATE] += restart * mass
        pushed += restart * mass
        share = (1.0 - restart) * mass * rows[slot, _INVERSE]
        work += end - start
        known, tail = size, (head + waiting) % queue.size
        for i in range(start, end):
            u = np.uint64(np.uint32(neighbours[i]))
            at = _find(table, bits, u)
            if table[at] == _FREE:
                prefetch(indptr, np.int64(u))
                table[at] = ((u + _ONE) << _HALF) | np.uint64(size)
                nodes[size] = u
                rows[size, _RESIDUAL] = share
                size += 1
                continue
            other = np.uint32(table[at] & _LOWER)
            before = rows[other, _RESIDUAL]
            after = before + share
            rows[other, _RESIDUAL] = after
            if after * rows[other, _INVERSE] >= threshold and before * rows[other, _INVERSE] < threshold:
                queue[tail] = other
                tail = tail + 1 if tail + 1 < queue.size else 0
                waiting += 1
        _meet(indptr, known, size, nodes, rows)
        waiting += _enqueue(threshold, known, size, rows, queue, tail)
    return size, work, pushed, True


@kernel
def _estimate(restart: float, spread: float, rows: FloatMatrix, scores: Floats) -> None:
    """Write p + restart·r + spread·degree of each slot."""
    for slot in range(scores.size):
        scores[slot] = rows[slot, _ESTIMATE] + restart * rows[slot, _RESIDUAL] + spread * rows[slot, _DEGREE]


@kernel
def _refine(
    indptr: Pointers, neighbours: Ids, restart: float, spread: float, slots: Ids,
    table: Table, bits: int, nodes: Ids, rows: FloatMatrix, scores: Floats,
) -> None:  # fmt: skip
    """Write p + restart·r + (1 − restart)·(restart·Σ r(u)/deg(u) over neighbours u + spread·degree) of `slots`."""
    for i in range(slots.size):
        if i + _AHEAD < slots.size:
            prefetch(neighbours, indptr[np.uint32(nodes[np.uint32(slots[i + _AHEAD])])])
        slot = np.uint32(slots[i])
        v = np.uint32(nodes[slot])
        neighbours_share = 0.0
        for j in range(indptr[v], indptr[v + np.uint32(1)]):
            entry = table[_find(table, bits, np.uint64(np.uint32(neighbours[j])))]
            if entry != _FREE:
                other = np.uint32(entry & _LOWER)
                neighbours_share += rows[other, _RESIDUAL] * rows[other, _INVERSE]
        estimate = rows[slot, _ESTIMATE] + restart * rows[slot, _RESIDUAL]
        scores[slot] = estimate + (1.0 - restart) * (restart * neighbours_share + spread * rows[slot, _DEGREE])


class Push:
    """State of a push: each node touched has a slot, in the order met, and a row there.

    `size` is the number of nodes touched, `spent` the edges walked. All arrays are the calling thread's workspace.
    """

    def __init__(self, walk: Walk, k: int, scratch: Workspace) -> None:
        self.walk, self.size, self.spent, self.left = walk, walk.seeds.size, 0, float(walk.mass.sum())
        self.nodes, self.rows, self.queue = scratch.order, scratch.rows, scratch.queue
        self._places = scratch.marks.view(np.uint64).reshape(-1)
        degree = walk.indptr[walk.seeds + 1] - walk.indptr[walk.seeds]
        self.rows[: self.size] = np.column_stack((walk.mass, np.zeros(self.size), degree, 1 / degree))
        self.nodes[: self.size] = walk.seeds
        self._tabulate(max(_PLACES * k, 4 * self.size))

    def _tabulate(self, places: int) -> None:
        """Enter the nodes touched into a table of at least `places` places, at most half full."""
        n = self.walk.indptr.size - 1
        self.bits = (places - 1).bit_length()
        if 1 << self.bits >= n:  # a place for every node: no hashing
            self.bits, self.table, self.room = 0, self._places[:n], n + self.walk.neighbours.size
        else:
            self.table, self.room = self._places[: 1 << self.bits], 1 << self.bits - 1
        _enter(self.nodes[: self.size], self.table, self.bits)

    @property
    def limit(self) -> int:
        """Number of edges beyond which sweeps over the graph are cheaper."""
        n = self.walk.indptr.size - 1
        sweep = n + self.walk.neighbours.size
        return _LOCAL * sweep if _WIDE * self.size <= n else sweep // 4

    def until(self, threshold: float) -> bool:
        """Push until residuals are below `threshold` times the degree; return False where that passes the limit."""
        indptr, neighbours, _, _, restart = self.walk
        budget, done = (indptr.size + neighbours.size) // 4, False
        while not done and self.spent <= self.limit:
            self.size, work, pushed, done = _push(
                indptr, neighbours, restart, threshold, budget, self.room, self.size,
                self.table, self.bits, self.nodes, self.rows, self.queue,
            )  # fmt: skip
            self.spent += work
            self.left -= pushed
            if not done and work < budget:
                self.table[:] = 0
                self._tabulate(self.table.size << _GROWN)
        return done

    @property
    def exhausted(self) -> bool:
        """Whether each node touched has been pushed, so that no others can be reached."""
        return bool(self.rows[: self.size, _ESTIMATE].all())

    @property
    def _spread(self) -> float:
        return (1 - self.walk.restart) * self.left / self.walk.neighbours.size

    def scores(self) -> Floats:
        """Return the estimate of each slot."""
        scores = np.empty(self.size)
        _estimate(self.walk.restart, self._spread, self.rows, scores)
        return scores

    def refine(self, slots: Ids, scores: Floats) -> None:
        """Improve scores of `slots` by neighbours' residuals, low degrees first, by half the edges of the push."""
        degree = self.rows[slots, _DEGREE]
        order = np.argsort(degree, kind="stable")
        affordable = np.cumsum(degree[order]) <= max(self.spent // _REFINED, _MIN_REFINED)
        _refine(
            self.walk.indptr, self.walk.neighbours, self.walk.restart, self._spread,
            readonly(slots[order[affordable]], np.int32),
            self.table, self.bits, self.nodes, self.rows, scores,
        )  # fmt: skip

    def clear(self) -> None:
        """Clear the workspace."""
        self.table[:] = 0
        self.rows[: self.size] = 0.0
