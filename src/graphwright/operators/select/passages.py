"""From evidence to the passages behind it."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.errors import OptionError
from graphwright.graph.evidence import Ints, Ranking
from graphwright.graph.graph import Graph
from graphwright.operators.operator import Ranker
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Sources", "behind"]


@dataclass(frozen=True, repr=False)
class Sources(Ranker):
    """Passages that the evidence came from, in the order of their best piece.

    A passage has the score of the first piece that comes from it (1/rank where pieces have none); a
    chunk comes from itself, an entity or a triple from the chunks that state it. `limit`: passages in all.
    On a graph without passages the nodes of the evidence take their place.
    """

    limit: int | None = None
    needs = ("evidence",)
    gives = ("passages",)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise OptionError(f"Sources(limit={self.limit!r}): a number of passages, 1 or more, or None.")

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Collect passages until there are enough."""
        wanted = min((n for n in (self.limit, k) if n is not None), default=None)
        found: dict[int, float] = {}
        if state.evidence is None:
            return state
        last = float("inf")
        for rank, (nodes, edges) in enumerate(state.evidence, 1):
            scores = state.evidence.scores
            score = 1 / rank if scores is None else float(scores[rank - 1])
            # Pieces of equal score are taken together, so that ties fall by id and not by where we stop.
            if wanted is not None and len(found) >= wanted and score < last:
                break
            for chunk in behind(state.graph, nodes, edges).tolist():
                found.setdefault(chunk, score)
            last = score
        ranking = Ranking.of(list(found), list(found.values()))
        return state.with_(passages=ranking if wanted is None else ranking.top(wanted))


def behind(graph: Graph, nodes: Ints, edges: Ints) -> Ints:
    """Return the passages that a piece came from, ascending; on a graph without passages its nodes."""
    if graph.passages is None:
        return nodes if len(nodes) else graph.ends(edges)
    return graph.chunks_of(nodes, edges)
