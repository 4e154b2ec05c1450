"""What a run had ranked at each budget, against runs with that budget, and what it gained, in numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.toys import GRAPHS, corpus_index, vectors_of

from graphwright import (
    Evidence,
    Frontier,
    GRanker,
    Graph,
    Keep,
    OptionError,
    OverlapCrossEncoder,
    Reached,
    Repeat,
    Rerank,
    STeX,
    Unseen,
    VectorSearch,
    start,
    topological_recall,
)
from graphwright.evaluate.metrics import BudgetGain, budget_gain, rankings_by_budget, recall_by_budget
from graphwright.methods.registry import pipeline
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
def test_one_run_holds_those_with_smaller_budgets(method) -> None:
    ranked = rankings_by_budget(method(20)(start(QUESTION, CLUB)), batch=3)
    assert list(ranked) == [3, 6, 9, 12, 15, 18, 20]
    for budget, nodes in ranked.items():
        found = method(budget)(start(QUESTION, CLUB)).evidence
        assert found is not None and found.nodes.tolist() == nodes.tolist()


@pytest.mark.parametrize("name", ["rerank", "gar", "fastinsight"])
def test_the_methods_of_the_registry_can_be_looked_into(name: str) -> None:
    ix = corpus_index().snapshot
    options = {} if name == "rerank" else {"batch": 2}
    state = pipeline(name, ix, cross_encoder=MODEL, **options)(start("Who was queen of Lotharingia?", ix.graph))
    ranked = rankings_by_budget(state, batch=2)
    assert state.passages is not None and ranked[max(ranked)].tolist() == state.passages.ids.tolist()
    assert min(ranked) == 2 and [len(nodes) for nodes in ranked.values()] == list(ranked)


def test_a_ranking_that_was_cut_or_began_the_run_stands_for_itself_alone() -> None:
    cut = rankings_by_budget((SEARCH % 9 >> Rerank(MODEL) % 4)(start(QUESTION, CLUB)), batch=3)
    assert [(read, len(nodes)) for read, nodes in cut.items()] == [(9, 4)]
    first = rankings_by_budget(Rerank(MODEL)(start(QUESTION, CLUB, evidence=Evidence.of_nodes(range(7)))), batch=3)
    assert list(first) == [7]
    smoothed = rankings_by_budget((SEARCH % 9 >> GRanker(MODEL))(start(QUESTION, CLUB)), batch=3)
    assert list(smoothed) == [9]


def test_a_run_without_a_reranker_is_refused() -> None:
    with pytest.raises(OptionError, match=r"No step of this run reranks; its steps: VectorSearch\("):
        rankings_by_budget((SEARCH % 3)(start(QUESTION, CLUB)))
    with pytest.raises(OptionError, match="batch is 0"):
        rankings_by_budget(re2(3)(start(QUESTION, CLUB)), batch=0)


def test_worked_numbers() -> None:
    """a - b - c - d - e: at first a is read, then c; d and e should be found, and a."""
    line = GRAPHS["line"]
    ranked = {1: np.array([0]), 2: np.array([2, 0]), 3: np.array([3, 2, 0])}
    u_d = math.log(2) + math.log(3) + math.log(3)  # by a, b and c
    u_e = u_d + math.log(3)  # and d
    curve = recall_by_budget(line, ranked, [0, 3, 4])
    assert curve == pytest.approx(
        {
            1: (1 + 1 / (1 + u_d) + 1 / (1 + u_e)) / 3,
            2: (1 + 1 / (1 + math.log(3)) + 1 / (1 + math.log(3) + math.log(3))) / 3,
            3: (1 + 1 + 1 / (1 + math.log(3))) / 3,
        }
    )
    found = budget_gain(line, ranked, [0, 3, 4])
    assert found.recall == pytest.approx(1 / 3) and found.gained == pytest.approx(1 / 3)
    assert found.missed == pytest.approx((1 / (1 + u_d) + 1 / (1 + u_e)) / 3)


@given(st.permutations(range(34)), st.lists(st.integers(0, 33), min_size=1, max_size=5))
def test_the_parts_add_up_and_more_reading_loses_nothing(order: list[int], wanted: list[int]) -> None:
    ranked = {read: np.array(order[:read]) for read in (4, 8, 16)}
    curve = list(recall_by_budget(CLUB, ranked, wanted).values())
    assert curve == sorted(curve)
    point = budget_gain(CLUB, ranked, wanted)
    assert point.recall + point.missed == pytest.approx(curve[0]) == topological_recall(CLUB, order[:4], wanted)
    assert point.gained == pytest.approx(len(set(wanted) & set(order[4:16])) / len(set(wanted)))


def test_a_run_of_one_batch_gains_nothing() -> None:
    apart = Graph.from_triples([("a", "r", "b"), ("c", "r", "d")])
    assert budget_gain(apart, {1: [0]}, [2]) == BudgetGain(0.0, 0.0, 0.0)
