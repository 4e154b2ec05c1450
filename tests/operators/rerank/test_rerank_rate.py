"""Scores by a language model: their order, and replies that do not rate everything."""

from __future__ import annotations

import json

import pytest
from tests.shared import GRAPHS

from graphwright import Evidence, State, start
from graphwright.models import ScriptedLLM
from graphwright.operators import RateItems

GRAPH = GRAPHS["club"]


def rated(*replies: object, count: int = 3, batch: int = 64) -> State:
    model = ScriptedLLM([json.dumps({"ratings": [{"number": n, "helpful": h} for n, h in r]}) for r in replies])  # type: ignore[attr-defined]
    return RateItems(model, batch)(start("Who?", GRAPH, evidence=Evidence.of_edges(range(count))))


def test_rate_items_orders_by_rating() -> None:
    result = rated([(1, 20), (2, 100), (3, 60)]).evidence
    assert result is not None and result.scores is not None
    assert result.edges.tolist() == [1, 2, 0] and result.scores.tolist() == pytest.approx([1, 0.6, 0.2])


def test_rate_items_compares_batches_by_rating() -> None:
    result = rated([(1, 10), (2, 50)], [(1, 30)], batch=2).evidence
    assert result is not None and result.edges.tolist() == [1, 2, 0]


def test_rate_items_ignores_unknown_numbers_with_note() -> None:
    state = rated([(9, 90), (2, 250)])
    assert state.evidence is not None and state.evidence.edges.tolist() == [1, 0, 2]
    assert state.evidence.ranked_scores.tolist() == [1, 0, 0]
    assert state.trace[-1].notes == ("1 of 2 ratings were ignored: there are 3 candidates",)


def test_rate_items_without_valid_reply_scores_nothing() -> None:
    state = RateItems(ScriptedLLM(["good", "good!"]))(start("Who?", GRAPH, evidence=Evidence.of_edges([2, 0])))
    assert state.evidence is not None and state.evidence.edges.tolist() == [0, 2]
    assert "the model's reply did not fit the schema" in state.trace[-1].notes
