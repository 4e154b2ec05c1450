"""Pruning keeps the edges of the evidence, and no others."""

from __future__ import annotations

from tests.shared import GRAPHS

from graphwright import Evidence, Induce, KHop, PersonalizedPageRank, Rerank, Triples, start
from graphwright.models import HashEncoder
from graphwright.operators import InduceEdges, Nodes


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
