"""A tree that collects what is near the question and pays for what joins it (G-Retriever)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ppr import push_ppr
from graphwright.kernels.ranking import top
from graphwright.kernels.steiner import prize_tree
from graphwright.operators.operator import Operator, source_of
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["PrizedItems", "PrizeTree", "Prizes"]

_RESTART = 0.5  # so that the walk stays near, and costs what is near
_BARE = 0.01  # what a part of the tree without a prize counts for a passage that states it

Amounts = dict[int, float]


@dataclass(frozen=True, repr=False)
class Prizes:
    """What nodes and edges are worth: k, k - 1, …, 1 for the k nearest to the question of either (G-Retriever).

    By the dot product of the question's vector with that of a node in `nodes`, and that of an edge's text in `triples`;
    where that is None no edge has a prize. Edges with one text are one in the order, and share its prize.

    >>> from graphwright import HashEncoder, start
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> Prizes(index, k=2)(start("Graz or Lyon, Graz?", graph))
    ({2: 2.0, 0: 1.0}, {})
    """

    nodes: VectorIndex
    triples: VectorIndex | None = None
    k: int = 10

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not hasattr(self.k, "__index__") or self.k < 1:
            raise OptionError(f"Prizes(k={self.k!r}): a number of nodes and edges, 1 or more.")

    def __repr__(self) -> str:
        return source_of(self)

    def __call__(self, state: State, run: Run) -> tuple[Amounts, Amounts]:
        """Return the prizes of nodes and of edges of the state's graph, by id, the best first."""
        graph, asked = state.graph, state.question.text
        held = self.nodes.ids if graph.whole else graph.nodes
        ids, scores = self.nodes.scores_of(held, self.nodes.encode(asked, run))
        nodes = {int(ids[at]): float(self.k - rank) for rank, at in enumerate(top(scores, self.k).tolist())}
        return nodes, {} if self.triples is None else self._of_edges(run, self.triples, graph, asked)

    def _of_edges(self, run: Run, triples: VectorIndex, graph: Graph, asked: str) -> Amounts:
        ids, rows = triples.rows_of(triples.ids if graph.whole else graph.edges)
        texts = np.zeros(len(triples.vectors), bool)
        texts[rows] = True
        scores = np.where(texts, triples.scores(triples.encode(asked, run)), -np.inf)
        best = top(scores, min(self.k, int(texts.sum())))
        rank_of = np.full(len(scores), -1)
        rank_of[best] = np.arange(len(best))
        ranks = rank_of[rows]
        held = np.flatnonzero(ranks >= 0)
        held = held[np.argsort(ranks[held], kind="stable")]
        sharing = np.bincount(ranks[held], minlength=1)
        return {int(ids[at]): float((self.k - ranks[at]) / sharing[ranks[at]]) for at in held}


