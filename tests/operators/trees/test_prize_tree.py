"""Prizes and prize-collecting trees, compared with brute force over every connected part of small graphs."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, corpus_index

from graphwright import Evidence, Graph, State, ToPassages, VectorIndex, start
from graphwright.models import HashEncoder
from graphwright.operators import PrizedItems, Prizes, PrizeTree
from graphwright.operators.run import Run

SNAPSHOT = corpus_index().snapshot
ENCODER = HashEncoder()
NAMES = "abcdefg"


def index_of(texts: list[str]) -> VectorIndex:
    return VectorIndex.from_array(ENCODER.encode(texts), ENCODER)


def prizes_of(graph: Graph, k: int) -> Prizes:
    return Prizes(index_of(list(graph.names)), index_of([graph.edge_text(int(e)) for e in graph.edges]), k)


def best_worth(graph: Graph, nodes: dict[int, float], edges: dict[int, float], cost: float) -> float:
    """The most that a connected part is worth: of every set of nodes, by the edges that pay and the cheapest others."""
    best = 0.0
    ends = {e: tuple(graph.ends([e]).tolist()) for e in graph.edges.tolist()}
    for size in range(1, len(graph) + 1):
        for chosen in itertools.combinations(range(len(graph)), size):
            inside = [e for e, (a, b) in ends.items() if a in chosen and b in chosen and a != b]
            part = nx.MultiGraph()
            part.add_nodes_from(chosen)
            part.add_edges_from((*ends[e], e, {"cost": cost - edges.get(e, 0.0)}) for e in inside)
            if nx.is_connected(part):
                free = sum(max(edges.get(e, 0.0) - cost, 0.0) for e in inside)
                for _, _, data in part.edges(data=True):
                    data["cost"] = max(data["cost"], 0.0)
                paid = sum(d["cost"] for *_, d in nx.minimum_spanning_edges(part, weight="cost", data=True))
                best = max(best, sum(nodes.get(v, 0.0) for v in chosen) + free - paid)
    return best


def worth(graph: Graph, piece: tuple[np.ndarray, np.ndarray], prizes: Prizes, state: State, cost: float) -> float:  # type: ignore[type-arg]
    node_prizes, edge_prizes = prizes(state, Run())
    total = sum(node_prizes.get(v, 0.0) for v in piece[0].tolist())
    return total + sum(edge_prizes.get(e, 0.0) - cost for e in piece[1].tolist())


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("rst"), st.sampled_from(NAMES)), min_size=1, max_size=9),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from([0.3, 0.5, 1.0]),
)
def test_prize_tree_is_connected_and_near_optimal(
    triples: list[tuple[str, str, str]], asked: list[str], k: int, cost: float
) -> None:
    graph = Graph.from_triples(triples)
    prizes, state = prizes_of(graph, k), start(" ".join(asked), graph)
    evidence = PrizeTree(prizes, cost)(state).evidence
    assert evidence is not None and len(evidence) == 1
    nodes, edges = evidence.piece(0)
    tree = nx.MultiGraph()
    tree.add_nodes_from(nodes.tolist())
    tree.add_edges_from(graph.ends([e]).tolist() for e in edges.tolist())
    assert set(tree) == set(nodes.tolist()) and nx.is_connected(tree)
    score = evidence.scores[0]  # type: ignore[index]
    assert score == pytest.approx(worth(graph, (nodes, edges), prizes, state, cost))
    node_prizes, edge_prizes = prizes(state, Run())
    best = best_worth(graph, node_prizes, edge_prizes, cost)
    above = sum(max(p - cost, 0.0) for e, p in edge_prizes.items() if len(set(graph.ends([e]).tolist())) == 2)
    every = sum(node_prizes.values()) + above
    assert score <= best + 1e-9
    assert every - score <= 2 * (every - best) + 1e-9  # the bound of Goemans and Williamson


class TestPrizes:
    def test_prizes_descend_from_k_by_similarity(self) -> None:
        graph = GRAPHS["family"]
        nodes, edges = prizes_of(graph, 3)(start("Who was the mother of Bertha, Bertha?", graph), Run())
        assert list(nodes.values()) == [3.0, 2.0, 1.0] and list(edges.values()) == [3.0, 2.0, 1.0]
        assert next(iter(nodes)) == graph.id("Bertha")
        assert graph.edge_text(next(iter(edges))) == "Waldrada mother of Bertha"

    def test_edges_of_equal_text_share_prize(self) -> None:
        graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d")])
        vectors = ENCODER.encode(["red fox", "tax law"])
        triples = VectorIndex(vectors, np.array([0, 0, 1], np.int32), ENCODER)
        _, edges = Prizes(index_of(list(graph.names)), triples, k=2)(start("a red fox", graph), Run())
        assert edges == {0: 1.0, 1: 1.0, 2: 1.0}

    def test_prizes_stay_in_part(self) -> None:
        graph = GRAPHS["family"]
        part = graph.part([graph.id("Waldrada"), graph.id("Gisela"), graph.id("Lothair I")])
        nodes, edges = prizes_of(graph, 5)(start("Bertha", part), Run())
        assert sorted(nodes) == part.nodes.tolist() and sorted(edges) == part.edges.tolist()
        assert Prizes(index_of(list(graph.names)))(start("Bertha", part), Run())[1] == {}


class TestPrizeTree:
    def test_prize_tree_operator_equals_worked_number(self) -> None:
        # "Lothair II" has 2 and "Erstein Abbey" 1; two edges of 0.25 join them.
        graph = Graph.from_triples([("Lothair II", "mother", "Ermengarde"), ("Ermengarde", "founded", "Erstein Abbey")])
        state = start("Which abbey of Lothair II?", graph)
        prizes = Prizes(index_of(list(graph.names)), k=2)
        near = PrizeTree(prizes, cost=0.25)(state).evidence
        assert near is not None and near.identities() == [((0, 1, 2), (0, 1))] and near.scores.tolist() == [2.5]  # type: ignore[union-attr]
        # At 0.75 each they cost more than the 1 that they lead to.
        far = PrizeTree(prizes, cost=0.75)(state).evidence
        assert far is not None and far.identities() == [((0,), ())] and far.scores.tolist() == [2.0]  # type: ignore[union-attr]

    def test_edge_with_high_prize_includes_ends(self) -> None:
        graph = Graph.from_triples([("x", "r", "y"), ("y", "s", "z")])
        triples = index_of(["red fox", "tax law"])
        nodes = VectorIndex.from_array(np.zeros((3, 64)), ENCODER)
        step = PrizeTree(Prizes(nodes, triples, k=1))
        evidence = step(start("a red fox", graph)).evidence
        # All nodes are equally far, so the first has the node's prize of 1; the edge is worth 1 less 0.5.
        assert evidence is not None and evidence.identities() == [((0, 1), (0,))]
        assert evidence.scores.tolist() == [1.5]  # type: ignore[union-attr]

    def test_parallel_edges_without_prize_use_smallest(self) -> None:
        graph = Graph.from_triples([("a", "r", "b"), ("b", "s", "a"), ("a", "t", "b"), ("a", "u", "a")])
        evidence = PrizeTree(Prizes(index_of(["a", "b"]), k=2))(start("a b", graph)).evidence
        assert evidence is not None and evidence.identities() == [((0, 1), (0,))]

    def test_limited_prize_search_equals_full_search(self) -> None:
        state = start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph)
        prizes = Prizes(SNAPSHOT.passages, SNAPSHOT.triples, k=3)
        near, every = (PrizeTree(prizes, nodes=n)(state).evidence for n in (25, 10_000))
        assert near is not None and every is not None
        assert near.identities() == every.identities()

    def test_prize_tree_without_vectors_is_empty(self) -> None:
        nothing = VectorIndex.from_array(np.empty((0, 64)), ENCODER)
        state = start("?", GRAPHS["line"])
        for step in (PrizeTree(Prizes(nothing)), PrizeTree(Prizes(nothing, nothing))):
            evidence = step(state).evidence
            assert evidence is not None and len(evidence) == 0


class TestPrizedItems:
    prizes = Prizes(SNAPSHOT.passages, SNAPSHOT.triples, k=3)

    def test_passages_score_by_prizes_of_their_items(self) -> None:
        state = PrizeTree(self.prizes)(start("Which abbey did the mother of Lothair II found?", SNAPSHOT.graph))
        chunks, graph = ToPassages(items=PrizedItems(self.prizes), summed=True)(state).passages, SNAPSHOT.graph
        node_prizes, edge_prizes = self.prizes(state, Run())
        nodes, edges = state.evidence.piece(0)  # type: ignore[union-attr]
        expected: dict[int, float] = {}
        for part, behind in [(("node", v), graph.chunks_of([v])) for v in nodes.tolist()] + [
            (("edge", e), graph.chunks_of((), [e])) for e in edges.tolist()
        ]:
            prize = (node_prizes if part[0] == "node" else edge_prizes).get(part[1], 0.01)
            for chunk in behind.tolist():
                expected[chunk] = expected.get(chunk, 0.0) + prize
        assert chunks is not None and len(chunks) > 1
        assert dict(zip(chunks.ids.tolist(), chunks.scores.tolist(), strict=True)) == pytest.approx(expected)
        few = ToPassages(1, items=PrizedItems(self.prizes), summed=True)(state).passages
        assert few is not None and few.ids.tolist() == chunks.ids[:1].tolist()

    def test_prize_tree_without_passages_returns_nodes(self) -> None:
        graph = GRAPHS["family"]
        state = start("Gisela", graph, evidence=Evidence.of_trees(graph, [([4, 5], [5])], [1.0]))
        chunks = ToPassages(items=PrizedItems(prizes_of(graph, 1)), summed=True)(state).passages
        assert chunks is not None and chunks.ids[0] == graph.id("Gisela")
