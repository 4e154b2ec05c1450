"""Prize-collecting Steiner trees of the nodes and edges nearest to the question (G-Retriever)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, walk_to
from graphwright.kernels.ppr import push_ppr
from graphwright.kernels.prize_tree import prize_tree
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import VectorIndex

_RESTART = 0.5  # a short walk, so that the search stays near the prizes and small
_NO_PRIZE = 0.01  # score of a node or edge of the tree without a prize

Amounts = dict[int, float]
"""Prizes by node or edge id."""


@dataclass(frozen=True, repr=False)
class Prizes(Checked):
    """Prizes k, k - 1, …, 1 for the k nodes and the k edges nearest to the question (G-Retriever).

    Nearest by the dot product of the question's vector with that of a node in `nodes`, and that of an edge's text in
    `triples`; without `triples` no edge has a prize. Edges with the same text have one rank, and share its prize.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lyon", "in", "France"), ("Graz", "in", "Austria")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> Prizes(index, k=2)(start("Graz or Lyon, Graz?", graph), Run())
    ({2: 2.0, 0: 1.0}, {})
    """

    nodes: VectorIndex
    triples: VectorIndex | None = None
    k: Annotated[int, AtLeast(1)] = 10

    def __call__(self, state: State, run: Run) -> tuple[Amounts, Amounts]:
        """Return the prizes of nodes and of edges of the state's graph, the largest first."""
        graph, question = state.graph, state.question.text
        candidates = self.nodes.ids if graph.whole else graph.nodes
        ids, scores = self.nodes.scores_of(candidates, self.nodes.encode(question, run))
        nodes = {int(ids[best]): float(self.k - rank) for rank, best in enumerate(top(scores, self.k).tolist())}
        return nodes, {} if self.triples is None else self._of_edges(run, self.triples, graph, question)

    def _of_edges(self, run: Run, triples: VectorIndex, graph: Graph, question: str) -> Amounts:
        ids, rows = triples.rows_of(triples.ids if graph.whole else graph.edges)
        # One score for each sentence, in the order of its first edge.
        _, first, sentence = np.unique(rows, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        scores = triples.scores(triples.encode(question, run))[rows[first[order]]]
        best = top(scores, min(self.k, len(scores)))
        rank_of = np.full(len(scores), -1)
        rank_of[order[best]] = np.arange(len(best))
        ranks = rank_of[sentence]
        prized = np.flatnonzero(ranks >= 0)
        prized = prized[np.argsort(ranks[prized], kind="stable")]
        sharing = np.bincount(ranks[prized], minlength=1)
        return {int(ids[edge]): float((self.k - ranks[edge]) / sharing[ranks[edge]]) for edge in prized}


@dataclass(frozen=True, repr=False)
class PrizeTree(Operator):
    """Find the tree with the largest sum of prizes less costs: a prize-collecting Steiner tree (G-Retriever).

        Σ prize(v) + Σ prize(e) - cost · |edges|

    The score is this sum. An edge costs `cost` less its prize. If the prize exceeds the cost, a node with the
    difference as its prize replaces the edge and is joined with both ends at no cost, as in the paper; so such an edge
    may be reached by one of its ends only, and the item then contains the other end too, and may contain a cycle. Of
    parallel edges without a prize the one with the smallest id counts; directions are ignored.

    The search is limited to the `nodes` nodes that a personalised PageRank from the prizes reaches most, so that its
    cost does not grow with the graph (with 500, on two multihop sets, 92 % of the trees are those found with 5,000,
    and the sums are 0.2 % lower). It uses the growth of Goemans and Williamson with strong pruning (see
    graphwright.kernels.bubble), which is near the best tree, not always the best. Without prizes there is no item.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "founded", "Erstein Abbey")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> evidence = PrizeTree(Prizes(index, k=2), cost=0.25)(start("Which abbey of Lothair II?", graph)).evidence
    >>> evidence.texts(graph), evidence.scores.tolist()
    (['Lothair II mother Ermengarde; Ermengarde founded Erstein Abbey'], [2.5])
    """

    prizes: Prizes
    cost: Annotated[float, AtLeast(0)] = 0.5
    nodes: Annotated[int, AtLeast(1)] = 500
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        node_prizes, edge_prizes = self.prizes(state, run)
        if not node_prizes and not edge_prizes:
            return state.with_(evidence=Evidence.of_nodes([], []))
        near = self._near(state.graph, node_prizes, edge_prizes)
        nodes, edges = self._tree(near, node_prizes, edge_prizes)
        score = sum(node_prizes.get(node, 0.0) for node in nodes.tolist())
        score += sum(edge_prizes.get(edge, 0.0) - self.cost for edge in edges.tolist())
        return state.with_(evidence=Evidence.of_trees(state.graph, [(nodes, edges)], [score]))

    def _near(self, graph: Graph, node_prizes: Amounts, edge_prizes: Amounts) -> Graph:
        """Return the part of the graph around the prizes; an edge's prize is divided between its ends."""
        weights = dict(node_prizes)
        for edge, prize in edge_prizes.items():
            for end in graph.ends([edge]).tolist():
                weights[end] = weights.get(end, 0.0) + prize / 2
        seeds = np.array(list(weights), np.int64)
        shares = np.array(list(weights.values())) / sum(weights.values())
        reached, _ = push_ppr(*graph.adjacency, graph.local(seeds), shares, restart=_RESTART, k=self.nodes)
        return graph.part(np.union1d(graph.nodes[reached], seeds))

    def _tree(self, near: Graph, node_prizes: Amounts, edge_prizes: Amounts) -> tuple[Ints, Ints]:
        """Return nodes and edges of the best tree, ascending, by snapshot id."""
        edges = _candidate_edges(near, edge_prizes)
        ends = near.local(near.ends(edges)).reshape(-1, 2)
        amounts = _amounts_at(edge_prizes, edges)
        plain, above = np.flatnonzero(amounts <= self.cost), np.flatnonzero(amounts > self.cost)
        replacing = len(near) + np.arange(len(above))  # the nodes that replace the edges above their cost
        heads = np.concatenate((ends[plain, 0], ends[above, 0], replacing))
        tails = np.concatenate((ends[plain, 1], replacing, ends[above, 1]))
        costs = np.concatenate((self.cost - amounts[plain], np.zeros(2 * len(above))))
        prizes = np.concatenate((_amounts_at(node_prizes, near.nodes), amounts[above] - self.cost))
        nodes, links = prize_tree(len(prizes), heads, tails, costs, prizes)
        rows = np.concatenate((plain[links[links < len(plain)]], above[nodes[nodes >= len(near)] - len(near)]))
        inside = np.union1d(nodes[nodes < len(near)], ends[rows])
        return near.nodes[inside], np.sort(edges[rows])


def _candidate_edges(near: Graph, edge_prizes: Amounts) -> Ints:
    """Return the edges with a prize, and of the others the smallest between any two nodes; no loops."""
    ends = near.local(near.ends(near.edges)).reshape(-1, 2)
    distinct = ends[:, 0] != ends[:, 1]
    edges, pairs = near.edges[distinct], ends[distinct].min(axis=1) * len(near) + ends[distinct].max(axis=1)
    selected = _amounts_at(edge_prizes, edges) > 0
    selected[np.unique(pairs, return_index=True)[1]] = True
    candidates: Ints = edges[selected]
    return candidates


def _amounts_at(amounts: Amounts, ids: Ints) -> Scores:
    """Return the amount of each of the ascending ids, 0 for one without."""
    return np.array([amounts.get(i, 0.0) for i in ids.tolist()], np.float64)


@dataclass(frozen=True)
class PrizedItems:
    """Nodes and edges of a tree as single items, scored by their prizes, for `ToPassages(items=..., summed=True)`.

    A node or edge without a prize scores 0.01, so that of two equal passages the one that states more of the tree
    ranks first. `prizes`: the prizes that the tree was computed with.
    """

    prizes: Prizes

    def __call__(self, state: State, run: Run) -> Evidence:
        """Return the items."""
        evidence = Evidence.of_nodes([]) if state.evidence is None else state.evidence
        node_prizes, edge_prizes = self.prizes(state, run)
        walks = {node: walk_to(state.graph, tree, node) for tree in evidence.items() for node in tree.nodes}
        items = {Item.node(node, walk): node_prizes.get(node, _NO_PRIZE) for node, walk in walks.items()}
        items |= {Item.triple(edge): edge_prizes.get(edge, _NO_PRIZE) for edge in evidence.edges.tolist()}
        return Evidence.of_items(items, list(items.values()))
