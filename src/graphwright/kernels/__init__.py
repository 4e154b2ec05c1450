"""Kernels: arrays in, arrays out; numba below, a documented function above.

Adjacency is CSR, read-only: `indptr` int64[n + 1], `neighbours` int32[m]; undirected, each distinct
neighbour once, ascending, no self-loops. Node ids are local, 0 to n - 1. Import the modules themselves:
`csr` (build, group, cut), `ppr`, `hops`, `paths`, `rank`; this package imports none of them, because
numba takes longer to load than the rest of graphwright.
"""
