"""Trees of the graph: small ones that join the anchors (BubbleRAG), prize-collecting ones (G-Retriever)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.graph.evidence import Evidence, Ints, Piece, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.items import Item, walk_to
from graphwright.kernels.bubble import Meeting, bubble, node_costs
from graphwright.kernels.ppr import push_ppr
from graphwright.kernels.prize_tree import prize_tree
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Operator, Ranker
from graphwright.operators.paths.node_paths import edges_between
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.search.vector_index import VectorIndex

Parts = tuple[list[int], list[int]]  # nodes and edges
Key = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, repr=False)
class Bubble(Ranker):
    """Find connected items that join the anchors, in the order of discovery, unscored (BubbleRAG, Algorithm 1, Eq. 4).

    Each anchor is a group of terminals. Groups expand from their terminals through the graph by the sum of 1 -
    cos(question, node), where terminals cost 0. When a group settles a node that others settled before, their paths to
    it form an item; so do the paths to two neighbours that one group settled from different terminals. An edge of an
    anchor makes both its ends terminals, and belongs to every item that starts at such a terminal. If no groups meet,
    the anchors' nodes and edges are the items. Between two nodes an item has the anchors' edge, else the smallest id.

    `index`: vectors of nodes; a node without one costs 1. `hops`: h, the largest distance from the anchors. `budget`:
    B, the number of items; one is dropped if its nodes contain, or are in, those of an earlier one of the same groups.

    >>> from graphwright.operators.state import start; from graphwright.models.fake import HashEncoder
    >>> kin = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "died in", "851")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(kin.names)), HashEncoder())
    >>> state = start("When did Lothair II's mother die?", kin, entities=["Lothair II", "851"])
    >>> Bubble(index)(state).evidence.texts(kin)
    ['Lothair II mother Ermengarde; Ermengarde died in 851']
    """

    index: VectorIndex
    hops: Annotated[int, AtLeast(0)] = 6
    budget: Annotated[int, AtLeast(1)] = 10
    needs = ("anchors",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        graph, anchors = state.graph, [_inside(anchor, state.graph) for anchor in state.anchors or ()]
        terminals, edges = _terminals(anchors, graph)
        meetings: list[Meeting] = []
        if len(terminals) > 1:
            budget = self.budget if k is None else min(self.budget, k)
            rows = () if self.index.row_of is None else self.index.row_of
            query, ids = self.index.encode(state.question.text, run), () if graph.whole else graph.nodes
            costs = node_costs(query, self.index.vectors, rows, ids)
            meetings = bubble(*graph.adjacency, terminals, costs, hops=self.hops, budget=budget)
        of_anchors = _by_ends((e for _, ids in anchors for e in ids), graph)
        items = [_item(graph, meeting, edges, of_anchors) for meeting in meetings]
        return state.with_(evidence=Evidence.of_trees(graph, items or _single_items(anchors, graph)).top(k))


def _inside(anchor: Anchor, graph: Graph) -> Parts:
    """Return the anchor's nodes and edges that are in this graph, ascending."""
    nodes = np.unique(anchor.nodes)
    return nodes[graph.holds(nodes)].tolist(), graph.inside(np.unique(anchor.edges)).tolist()


def _terminals(anchors: Sequence[Parts], graph: Graph) -> tuple[Ints, list[int]]:
    """Return terminals (group, node, other end or -1) for the kernel, and each one's edge or -1; nodes are local."""
    rows: list[tuple[int, int, int]] = []
    edges: list[int] = []
    group = 0
    for nodes, ids in anchors:
        terminals = dict.fromkeys(nodes, (-1, -1))
        for e in ids:
            head, tail = graph.ends([e]).tolist()
            terminals.setdefault(head, (tail, e))
            terminals.setdefault(tail, (head, e))
        for node, (other, e) in sorted(terminals.items()):
            rows.append((group, node, other))
            edges.append(e)
        group += bool(terminals)
    table = np.array(rows, np.int64).reshape(-1, 3)
    with_edge = table[:, 2] >= 0
    table[:, 1] = graph.local(table[:, 1])
    table[with_edge, 2] = graph.local(table[with_edge, 2])
    return table, edges


