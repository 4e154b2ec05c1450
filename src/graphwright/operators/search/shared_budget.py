"""A limit of passages for a search together with the preview before it."""

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
    """Rank passages by a step, at most `limit` together with those of the state, a preview (BubbleRAG).

    BubbleRAG may observe 15 passages (section 4.1), and reads some before it searches the graph. Passages of the step
    that are in the preview count once; new ones are taken in their order until the limit is reached. The rest of the
    preview follows in its order, with scores below those of the step.

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
        """Run the step, and add the preview."""
        after = self.step.execute(state, run)
        preview, ranking = state.passages, after.passages
        if after.answer is not None or ranking is None:
            return after
        known = np.empty(0, np.int64) if preview is None else preview.ids[: self.limit]
        new = ~np.isin(ranking.ids, known)
        within = ~new | (np.cumsum(new) <= self.limit - len(known))
        rest = known[~np.isin(known, ranking.ids)]
        scores = ranking.scores[within]
        lower = (scores[-1] if len(scores) else 1.0) - 1.0 - np.arange(len(rest))
        selected = ranking.take(np.flatnonzero(within))
        united = replace(
            selected,
            ids=np.append(selected.ids, rest),
            scores=np.append(scores, lower),
            item_of=None if selected.item_of is None else np.append(selected.item_of, np.full(len(rest), -1)),
        )
        return after.with_(passages=united.top(len(united) if k is None else k))
