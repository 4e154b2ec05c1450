"""Pruning keeps the edges of the evidence, and no others.

GAR: the frontier, the rest of the first ranking, and its loop compared with plain Python.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS, vectors_of
from tests.toys import as_networkx

from graphwright import Evidence, Graph, Induce, Keep, KHop, PersonalizedPageRank, Rerank, Triples, VectorSearch, start
from graphwright.errors import NeedsError
from graphwright.models import HashEncoder, OverlapCrossEncoder
from graphwright.operators import Frontier, InduceEdges, LinkEntities, Nodes, Reached, Repeat, Unseen
from graphwright.operators.state import State


def test_induce_edges_keeps_evidence_edges_only() -> None:
    graph = GRAPHS["apart"]
    state = start("?", graph, evidence=Evidence.of_trees(graph, [([0, 1, 2], [0, 1]), ([5], []), ([], [3])]))
    after = InduceEdges()(state)
    assert after.evidence is None and after.graph.edges.tolist() == [0, 1, 3]
    assert after.graph.nodes.tolist() == [0, 1, 2, 3, 4, 5]
    # Edge 2, which closes the triangle, and edge 6, parallel to edge 0, are gone.
    assert [after.graph.adjacency.row(v).tolist() for v in range(6)] == [[1], [0, 2], [1], [4], [3], []]
    assert Induce()(state).graph.edges.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_induce_of_part_stays_in_part() -> None:
    part = GRAPHS["line"].part([0, 1, 3, 4])
    after = InduceEdges()(start("?", part, evidence=Evidence.of_edges([0, 1, 3])))
    assert after.graph.edges.tolist() == [0, 3] and after.graph.nodes.tolist() == [0, 1, 3, 4]
    assert len(InduceEdges()(start("?", part, evidence=Evidence.of_edges([]))).graph) == 0


def test_triple_pruning_keeps_best_edges() -> None:
    graph = GRAPHS["family"]
    whole = PersonalizedPageRank(each=True) % 6 >> Induce()
    state = start("Who was the mother of Bertha and Gisela?", graph, entities=["Lothair II"])
    pruned = (whole >> Triples() >> Rerank(HashEncoder()) % 2 >> InduceEdges())(state).graph
    inside = whole(state).graph
    question, *texts = HashEncoder().encode([state.question.text, *map(graph.edge_text, inside.edges.tolist())])
    order = sorted(range(len(texts)), key=lambda i: (-float(texts[i] @ question), i))
    assert pruned.edges.tolist() == sorted(inside.edges[order[:2]].tolist())
    assert pruned.nodes.tolist() == sorted(set(graph.ends(pruned.edges).tolist()))


def test_node_pruning_keeps_query_entities() -> None:
    graph = GRAPHS["family"]
    state = start("Who was the mother of Bertha and Gisela?", graph, entities=["Lothair II"])
    after = ((Nodes() >> Rerank(HashEncoder()) % 2 | KHop(0)) >> Induce())(state)
    assert graph.names.take(after.graph.nodes) == ["Lothair II", "Gisela", "Bertha"]
    assert after.trace[-1].notes == ("narrowed to 3 nodes and 0 edges in 3 connected components",)


def scored(state: State) -> dict[int, float]:
    assert state.evidence is not None and state.evidence.scores is not None
    return dict(zip(state.evidence.nodes.tolist(), state.evidence.scores.tolist(), strict=True))


class TestFrontier:
    def test_frontier_scores_by_best_neighbour(self) -> None:
        graph = Graph.from_triples((a, "r", b) for a, b in ("pq", "px", "qx", "qy", "rz", "zr", "zw"))
        nodes = [graph.id(name) for name in "rqp"]
        result = Frontier()(start("?", graph, evidence=Evidence.of_nodes(nodes, [-2.0, 0.25, 0.75]))).evidence
        assert result is not None and result.scores is not None
        assert graph.names.take(result.nodes) == ["x", "y", "z"] and result.scores.tolist() == [0.75, 0.25, -2.0]

    @given(st.sampled_from(sorted(GRAPHS)), st.data())
    def test_frontier_equals_plain_python(self, name: str, data: st.DataObject) -> None:
        graph = GRAPHS[name]
        part = graph.part(data.draw(st.lists(st.sampled_from(range(len(graph))), unique=True, min_size=1)))
        nodes = data.draw(st.lists(st.sampled_from(range(len(graph))), unique=True, max_size=12))
        values = data.draw(st.none() | st.lists(st.floats(-1, 1), min_size=len(nodes), max_size=len(nodes)))
        given_ = Evidence.of_nodes(nodes, values)
        order = given_.nodes.tolist()
        own = [1 / rank for rank in range(1, len(order) + 1)] if given_.scores is None else given_.scores.tolist()
        for searched in (graph, part):
            near = as_networkx(searched)
            expected: dict[int, float] = {}
            for node, score in zip(order, own, strict=True):
                for other in near.adj.get(node, ()):
                    if other not in nodes:
                        expected[other] = max(score, expected.get(other, score))
            state = Frontier()(start("?", searched, evidence=given_))
            assert scored(state) == expected
            assert list(scored(state)) == sorted(expected, key=lambda node: (-expected[node], node))
            cut = (Frontier() % 3)(start("?", searched, evidence=given_))
            assert list(scored(cut).items()) == list(scored(state).items())[:3]

    def test_frontier_of_triple_uses_both_ends(self) -> None:
        graph = GRAPHS["line"]  # a - b - c - d - e
        first, last = graph.edges[0], graph.edges[-1]
        result = Frontier()(start("?", graph, evidence=Evidence.of_edges([first, last], [0.2, 0.9])))
        assert scored(result) == {2: 0.9}  # c is next to b of the first and d of the last
        star = GRAPHS["star"]
        shared = Frontier()(start("?", star, evidence=Evidence.of_edges(star.edges[:2], [0.9, 0.2])))
        assert set(scored(shared).values()) == {0.9}  # the hub is an end of both

    def test_frontier_accepts_any_scores(self) -> None:
        """Pieces taken out of a ranking in another order keep their scores."""
        graph = GRAPHS["line"]
        taken = Evidence.of_nodes([0, 2], [0.9, 0.1]).take([1, 0])
        assert scored(Frontier()(start("?", graph, evidence=taken))) == {1: 0.9, 3: 0.1}


class TestUnseen:
    @pytest.mark.parametrize("k", [1, 2, 3, 50])
    def test_gar_search_continues_where_it_stopped(self, k: int) -> None:
        graph = GRAPHS["club"]
        search = VectorSearch(vectors_of(graph))
        order = search(start("member 3", graph)).evidence.nodes.tolist()  # type: ignore[union-attr]
        record = [order[0], order[4], order[2]]
        state = start("member 3", graph, evidence=Evidence.of_nodes(record))
        result = (Unseen(search) % k)(state).evidence
        assert result is not None and result.nodes.tolist() == [node for node in order if node not in record][:k]
        assert Unseen(search)(state).evidence.nodes.tolist() == [n for n in order if n not in record]  # type: ignore[union-attr]

    def test_gar_search_requests_only_needed_items(self) -> None:
        graph = GRAPHS["club"]
        state = start("member 3", graph, evidence=Evidence.of_nodes([1, 2]))
        (step,) = (Unseen(VectorSearch(vectors_of(graph))) % 5)(state).trace
        assert step.operator.endswith("% 7")

    def test_unseen_compares_whole_items(self) -> None:
        graph = GRAPHS["line"]
        state = start("?", graph, evidence=Evidence.of_edges([graph.edges[1]]))
        result = Unseen(Triples())(state).evidence
        assert result is not None and result.edges.tolist() == [e for e in graph.edges.tolist() if e != graph.edges[1]]

    def test_unseen_without_evidence_equals_step(self) -> None:
        graph = GRAPHS["line"]
        search = VectorSearch(vectors_of(graph))
        alone, wrapped = search(start("d", graph)).evidence, Unseen(search)(start("d", graph)).evidence
        assert alone is not None and wrapped is not None and alone.nodes.tolist() == wrapped.nodes.tolist()

    def test_unseen_wiring_equals_step_wiring(self) -> None:
        op = Unseen(LinkEntities() >> PersonalizedPageRank())
        assert op.needs == () and "anchors" in op.gives and Unseen(KHop(1)).needs == KHop(1).needs
        inside = Unseen(Keep() | KHop(1)).capped(2)
        assert len(inside(start("?", GRAPHS["star"], evidence=Evidence.of_nodes([0]))).evidence) == 1  # type: ignore[arg-type]
        with pytest.raises(NeedsError, match="KHop"):
            Unseen(KHop(1))(start("?", GRAPHS["line"]))


def algorithm_1(graph: Graph, initial: list[int], score: list[float], batch: int, budget: int) -> list[int]:
    """GAR as printed: pools R0 and F in turn, the other where one is empty; without the backfill at its end."""
    near = as_networkx(graph)
    pool, read, frontier = list(initial), [], dict[int, float]()
    from_pool = True
    while len(read) < budget and (pool or frontier):
        ranked = pool if (from_pool and pool) or not frontier else sorted(frontier, key=lambda n: (-frontier[n], n))
        taken = ranked[: min(batch, budget - len(read))]
        from_pool = ranked is not pool
        read += taken
        pool = [n for n in pool if n not in taken]
        for node in taken:
            for other in near[node]:
                frontier[other] = max(score[node], frontier.get(other, -9.0))
        frontier = {n: s for n, s in frontier.items() if n not in read}
    return sorted(read, key=lambda n: (-score[n], n))


@pytest.mark.parametrize("name", sorted(GRAPHS))
@pytest.mark.parametrize(("batch", "budget"), [(1, 7), (2, 9), (3, 4), (10, 30), (4, 100)])
@pytest.mark.parametrize("depth", [5, 100])
def test_gar_expression_equals_algorithm_1(name: str, batch: int, budget: int, depth: int) -> None:
    graph, question = GRAPHS[name], "member 3, b or Waldrada"
    model = OverlapCrossEncoder()
    search, rank = VectorSearch(vectors_of(graph)) % depth, Rerank(model)
    turns = (Keep() | Frontier() % batch) >> rank >> (Keep() | Unseen(search) % batch) >> rank
    loop = search % batch >> rank >> Repeat(turns, until=Reached(nodes=budget))
    result = loop(start(question, graph)).evidence
    texts = [graph.reading(node) for node in range(len(graph))]
    score = np.asarray(model.head(model.latents(question, texts)), np.float64).tolist()
    initial = search(start(question, graph)).evidence.nodes.tolist()  # type: ignore[union-attr]
    assert result is not None and result.nodes.tolist() == algorithm_1(graph, initial, score, batch, budget)
    assert len(result) <= budget
