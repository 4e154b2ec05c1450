"""Sparser graphs: how a method fares with a part of the edges (PathRAG, RQ3, Figure 3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Csr, Graph
from graphwright.index.snapshot import Snapshot

__all__ = ["thinned"]


def thinned(ix: Snapshot, share: float, seed: int = 0) -> Snapshot:
    """Return a snapshot without the share of its edges, drawn at random; any method can be built over it.

    Edges of all relations are drawn alike, those that join passages with what they name too. Of two shares with the
    same seed the larger takes away what the smaller does, and more. Nodes, passages and their vectors stay, and so does
    what passages an entity comes from; edges are numbered anew.

    Raises OptionError for a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise OptionError(f"thinned(share={share!r}): the share of the edges to take away, from 0 to 1.")
    columns = ix.graph.columns
    count = len(columns.heads)
    kept = np.sort(np.random.default_rng(seed).permutation(count)[round(share * count) :])
    sparser = replace(
        columns,
        heads=columns.heads[kept],
        tails=columns.tails[kept],
        relation=columns.relation[kept],
        edge_text=None if columns.edge_text is None else columns.edge_text[kept],
        edge_chunks=None if columns.edge_chunks is None else _rows(columns.edge_chunks, kept),
    )
    triples = ix.triples
    if triples is not None:
        row_of = np.arange(count, dtype=np.int32) if triples.row_of is None else triples.row_of
        triples = replace(triples, row_of=row_of[kept])
    return replace(ix, graph=Graph(sparser), triples=triples)


def _rows(csr: Csr, rows: Ints) -> Csr:
    lengths = csr.indptr[rows + 1] - csr.indptr[rows]
    return Csr(np.concatenate(([0], np.cumsum(lengths))), csr.rows(rows).astype(np.int32))
