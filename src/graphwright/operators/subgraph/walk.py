"""Search outwards from nodes: personalised PageRank, k hops, random walks, and new neighbours (STeX, GAR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.items import Steps, steps_onward
from graphwright.kernels.half import products
from graphwright.kernels.hops import Around, khop, random_walk
from graphwright.kernels.ppr import push_ppr
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex


def seed_groups(state: State) -> list[tuple[Ints, float]]:
    """Return the seed nodes and the weight of each item of evidence, or of each anchor if there is no evidence.

    Nodes are snapshot ids; an edge counts for both its ends. Weights are the scores if all are 0 or more and one is
    above 0, else 1/rank. The nodes of a group share its weight.
    """
    graph = state.graph
    if state.evidence is not None:
        nodes = [nodes if len(nodes) else graph.ends(edges) for nodes, edges in state.evidence]
        weights = _weights(len(nodes), state.evidence.scores)
    else:
        anchors = state.anchors or ()
        nodes = [anchor.seeds(graph) for anchor in anchors]
        weights = _weights(len(nodes), np.array([anchor.weight for anchor in anchors], np.float64))
    return [(ids, float(w)) for ids, w in zip(nodes, weights, strict=True)]


def _weights(count: int, scores: Scores | None) -> Scores:
    if scores is not None and count and (scores >= 0).all() and (scores > 0).any():
        return scores
    return 1.0 / np.arange(1, count + 1)


def seeds(state: State, groups: list[tuple[Ints, float]] | None = None) -> tuple[Ints, NDArray[np.float64]]:
    """Return distinct seeds as local positions in `state.graph`, ascending, with weights that sum to 1.

    The weight of a seed outside the graph is dropped. Without seeds both arrays are empty.
    """
    groups = seed_groups(state) if groups is None else groups
    ids = np.concatenate([np.empty(0, np.int64), *(nodes for nodes, _ in groups)])
    sizes = np.array([len(nodes) for nodes, _ in groups], np.int64)
    shares = np.repeat(np.array([weight for _, weight in groups]) / np.maximum(sizes, 1), sizes)
    nodes, position = np.unique(ids, return_inverse=True)
    weights = np.bincount(position, shares, len(nodes)).astype(np.float64, copy=False)
    inside = state.graph.holds(nodes) & (weights > 0)
    nodes, weights = state.graph.local(nodes[inside]), weights[inside]
    return nodes, weights / weights.sum() if len(weights) else weights


Visited = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Local nodes and their scores."""


@dataclass(frozen=True, repr=False)
class PersonalizedPageRank(Ranker):
    """Rank nodes by personalised PageRank from the seeds (LEGO-GraphRAG, SE by PPR).

    `restart`: probability of returning to the seeds at each step (1 minus the damping factor; LEGO does not state it).
    `each`: one computation per anchor (per item of evidence), united: a node has its best score. The graph counts as
    undirected. Cut to k, it pushes until the k best are stable.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> PersonalizedPageRank()(start("?", line, entities=["a"])).evidence.nodes.tolist()
    [1, 0, 2, 3]
    """

    restart: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.15
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the nodes that are reached."""
        starts, adjacency = _starts(state, self.each), state.graph.adjacency
        nodes, scores = _united([push_ppr(*adjacency, *start, restart=self.restart, k=k) for start in starts])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores).top(k or len(nodes)))


@dataclass(frozen=True, repr=False)
class KHop(Operator):
    """Find the nodes within `k` hops of the seeds, nearest first, scored 1/(1 + hops) (LEGO-GraphRAG, KSE, 3.2.1 b).

    One search from all seeds equals the union of one from each. The number of nodes grows with the k-th power of the
    degrees, and `%` cuts the farthest by id, so LEGO's systems apply PPR after it (footnote 19 of the paper):

        KHop(2) >> Induce() >> PersonalizedPageRank(each=True) % 1000 >> Induce()

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> evidence = KHop(2)(start("?", line, entities=["a"])).evidence
    >>> evidence.nodes.tolist(), evidence.scores.round(2).tolist()
    ([0, 1, 2], [1.0, 0.5, 0.33])
    """

    k: Annotated[int, AtLeast(0)]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Find the nodes."""
        nodes, hops = khop(*state.graph.adjacency, seeds(state)[0], self.k)
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), 1.0 / (1.0 + hops)))


