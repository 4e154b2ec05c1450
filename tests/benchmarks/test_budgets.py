"""Rankings by reading budget, and the parts of topological recall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published.budgets import budget_gain, missed_topological_recall, rankings_by_budget
from tests.shared import GRAPHS, vectors_of

from graphwright import (
    Evidence,
    GRanker,
    Graph,
    Keep,
    Rerank,
    STeX,
    VectorSearch,
    recall_at_k,
    start,
    topological_recall,
)
from graphwright.errors import OptionError
from graphwright.models import OverlapCrossEncoder
from graphwright.operators import Frontier, Reached, Repeat, Unseen
from graphwright.operators.operator import Operator

CLUB = GRAPHS["club"]
SEARCH, MODEL = VectorSearch(vectors_of(CLUB)), OverlapCrossEncoder()
QUESTION = "member 3 or member 17"


def re2(budget: int) -> Operator:
    return SEARCH % budget >> Rerank(MODEL)


def gar(budget: int) -> Operator:
    rank = Rerank(MODEL)
    turns = (Keep() | Frontier() % 3) >> rank >> (Keep() | Unseen(SEARCH) % 3) >> rank
    return SEARCH % 3 >> rank >> Repeat(turns, until=Reached(nodes=budget))


def fastinsight(budget: int) -> Operator:
    rank = GRanker(MODEL)
    return SEARCH % 3 >> rank >> Repeat((Keep() | STeX(vectors_of(CLUB)) % 3) >> rank, until=Reached(nodes=budget))


@pytest.mark.parametrize("method", [re2, gar, fastinsight])
def test_rankings_by_budget_equal_runs_with_smaller_budgets(method) -> None:
    ranked = rankings_by_budget(method(20)(start(QUESTION, CLUB)), batch=3)
    assert list(ranked) == [3, 6, 9, 12, 15, 18, 20]
    for budget, nodes in ranked.items():
        result = method(budget)(start(QUESTION, CLUB)).evidence
        assert result is not None and result.nodes.tolist() == nodes.tolist()


def test_rankings_by_budget_cut_or_first_ranking_gives_one_budget() -> None:
    cut = rankings_by_budget((SEARCH % 9 >> Rerank(MODEL) % 4)(start(QUESTION, CLUB)), batch=3)
    assert [(read, len(nodes)) for read, nodes in cut.items()] == [(9, 4)]
    first = rankings_by_budget(Rerank(MODEL)(start(QUESTION, CLUB, evidence=Evidence.of_nodes(range(7)))), batch=3)
    assert list(first) == [7]
    smoothed = rankings_by_budget((SEARCH % 9 >> GRanker(MODEL))(start(QUESTION, CLUB)), batch=3)
    assert list(smoothed) == [9]


def test_rankings_by_budget_without_reranker_raises() -> None:
    with pytest.raises(OptionError, match=r"No step of this run reranks; its steps: VectorSearch\("):
        rankings_by_budget((SEARCH % 3)(start(QUESTION, CLUB)))


def test_budget_gain_worked_numbers() -> None:
    """a - b - c - d - e: at first a is read, then c; d and e should be found, and a."""
    line = GRAPHS["line"]
    ranked = {1: np.array([0]), 2: np.array([2, 0]), 3: np.array([3, 2, 0])}
    u_d = math.log(2) + math.log(3) + math.log(3)  # by a, b and c
    u_e = u_d + math.log(3)  # and d
    curve = {read: topological_recall(line, nodes, [0, 3, 4]) for read, nodes in ranked.items()}
    assert curve == pytest.approx(
        {
            1: (1 + 1 / (1 + u_d) + 1 / (1 + u_e)) / 3,
            2: (1 + 1 / (1 + math.log(3)) + 1 / (1 + math.log(3) + math.log(3))) / 3,
            3: (1 + 1 + 1 / (1 + math.log(3))) / 3,
        }
    )
    recall, missed, gained = budget_gain(line, ranked, [0, 3, 4])
    assert recall == pytest.approx(1 / 3) and gained == pytest.approx(1 / 3)
    assert missed == pytest.approx((1 / (1 + u_d) + 1 / (1 + u_e)) / 3)


@given(st.permutations(range(34)), st.lists(st.integers(0, 33), min_size=1, max_size=5))
def test_budget_gain_parts_add_up_to_topological_recall(order: list[int], wanted: list[int]) -> None:
    ranked = {read: np.array(order[:read]) for read in (4, 8, 16)}
    curve = [topological_recall(CLUB, nodes, wanted) for nodes in ranked.values()]
    assert curve == sorted(curve)
    recall, missed, gained = budget_gain(CLUB, ranked, wanted)
    assert recall + missed == pytest.approx(curve[0]) == topological_recall(CLUB, order[:4], wanted)
    assert gained == pytest.approx(len(set(wanted) & set(order[4:16])) / len(set(wanted)))


def test_budget_gain_of_one_batch_is_zero() -> None:
    apart = Graph.from_triples([("a", "r", "b"), ("c", "r", "d")])
    assert budget_gain(apart, {1: [0]}, [2]) == (0.0, 0.0, 0.0)


def test_missed_topological_recall_equals_corollary_1() -> None:
    """a - b - c, and d apart; a and d retrieved, a, c and e wanted: TR = Recall + |missing|/|oracle| · TR(missing)."""
    graph = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("d", "r", "e"), ("d", "r", "f")])
    retrieved, oracle = [graph.id("a"), graph.id("d")], [graph.id(name) for name in "ace"]
    to_c = 1 / (1 + math.log(1 + 1) + math.log(1 + 2))  # by a (one neighbour) and b (two)
    to_e = 1 / (1 + math.log(1 + 2))  # by d
    assert recall_at_k(retrieved, oracle, 2) == pytest.approx(1 / 3)
    assert topological_recall(graph, retrieved, oracle[1:]) == pytest.approx((to_c + to_e) / 2)
    assert missed_topological_recall(graph, retrieved, oracle) == pytest.approx(2 / 3 * (to_c + to_e) / 2)
    assert topological_recall(graph, retrieved, oracle) == pytest.approx(1 / 3 + 2 / 3 * (to_c + to_e) / 2)
