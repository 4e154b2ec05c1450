"""The passages behind the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import Graph, Kind
from graphwright.graph.ranking import Ranking
from graphwright.kernels.csr import Csr
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

ItemsOf = Callable[[State, Run], Evidence]
"""Items to score passages by, instead of the state's evidence."""


@dataclass(frozen=True, repr=False)
class ToPassages(Ranker):
    """Rank the passages of the evidence: nodes of an item, and passages that state its edges or name its nodes.

    A passage has the score of its best item (1/rank where items have no scores), which brought it: its steps lead to
    the passage (see `Ranking.steps`). Options:

    - `limit`: the number of passages.
    - `summed`: the sum over all its items, instead of the best. With entities and their PageRank it is the product with
      the passage-entity incidence matrix (HippoRAG, section 2.3).
    - `mentions`: the share of an item's score for a passage that only names one of its nodes. A node is named in many
      passages that have nothing to do with a path through it.
    - `index`, vectors of the passages, and `weight`: score = cos(question, passage) + weight · score of the items. For
      items with many passages, such as a community; with weight 0 the cosine alone ranks.
    - `items`: the items to use, by default the state's evidence, which does not change.

    On a graph without passages the nodes of the items take their place.

    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_edges([0, 1], [0.5, 0.25]))
    >>> best, summed = ToPassages()(state).passages, ToPassages(summed=True)(state).passages
    >>> best.ids.tolist(), best.scores.tolist(), summed.ids.tolist(), summed.scores.tolist()
    ([0, 1, 2], [0.5, 0.5, 0.25], [1, 0, 2], [0.75, 0.5, 0.25])
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    summed: bool = False
    mentions: Annotated[float, Between(0, 1)] = 1.0
    index: VectorIndex | None = None
    weight: Annotated[float, AtLeast(0)] = 0.5
    items: ItemsOf | None = None
    needs = ("evidence",)
    gives = ("passages",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Collect and rank the passages."""
        items = state.items if self.items is None else self.items(state, run)
        limit = min((n for n in (self.limit, k) if n is not None), default=None)
        if limit and not self.summed and self.index is None and self.mentions == 1.0:
            items = _leading(state.graph, items, limit)
        scores = items.ranked_scores
        item, passage, states = _behind(state.graph, items)
        ids, position = np.unique(passage, return_inverse=True)
        shares = scores[item] * np.where(states, 1.0, self.mentions)
        best = np.full(len(ids), -np.inf)
        np.maximum.at(best, position, shares)
        totals = np.bincount(position, shares, len(ids)).astype(np.float64, copy=False) if self.summed else best
        if self.index is not None:
            totals = self.index.cosines(ids, self.index.encode(state.question.text, run)) + self.weight * totals
        ranking = Ranking.of(ids, totals, items, _best_items(item, position, shares == best[position]))
        return state.with_(passages=ranking.top(len(ids) if limit is None else limit))


def _best_items(item: Ints, position: Ints, is_best: NDArray[np.bool_]) -> Ints:
    """Return for each passage, by position, the first of its best items; items ascend."""
    first = np.empty(position.max(initial=-1) + 1, np.int64)
    first[position[is_best][::-1]] = item[is_best][::-1]
    return first


def _leading(graph: Graph, items: Evidence, limit: int) -> Evidence:
    """Return the best items that have at least `limit` passages, and those of equal score."""
    scores, count = -items.ranked_scores, limit
    while count < len(items):
        leading = items.top(int(np.searchsorted(scores, scores[count - 1], side="right")))
        if len(np.unique(_behind(graph, leading)[1])) >= limit:
            return leading
        count *= 2
    return items


def _behind(graph: Graph, items: Evidence) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return each pair of an item and one of its passages, once, and whether it is more than a mention."""
    of_node = np.repeat(np.arange(len(items)), np.diff(items.node_ptr))
    of_edge = np.repeat(np.arange(len(items)), np.diff(items.edge_ptr))
    columns = graph.columns
    mentions = of_node[:0], items.nodes[:0]
    if graph.passages is None:
        bare = np.diff(items.node_ptr)[of_edge] == 0  # without nodes, the ends of its edges
        pairs = [(of_node, items.nodes), (np.repeat(of_edge[bare], 2), graph.ends(items.edges[bare]))]
    else:
        chunks = columns.kinds[items.nodes] == Kind.CHUNK
        pairs = [(of_node[chunks], items.nodes[chunks]), _rows(columns.edge_chunks, of_edge, items.edges)]
        mentions = _rows(columns.node_chunks, of_node, items.nodes)
    size = max(len(columns.names), 1)
    keys = np.concatenate([item * size + passage for item, passage in (*pairs, mentions)])
    keys, first = np.unique(keys, return_index=True)  # the first of equal pairs is the stronger one
    return keys // size, keys % size, first < sum(len(item) for item, _ in pairs)


def _rows(rows: Csr | None, owner: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Return the values of these rows, and before them the owner of each."""
    if rows is None:
        return owner[:0], ids[:0]
    return rows.expand(ids, owner)
