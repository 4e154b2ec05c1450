"""Read from the trace of one run what it would have ranked with a smaller reading budget (FastInsight, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from graphwright.errors import OptionError
from graphwright.evaluate.metrics import recall_at_k, topological_recall
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.operators.state import State


def missed_topological_recall(graph: Graph, retrieved: ArrayLike, oracle: ArrayLike) -> float:
    """Return the part of topological recall due to oracle nodes that were not retrieved (MissTR of FastInsight).

    |missing|/|oracle| · TR(retrieved, missing), so that TR = recall + MissTR (Corollary 1). Arguments and errors as in
    `topological_recall`.

    >>> from graphwright.graph.graph import Graph
    >>> path = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> round(missed_topological_recall(path, [0], [0, 2]), 6)  # (1/2) / (1 + ln 2 + ln 3)
    0.179099
    """
    targets = np.unique(np.asarray(oracle, np.int64))
    missing = np.setdiff1d(targets, np.asarray(retrieved, np.int64))
    return len(missing) / len(targets) * topological_recall(graph, retrieved, missing) if len(targets) else 0.0


def rankings_by_budget(state: State, batch: int = 10) -> dict[int, Ints]:
    """Return the ranked nodes of a run after each reranking, by the number of nodes that the reranker had read.

    Read from the trace (FastInsight, section 5.3). `Rerank` scores passages independently, so that its single ranking
    gives one for every `batch` more nodes, where it ranked all nodes of the step before it. Raises OptionError for a
    run without a reranker.

    >>> from graphwright import Evidence, Graph, Keep, Rerank, start
    >>> from graphwright.models import OverlapCrossEncoder
    >>> graph = Graph.from_triples([("Graz", "r", "Mur"), ("red Mur", "r", "Linz")])
    >>> state = start("red Mur", graph, evidence=Evidence.of_nodes([0, 1, 2]))
    >>> run = (Keep() >> Rerank(OverlapCrossEncoder()))(state)
    >>> {read: nodes.tolist() for read, nodes in rankings_by_budget(run, batch=2).items()}
    {2: [1, 0], 3: [2, 1, 0]}
    """
    if batch < 1:
        raise OptionError(f"batch is {batch!r}; it must be 1 or more.")
    evidence = [None if step.after is None else step.after.evidence for step in state.trace]
    reranks = [at for at, step in enumerate(state.trace) if step.operator.startswith(("Rerank(", "GRanker("))]
    rankings = [ranked.nodes for at in reranks if (ranked := evidence[at]) is not None]
    if not rankings:
        steps = ", ".join(step.operator for step in state.trace) or "none"
        raise OptionError(f"No step of this run reranks; its steps: {steps}.")
    ranking = rankings[0]
    if len(rankings) > 1 or not state.trace[reranks[0]].operator.startswith("Rerank("):
        return {len(nodes): nodes for nodes in rankings}
    before = evidence[reranks[0] - 1] if reranks[0] else None
    if before is None or len(before.nodes) != len(ranking):
        return {len(ranking if before is None else before.nodes): ranking}
    budgets = (*range(batch, len(ranking), batch), len(ranking))
    return {budget: ranking[np.isin(ranking, before.nodes[:budget])] for budget in budgets}


def budget_gain(graph: Graph, rankings: Mapping[int, ArrayLike], oracle: ArrayLike) -> tuple[float, float, float]:
    """Return the gain of a run after its first batch: one data point of FastInsight's Table 6.

    Recall and MissTR, the two parts of topological recall, after the first batch, and the recall gained from there to
    the end (ΔR). `rankings`: those of `rankings_by_budget`.
    """
    first, last = (np.asarray(rankings[budget]).tolist() for budget in (min(rankings), max(rankings)))
    targets = np.unique(np.asarray(oracle)).tolist()
    begin, end = (recall_at_k(nodes, targets, max(len(nodes), 1)) for nodes in (first, last))
    return begin, missed_topological_recall(graph, first, targets), end - begin