def _item(graph: Graph, meeting: Meeting, edge_of: Sequence[int], of_anchors: dict[tuple[int, int], int]) -> Parts:
    """Return the nodes and edges of a meeting in walk order; `edge_of`: of terminals, `of_anchors`: between nodes."""
    tied = [edge_of[origin] for origin in meeting.origins if edge_of[origin] >= 0]
    preferred = of_anchors | _by_ends(tied, graph)
    nodes: dict[int, None] = {}
    edges: dict[int, None] = {}
    for walk in meeting.walks:
        ids = graph.at(list(walk)).tolist()
        nodes.update(dict.fromkeys(ids))
        for a, b in pairwise(ids):
            edge = preferred.get((min(a, b), max(a, b)))
            edges[int(edges_between(graph, np.array([a]), np.array([b]))[0]) if edge is None else edge] = None
    return list(nodes), list(edges | dict.fromkeys(tied))


def _by_ends(edges: Iterable[int], graph: Graph) -> dict[tuple[int, int], int]:
    """Return the smallest of these edges for each pair of nodes, the smaller node first."""
    smallest: dict[tuple[int, int], int] = {}
    for e in sorted(edges):
        head, tail = graph.ends([e]).tolist()
        smallest.setdefault((min(head, tail), max(head, tail)), e)
    return smallest


def _single_items(anchors: Sequence[Parts], graph: Graph) -> Iterable[Key]:
    """Return each node and each edge of the anchors as an item, in the order of the anchors."""
    items: dict[Key, None] = {}
    for nodes, edges in anchors:
        items |= {((node,), ()): None for node in nodes}
        items |= {(tuple(dict.fromkeys(graph.ends([e]).tolist())), (e,)): None for e in edges}
    return items


_EPSILON = 1e-6
_ONE_GROUP = 1.1  # divides the score of an item that covers one anchor only


@dataclass(frozen=True, repr=False)
class Coverage(Operator):
    """Rank items by the semantic cost of their nodes and the anchors that they miss (BubbleRAG, Eq. 5 and 6).

        Score(T) = 1 / (Cost_sem(T) · e^(alpha · r_miss) + 1e-6)

    Cost_sem is the mean of 1 - cos(question, node), at least 0, over all nodes of the item (1 for a node without a
    vector); r_miss is the share by weight of the anchors without a node or an edge in the item. The score of an item of
    two or more nodes that covers one anchor only is divided by 1.1. `index`: vectors of nodes. `alpha`: α, 1 is
    balanced; far above 1 all anchors are required (AND), near 0 any one suffices (OR).

    >>> from graphwright import Evidence, Graph
    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> items = Evidence.of_paths(graph, [([0, 1], [0]), ([0, 1, 2], [0, 1])])
    >>> state = start("a or c?", graph, entities=["a", "c"], evidence=items)
    >>> (Coverage(index) % 1)(state).evidence.nodes.tolist()
    [0, 1, 2]
    """

    index: VectorIndex
    alpha: Annotated[float, Between(0, 700)] = 1.0  # e^701 is more than a float can hold
    needs = ("evidence", "anchors")
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        evidence, anchors = state.items, state.anchors or ()
        total = sum(anchor.weight for anchor in anchors) or 1.0
        items = [(np.union1d(nodes, state.graph.ends(edges)), edges) for nodes, edges in evidence]
        scores = []
        for (nodes, edges), cost in zip(items, self._semantic_costs(state, run, items), strict=True):
            covered = [_covers(nodes, edges, anchor) for anchor in anchors]
            missed = sum(a.weight for a, covers in zip(anchors, covered, strict=True) if not covers) / total
            score = 1 / (cost * math.exp(self.alpha * missed) + _EPSILON)
            scores.append(score / _ONE_GROUP if len(nodes) > 1 and sum(covered) == 1 else score)
        return state.with_(evidence=evidence.take(range(len(evidence)), scores))

    def _semantic_costs(self, state: State, run: Run, items: list[Piece]) -> list[float]:
        """Return Cost_sem of each item, 1 for an empty one."""
        if not items:
            return []
        every = np.unique(np.concatenate([nodes for nodes, _ in items]))
        costs = np.maximum(1 - self.index.cosines(every, self.index.encode(state.question.text, run)), 0)
        return [float(costs[np.searchsorted(every, nodes)].mean()) if len(nodes) else 1.0 for nodes, _ in items]


