"""Connected components: which parts of a graph hang together."""

from __future__ import annotations

import numpy as np

from graphwright.kernels.compiled import Ids, Pointers, kernel, readonly

__all__ = ["components"]


@kernel
def _label(indptr: Pointers, neighbours: Ids, labels: Ids, queue: Ids) -> int:
    """Write the component of every node into `labels`, which is -1 everywhere; return how many there are."""
    count = 0
    for root in range(labels.size):
        if labels[root] >= 0:
            continue
        labels[root] = count
        queue[0] = root
        head, size = 0, 1
        while head < size:
            v = queue[head]
            head += 1
            for i in range(indptr[v], indptr[v + 1]):
                u = neighbours[i]
                if labels[u] < 0:
                    labels[u] = count
                    queue[size] = u
                    size += 1
        count += 1
    return count


def components(indptr: Pointers, neighbours: Ids) -> Ids:
    """Return for each node the number of its connected component: int32[n].

    Components are numbered by their smallest node, from 0; a node alone is one. `neighbours` lists every edge at both
    its ends, so that the components of a directed graph are the weakly connected ones. O(n + m).

    >>> from graphwright.kernels.csr import undirected
    >>> components(*undirected(5, [3, 0], [4, 2])).tolist()
    [0, 1, 0, 2, 2]
    """
    labels = np.full(indptr.size - 1, -1, np.int32)
    _label(readonly(indptr, np.int64), readonly(neighbours, np.int32), labels, np.empty_like(labels))
    return labels
