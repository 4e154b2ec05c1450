"""Coverage: worked numbers for equations 4 to 6, and what counts as covered."""

import math
import re

import numpy as np
import pytest
from tests.toys import GRAPHS

from graphwright import Anchor, Coverage, Evidence, Graph, VectorIndex, start
from graphwright.errors import OptionError
from graphwright.operators.state import State

# Costs 0, 0.4, 1, 1 (zero vector), 1 clipped from 2... and node 5 has no vector at all.
LINE = Graph.from_triples([(a, "r", b) for a, b in zip("abcde", "bcdef", strict=True)])


class East:
    """Every question points east."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.tile(np.float32([2, 0]), (len(texts), 1))


INDEX = VectorIndex.from_array([[5, 0], [6, 8], [0, 3], [0, 0], [1e-3, 0]], East())


def state(evidence: Evidence, *anchors: Anchor) -> State:
    return start("?", LINE, anchors=anchors, evidence=evidence)


def scores(evidence: Evidence, *anchors: Anchor, alpha: float = 1.0) -> list[float]:
    """In the order given."""
    ranked = Coverage(INDEX, alpha)(state(evidence, *anchors)).evidence
    assert ranked is not None and ranked.scores is not None
    by_piece = dict(zip(ranked.identities(), ranked.scores.tolist(), strict=True))
    return [by_piece[key] for key in evidence.identities()]


A, C = Anchor("a", nodes=[0], weight=3.0), Anchor("c", nodes=[2], weight=1.0)


def test_cost_is_the_mean_of_all_nodes_terminals_included() -> None:
    # Eq. 4: 1 - 1 = 0, 1 - 0.6 = 0.4, 1 - 0 = 1. Their mean 1.4 / 3 is Cost_sem, and nothing is missed.
    assert scores(Evidence.of_trees(LINE, [([0, 1, 2], [0, 1])]), A, C) == pytest.approx([1 / (1.4 / 3 + 1e-6)])


def test_what_is_missed_weighs_by_its_share() -> None:
    # Eq. 6: of weights 3 and 1 a piece at "c" misses 0.75, one at "a" 0.25. Eq. 5: 1 / (cost · e^(α·r) + 1e-6).
    at_c, near_a = ([2], []), ([0, 1], [0])
    for alpha in (0.0, 1.0, 2.0):
        expected = [1 / (1 * math.exp(alpha * 0.75) + 1e-6), 1 / (0.2 * math.exp(alpha * 0.25) + 1e-6) / 1.1]
        assert scores(Evidence.of_trees(LINE, [at_c, near_a]), A, C, alpha=alpha) == pytest.approx(expected)


def test_a_piece_without_cost_scores_a_million() -> None:
    assert scores(Evidence.of_nodes([0]), A) == pytest.approx([1e6])


def test_several_nodes_for_one_anchor_are_penalised_mildly() -> None:
    # A node alone is not, nor is a piece of two anchors or of none.
    evidence = Evidence.of_trees(LINE, [([2], []), ([2, 3], [2]), ([3, 4], [3])])
    assert scores(evidence, C) == pytest.approx([1 / (1 + 1e-6), 1 / (1 + 1e-6) / 1.1, 1 / (0.5 * math.e + 1e-6)])
    twice = scores(evidence, C, Anchor("again", nodes=[2]))
    assert twice[1] == pytest.approx(1 / (1 + 1e-6))


def test_without_a_vector_or_with_a_zero_vector_a_node_costs_1_and_no_node_less_than_0() -> None:
    assert scores(Evidence.of_nodes([3, 5, 4]), *[]) == pytest.approx([1 / (1 + 1e-6), 1 / (1 + 1e-6), 1e6])
    backwards = VectorIndex.from_array([[-1, 0]] * 6, East())
    result = Coverage(backwards)(state(Evidence.of_nodes([0]))).evidence
    assert result is not None and result.scores is not None and result.scores[0] == pytest.approx(0.5)


def test_an_edge_covers_its_anchor_and_a_triple_has_its_ends() -> None:
    by_edge = Anchor("r", edges=[1])
    triple = Evidence.of_edges([1])  # of nodes 1 and 2: (0.4 + 1) / 2
    assert scores(triple, by_edge) == pytest.approx([1 / (0.7 + 1e-6) / 1.1])
    assert scores(triple, by_edge, C) == pytest.approx([1 / (0.7 + 1e-6)])
    # The ends alone do not hold the edge.
    assert scores(Evidence.of_nodes([1]), by_edge) == pytest.approx([1 / (0.4 * math.e + 1e-6)])


def test_an_anchor_without_nodes_is_missed_by_all() -> None:
    assert scores(Evidence.of_nodes([1]), Anchor("?"), Anchor("b", nodes=[1], weight=3)) == pytest.approx(
        [1 / (0.4 * math.exp(0.25) + 1e-6)]
    )
    assert scores(Evidence.of_nodes([1]), Anchor("b", nodes=[1], weight=0)) == pytest.approx([1 / (0.4 + 1e-6)])


def test_and_or_by_alpha() -> None:
    whole, near = ([0, 1, 2, 3], [0, 1, 2]), ([0, 1], [0])
    evidence = Evidence.of_trees(LINE, [near, whole])
    strict, lax = ((Coverage(INDEX, alpha) % 1)(state(evidence, A, C)).evidence for alpha in (20.0, 0.0))
    assert strict is not None and lax is not None
    assert strict.identities() == [((0, 1, 2, 3), (0, 1, 2))] and lax.identities() == [((0, 1), (0,))]
    assert scores(evidence, C, alpha=700.0)[0] >= 0


def test_cut_to_three_keeps_the_best_three() -> None:
    evidence = Evidence.of_nodes([2, 0, 3, 1, 5])
    best = (Coverage(INDEX) % 3)(state(evidence, A)).evidence
    assert best is not None and best.nodes.tolist() == [0, 1, 2]


def test_nothing_to_rank() -> None:
    empty = Coverage(INDEX)(state(Evidence.of_nodes([]), A)).evidence
    assert empty is not None and len(empty) == 0
    assert scores(Evidence.of_trees(LINE, [([], [])]), A) == pytest.approx([1 / (math.e + 1e-6)])


@pytest.mark.parametrize("alpha", [-0.1, 701, float("nan"), True, "1"])
def test_nonsense_is_refused_with_its_value(alpha: float) -> None:
    with pytest.raises(OptionError, match=rf"alpha is {re.escape(repr(alpha))}"):
        Coverage(INDEX, alpha)


def test_its_input_is_left_alone() -> None:
    evidence = Evidence.of_nodes([2, 0], [0.9, 0.5])
    Coverage(INDEX)(start("?", GRAPHS["line"], anchors=[A], evidence=evidence))
    assert evidence.scores is not None and evidence.scores.tolist() == [0.9, 0.5]
