"""Orders of what was found, other than by its score: what PathRAG compares its own with (RQ2, Table 2)."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["HopFirst", "Shuffled"]


@dataclass(frozen=True, repr=False)
class HopFirst(Operator):
    """Order the pieces by their edges, the fewest first, and those of as many as before (PathRAG, RQ2: hop-first).

    The pieces are without scores then: their order is the ranking. With the paper's decay of 0.7 paths of one edge are
    first by flow too (Eq. 4: more than 1 against 0.9725 at most), so that only longer ones change places.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> paths = Evidence.of_pieces([([0, 1, 2], [0, 1]), ([1, 2], [1])], [0.9, 0.7])
    >>> [edges.tolist() for _, edges in HopFirst()(start("?", graph, evidence=paths)).evidence]
    [[1], [0, 1]]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Order the pieces."""
        found = state.evidence
        if found is None:
            return state
        order = np.argsort(np.diff(found.edge_ptr), kind="stable")
        return state.with_(evidence=found.unscored().take(order.tolist()))


@dataclass(frozen=True, repr=False)
class Shuffled(Operator):
    """Order the pieces at random (PathRAG, RQ2: random): another order for each question, the same for each run.

    `seed`: the paper averages over ten. The pieces are without scores then: their order is the ranking.

    >>> from graphwright import Evidence, Graph, start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([0, 1, 2], [0.3, 0.2, 0.1]))
    >>> {Shuffled(seed)(state).evidence.nodes[0].item() for seed in range(20)}
    {0, 1, 2}
    """

    seed: int = 0
    needs = ("evidence",)
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not hasattr(self.seed, "__index__") or self.seed < 0:
            raise OptionError(f"Shuffled(seed={self.seed!r}): a whole number, 0 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Order the pieces."""
        found = state.evidence
        if found is None:
            return state
        drawn = np.random.default_rng([int(self.seed), zlib.crc32(state.question.text.encode(errors="replace"))])
        return state.with_(evidence=found.unscored().take(drawn.permutation(len(found)).tolist()))