@dataclass(frozen=True, repr=False)
class PrizeTree(Operator):
    """The tree whose prizes, less what its edges cost, are the most: a prize-collecting Steiner tree (G-Retriever).

        Σ prize(v) + Σ prize(e) - cost · |edges|

    An edge costs `cost` less its prize. Where the prize is more, a node of its own with what is left takes the edge's
    place, joined with both ends for nothing, as in the paper; so such an edge may come by one of its ends, and the
    piece then has the other too, and can hold a cycle. Of parallel edges without a prize the smallest counts; edges are
    walked either way. The score is the sum above.

    Found near the prizes only: on the `nodes` nodes that a personalised PageRank from them reaches most, so that the
    search does not grow with the graph (with 500, on two multihop sets, 92 % of the trees are those found with 5,000,
    and they are worth 0.2 % less); and by the growth of Goemans and Williamson with strong pruning (see
    graphwright.kernels.steiner), which is near the best tree, not always the best. Nothing near: no piece.

    >>> from graphwright import HashEncoder, start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "founded", "Erstein Abbey")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> found = PrizeTree(Prizes(index, k=2), cost=0.25)(start("Which abbey of Lothair II?", graph)).evidence
    >>> found.texts(graph), found.scores.tolist()
    (['Lothair II mother Ermengarde; Ermengarde founded Erstein Abbey'], [2.5])
    """

    prizes: Prizes
    cost: float = 0.5
    nodes: int = 500
    gives = ("evidence",)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cost) and self.cost >= 0):
            raise OptionError(f"PrizeTree(cost={self.cost!r}): what an edge costs, 0 or more.")
        if isinstance(self.nodes, bool) or not hasattr(self.nodes, "__index__") or self.nodes < 1:
            raise OptionError(f"PrizeTree(nodes={self.nodes!r}): a number of nodes, 1 or more.")

    def apply(self, state: State, run: Run) -> State:
        """Find the tree."""
        of_nodes, of_edges = self.prizes(state, run)
        if not of_nodes and not of_edges:
            return state.with_(evidence=Evidence.of_nodes([], []))
        near = self._near(state.graph, of_nodes, of_edges)
        nodes, edges = self._tree(near, of_nodes, of_edges)
        worth = sum(of_nodes.get(v, 0.0) for v in nodes.tolist())
        worth += sum(of_edges.get(e, 0.0) - self.cost for e in edges.tolist())
        return state.with_(evidence=Evidence.of_pieces([(nodes, edges)], [worth]))

    def _near(self, graph: Graph, of_nodes: Amounts, of_edges: Amounts) -> Graph:
        """Return the part of the graph around the prizes; an edge's prize is at both its ends."""
        weights = dict(of_nodes)
        for edge, prize in of_edges.items():
            for end in graph.ends([edge]).tolist():
                weights[end] = weights.get(end, 0.0) + prize / 2
        seeds = np.array(list(weights), np.int64)
        shares = np.array(list(weights.values())) / sum(weights.values())
        reached, _ = push_ppr(*graph.adjacency, graph.local(seeds), shares, restart=_RESTART, k=self.nodes)
        return graph.part(np.union1d(graph.nodes[reached], seeds))

    def _tree(self, near: Graph, of_nodes: Amounts, of_edges: Amounts) -> tuple[Ints, Ints]:
        """Return nodes and edges of the best tree, ascending, by snapshot id."""
        edges = _distinct(near, of_edges)
        ends = near.local(near.ends(edges)).reshape(-1, 2)
        amounts, prizes = _placed(of_edges, edges), _placed(of_nodes, near.nodes)
        above = np.flatnonzero(amounts > self.cost)
        stands = len(near) + np.arange(len(above))  # the nodes in the place of those edges
        plain = np.flatnonzero(amounts <= self.cost)
        heads = np.concatenate((ends[plain, 0], ends[above, 0], stands))
        tails = np.concatenate((ends[plain, 1], stands, ends[above, 1]))
        costs = np.concatenate((self.cost - amounts[plain], np.zeros(2 * len(above))))
        worth = np.concatenate((prizes, amounts[above] - self.cost))
        nodes, chosen = prize_tree(len(worth), heads, tails, costs, worth)
        held = np.concatenate((plain[chosen[chosen < len(plain)]], above[nodes[nodes >= len(near)] - len(near)]))
        inside = np.union1d(nodes[nodes < len(near)], ends[held])
        return near.nodes[inside], np.sort(edges[held])


def _distinct(near: Graph, of_edges: Amounts) -> Ints:
    """Return the edges that matter: those with a prize, and of others the smallest between two nodes; no loops."""
    ends = near.local(near.ends(near.edges)).reshape(-1, 2)
    wanted = ends[:, 0] != ends[:, 1]
    edges, pairs = near.edges[wanted], ends[wanted].min(axis=1) * len(near) + ends[wanted].max(axis=1)
    kept = _placed(of_edges, edges) > 0
    kept[np.unique(pairs, return_index=True)[1]] = True
    chosen: Ints = edges[kept]
    return chosen


def _placed(amounts: Amounts, ids: Ints) -> Scores:
    """Return the amount of each id, 0 for one without; `ids` ascend."""
    values = np.zeros(len(ids))
    wanted = np.array(list(amounts), np.int64)
    at = np.searchsorted(ids, wanted)
    inside = at < len(ids)
    inside[inside] = ids[at[inside]] == wanted[inside]
    values[at[inside]] = np.array(list(amounts.values()))[inside]
    return values


@dataclass(frozen=True)
class PrizedItems:
    """The nodes and edges of a tree as single items, scored by their prizes, for `ToPassages(items=..., summed=True)`.

    A node or edge without a prize counts 0.01, so that of two equal passages the one that states more of the tree
    comes first. `prizes`: those that the tree was found by.
    """

    prizes: Prizes

    def __call__(self, state: State, run: Run) -> Evidence:
        """Return the items."""
        evidence = Evidence.of_nodes([]) if state.evidence is None else state.evidence
        of_nodes, of_edges = self.prizes(state, run)
        parts: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        parts |= {((node,), ()): of_nodes.get(node, _BARE) for node in evidence.nodes.tolist()}
        parts |= {((), (edge,)): of_edges.get(edge, _BARE) for edge in evidence.edges.tolist()}
        return Evidence.of_pieces(parts, list(parts.values()))
