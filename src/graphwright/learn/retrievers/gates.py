"""Gates: which way a question takes at each step, and where that carries from what it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.learn.retrievers.arcs import Arcs, Seen
from graphwright.learn.retrievers.arrays import exponential, largest, rectified

__all__ = ["Likely", "Walked", "carried", "ends_of", "gate_logits", "gates_of", "walked"]


def gate_logits(w: Mapping[str, Any], asked: Any, relations: Any, steps: int) -> list[tuple[Any, Any]]:
    """Return for each step the logits of each way, [questions, 2 · r], and of the end, [questions, 1]."""
    question = rectified(asked @ w["gate question"] + w["gate asked"])
    of = (relations @ w["gate relation"]).reshape(2 * relations.shape[0], -1)
    return [
        (question @ w[f"gate {step}"] @ of.T, question @ w[f"gate end {step}"] + w[f"gate bias {step}"])
        for step in range(steps)
    ]


def gates_of(logits: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return how open each way is at each step: its probability over that of the most probable, or of the end."""
    return [exponential(ways - _best(ways, end)) for ways, end in logits]


def ends_of(logits: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return the same of the end, which may come at each step instead: [questions, 1] each."""
    return [exponential(end - _best(ways, end)) for ways, end in logits]


def _best(ways: Any, end: Any) -> Any:
    best = largest(ways)
    return best + rectified(end - best)


def carried(gates: Sequence[Any], arcs: Arcs, start: Any, owner: Any = None) -> list[Any]:
    """Return how probable the best walk of 0, 1, 2, ... steps to each node is, [n, 1] each, its gates multiplied.

    A distance encoding that the question conditions: what it asks for carries from the query entities, all else does
    not. `owner`: the question of each arc, None where there is one.
    """
    reached = [start]
    for gate in gates:
        by = gate[0 if owner is None else owner, arcs.way]
        reached.append(arcs.most(reached[-1][arcs.begin] * by[:, None]))
    return reached


class Walked(NamedTuple):
    """How probable the best walk to each node is, and on from it: [n, 1] for each number of steps; and the gates."""

    gates: Sequence[Any]
    reached: Sequence[Any]
    left: Sequence[Any]

    def nodes(self) -> list[Any]:
        """Return how probable the best walk is that has each node as its first, second, ... one: [n, 1] each."""
        return [there * back for there, back in zip(self.reached, self.left, strict=True)]

    def steps(self, step: int, begin: Any, end: Any, way: Any) -> Any:
        """Return how probable the best walk is that takes each of these steps as its `step`-th, from 0; of numpy."""
        return self.reached[step][begin, 0] * self.gates[step][0, way] * self.left[step + 1][end, 0]

    def edges(self, heads: Any, tails: Any, relation: Any) -> Any:
        """Return how probable the best walk is that takes each edge, at any step, whichever way: [m]; of numpy."""
        found = np.zeros(len(heads), np.float32)
        for step in range(len(self.gates)):
            for begin, end, way in ((heads, tails, 2 * relation + 1), (tails, heads, 2 * relation)):
                found = np.maximum(found, self.steps(step, begin, end, way))
        return found


def walked(
    logits: Sequence[tuple[Any, Any]], arcs: Arcs, start: Any, owner: Any = None, arc_owner: Any = None
) -> Walked:
    """Return how probable walks are that begin at `start`, never come back there, and end where the question does.

    Of each the gates multiplied, that of its end too: what carries on to nothing that is asked for has little (Viterbi,
    forward and backward). `logits`: what `gate_logits` returns; `start`: [n, 1], 1 where walks begin; `owner`,
    `arc_owner`: the question of each node and arc, None where there is one.
    """
    at, by, away = (0 if owner is None else owner), (0 if arc_owner is None else arc_owner), 1 - start
    gates, ends = gates_of(logits), ends_of(logits)
    reached, left = [start], [0 * start + 1]
    for gate in gates:
        reached.append(arcs.most(reached[-1][arcs.begin] * gate[by, arcs.way][:, None]) * away)
    for gate, end in zip(reversed(gates), reversed(ends), strict=True):
        left[-1] = left[-1] * away
        # To where an arc comes from, a walk goes the other way of its relation.
        on, over = arcs.most(left[-1][arcs.begin] * gate[by, arcs.way ^ 1][:, None]), end[at]
        left.append(over + rectified(on - over))
    return Walked(gates, reached, left[::-1])


@dataclass(frozen=True, eq=False)
class Likely:
    """How probable the question's walks over a graph are that take given edges, by snapshot id.

    What a node or a triple is worth by itself does not tell at which step it is taken, nor which of several relations
    between two nodes was meant: the end of one walk may be on the way of another.
    """

    graph: Graph
    at: Seen
    walks: Walked

    def steps(self, nodes: Ints, wanted: Ints) -> Scores:
        """Return how probable the best walk is that takes each step, [walks, steps]: each at its place in its walk.

        An edge alone is any step, whichever way it is taken. 0 where there is no such edge, or no walk is as long.
        """
        found = np.zeros(wanted.shape)
        local = self.graph.local(nodes.ravel()).reshape(nodes.shape)
        for step in range(min(wanted.shape[1], len(self.walks.gates))):
            place, there = self._places(wanted[:, step])
            heads, tails, relation = (part[place] for part in (self.at.heads, self.at.tails, self.at.relation))
            if wanted.shape[1] == 1:
                found[there, 0] = self.walks.edges(heads, tails, relation)
            else:
                begin, end = local[there, step], local[there, step + 1]
                found[there, step] = self.walks.steps(step, begin, end, 2 * relation + (heads == begin))
        return found

    def _places(self, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return where edges stand in the graph, of those that are in it, and which are."""
        edges = self.graph.edges
        there = np.isin(wanted, edges)
        return np.searchsorted(edges, wanted[there]), there
