"""Bubble over anchors of every kind compared with a plain implementation, and the result without a common tree.

Prizes and prize-collecting trees, compared with brute force over every connected part of small graphs.
"""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.plain_bubble import plain_bubble
from tests.shared import GRAPHS, TRIPLES, corpus_index, vectors_of
from tests.toys import as_networkx

from graphwright import Anchor, Bubble, Coverage, Evidence, Graph, ToPassages, VectorIndex, start
from graphwright.errors import NeedsError
from graphwright.models import HashEncoder
from graphwright.operators import PrizedItems, Prizes, PrizeTree
from graphwright.operators.run import Run
from graphwright.operators.state import State

KIN = GRAPHS["family"]


def result(state: State, **options: int) -> Evidence:
    evidence = Bubble(vectors_of(state.graph), **options)(state).evidence
    assert evidence is not None and evidence.scores is None
    return evidence


def pieces(evidence: Evidence) -> list[tuple[list[int], list[int]]]:
    return [(list(nodes), list(edges)) for nodes, edges in evidence.identities()]


def test_bubble_joins_groups_at_line_ends() -> None:
    # A - x - y - B: with one cost and mask for each node, as Algorithm 1 is printed, nothing would be found.
    line = Graph.from_triples([("A", "r", "x"), ("x", "r", "y"), ("y", "r", "B")])
    evidence = result(start("?", line, entities=["A", "B"]))
    assert pieces(evidence)[0] == ([0, 1, 2, 3], [0, 1, 2])
    assert evidence.texts(line)[0] == "A r x; x r y; y r B"


def test_bubble_finds_cheaper_way_first() -> None:
    ways = Graph.from_triples([("A", "r", "dull"), ("dull", "r", "B"), ("A", "r", "bright"), ("bright", "r", "B")])
    vectors = VectorIndex.from_array(HashEncoder().encode(["A", "dull", "B", "bright"]), HashEncoder())
    evidence = Bubble(vectors)(start("Which is bright?", ways, entities=["A", "B"])).evidence
    assert evidence is not None
    assert pieces(evidence)[:2] == [([0, 3, 2], [2, 3]), ([0, 1, 2], [0, 1])]


def test_bubble_tree_includes_anchor_edge() -> None:
    # Edge 1 is Ermengarde of Tours (1), mother of, Lothair II (2); Teutberga (3) is Lothair's wife by edge 3.
    state = start("?", KIN, anchors=[Anchor("mother", edges=[1]), Anchor("Teutberga", nodes=[3])])
    evidence = result(state)
    assert pieces(evidence)[:2] == [([1, 2], [1]), ([1, 2, 3], [1, 3])]
    # By its node an anchor is there without its edge.
    state = start("?", KIN, anchors=[Anchor("mother", nodes=[2], edges=[1]), Anchor("Teutberga", nodes=[3])])
    assert ([2, 3], [3]) in pieces(result(state))


def test_bubble_prefers_edge_named_by_anchor() -> None:
    graph = Graph.from_triples([("a", "born in", "b"), ("a", "died in", "b"), ("b", "in", "c")])
    item = start("?", graph, entities=["a", "c"])
    assert pieces(result(item))[0] == ([0, 1, 2], [0, 2])
    other = start("?", graph, anchors=[Anchor("died", edges=[1]), Anchor("c", nodes=[2])])
    assert ([0, 1, 2], [1, 2]) in pieces(result(other))
    both = [Anchor("died", edges=[1]), Anchor("born", edges=[0]), Anchor("c", nodes=[2])]
    assert any(set(edges) == {0, 1, 2} for _, edges in pieces(result(start("?", graph, anchors=both))))


def test_bubble_joins_terminals_of_one_group() -> None:
    line = GRAPHS["line"]
    evidence = result(start("?", line, anchors=[Anchor("ends", nodes=[0, 4])]))
    assert pieces(evidence) == [([0, 1, 2, 3, 4], [0, 1, 2, 3])]


def test_bubble_meets_at_shared_node() -> None:
    evidence = result(start("?", KIN, entities=["Bertha", "Bertha"]), budget=1)
    assert pieces(evidence) == [([KIN.id("Bertha")], [])]


def test_bubble_without_meeting_returns_anchors() -> None:
    apart = GRAPHS["apart"]  # a, b, c and x, y, z
    assert pieces(result(start("?", apart, entities=["x", "a"]))) == [([3], []), ([0], [])]
    assert pieces(result(start("?", apart, entities=["a"]))) == [([0], [])]
    loops = GRAPHS["loops"]
    assert pieces(result(start("?", loops, anchors=[Anchor("itself", edges=[3])]))) == [([2], [3])]
    far = start("?", GRAPHS["line"], entities=["e", "a"])
    assert pieces(result(far, hops=1)) == [([4], []), ([0], [])]
    assert len(result(far, hops=2)) == 1


def test_bubble_skips_anchors_without_nodes() -> None:
    state = start("?", KIN, entities=["Nobody", "Gisela", "Lothair I", "Nobody else"])
    assert [pieces(result(state))[0]] == pieces(result(start("?", KIN, entities=["Gisela", "Lothair I"])))[:1]
    assert len(result(start("?", KIN, entities=["Nobody"]))) == 0 == len(result(start("?", KIN, anchors=[])))
    with pytest.raises(NeedsError, match="needs 'anchors'"):
        Bubble(vectors_of(KIN))(start("?", KIN))


