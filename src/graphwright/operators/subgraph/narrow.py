"""Narrow the graph, select evidence from it, or add new neighbours of the evidence (GAR, FastInsight)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, OneOf
from graphwright.errors import check_installed
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.graph.items import Steps, steps_onward
from graphwright.kernels.blocks import products
from graphwright.kernels.hops import Around, components
from graphwright.models.protocols import Floats
from graphwright.operators.operator import Composite, Operator, Ranker, top_of
from graphwright.operators.rerank.rerank import Reranker
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.operators.subgraph.pagerank import seeds
from graphwright.search.clustering import communities
from graphwright.search.vector_index import VectorIndex


@dataclass(frozen=True, repr=False)
class Induce(Operator):
    """Narrow the graph to the nodes of the evidence (the ends of a triple) and all edges between them.

    The evidence is cleared. The trace notes the number of connected components (WCC in Table 7 of LEGO-GraphRAG).
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        items, graph = state.items, state.graph
        return narrowed(state, run, graph.part(np.concatenate((items.nodes, graph.ends(items.edges)))))


def narrowed(state: State, run: Run, graph: Graph) -> State:
    """Return the state on a narrower graph, without evidence, and note the size and components of that graph."""
    count = int(components(*graph.adjacency).max(initial=-1)) + 1
    run.note(f"narrowed to {len(graph):,} nodes and {len(graph.edges):,} edges in {count:,} connected components")
    return state.with_(graph=graph, evidence=None)


@dataclass(frozen=True, repr=False)
class Nodes(Operator):
    """Return all nodes of the graph as evidence, unscored, by id."""

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(evidence=Evidence.of_nodes(state.graph.nodes))


@dataclass(frozen=True, repr=False)
class Triples(Operator):
    """Return all edges of the graph as evidence, unscored, by id."""

    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(evidence=Evidence.of_edges(state.graph.edges))


@dataclass(frozen=True, repr=False)
class StatingPassages(Operator):
    """List the passages that state the edges of the evidence, or without edges mention its nodes; unscored.

    Candidates for a reranker, each a node. Unlike ToPassages it drops the scores. Without passages, nodes of the items.
    """

    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        graph, items = state.graph, state.items
        if graph.passages is None:
            nodes = np.unique(np.concatenate((items.nodes, graph.ends(items.edges))))
        elif len(items.edges):
            nodes = graph.chunks_of(edges=items.edges)
        else:
            nodes = graph.chunks_of(items.nodes)
        return state.with_(evidence=Evidence.of_nodes(nodes[graph.holds(nodes)]))


@dataclass(frozen=True, repr=False)
class Only(Operator):
    """Keep the items whose nodes are all of one kind; triples and paths by the nodes that they list.

    On a graph without passages every item passes Only(Kind.CHUNK), because its nodes serve as passages.
    """

    kind: Annotated[Kind, OneOf(*Kind)]
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        if self.kind == Kind.CHUNK and state.graph.passages is None:
            return state
        items = state.items
        others = np.concatenate(([0], np.cumsum(state.graph.columns.kinds[items.nodes] != self.kind)))
        selected = np.flatnonzero(others[items.node_ptr[1:]] == others[items.node_ptr[:-1]])
        return state.with_(evidence=items.take(selected))


@dataclass(frozen=True, repr=False)
class InduceEdges(Operator):
    """Narrow the graph to the nodes and edges of the evidence, and to no other edges between them.

    The prunings of LEGO-GraphRAG (section 3.2.2 a.3), each of a graph that was narrowed before:

        (Nodes() >> Rerank(model) % nodes | KHop(0)) >> Induce()                node pruning, NP, by the node's text
        Relations() >> Rerank(model) >> EdgesBy() % edges >> InduceEdges()      edge pruning, EP, by the relation's
        Triples() >> Rerank(model) % triples >> InduceEdges()                   triple pruning, TP, by the triple's

    KHop(0) gives the query entities, without which there would be no path. Nodes without edges are removed. The
    evidence is cleared; the trace notes the number of connected components.
    """

    needs = ("evidence",)
    gives = ("graph",)
    clears = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        items, graph = state.items, state.graph
        edges = graph.inside(np.unique(items.edges))
        nodes = np.unique(np.concatenate((items.nodes, graph.ends(edges))))
        nodes = nodes[graph.holds(nodes)]
        for array in (nodes, edges):
            array.flags.writeable = False
        return narrowed(state, run, Graph(graph.columns, nodes, edges))


