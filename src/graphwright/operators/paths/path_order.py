"""Orders of paths that PathRAG compares with order by flow: fewest hops first, and random."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class HopFirst(Operator):
    """Order items by their number of edges, fewest first, ties in their former order (PathRAG, RQ2: hop-first).

    The items lose their scores: their order is the ranking. With the paper's decay of 0.7 paths of one edge come first
    by flow too (Eq. 4: more than 1 against 0.9725 at most), so only longer paths change their order.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> paths = Evidence.of_paths(graph, [([0, 1, 2], [0, 1]), ([1, 2], [1])], [0.9, 0.7])
    >>> [edges.tolist() for _, edges in HopFirst()(start("?", graph, evidence=paths)).evidence]
    [[1], [0, 1]]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Order the items."""
        order = np.argsort(np.diff(state.items.edge_ptr), kind="stable")
        return state.with_(evidence=state.items.unscored().take(order.tolist()))


@dataclass(frozen=True, repr=False)
class Shuffled(Operator):
    """Order items at random (PathRAG, RQ2: random), differently for each question, identically in each run.

    `seed`: of the random numbers; the paper averages over ten. The items lose their scores: their order is the ranking.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([0, 1, 2], [0.3, 0.2, 0.1]))
    >>> {Shuffled(seed)(state).evidence.nodes[0].item() for seed in range(20)}
    {0, 1, 2}
    """

    seed: Annotated[int, AtLeast(0)] = 0
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Order the items."""
        rng = np.random.default_rng([int(self.seed), zlib.crc32(state.question.text.encode(errors="replace"))])
        return state.with_(evidence=state.items.unscored().take(rng.permutation(len(state.items)).tolist()))
