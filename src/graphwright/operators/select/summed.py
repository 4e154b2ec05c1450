"""Passages by all that the evidence says of them, not by its best piece alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Evidence, Ints, Ranking
from graphwright.graph.graph import Csr, Graph, Kind
from graphwright.operators.run import Run
from graphwright.operators.select.passages import Sources
from graphwright.operators.state import State

__all__ = ["SummedSources"]


@dataclass(frozen=True, repr=False)
class SummedSources(Sources):
    """Passages that the evidence came from, by the sum of the scores of the pieces that came from each.

    With entities and their shares of a walk it is the product of these with the matrix of which passage mentions which
    entity (HippoRAG, section 2.3). Pieces count by 1/rank where they have no scores; else as Sources.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = SummedSources()(start("?", graph, evidence=Evidence.of_edges([0, 1], [0.5, 0.25])))
    >>> state.passages.ids.tolist(), state.passages.scores.tolist()
    ([1, 0, 2], [0.75, 0.5, 0.25])
    """

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Sum the scores."""
        found = state.evidence
        if found is None:
            return state
        piece, chunk = _behind(state.graph, found)
        scores = 1.0 / np.arange(1, len(found) + 1) if found.scores is None else found.scores
        ids, at = np.unique(chunk, return_inverse=True)
        wanted = min((n for n in (self.limit, k) if n is not None), default=len(ids))
        return state.with_(passages=Ranking.of(ids, np.bincount(at, scores[piece], len(ids))).top(wanted))


def _behind(graph: Graph, found: Evidence) -> tuple[Ints, Ints]:
    """Return each pair of a piece's number and a passage that it came from, once."""
    of_node = np.repeat(np.arange(len(found)), np.diff(found.node_ptr))
    of_edge = np.repeat(np.arange(len(found)), np.diff(found.edge_ptr))
    columns = graph.columns
    if graph.passages is None:
        pairs = [(of_node, found.nodes), (np.repeat(of_edge, 2), graph.ends(found.edges))]
    else:
        chunks = columns.kinds[found.nodes] == Kind.CHUNK
        pairs = [(of_node[chunks], found.nodes[chunks])]
        pairs += [_rows(columns.node_chunks, of_node, found.nodes), _rows(columns.edge_chunks, of_edge, found.edges)]
    size = len(columns.names)
    keys = np.unique(np.concatenate([piece * size + chunk for piece, chunk in pairs]))
    return keys // max(size, 1), keys % max(size, 1)


def _rows(rows: Csr | None, owner: Ints, ids: Ints) -> tuple[Ints, Ints]:
    if rows is None:
        return owner[:0], ids[:0]
    return np.repeat(owner, rows.indptr[ids + 1] - rows.indptr[ids]), rows.rows(ids)
