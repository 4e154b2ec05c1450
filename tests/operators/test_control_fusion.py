"""Fusion worked by hand, and against dictionaries over searches of any shape."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS

from graphwright import Evidence, Keep, KHop, start
from graphwright.errors import NeedsError, OptionError
from graphwright.generate import Generate
from graphwright.operators import Operator, ReciprocalRank, ScoreSum
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State

GRAPH = GRAPHS["club"]
START = start("?", GRAPH)


@dataclass(frozen=True, eq=False, repr=False)
class Found(Operator):
    """Gives fixed evidence."""

    evidence: Evidence | None
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        return state.with_(evidence=self.evidence)


def nodes(scores: dict[int, float]) -> Found:
    return Found(Evidence.of_nodes(list(scores), list(scores.values())))


def listed(*ids: int) -> Found:
    return Found(Evidence.of_nodes(ids))


def fused(op: Operator) -> dict[int, float]:
    result = op(START).evidence
    assert result is not None and result.scores is not None and result.only_nodes
    return dict(zip(result.nodes.tolist(), result.scores.tolist(), strict=True))


def test_reciprocal_rank_equals_worked_numbers() -> None:
    result = fused(ReciprocalRank(listed(7, 3, 5), nodes({5: 0.2, 3: 0.9}), listed(9)))
    assert result == pytest.approx({3: 1 / 62 + 1 / 61, 5: 1 / 63 + 1 / 62, 7: 1 / 61, 9: 1 / 61})
    assert list(result) == [3, 5, 7, 9]
    assert fused(ReciprocalRank(listed(7), listed(7, 8), constant=0)) == {7: 2.0, 8: 0.5}


def test_score_sum_equals_worked_numbers() -> None:
    parts = nodes({1: 4.0, 2: 2.0, 3: -1.0}), listed(3, 2)
    assert fused(ScoreSum(*parts)) == pytest.approx({1: 1.0, 2: 1.0, 3: 0.75})
    assert fused(ScoreSum(*parts, weights=(2.0, 0.5))) == pytest.approx({1: 2.0, 2: 1.25, 3: 0.0})


def test_score_sum_part_without_positive_scores_adds_items_only() -> None:
    assert fused(ScoreSum(nodes({1: 0.0, 2: -3.0}), nodes({2: 5.0}))) == {2: 1.0, 1: 0.0}


@pytest.mark.parametrize("fusion", [ReciprocalRank, ScoreSum])
def test_fusion_of_empty_parts_adds_nothing(fusion: type[Operator]) -> None:
    empty = Evidence.of_nodes([])
    alone = fused(fusion(listed(4, 2), Found(None)))
    assert alone == fused(fusion(listed(4, 2), Found(empty))) and list(alone) == [4, 2]
    none = fusion(Found(None), Found(empty))(START).evidence
    assert none is not None and len(none) == 0


def test_fusion_items_are_equal_by_nodes_edges_and_order() -> None:
    paths = Found(Evidence.of_trees(START.graph, [([0, 1], [0]), ([1, 0], [0]), ([2], [])], [3, 2, 1]))
    result = ReciprocalRank(paths, listed(2), constant=0)(START).evidence
    assert result is not None and result.scores is not None
    wanted = {((2,), ()): 1 / 3 + 1, ((0, 1), (0,)): 1.0, ((1, 0), (0,)): 0.5}
    assert dict(zip(result.identities(), result.scores.tolist(), strict=True)) == pytest.approx(wanted)


SCORES = st.dictionaries(st.integers(0, 30), st.integers(-3, 9).map(float), max_size=8)


@given(st.lists(SCORES, min_size=2, max_size=4), st.integers(1, 6))
def test_fusion_of_nodes_and_items_agrees_and_cuts_last(parts: list[dict[int, float]], k: int) -> None:
    triple = Found(Evidence.of_edges([0], [1.0]))  # one piece that is no node: the way that knows all shapes
    for fusion in (ReciprocalRank, ScoreSum):
        fast = fusion(*map(nodes, parts))
        slow = fusion(*map(nodes, parts), triple)(START).evidence
        assert slow is not None and slow.scores is not None
        pieces = {n[0]: s for (n, _), s in zip(slow.identities(), slow.scores.tolist(), strict=True) if n}
        assert fused(fast) == pytest.approx(pieces)
        assert list(fused(fast % k)) == list(fused(fast))[:k]


def test_fusion_trace_lists_parts_then_fusion() -> None:
    seeded = start("?", GRAPH, evidence=Evidence.of_nodes([0]))
    op = ReciprocalRank(KHop(1) >> KHop(1), Keep())
    after = (op % 3)(Keep()(seeded))
    assert [s.operator for s in after.trace] == ["Keep()", "KHop(1)", "KHop(1)", "Keep()", f"{op!r} % 3"]
    last = after.trace[-1]
    assert last.sizes["evidence"] == 3 and last.after is not None and last.after.evidence is not None
    # The parts saw the same state, and its evidence was theirs to replace.
    assert len(after.trace[1].after.evidence) > 3  # type: ignore[union-attr, arg-type]


def test_fusion_with_unmet_needs_raises_before_running() -> None:
    op = ScoreSum(listed(1), KHop(2))
    assert op.needs == ("evidence|anchors",)
    with pytest.raises(NeedsError, match="KHop"):
        op(START)
    answered = START.with_(answer=Answer("done"))
    assert ScoreSum(listed(1), listed(2))(answered) is answered


def test_fusion_with_invalid_arguments_raises() -> None:
    with pytest.raises(OptionError, match="two operators or more"):
        ReciprocalRank(Keep())
    with pytest.raises(OptionError, match="two operators or more"):
        ScoreSum(Keep(), Generate)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="2 parts and 1 weights"):
        ScoreSum(Keep(), Keep(), weights=(1.0,))
    with pytest.raises(OptionError, match="constant=-1"):
        ReciprocalRank(Keep(), Keep(), constant=-1)