def _covers(nodes: Ints, edges: Ints, anchor: Anchor) -> bool:
    pairs = ((anchor.nodes, nodes), (anchor.edges, edges))
    return any(not set(of_anchor.tolist()).isdisjoint(of_item.tolist()) for of_anchor, of_item in pairs)


@dataclass(frozen=True, repr=False)
class Unite(Operator):
    """Merge the items into one, each node (end of a triple) and edge at its first position (BubbleRAG, section 3.6).

    >>> from graphwright import Graph
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "e")])
    >>> state = start("?", graph, evidence=Evidence.of_paths(graph, [([1, 0], [0]), ([3, 4], [2]), ([1, 2], [1])]))
    >>> [ids.tolist() for ids in Unite()(state).evidence.piece(0)]
    [[1, 0, 3, 4, 2], [0, 2, 1]]
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        evidence, nodes = state.items, dict[int, None]()
        for item_nodes, edges in evidence:
            nodes |= dict.fromkeys((item_nodes if len(item_nodes) else state.graph.ends(edges)).tolist())
        united = [(list(nodes), list(dict.fromkeys(evidence.edges.tolist())))] if len(evidence) else []
        return state.with_(evidence=Evidence.of_trees(state.graph, united))


_RESTART = 0.5  # a short walk, so that the search stays near the prizes and small
_NO_PRIZE = 0.01  # score of a node or edge of the tree without a prize

Amounts = dict[int, float]  # prizes by node or edge id


@dataclass(frozen=True, repr=False)
class Prizes(Checked):
    """Prizes k, k - 1, …, 1 for the k nodes and the k edges nearest to the question (G-Retriever).

    Nearest by the dot product of the question's vector with that of a node in `nodes`, and that of an edge's text in
    `triples`; without `triples` no edge has a prize. Edges with the same text have one rank, and share its prize.
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
    difference as its prize replaces the edge and is joined with both ends at no cost, as in the paper; such an edge may
    be reached by one end only, and the item then contains the other too, and may contain a cycle. Of parallel edges
    without a prize the smallest id counts; directions are ignored.

    The search is limited to the `nodes` nodes that a personalised PageRank from the prizes reaches most (with 500, on
    two multihop sets, 92 % of the trees are those found with 5,000, and the sums are 0.2 % lower). It uses the growth
    of Goemans and Williamson with strong pruning (see graphwright.kernels.bubble), which is near the best tree, not
    always the best. Without prizes there is no item.

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
    return np.array([amounts.get(i, 0.0) for i in ids.tolist()], np.float64)


@dataclass(frozen=True)
class PrizedItems:
    """Nodes and edges of a tree as items scored by their prizes, 0.01 without, for `ToPassages(summed=True)`."""

    prizes: Prizes

    def __call__(self, state: State, run: Run) -> Evidence:
        evidence = state.items
        node_prizes, edge_prizes = self.prizes(state, run)
        walks = {node: walk_to(state.graph, tree, node) for tree in evidence.items() for node in tree.nodes}
        items = {Item.node(node, walk): node_prizes.get(node, _NO_PRIZE) for node, walk in walks.items()}
        items |= {Item.triple(edge): edge_prizes.get(edge, _NO_PRIZE) for edge in evidence.edges.tolist()}
        return Evidence.of_items(items, list(items.values()))
