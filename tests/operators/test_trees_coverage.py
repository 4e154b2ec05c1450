"""Coverage: worked numbers for equations 4 to 6, and what counts as covered."""

import math

import pytest
from tests.shared import GRAPHS, FixedEncoder

from graphwright import Anchor, Coverage, Evidence, Graph, VectorIndex, start
from graphwright.operators.state import State

# Costs 0, 0.4, 1, 1 (zero vector), 1 clipped from 2... and node 5 has no vector at all.
LINE = Graph.from_triples([(a, "r", b) for a, b in zip("abcde", "bcdef", strict=True)])


EAST = FixedEncoder((2.0, 0.0))
INDEX = VectorIndex.from_array([[5, 0], [6, 8], [0, 3], [0, 0], [1e-3, 0]], EAST)


def state(evidence: Evidence, *anchors: Anchor) -> State:
    return start("?", LINE, anchors=anchors, evidence=evidence)


def scores(evidence: Evidence, *anchors: Anchor, alpha: float = 1.0) -> list[float]:
    """In the order given."""
    ranked = Coverage(INDEX, alpha)(state(evidence, *anchors)).evidence
    assert ranked is not None and ranked.scores is not None
    by_piece = dict(zip(ranked.identities(), ranked.scores.tolist(), strict=True))
    return [by_piece[key] for key in evidence.identities()]


A, C = Anchor("a", nodes=[0], weight=3.0), Anchor("c", nodes=[2], weight=1.0)


def test_coverage_cost_is_mean_over_all_nodes() -> None:
    # Eq. 4: 1 - 1 = 0, 1 - 0.6 = 0.4, 1 - 0 = 1. Their mean 1.4 / 3 is Cost_sem, and nothing is missed.
    assert scores(Evidence.of_trees(LINE, [([0, 1, 2], [0, 1])]), A, C) == pytest.approx([1 / (1.4 / 3 + 1e-6)])


def test_coverage_missed_anchor_costs_its_share() -> None:
    # Eq. 6: of weights 3 and 1 a piece at "c" misses 0.75, one at "a" 0.25. Eq. 5: 1 / (cost · e^(α·r) + 1e-6).
    at_c, near_a = ([2], []), ([0, 1], [0])
    for alpha in (0.0, 1.0, 2.0):
        expected = [1 / (1 * math.exp(alpha * 0.75) + 1e-6), 1 / (0.2 * math.exp(alpha * 0.25) + 1e-6) / 1.1]
        assert scores(Evidence.of_trees(LINE, [at_c, near_a]), A, C, alpha=alpha) == pytest.approx(expected)


def test_coverage_of_costless_item_is_million() -> None:
    assert scores(Evidence.of_nodes([0]), A) == pytest.approx([1e6])


def test_coverage_penalises_several_nodes_of_one_anchor() -> None:
    # A node alone is not, nor is a piece of two anchors or of none.
    evidence = Evidence.of_trees(LINE, [([2], []), ([2, 3], [2]), ([3, 4], [3])])
    assert scores(evidence, C) == pytest.approx([1 / (1 + 1e-6), 1 / (1 + 1e-6) / 1.1, 1 / (0.5 * math.e + 1e-6)])
    twice = scores(evidence, C, Anchor("again", nodes=[2]))
    assert twice[1] == pytest.approx(1 / (1 + 1e-6))


def test_coverage_node_without_vector_costs_one() -> None:
    assert scores(Evidence.of_nodes([3, 5, 4]), *[]) == pytest.approx([1 / (1 + 1e-6), 1 / (1 + 1e-6), 1e6])
    backwards = VectorIndex.from_array([[-1, 0]] * 6, EAST)
    result = Coverage(backwards)(state(Evidence.of_nodes([0]))).evidence
    assert result is not None and result.scores is not None and result.scores[0] == pytest.approx(0.5)


def test_coverage_counts_anchor_edges_and_triple_ends() -> None:
    by_edge = Anchor("r", edges=[1])
    triple = Evidence.of_edges([1])  # of nodes 1 and 2: (0.4 + 1) / 2
    assert scores(triple, by_edge) == pytest.approx([1 / (0.7 + 1e-6) / 1.1])
    assert scores(triple, by_edge, C) == pytest.approx([1 / (0.7 + 1e-6)])
    # The ends alone do not hold the edge.
    assert scores(Evidence.of_nodes([1]), by_edge) == pytest.approx([1 / (0.4 * math.e + 1e-6)])


def test_coverage_anchor_without_nodes_is_missed_by_all() -> None:
    assert scores(Evidence.of_nodes([1]), Anchor("?"), Anchor("b", nodes=[1], weight=3)) == pytest.approx(
        [1 / (0.4 * math.exp(0.25) + 1e-6)]
    )
    assert scores(Evidence.of_nodes([1]), Anchor("b", nodes=[1], weight=0)) == pytest.approx([1 / (0.4 + 1e-6)])


def test_coverage_alpha_trades_cost_and_anchors() -> None:
    whole, near = ([0, 1, 2, 3], [0, 1, 2]), ([0, 1], [0])
    evidence = Evidence.of_trees(LINE, [near, whole])
    strict, lax = ((Coverage(INDEX, alpha) % 1)(state(evidence, A, C)).evidence for alpha in (20.0, 0.0))
    assert strict is not None and lax is not None
    assert strict.identities() == [((0, 1, 2, 3), (0, 1, 2))] and lax.identities() == [((0, 1), (0,))]
    assert scores(evidence, C, alpha=700.0)[0] >= 0


def test_coverage_cut_keeps_best() -> None:
    evidence = Evidence.of_nodes([2, 0, 3, 1, 5])
    best = (Coverage(INDEX) % 3)(state(evidence, A)).evidence
    assert best is not None and best.nodes.tolist() == [0, 1, 2]


def test_coverage_of_empty_evidence_is_empty() -> None:
    empty = Coverage(INDEX)(state(Evidence.of_nodes([]), A)).evidence
    assert empty is not None and len(empty) == 0
    assert scores(Evidence.of_trees(LINE, [([], [])]), A) == pytest.approx([1 / (math.e + 1e-6)])


def test_coverage_keeps_its_input() -> None:
    evidence = Evidence.of_nodes([2, 0], [0.9, 0.5])
    Coverage(INDEX)(start("?", GRAPHS["line"], anchors=[A], evidence=evidence))
    assert evidence.scores is not None and evidence.scores.tolist() == [0.9, 0.5]