@dataclass(frozen=True, repr=False)
class RandomWalk(Operator):
    """Rank nodes by the share of visits of random walks from the seeds (LEGO-GraphRAG, RW, section 3.2.1 a).

    `walks`: the number of walks; `length`: the most steps of each; `restart`: probability of returning to a seed at
    each step; `seed`: of the random numbers. `each`: that many walks per anchor (per item of evidence), united: a node
    has its best score.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> line = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> (RandomWalk(length=1, each=True) % 3)(start("?", line, entities=["a", "d"])).evidence.scores.tolist()
    [0.5, 0.5, 0.5]
    """

    walks: Annotated[int, AtLeast(1)] = 1000
    length: Annotated[int, AtLeast(1)] = 10
    restart: Annotated[float, Between(0, 1, open_high=True)] = 0.0
    seed: int = 0
    each: bool = False
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Walk, and count the visits."""
        nodes, scores = _united([self._visited(state, *start) for start in _starts(state, self.each)])
        return state.with_(evidence=Evidence.of_nodes(state.graph.at(nodes), scores))

    def _visited(self, state: State, nodes: Ints, weights: NDArray[np.float64]) -> Visited:
        visited, counts = random_walk(
            *state.graph.adjacency,
            nodes,
            weights,
            walks=self.walks,
            steps=self.length,
            restart=self.restart,
            seed=self.seed,
        )
        return visited, counts / max(counts.sum(), 1)


def _starts(state: State, each: bool) -> list[tuple[Ints, NDArray[np.float64]]]:
    """Return the seeds and weights of each computation: of all together, or of each anchor or item."""
    groups = seed_groups(state)
    return [seeds(state, group) for group in ([[single] for single in groups] if each else [groups])]


def _united(runs: list[Visited]) -> Visited:
    """Return every node that is reached, with its best score."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        return np.empty(0, np.int32), np.empty(0)
    nodes, position = np.unique(np.concatenate([ids for ids, _ in runs]), return_inverse=True)
    scores = np.zeros(len(nodes))
    np.maximum.at(scores, position, np.concatenate([values for _, values in runs]))
    return nodes, scores


