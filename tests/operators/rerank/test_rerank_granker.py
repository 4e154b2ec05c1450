"""GRanker against Algorithm 2 of FastInsight in plain Python, and worked numbers for each of its lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS
from tests.toys import as_networkx

from graphwright import Evidence, GRanker, Graph, start
from graphwright.errors import ModelError
from graphwright.models import OverlapCrossEncoder
from graphwright.operators.run import Run


@dataclass(frozen=True)
class ByName:
    """A cross-encoder with given latents by name, and a head that is not linear, like an MLP."""

    table: tuple[tuple[str, tuple[float, ...]], ...]

    def latents(self, query, texts):
        known = dict(self.table)
        return np.array([known[text] for text in texts], np.float32)

    def head(self, latents):
        return np.tanh(latents).sum(axis=1, dtype=np.float32)


def by_name(graph: Graph, rows) -> ByName:
    return ByName(tuple(zip(graph.names, map(tuple, rows), strict=True)))


def algorithm_2(graph: Graph, nodes: list[int], rows: list[list[float]], alpha: float) -> list[list[float]]:
    """Lines 2 to 6, entry by entry; the degree is that of the whole graph."""
    near = as_networkx(graph)
    fused = []
    for i in nodes:
        w = {j: 1 / near.degree(j) for j in nodes if near.has_edge(i, j)}
        total = sum(w.values())
        own = rows[nodes.index(i)]
        if not w:
            fused.append(own)
            continue
        mean = [sum(w[j] / total * rows[nodes.index(j)][c] for j in w) for c in range(len(own))]
        fused.append([(1 - alpha) * a + alpha * b for a, b in zip(own, mean, strict=True)])
    return fused


def test_granker_equals_worked_numbers() -> None:
    """hub - a, hub - b, a - b, b - far, and alone - other; retrieved: hub, a, b and alone."""
    graph = Graph.from_triples(
        [("hub", "r", "a"), ("hub", "r", "b"), ("a", "r", "b"), ("b", "r", "far"), ("alone", "r", "other")]
    )
    h = {"hub": 0.0, "a": 1.0, "b": 3.0, "far": 9.0, "alone": 0.7, "other": 9.0}
    model = by_name(graph, [[v] for v in h.values()])
    nodes = [graph.id(name) for name in ("hub", "a", "b", "alone")]
    result = GRanker(model, alpha=0.5)(start("?", graph, evidence=Evidence.of_nodes(nodes))).evidence
    # deg: hub 2, a 2, b 3. W(hub) = {a: 1/2, b: 1/3}, P(hub) = {a: 3/5, b: 2/5}, P H = 9/5
    # W(a) = {hub: 1/2, b: 1/3}: P H = 6/5; W(b) = {hub: 1/2, a: 1/2}, far was not retrieved: P H = 1/2
    fused = {"hub": 0.9, "a": 0.5 + 0.6, "b": 1.5 + 0.25, "alone": 0.7}
    assert graph.names.take(result.nodes) == ["b", "a", "hub", "alone"]
    assert result.scores.tolist() == pytest.approx([np.tanh(fused[n]) for n in ("b", "a", "hub", "alone")], abs=1e-6)


@given(st.sampled_from(sorted(GRAPHS)), st.floats(0, 1), st.data())
def test_granker_equals_algorithm_2(name, alpha, data) -> None:
    graph = GRAPHS[name]
    nodes = data.draw(st.lists(st.sampled_from(range(len(graph))), unique=True, min_size=1, max_size=12))
    rows = np.random.default_rng(len(nodes)).normal(size=(len(graph), 3)).astype(np.float32)
    result = GRanker(by_name(graph, rows), alpha)(start("?", graph, evidence=Evidence.of_nodes(nodes))).evidence
    fused = algorithm_2(graph, nodes, [rows[v].tolist() for v in nodes], alpha)
    expected = dict(zip(nodes, np.tanh(fused).sum(axis=1), strict=True))
    assert sorted(result.nodes.tolist()) == sorted(nodes)
    assert result.scores.tolist() == pytest.approx([expected[v] for v in result.nodes.tolist()], abs=1e-5)


def test_granker_alpha_bounds_are_self_or_neighbours_alone() -> None:
    graph, model = GRAPHS["line"], by_name(GRAPHS["line"], [[5.0], [4.0], [3.0], [2.0], [1.0]])
    state = start("?", graph, evidence=Evidence.of_nodes([4, 3, 2, 1, 0]))
    alone = GRanker(model, 0)(state).evidence
    assert alone.nodes.tolist() == [0, 1, 2, 3, 4]
    assert alone.scores.tolist() == pytest.approx(np.tanh([5, 4, 3, 2, 1]).tolist())
    # The ends of a line have one neighbour each.
    led = GRanker(model, 1)(state).evidence
    ends = dict(zip(led.nodes.tolist(), led.scores.tolist(), strict=True))
    assert ends[0] == pytest.approx(np.tanh(4)) and ends[4] == pytest.approx(np.tanh(2))


def test_granker_in_part_uses_snapshot_degrees() -> None:
    graph, model = GRAPHS["club"], by_name(GRAPHS["club"], np.eye(34)[:, :5] + np.arange(34)[:, None] / 50)
    evidence = Evidence.of_nodes([0, 1, 2, 5, 33])
    whole = GRanker(model)(start("?", graph, evidence=evidence)).evidence
    part = GRanker(model)(start("?", graph.part([0, 33]), evidence=evidence)).evidence
    assert whole.nodes.tolist() == part.nodes.tolist() and whole.scores.tolist() == part.scores.tolist()


def test_granker_ignores_evidence_order() -> None:
    graph, model = GRAPHS["club"], by_name(GRAPHS["club"], np.random.default_rng(0).normal(size=(34, 4)))
    nodes = np.random.default_rng(1).permutation(34)
    states = [start("?", graph, evidence=Evidence.of_nodes(ids)) for ids in (nodes, np.sort(nodes))]
    result = [GRanker(model)(state).evidence for state in states]
    assert (
        result[0].nodes.tolist() == result[1].nodes.tolist() and result[0].scores.tolist() == result[1].scores.tolist()
    )


def test_granker_reads_triple_as_both_ends() -> None:
    graph = GRAPHS["family"]
    state = start("Gisela", graph, evidence=Evidence.of_trees(graph, [([], [5]), ([2, 4], [4]), ([0], [])]))
    names = ["Waldrada", "Gisela", "Lothair II", "Lothair I"]
    assert graph.names.take(list(state.node_scores())) == names
    assert sorted(graph.names.take(GRanker(OverlapCrossEncoder())(state).evidence.nodes)) == sorted(names)


def test_granker_reads_each_text_once() -> None:
    graph, ranker, run = GRAPHS["line"], GRanker(OverlapCrossEncoder()), Run()
    for nodes in ([0, 1], [2, 1, 0], [3, 2]):
        ranker(start("a b", graph, evidence=Evidence.of_nodes(nodes)), run)
    assert run.usage.texts == 4
    other = Graph.from_triples([("x", "r", "b a")])
    for snapshot in (other, graph, other.part([0, 1])):
        state = start("a b", snapshot, evidence=Evidence.of_nodes([1, 0]))
        again, fresh = ranker(state, run).evidence, ranker(state).evidence
        assert again.nodes.tolist() == fresh.nodes.tolist() and again.scores.tolist() == fresh.scores.tolist()


def test_granker_with_flat_latents_raises() -> None:
    class Flat(OverlapCrossEncoder):
        def latents(self, query, texts, usage=None):
            return np.zeros(len(texts), np.float32)

    with pytest.raises(ModelError, match=r"shape \(1,\) for 1 texts"):
        GRanker(Flat())(start("?", GRAPHS["line"], evidence=Evidence.of_nodes([0])))