@dataclass(frozen=True, repr=False)
class CommunityOf(Operator):
    """Return the nodes of the seeds' communities: a precomputed subgraph (LEGO-GraphRAG, section 5.2, Table 7).

    Leiden communities of the deepest level, divided until they have at most `max_nodes` nodes, computed once for a
    snapshot. Nodes have no scores; those of the best seed's community come first, and a seed without a community is
    returned itself. After a search the seeds are its results: `(CommunityOf() | VectorSearch(names) % 3 >>
    CommunityOf()) >> Induce()`. Needs the extra `communities` (igraph).
    """

    max_nodes: Annotated[int, AtLeast(1)] = 1000
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        check_installed("igraph", "communities", self)
        graph = state.graph
        groups = communities(graph, self.max_nodes)
        positions, weights = seeds(state)
        ids = graph.at(positions[np.argsort(-weights, kind="stable")])
        community = groups.of_nodes(int(groups.level.max(initial=0)))[ids]
        members = [
            groups.members.row(group) if group >= 0 else np.array([node])
            for group, node in zip(community, ids, strict=True)
        ]
        nodes = np.concatenate([np.empty(0, np.int64), *members]).astype(np.int64)
        nodes = nodes[np.sort(np.unique(nodes, return_index=True)[1])]
        return state.with_(evidence=Evidence.of_nodes(nodes[graph.holds(nodes)]))


@dataclass(frozen=True, repr=False)
class Frontier(Ranker):
    """Find the new neighbours of the evidence's nodes, each with the score of its best neighbour in the evidence.

    The frontier of graph-based adaptive reranking (MacAvaney, Tonellotto and Macdonald, 2022, Algorithm 1). Evidence
    without scores counts 1/rank; a triple counts for both its ends. Inside `state.graph`.
    """

    needs = ("evidence",)

    def ranked(self, state: State, run: Run, k: int | None) -> State:
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
        return state.with_(evidence=Evidence.of_nodes(frontier, values[new], steps).top(k))


@dataclass(frozen=True, repr=False)
class Unseen(Composite):
    """Run a step and keep only items that are not in the evidence yet, as in `Keep() | Unseen(search) % 10`."""

    step: Operator

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        existing = set(state.items.identities())
        after = self.step.execute(state, run, None if k is None else k + len(existing))
        if after.evidence is not None and existing:
            new = [i for i, identity in enumerate(after.evidence.identities()) if identity not in existing]
            after = after.with_(evidence=after.evidence.take(new))
        return top_of(after, self.gives, k)


@dataclass(frozen=True, repr=False)
class STeX(Reranker):
    """Rank the new neighbours of the evidence's nodes by structure and similarity (FastInsight, Algorithm 3).

        S(n) = v_q · v_n + β I(n),   I(n) = 1 - (r_best - 1)/(R - 1)  [if R > 1]
                                          + (|A(n)| - 1)/(C - 1)      [if C > 1],   C = min(deg(n), R)

    R is the number of retrieved nodes, A(n) those among them that are neighbours of n, r_best the best rank in A(n),
    from 1. `index`: the vectors v; neighbours without a vector are left out. `beta`: β, 0 for similarity alone.
    Neighbours and degrees are those in the snapshot, also where `state.graph` is narrowed.

    >>> from graphwright import Graph, start; from graphwright.models import HashEncoder
    >>> graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c"), ("b", "r", "d")])
    >>> index = VectorIndex.from_array(HashEncoder().encode(["", "", "", ""]), HashEncoder())
    >>> evidence = STeX(index)(start("?", graph, evidence=Evidence.of_nodes([0, 1]))).evidence
    >>> evidence.nodes.tolist(), evidence.scores.tolist()
    ([2, 3], [2.0, 0.0])
    """

    index: VectorIndex
    beta: Annotated[float, AtLeast(0)] = 1.0

    def rerank(self, items: Evidence, state: State, run: Run, k: int | None) -> Evidence:
        nodes = np.array(list(state.node_scores()), np.int64)
        adjacency, query = state.graph.columns.adjacency, self.index.encode(state.question.text, run)
        # A loop needs the neighbours of the same nodes repeatedly, so the run caches them.
        key = STeX, state.question.text, self.index, id(adjacency)
        around = run.once(key, lambda: Around(*adjacency))
        neighbours, scores = around.scores(nodes, lambda new: self._similarities(new, query), self.beta, k)
        steps = steps_onward(state.graph, *_best_before(state, nodes, neighbours), neighbours)
        return Evidence.of_nodes(neighbours, scores, steps)

    def _similarities(self, nodes: Ints, query: Floats) -> Scores:
        """Return v_q · v_n of each node, NaN for a node without a vector: float64[len(nodes)]."""
        scores = np.full(len(nodes), np.nan)
        scores[self.index.has(nodes)] = products(self.index.vectors, self.index.rows_of(nodes)[1], query)
        return scores


def _best_before(state: State, ranked: Ints, neighbours: Ints) -> tuple[Steps, Ints]:
    """Return for each neighbour the best ranked node that is joined with it, after the steps to that node."""
    adjacency, rank = state.graph.columns.adjacency, {node: at for at, node in enumerate(ranked.tolist())}
    rows = (adjacency.row(node).tolist() for node in neighbours.tolist())
    best = ranked[[min(rank[node] for node in row if node in rank) for row in rows]]
    return state.items.steps_to(best), best
