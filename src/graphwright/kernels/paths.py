"""Paths: all simple or shortest paths from some nodes, those between two nodes, and the edges along them.

Paths are listed layer by layer, by their number of edges, as a tree of prefixes: each path is a node and the path that
it extends. A layer is written in the order of the layer before it, neighbours ascending, so paths are ordered by length
and then by their nodes, without a sort, and the first k cost only the layers that hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from graphwright.kernels.compiled import kernel, subkernel
from graphwright.kernels.csr import IdMatrix, Ids, Pointers, node_ids, readonly, row_entries, row_pointers, workspace
from graphwright.kernels.hops import khop

ADJACENT, APART = -1, -2  # in place of a node at which two others meet

Layer = tuple[Ids, Pointers]
Grow = Callable[[Ids, Pointers, int, int, int], int]


@kernel
def _extend(
    indptr: Pointers, neighbours: Ids, nodes: Ids, parents: Pointers, first: int, last: int, room: int
) -> int:  # fmt: skip
    """Append paths from `first` to `last`, one edge longer, no node twice, at most `room`; return where they end."""
    size = last
    for at in range(first, last):
        v = nodes[at]
        for i in range(indptr[v], indptr[v + 1]):
            if size == last + room:
                return size
            u = neighbours[i]
            up = at
            while up >= 0 and nodes[up] != u:
                up = parents[up]
            if up < 0:
                nodes[size] = u
                parents[size] = at
                size += 1
    return size


@kernel
def _advance(
    indptr: Pointers, neighbours: Ids, every: bool, marks: IdMatrix, nodes: Ids, parents: Pointers, first: int,
    last: int, room: int,
) -> int:  # fmt: skip
    """Append the paths from `first` to `last` that stay shortest with one edge more, as `_extend` does.

    `marks` holds 1 + distance of the nodes reached. Of several paths to a node the first is kept, or `every` one.
    """
    size = last
    for at in range(first, last):
        v = nodes[at]
        reached = marks[v, 0] + 1
        for i in range(indptr[v], indptr[v + 1]):
            u = neighbours[i]
            if marks[u, 0] == 0 or (every and marks[u, 0] == reached):
                if size == last + room:
                    return size
                marks[u, 0] = reached
                nodes[size] = u
                parents[size] = at
                size += 1
    return size


@kernel
def _unroll(nodes: Ids, parents: Pointers, first: int, ends: Pointers, out: Ids) -> None:
    """Write the paths from `first` on in full, from the end of each backwards."""
    for i in range(ends.size):
        at = first + i
        place = ends[i]
        while at >= 0:
            place -= 1
            out[place] = nodes[at]
            at = parents[at]


def simple_paths(
    indptr: Pointers, neighbours: Ids, sources: ArrayLike, length: int, k: int | None = None
) -> tuple[Ids, Pointers]:
    """Return all paths of 1 to `length` edges that begin at a source and hold no node twice; with `k` the first k.

    Ordered by number of edges, then by their nodes. Returns `nodes`, int32, and `ptr`, int64: path i is
    `nodes[ptr[i] : ptr[i + 1]]`. Raises ValueError for a source that is not a node, or a negative `length`.

    >>> from graphwright.kernels.csr import undirected
    >>> nodes, ptr = simple_paths(*undirected(3, [0, 1, 0], [1, 2, 2]), [0], 2)
    >>> [nodes[a:b].tolist() for a, b in zip(ptr, ptr[1:])]
    [[0, 1], [0, 2], [0, 1, 2], [0, 2, 1]]
    """
    if length < 0:
        raise ValueError(f"length is {length}. Pass a number of edges, 0 or more.")
    roots = np.unique(node_ids(sources, indptr.size - 1, "sources"))
    graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    return _paths(_grown(graph[0], roots, min(length, indptr.size), k, lambda *layer: _extend(*graph, *layer)))


def shortest_paths(
    indptr: Pointers, neighbours: Ids, sources: ArrayLike, *, every: bool = False, k: int | None = None
) -> tuple[Ids, Pointers]:
    """Return a shortest path from each source to each node that it reaches; with `k` the first k of all.

    Of several paths the path with the smallest nodes first; with `every` all of them. Ordered and returned as by
    `simple_paths`. Raises ValueError for a source that is not a node.

    >>> from graphwright.kernels.csr import undirected
    >>> square = undirected(4, [0, 0, 1, 2], [1, 2, 3, 3])
    >>> nodes, ptr = shortest_paths(*square, [0])
    >>> [nodes[a:b].tolist() for a, b in zip(ptr, ptr[1:])]
    [[0, 1], [0, 2], [0, 1, 3]]
    """
    roots = np.unique(node_ids(sources, indptr.size - 1, "sources"))
    graph = readonly(indptr, np.int64), readonly(neighbours, np.int32)
    of_source = [_paths(_from_one(graph, int(root), every, k)) for root in roots]
    if len(of_source) == 1:
        return of_source[0]
    sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(ptr) for _, ptr in of_source)])
    flat = np.concatenate([np.empty(0, np.int32), *(nodes for nodes, _ in of_source)])
    # Sources ascend and the paths of each are in order, so a stable sort by length orders them all.
    order = np.argsort(sizes, kind="stable")[:k]
    return flat[row_entries(row_pointers(sizes), order)], row_pointers(sizes[order])


def _from_one(graph: tuple[Pointers, Ids], root: int, every: bool, k: int | None) -> tuple[Layer, list[int]]:
    n = graph[0].size - 1
    scratch = workspace(n)
    start = np.array([root], np.int32)
    with scratch:
        scratch.marks[root, 0] = 1
        tree = _grown(graph[0], start, n, k, lambda *layer: _advance(*graph, every, scratch.marks, *layer))
        scratch.marks[tree[0][0]] = 0
    return tree


def _grown(indptr: Pointers, roots: Ids, length: int, k: int | None, grow: Grow) -> tuple[Layer, list[int]]:
    """Return the tree of prefixes below `roots`, with at most `k` paths, and where each layer of it begins and ends."""
    nodes, parents = roots.copy(), np.full(roots.size, -1, np.int64)
    borders = [0, roots.size]
    room = np.iinfo(np.int64).max if k is None else k
    while len(borders) <= length + 1 and borders[-1] > borders[-2] and room:
        first, last = borders[-2:]
        ends = nodes[first:last]
        limit = min(int((indptr[ends + 1] - indptr[ends]).sum()), room)
        if last + limit > nodes.size:
            more = max(last + limit, 2 * nodes.size) - nodes.size
            nodes = np.concatenate((nodes, np.empty(more, np.int32)))
            parents = np.concatenate((parents, np.empty(more, np.int64)))
        borders.append(int(grow(nodes, parents, first, last, limit)))
        room -= borders[-1] - last
    return (nodes[: borders[-1]], parents[: borders[-1]]), borders


def _paths(tree: tuple[Layer, list[int]]) -> tuple[Ids, Pointers]:
    """Return the paths of a tree of prefixes, without those of a root alone."""
    (nodes, parents), borders = tree
    sizes = np.repeat(np.arange(2, len(borders)), np.diff(borders[1:]))
    ptr = row_pointers(sizes)
    out = np.empty(ptr[-1], np.int32)
    _unroll(nodes, parents, borders[1], ptr[1:], out)
    return out, ptr


@subkernel
def _least(
    v: int, u: int, indptr: Pointers, edges: Ids, ends: Ids, allowed: Pointers, restricted: bool, best: int
) -> int:  # fmt: skip
    """Return the smallest allowed edge below `best` in the row of v that ends at u, else `best`."""
    for i in range(indptr[v], indptr[v + 1]):
        edge = edges[i]
        if ends[edge] == u and edge < best:
            at = np.searchsorted(allowed, edge) if restricted else 0
            if not restricted or (at < allowed.size and allowed[at] == edge):
                best = edge
    return best


@kernel
def _join(
    first: Pointers, second: Pointers, out_ptr: Pointers, out: Ids, into_ptr: Pointers, into: Ids, heads: Ids,
    tails: Ids, allowed: Pointers, restricted: bool, result: Pointers,
) -> None:  # fmt: skip
    """Write the smallest edge between first[i] and second[i], searched for at the end with fewer edges."""
    for i in range(first.size):
        a, b = first[i], second[i]
        edges_of_a = out_ptr[a + 1] - out_ptr[a] + into_ptr[a + 1] - into_ptr[a]
        if out_ptr[b + 1] - out_ptr[b] + into_ptr[b + 1] - into_ptr[b] < edges_of_a:
            a, b = b, a
        best = _least(a, b, out_ptr, out, tails, allowed, restricted, heads.size)
        result[i] = _least(a, b, into_ptr, into, heads, allowed, restricted, best)


def joining_edges(
    first: ArrayLike, second: ArrayLike, out: tuple[Pointers, Ids], into: tuple[Pointers, Ids], heads: Ids, tails: Ids,
    allowed: ArrayLike | None = None,
) -> Pointers:  # fmt: skip
    """Return the smallest edge between first[i] and second[i], in either direction, for each pair: int64.

    `out` and `into` list the edges that begin and end at each node, `heads` and `tails` the ends of each edge;
    `allowed`, ascending: only these edges count. The cost of a pair is that of its node with fewer edges.
    Raises ValueError if a pair is not joined or an id is not a node.

    >>> from graphwright.kernels.csr import group
    >>> heads, tails = [0, 1, 0], [1, 0, 2]
    >>> out, into = group(3, heads, range(3)), group(3, tails, range(3))
    >>> joining_edges([1, 2], [0, 0], out, into, heads, tails).tolist()
    [0, 2]
    """
    n, m = out[0].size - 1, len(heads)
    a, b = (readonly(node_ids(ids, n, "the pairs"), np.int64) for ids in (first, second))
    rows = [(readonly(ptr, np.int64), readonly(edges, np.int32)) for ptr, edges in (out, into)]
    ends = readonly(heads, np.int32), readonly(tails, np.int32)
    within = readonly([] if allowed is None else allowed, np.int64)
    edges = np.empty(a.size, np.int64)
    _join(a, b, *rows[0], *rows[1], *ends, within, allowed is not None, edges)
    if (edges == m).any():
        at = int((edges == m).argmax())
        raise ValueError(f"nodes {a[at]} and {b[at]} are not joined. Pass pairs of neighbours.")
    return edges


@kernel
def _meet(first: Ids, second: Ids, indptr: Pointers, neighbours: Ids, result: Ids) -> None:
    for i in range(first.size):
        at, end = indptr[first[i]], indptr[first[i] + 1]
        other, last = indptr[second[i]], indptr[second[i] + 1]
        low, high = at, end
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if neighbours[middle] < second[i] else (low, middle)
        result[i] = ADJACENT if low < end and neighbours[low] == second[i] else APART
        fewest = neighbours.size + 1
        while result[i] != ADJACENT and at < end and other < last:
            node = neighbours[at]
            if node == neighbours[other] and indptr[node + 1] - indptr[node] < fewest:
                fewest = indptr[node + 1] - indptr[node]
                result[i] = node
            at, other = at + (node <= neighbours[other]), other + (node >= neighbours[other])


def meeting_nodes(first: ArrayLike, second: ArrayLike, indptr: Pointers, neighbours: Ids) -> Ids:
    """Return the common neighbour of first[i] and second[i] with fewest neighbours, the smallest of equals: int32.

    It is `ADJACENT` (-1) where the two are neighbours, `APART` (-2) where they have none in common. Rows ascend.

    >>> indptr, neighbours = np.array([0, 2, 4, 6, 6]), np.array([1, 2, 0, 2, 0, 1], np.int32)
    >>> meeting_nodes([0, 0, 1], [1, 3, 1], indptr, neighbours).tolist()
    [-1, -2, 0]
    """
    n = indptr.size - 1
    a, b = (node_ids(ids, n, "the pairs") for ids in (first, second))
    result = np.empty(a.size, np.int32)
    _meet(a, b, readonly(indptr, np.int64), readonly(neighbours, np.int32), result)
    return result


def paths_between(
    indptr: Pointers, neighbours: Ids, source: int, target: int, limit: int | None = None
) -> Iterator[list[int]]:
    """Yield the paths of fewest edges between two nodes in the order of their nodes; none of more than `limit` edges.

    Breadth first from both ends, a level at a time on the side with fewer edges, until they meet.
    Raises ValueError for an end that is not a node, or a negative `limit`.

    >>> from graphwright.kernels.csr import undirected
    >>> square = undirected(4, [0, 0, 1, 2], [1, 2, 3, 3])
    >>> list(paths_between(*square, 0, 3)), list(paths_between(*square, 0, 3, 1))
    ([[0, 1, 3], [0, 2, 3]], [])
    """
    ends = [node_ids([end], indptr.size - 1, name) for end, name in ((source, "source"), (target, "target"))]
    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}. Pass a number of edges, 0 or more.")
    radius, balls = [0, 0], [khop(indptr, neighbours, end, 0) for end in ends]
    while not np.isin(balls[1][0], balls[0][0]).any():
        borders = [nodes[distance == hops] for (nodes, distance), hops in zip(balls, radius, strict=True)]
        edges = [int((indptr[border + 1] - indptr[border]).sum()) for border in borders]
        if sum(radius) == limit or not all(edges):
            return
        side = int(edges[1] < edges[0])
        radius[side] += 1
        balls[side] = khop(indptr, neighbours, ends[side], radius[side])
    nodes, distances = khop(indptr, neighbours, ends[1], sum(radius))
    remaining = dict(zip(nodes.tolist(), distances.tolist(), strict=True))
    stack = [[source]]
    while stack:
        path = stack.pop()
        if path[-1] == target:
            yield path
            continue
        nearer = remaining[path[-1]] - 1
        row = neighbours[indptr[path[-1]] : indptr[path[-1] + 1]].tolist()
        stack += [[*path, node] for node in reversed(row) if remaining.get(node) == nearer]
