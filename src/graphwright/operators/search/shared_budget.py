"""One budget of passages for a search and those that were shown before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast
from graphwright.operators.operator import Composite, Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class SharedBudget(Composite):
    """Rank passages by a step, at most `limit` together with those that the state has: a preview (BubbleRAG).

    BubbleRAG may observe 15 passages (section 4.1), and it reads some before it searches the graph. A passage of the
    step that was read before costs nothing; others are taken in their order, as many as the earlier ones leave room
    for. The earlier ones that the step does not find follow, in their order, with scores below those of the step.

    >>> from graphwright.graph.graph import Graph
    >>> from graphwright.graph import Evidence, Ranking
    >>> from graphwright.operators.select import ToPassages
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([0, 1, 2])).with_(passages=Ranking.of([2, 1], [1, 0.5]))
    >>> [SharedBudget(ToPassages(), limit)(state).passages.ids.tolist() for limit in (2, 3)]
    [[1, 2], [0, 1, 2]]
    """

    step: Operator
    limit: Annotated[int, AtLeast(1)] = 15

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step, and add what was read before."""
        after = self.step.execute(state, run)
        before, found = state.passages, after.passages
        if after.answer is not None or found is None:
            return after
        known = np.empty(0, np.int64) if before is None else before.ids[: self.limit]
        new = ~np.isin(found.ids, known)
        within = ~new | (np.cumsum(new) <= self.limit - len(known))
        rest = known[~np.isin(known, found.ids)]
        scores = found.scores[within]
        lower = (scores[-1] if len(scores) else 1.0) - 1.0 - np.arange(len(rest))
        brought = found.take(np.flatnonzero(within))
        ranking = replace(
            brought,
            ids=np.append(brought.ids, rest),
            scores=np.append(scores, lower),
            item_of=None if brought.item_of is None else np.append(brought.item_of, np.full(len(rest), -1)),
        )
        return after.with_(passages=ranking.top(len(ranking) if k is None else k))
