"""What a reranking had found by the time it had read so many passages (FastInsight, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphwright.errors import OptionError
from graphwright.evaluate.metrics import missed_topological_recall, recall_at_k, topological_recall
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.operators.state import State

__all__ = ["Gain", "gain", "rankings", "recall_over_budget"]

_RANKERS = ("Rerank(", "GRanker(")


def rankings(state: State, batch: int = 10) -> dict[int, Ints]:
    """Return the nodes as a run had ranked them, best first, by how many its reranker had read till then, ascending.

    Read from the trace. A loop leaves a ranking at every turn. `Rerank` alone judges each passage by itself, so that
    with a smaller budget it would have left the same order of fewer: where it kept all that a step before it had
    found, its one ranking gives one for each `batch` more of that. Raises OptionError for a run that reranked nothing.

    >>> from graphwright import Evidence, Graph, Keep, OverlapCrossEncoder, Rerank, start
    >>> graph = Graph.from_triples([("Graz", "r", "Mur"), ("red Mur", "r", "Linz")])
    >>> state = start("red Mur", graph, evidence=Evidence.of_nodes([0, 1, 2]))
    >>> run = (Keep() >> Rerank(OverlapCrossEncoder()))(state)
    >>> {read: nodes.tolist() for read, nodes in rankings(run, batch=2).items()}
    {2: [1, 0], 3: [2, 1, 0]}
    """
    if batch < 1:
        raise OptionError(f"batch is {batch!r}; it is how many passages are read at a time, 1 or more.")
    steps = [step.after for step in state.trace]
    turns = [at for at, step in enumerate(state.trace) if step.operator.startswith(_RANKERS)]
    after = [found.evidence.nodes for at in turns if (found := steps[at]) is not None and found.evidence is not None]
    if not after:
        raise OptionError(
            f"no step of this run reranks; it has {', '.join(s.operator for s in state.trace) or 'none'}."
        )
    if len(after) > 1 or not state.trace[turns[0]].operator.startswith("Rerank("):
        return {len(nodes): nodes for nodes in after}
    before = steps[turns[0] - 1] if turns[0] else None
    given = after[0] if before is None or before.evidence is None else before.evidence.nodes
    if before is None or len(given) != len(after[0]):
        return {len(given): after[0]}
    return {read: after[0][np.isin(after[0], given[:read])] for read in (*range(batch, len(given), batch), len(given))}


def recall_over_budget(graph: Graph, ranked: Mapping[int, ArrayLike], oracle: ArrayLike) -> dict[int, float]:
    """Return the topological recall of all that had been read, by how much that was (FastInsight, Figure 6).

    `graph`: the corpus graph; `ranked`: what `rankings` gives; `oracle`: the nodes that should be found.
    """
    return {read: topological_recall(graph, nodes, oracle) for read, nodes in ranked.items()}


@dataclass(frozen=True, slots=True)
class Gain:
    """Where a run stood after its first batch, and what it gained from there: a point behind FastInsight's Table 6.

    `recall` and `missed` (MissTR) are the two parts of topological recall at the start, `gained` is ΔR: the recall of
    all that was read in the end less `recall`.
    """

    recall: float
    missed: float
    gained: float


def gain(graph: Graph, ranked: Mapping[int, ArrayLike], oracle: ArrayLike) -> Gain:
    """Return what a run gained after its first batch. Arguments as in `recall_over_budget`."""
    first, last = (np.asarray(ranked[read]).tolist() for read in (min(ranked), max(ranked)))
    wanted = np.unique(np.asarray(oracle)).tolist()
    begun, ended = (recall_at_k(nodes, wanted, max(len(nodes), 1)) for nodes in (first, last))
    return Gain(begun, missed_topological_recall(graph, first, wanted), ended - begun)
