"""FlowPaths on graphs: paths between the evidence, edges and texts, parts of a graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from tests.shared import GRAPHS, corpus_index
from tests.toys import as_networkx, same

from graphwright import Evidence, FlowPaths, Graph, VectorSearch, start
from graphwright.errors import NeedsError
from graphwright.operators.paths.path_evidence import path_text

SNAPSHOT = corpus_index().snapshot


def paths(graph: Graph, names: list[str], op: FlowPaths | None = None) -> dict[tuple[str, ...], float]:
    evidence = (op or FlowPaths())(start("?", graph, evidence=Evidence.of_nodes([graph.id(n) for n in names]))).evidence
    assert evidence is not None and evidence.scores is not None
    return {tuple(graph.names.take(nodes)): s for (nodes, _), s in zip(evidence, evidence.scores.tolist(), strict=True)}


def test_pathrag_retrieval_equals_worked_example() -> None:
    # Waldrada has three neighbours, Lothair II four. From Gisela flow 1, 0.7, 0.7 · 0.7/3 and 0.7/4 of that; from
    # Teutberga 1, 0.7, 0.7 · 0.7/4 and 0.7/3 of that, which is less.
    scores = paths(GRAPHS["family"], ["Gisela", "Teutberga"])
    score = (1 + 0.7 + 0.49 / 3 + 0.49 / 3 * 0.7 / 4) / 3
    assert scores == {("Gisela", "Waldrada", "Lothair II", "Teutberga"): pytest.approx(score)}


def test_flow_paths_without_pruning_equal_simple_paths() -> None:
    for name, graph in GRAPHS.items():
        ends = graph.nodes[:: max(1, len(graph) // 6)].tolist()
        op = FlowPaths(threshold=0.0, per_pair=10_000)
        evidence = op(start("?", graph, evidence=Evidence.of_nodes(ends))).evidence
        simple = as_networkx(graph)
        expected = {
            min(tuple(p), tuple(p[::-1]))
            for i, a in enumerate(ends)
            for b in ends[i + 1 :]
            for p in nx.all_simple_paths(simple, a, b, cutoff=3)
        }
        assert evidence is not None
        assert {min(n, n[::-1]) for n, _ in evidence.identities()} == expected, name


def test_flow_path_names_smallest_edge_and_all_parallel_texts() -> None:
    graph = Graph.from_triples([("b", "t", "a"), ("a", "r", "b"), ("b", "s", "c"), ("a", "r", "a"), ("b", "s", "c")])
    evidence = FlowPaths()(start("?", graph, evidence=Evidence.of_nodes([graph.id("a"), graph.id("c")]))).evidence
    assert evidence is not None
    nodes, edges = evidence.piece(0)
    assert graph.names.take(nodes) == ["a", "b", "c"] and edges.tolist() == [0, 2]
    assert evidence.texts(graph) == ["b t a; a r b; b s c; b s c"]
    assert evidence.top(1).render is path_text and evidence.take([0], [2.0]).texts(graph) == evidence.texts(graph)
    assert Evidence.of_trees(graph, [([1], []), ([], [2])], render=path_text).texts(graph) == ["a", "b s c"]


def test_flow_paths_stay_in_part() -> None:
    square = Graph.from_triples([("x", "r", "a"), ("a", "r", "b"), ("b", "r", "d"), ("a", "r", "c"), ("c", "r", "d")])
    ends = Evidence.of_nodes([square.id("a"), square.id("d")])
    part = square.part([square.id(n) for n in "acdx"])
    evidence = FlowPaths()(start("?", part, evidence=ends)).evidence
    # The better way round begins at d, which has one neighbour in the part; a has two there, x and c.
    assert evidence is not None and evidence.identities() == [((3, 4, 1), (4, 3))]
    assert evidence.scores is not None and evidence.scores[0] == pytest.approx((1 + 0.7 + 0.7 * 0.7 / 2) / 2)
    # Of the edges too only those of the part count, and an end outside it is none.
    bare = Graph(square.columns, part.nodes, np.array([0, 3]))
    assert len(FlowPaths()(start("?", bare, evidence=ends)).evidence) == 0  # type: ignore[arg-type]
    assert len(FlowPaths()(start("?", square.part([1, 2]), evidence=ends)).evidence) == 0  # type: ignore[arg-type]


def test_flow_paths_accept_triples_and_paths() -> None:
    graph = GRAPHS["family"]
    nodes = graph.ends([0, 5])
    plain = FlowPaths()(start("?", graph, evidence=Evidence.of_nodes(np.unique(nodes)))).evidence
    assert same(FlowPaths()(start("?", graph, evidence=Evidence.of_edges([0, 5]))).evidence, plain)
    mixed = Evidence.of_trees(graph, [(nodes[:2], [0]), (nodes[2:], [5])])
    assert same(FlowPaths()(start("?", graph, evidence=mixed)).evidence, plain)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_flow_paths_do_not_depend_on_numbering(name: str) -> None:
    graph = GRAPHS[name]
    triples = [graph.triple(int(e)) for e in graph.edges]
    other = Graph.from_triples([triples[i] for i in np.random.default_rng(3).permutation(len(triples))])
    names = graph.names.take(graph.nodes[:: max(1, len(graph) // 5)])
    # Ties are broken by id, so every path is kept, and a path is the same both ways.
    both = [paths(g, names, FlowPaths(per_pair=10_000)) for g in (graph, other)]
    first, second = ({min(p, p[::-1]): s for p, s in scores.items()} for scores in both)
    assert first == pytest.approx(second)


def test_flow_paths_cut_equals_first_of_all() -> None:
    state = VectorSearch(SNAPSHOT.names)(start("Lothair II and Teutberga", SNAPSHOT.graph))
    whole = FlowPaths()(state).evidence
    assert whole is not None and len(whole) > 20
    for k in (1, 7, 20):
        assert same((FlowPaths() % k)(state).evidence, whole.top(k))
    for array in (whole.nodes, whole.edges, whole.scores):
        assert array is not None and not array.flags.writeable
    with pytest.raises(NeedsError, match="FlowPaths"):
        FlowPaths()(start("?", SNAPSHOT.graph))


def test_flow_paths_over_cost_limit_stay_short_with_note() -> None:
    clique = Graph.from_triples([(f"{a}", "r", f"{b}") for a in range(12) for b in range(a)])
    ends = Evidence.of_nodes([0, 5, 11])
    state = FlowPaths(threshold=0.0, hops=9, max_edges=2_000)(start("?", clique, evidence=ends))
    assert state.trace[-1].notes == (
        "paths from 3 of 3 nodes are shorter than 9 hops: the limit of 2,000 edges is reached; raise `threshold` or "
        "`max_edges`",
    )
    assert state.evidence is not None and len(state.evidence) == 9
    assert FlowPaths(threshold=0.0)(start("?", clique, evidence=ends)).trace[-1].notes == ()