def test_bubble_finds_both_sides_of_comparison() -> None:
    apart = GRAPHS["apart"]
    state = start("a or x?", apart, anchors=[Anchor("first", nodes=[0, 1]), Anchor("second", nodes=[3, 4])])
    index = vectors_of(apart)
    best = (Bubble(index) >> Coverage(index) % 2)(state).evidence
    assert best is not None and sorted(map(sorted, (nodes for nodes, _ in pieces(best)))) == [[0, 1], [3, 4]]


def test_bubble_stays_in_part() -> None:
    club = GRAPHS["club"]
    part = club.part(range(1, 34))
    state = start("?", part, anchors=[Anchor("1", nodes=[0, 1]), Anchor("31", nodes=[31], edges=[0])])
    evidence = result(state)
    assert 0 not in evidence.nodes and part.holds(evidence.nodes).all() and np.isin(evidence.edges, part.edges).all()
    assert {1, 31} <= set(evidence.piece(0)[0].tolist())


def test_bubble_cut_stops_early_without_counting_repeats() -> None:
    state = start("?", GRAPHS["club"], entities=["member 0", "member 33", "member 16"])
    all_ten = pieces(result(state))
    assert len(all_ten) == 10 == len({frozenset(nodes) for nodes, _ in all_ten})
    cut = (Bubble(vectors_of(state.graph)) % 3)(state).evidence
    assert cut is not None and pieces(cut) == all_ten[:3]
    assert pieces(result(state, budget=25))[:10] == all_ten


@st.composite
def states(draw: st.DrawFn) -> State:
    n = draw(st.integers(2, 9))
    node = st.integers(0, n - 1)
    triples = draw(st.lists(st.tuples(node, st.sampled_from("rs"), node), min_size=1, max_size=16))
    graph = Graph.from_triples([(f"w{a}", r, f"w{b}") for a, r, b in triples])
    ids = st.integers(0, len(graph) - 1)
    edges = st.integers(0, len(triples) - 1)
    groups = draw(st.lists(st.tuples(st.lists(ids, max_size=2), st.lists(edges, max_size=2)), min_size=1, max_size=4))
    asked = draw(st.sampled_from(["w0 w1 w2", "w5", "other"]))
    anchors = [Anchor(str(i), nodes, tied) for i, (nodes, tied) in enumerate(groups)]
    if draw(st.booleans()):
        graph = graph.part(draw(st.lists(ids, min_size=1)))
    return start(asked, graph, anchors=anchors)


@given(states(), st.integers(0, 4), st.sampled_from([1, 10, 1000]))
def test_bubble_operator_equals_plain_search(state: State, hops: int, budget: int) -> None:
    graph, everything = state.graph, state.graph.columns
    nodes = range(len(everything.names))
    simple = as_networkx(graph)
    neighbours = [set(simple[v]) if v in simple else set() for v in nodes]
    texts = [state.question.text, *everything.names.take(np.arange(len(nodes)))]
    query, *vectors = HashEncoder().encode(texts).astype(float)
    cosines = [v @ query / np.linalg.norm(v) / np.linalg.norm(query) for v in vectors]
    # Rounded, or a sum would depend on its order.
    costs = [round(max(1 - c, 0) * 2**32) for c in cosines]
    here = set(graph.edges.tolist())
    groups: list[dict[int, int | None]] = []
    tied: list[dict[int, int]] = []
    for anchor in state.anchors or ():
        own: dict[int, int | None] = {v: None for v in anchor.nodes.tolist() if v in graph}
        edge_of: dict[int, int] = {}
        for e in sorted(set(anchor.edges.tolist()) & here):
            head, tail = int(everything.heads[e]), int(everything.tails[e])
            for v, other in ((head, tail), (tail, head)):
                if v not in own:
                    own[v], edge_of[v] = other, e
        if own:
            groups.append(own)
            tied.append(edge_of)
    named = {e for anchor in state.anchors or () for e in anchor.edges.tolist()} & here
    ends = {e: frozenset((int(everything.heads[e]), int(everything.tails[e]))) for e in here}
    expected = []
    for record, links, origins in plain_bubble(neighbours, groups, costs, hops, budget):
        own = {tied[g][v] for g, v in origins if v in tied[g]}
        ranked = sorted(here, key=lambda e: (e not in own, e not in named, e))
        expected.append((record, own | {next(e for e in ranked if ends[e] == link) for link in links}))
    evidence = result(state, hops=hops, budget=budget)
    assert expected or all(len(piece[0]) <= 2 for piece in evidence)
    if expected:
        assert [(set(record), set(edges)) for record, edges in pieces(evidence)] == expected
        assert all(len(set(record)) == len(record) for record, _ in pieces(evidence))


def test_bubble_follows_renumbering() -> None:
    # Of two groups: a third may have reached one of two nodes that cost the same from either end, which is a tie.
    def sets(graph: Graph) -> tuple[list[frozenset[str]], dict[frozenset[str], float]]:
        index = vectors_of(graph)
        state = start(" ".join(graph.names), graph, entities=["member 3", "member 20"])
        in_order, ranked = Bubble(index)(state), (Bubble(index) >> Coverage(index))(state)
        assert in_order.evidence is not None and ranked.evidence is not None and ranked.evidence.scores is not None
        named = [[frozenset(graph.names.take(nodes)) for nodes, _ in e] for e in (in_order.evidence, ranked.evidence)]
        scores = dict(zip(named[1], ranked.evidence.scores.round(6).tolist(), strict=True))
        return named[0], scores

    triples = TRIPLES["club"]
    other = Graph.from_triples([triples[i] for i in np.random.default_rng(5).permutation(len(triples))])
    (order, scores), (order_too, scores_too) = sets(GRAPHS["club"]), sets(other)
    assert order == order_too and scores == pytest.approx(scores_too)


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
