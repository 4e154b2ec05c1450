"""Chains of triples from given nodes, breadth first (ReG, Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.kernels.csr import Ids, Pointers, group, kernel, node_ids, readonly

__all__ = ["expand_chains"]

_PARENT, _STEP, _SOURCE, _LENGTH = 0, 1, 2, 3
_FIELDS = 4


@kernel
def _add(chains: Ids, size: int, parent: int, step: int, source: int, length: int) -> Ids:
    """Append a chain, doubling the array where it is full."""
    if size == chains.shape[0]:
        wider = np.empty((2 * size, _FIELDS), np.int32)
        wider[:size] = chains
        chains = wider
    chains[size, _PARENT] = parent
    chains[size, _STEP] = step
    chains[size, _SOURCE] = source
    chains[size, _LENGTH] = length
    return chains


@kernel
def _passes(ends: Ids, chains: Ids, at: int, node: int) -> bool:
    """Return whether a chain passes a node."""
    while at >= 0:
        step = chains[at, _STEP]
        if ends[step] == node or ends[step ^ 1] == node:
            return True
        at = chains[at, _PARENT]
    return False


@kernel
def _expand(
    ends: Ids, indptr: Pointers, steps: Ids, source_of: Ids, longest: int, inverse: bool,
    seen: NDArray[np.uint8], chains: Ids,
) -> tuple[Ids, int]:  # fmt: skip
    """Fill the queue of chains and return it; step 2i leaves the head of triple i, step 2i + 1 its tail."""
    size = 0
    for step in range(ends.size):
        source = source_of[ends[step]]
        if source >= 0 and ends[step] != ends[step ^ 1]:
            chains = _add(chains, size, -1, step, source, 1)
            size += 1
    first = 0
    while first < size:
        last, source, length = chains[first, _STEP], chains[first, _SOURCE], chains[first, _LENGTH]
        v = ends[last ^ 1]
        for i in range(indptr[v], indptr[v + 1] if length < longest else indptr[v]):
            step = steps[i]
            if not inverse and (step ^ last) & 1:
                continue
            side = 0 if inverse else step & 1
            u = ends[step ^ 1]
            if seen[side, source, u] == 0 and not _passes(ends, chains, first, u):
                seen[side, source, u] = 1
                chains = _add(chains, size, first, step, source, length + 1)
                size += 1
        first += 1
    return chains, size


@kernel
def _unroll(ends: Ids, chains: Ids, pointers: Pointers, inverse: bool, nodes: Ids, triples: Ids) -> None:
    """Write the nodes and triples of each chain in walk order; a chain that ends at its source is reversed."""
    for k in range(pointers.size - 1):
        length = pointers[k + 1] - pointers[k]
        reverse = not inverse and chains[k, _STEP] & 1
        at = k
        for j in range(length - 1, -1, -1):
            step = chains[at, _STEP]
            far, here = (length - 1 - j, length - 1 - j) if reverse else (j + 1, j)
            triples[pointers[k] + here] = step >> 1
            nodes[pointers[k] + k + far] = ends[step ^ 1]
            if j == 0:
                nodes[pointers[k] + k + (length if reverse else 0)] = ends[step]
            at = chains[at, _PARENT]


def expand_chains(
    n: int,
    heads: ArrayLike,
    tails: ArrayLike,
    sources: ArrayLike,
    *,
    length: int | None = None,
    inverse: bool = True,
) -> tuple[Pointers, Ids, Ids]:
    """Return the chains of the triples heads[i] → tails[i] that start at a source, breadth first in their order.

    ReG, Algorithm 1 (appendix D.4.1): the queue begins with the triples at a source; each chain is extended by every
    triple that begins where the chain ends, unless the chain holds the node it leads to, or a chain from the same
    source was extended to that node before. Chains have at most `length` triples (L in the paper). With `inverse` a
    triple is walked either way; without it, from head to tail only, and chains that end at a source are returned too,
    by the same rules from their end.

    Returns `pointers`, int64[c + 1], `nodes` and `triples`, int32: chain k walks `triples[pointers[k] :
    pointers[k + 1]]`; `nodes` has one more entry for each chain, in walk order. Without `inverse` a chain from one
    source to another may be listed twice. Takes sources · `n` bytes, mapped when touched.
    Raises ValueError for an end or a source that is not a node, or a `length` below 1.

    >>> pointers, nodes, triples = expand_chains(4, [0, 1, 1], [1, 2, 3], [0])
    >>> pointers.tolist(), nodes.tolist(), triples.tolist()
    ([0, 1, 3, 5], [0, 1, 0, 1, 2, 0, 1, 3], [0, 0, 1, 0, 2])
    """
    if length is not None and length < 1:
        raise ValueError(f"length is {length}. Pass a number of triples, 1 or more, or None for no limit.")
    heads, tails = node_ids(heads, n, "heads"), node_ids(tails, n, "tails")
    if heads.size != tails.size:
        raise ValueError(f"heads holds {heads.size} nodes and tails {tails.size}. Pass one of each per triple.")
    distinct = np.unique(node_ids(sources, n, "sources"))
    ends = readonly(np.stack((heads, tails), axis=1).ravel(), np.int32)
    source_of = np.full(n, -1, np.int32)
    source_of[distinct] = np.arange(distinct.size)
    grouped = group(n, ends, np.arange(ends.size, dtype=np.int32))
    seen = np.zeros((1 if inverse else 2, distinct.size, n), np.uint8)
    room = np.empty((max(ends.size, 1), _FIELDS), np.int32)
    longest = n if length is None else min(length, n)
    chains, size = _expand(ends, *grouped, readonly(source_of, np.int32), longest, bool(inverse), seen, room)
    pointers = np.zeros(size + 1, np.int64)
    np.cumsum(chains[:size, _LENGTH], out=pointers[1:])
    nodes = np.empty(pointers[-1] + size, np.int32)
    triples = np.empty(pointers[-1], np.int32)
    _unroll(ends, readonly(chains, np.int32), readonly(pointers, np.int64), bool(inverse), nodes, triples)
    return readonly(pointers, np.int64), readonly(nodes, np.int32), readonly(triples, np.int32)