@dataclass(frozen=True, repr=False)
class STeX(Ranker):
    """Rank the new neighbours of the evidence's nodes by structure and similarity (FastInsight, Algorithm 3).

        S(n) = v_q · v_n + β I(n),   I(n) = 1 - (r_best - 1)/(R - 1)  [if R > 1]
                                          + (|A(n)| - 1)/(C - 1)      [if C > 1],   C = min(deg(n), R)

    R is the number of retrieved nodes, A(n) those among them that are neighbours of n, r_best the best rank in A(n),
    from 1. `index`: the vectors v; neighbours without one are left out. `beta`: β, 0 for similarity alone. Neighbours
    and degrees are those in the snapshot, also where `state.graph` is narrowed.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c"), ("b", "r", "d")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(["", "", "", ""]), HashEncoder())
    >>> evidence = STeX(index)(start("?", graph, evidence=Evidence.of_nodes([0, 1]))).evidence
    >>> evidence.nodes.tolist(), evidence.scores.tolist()
    ([2, 3], [2.0, 0.0])
    """

    index: VectorIndex
    beta: Annotated[float, AtLeast(0)] = 1.0
    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours that have a vector."""
        nodes = np.array(list(state.node_scores()), np.int64)
        if not len(nodes):
            return state.with_(evidence=Evidence.of_nodes([], []))
        adjacency, query = state.graph.columns.adjacency, self.index.encode(state.question.text, run)
        # A loop needs the neighbours of the same nodes repeatedly, so the run caches them.
        key = STeX, state.question.text, self.index, id(adjacency)
        around = run.scratch.get(key)
        if around is None:
            around = run.scratch[key] = Around(*adjacency)
        neighbours, scores = around.scores(nodes, lambda new: self._similarities(new, query), self.beta, k)
        steps = steps_onward(state.graph, *_best_before(state, nodes, neighbours), neighbours)
        return state.with_(evidence=Evidence.of_nodes(neighbours, scores, steps))

    def _similarities(self, nodes: Ints, query: Floats) -> Scores:
        """Return v_q · v_n of each node, NaN for a node without a vector: float64[len(nodes)]."""
        scores = np.full(len(nodes), np.nan)
        # If several parts have a vector, that of the first counts.
        for part in reversed(self.index.parts):
            scores[part.has(nodes)] = products(part.vectors, part.rows_of(nodes)[1], query)
        return scores


def _best_before(state: State, ranked: Ints, neighbours: Ints) -> tuple[Steps, Ints]:
    """Return for each neighbour the first of the ranked nodes that it is next to, after the steps to it."""
    adjacency, rank = state.graph.columns.adjacency, {node: at for at, node in enumerate(ranked.tolist())}
    rows = (adjacency.row(node).tolist() for node in neighbours.tolist())
    best = ranked[[min(rank[node] for node in row if node in rank) for row in rows]]
    return state.items.steps_to(best), best


@dataclass(frozen=True, repr=False)
class Frontier(Ranker):
    """Find the new neighbours of the evidence's nodes, each with the score of its best neighbour in the evidence.

    The frontier of graph-based adaptive reranking (MacAvaney, Tonellotto and Macdonald, 2022, Algorithm 1): a reranker
    next reads the neighbours of the items that it ranked highest. Evidence without scores counts 1/rank; a triple
    counts for both its ends. Inside `state.graph`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> graph = Graph.from_triples([("a", "r", "b"), ("c", "r", "d"), ("b", "r", "c"), ("d", "r", "e")])
    >>> evidence = Frontier()(start("?", graph, evidence=Evidence.of_nodes([0, 3], [0.5, 0.9]))).evidence
    >>> graph.names.take(evidence.nodes), evidence.scores.tolist()
    (['c', 'e', 'b'], [0.9, 0.9, 0.5])
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Rank the neighbours."""
        score_of = state.node_scores()
        # Best first, so that the first node that lists a neighbour is its best.
        nodes = np.array(sorted(score_of, key=lambda node: -score_of[node]), np.int64)
        nodes = nodes[state.graph.holds(nodes)]
        adjacency, local = state.graph.adjacency, state.graph.local(nodes)
        near, first = np.unique(adjacency.rows(local), return_index=True)
        before = np.repeat(nodes, np.diff(adjacency.indptr)[local])[first]
        values = np.array([score_of[node] for node in before.tolist()], np.float64)
        new = ~np.isin(near, local)
        frontier, before = state.graph.at(near[new]), before[new]
        steps = steps_onward(state.graph, state.items.steps_to(before), before, frontier)
        evidence = Evidence.of_nodes(frontier, values[new], steps)
        return state.with_(evidence=evidence if k is None else evidence.top(k))


@dataclass(frozen=True, repr=False)
class Unseen(Composite):
    """Run a step and keep only items that are not in the evidence yet, as in `Keep() | Unseen(search) % 10`.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.operators.subgraph.walk import KHop
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    >>> state = start("?", graph, evidence=Evidence.of_nodes([1, 2]))
    >>> (Unseen(KHop(1)) % 1)(state).evidence.nodes.tolist()
    [0]
    """

    step: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step for k more items than there may be to leave out, and keep the k best new ones."""
        existing = set(state.items.identities())
        after = self.step.execute(state, run, None if k is None else k + len(existing))
        if after.evidence is not None and existing:
            new = [i for i, identity in enumerate(after.evidence.identities()) if identity not in existing]
            after = after.with_(evidence=after.evidence.take(new))
        return top_of(after, self.gives, k)
