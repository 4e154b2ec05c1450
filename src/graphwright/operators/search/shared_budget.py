"""One budget of passages for a step and for those that were ranked before it."""

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
    """Rank passages by a step, at most `limit` together with the first `read` that the state has (BubbleRAG).

    BubbleRAG may observe 15 passages (section 4.1), and it reads some before it searches the graph: a preview. A
    passage of the step that was read before costs nothing; others are taken in their order, as many as leave room for
    the preview. The rest of the preview follows, then the other passages that the state has, until there are `limit`;
    their scores are below those of the step. `read` is by default the number of all that the state has.

    >>> from graphwright import Evidence, Graph, ToPassages, start; from graphwright.graph import Ranking
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([0, 1])).with_(passages=Ranking.of([2, 1], [1, 0.5]))
    >>> [SharedBudget(ToPassages(), 2, read)(state).passages.ids.tolist() for read in (0, 1, 2)]
    [[0, 1], [0, 2], [1, 2]]
    """

    step: Operator
    limit: Annotated[int, AtLeast(1)] = 15
    read: Annotated[int | None, AtLeast(0)] = None

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        after = self.step.execute(state, run)
        before, ranked = state.passages, after.passages
        if after.answer is not None or ranked is None:
            return after
        earlier = np.empty(0, np.int64) if before is None else before.ids
        preview = earlier[: self.limit if self.read is None else min(self.read, self.limit)]
        new = ~np.isin(ranked.ids, preview)
        taken = ranked.take(np.flatnonzero(~new | (np.cumsum(new) <= self.limit - len(preview))))
        count = max(self.limit - len(taken), 0)
        rest = np.append(preview, earlier[len(preview) :])
        rest = rest[~np.isin(rest, taken.ids)][:count]
        lower = (taken.scores[-1] if len(taken) else 1.0) - 1.0 - np.arange(len(rest))
        ranking = replace(
            taken,
            ids=np.append(taken.ids, rest),
            scores=np.append(taken.scores, lower),
            item_of=None if taken.item_of is None else np.append(taken.item_of, np.full(len(rest), -1)),
        )
        return after.with_(passages=ranking.top(len(ranking) if k is None else k))
