"""The start state, anchors and seeds."""

import numpy as np
import pytest
from tests.shared import GRAPHS

from graphwright import Anchor, Evidence, start
from graphwright.errors import OptionError
from graphwright.operators.subgraph.pagerank import seeds

FAMILY = GRAPHS["family"]
LINE = GRAPHS["line"]


def test_start_entities_become_anchors_and_unknown_are_noted() -> None:
    state = start("?", FAMILY, entities=["Bertha", "Charles"])
    assert [(a.text, a.nodes.tolist()) for a in state.anchors or ()] == [
        ("Bertha", [FAMILY.id("Bertha")]),
        ("Charles", []),
    ]
    assert state.trace[0].notes == ("no node is named 'Charles'",)
    assert state.question.entities == ("Bertha", "Charles")


def test_start_anchors_override_entities() -> None:
    anchor = Anchor("mine", nodes=[1])
    assert start("?", FAMILY, entities=["Bertha"], anchors=[anchor]).anchors == (anchor,)


@pytest.mark.parametrize(("question", "message"), [("", "empty"), ("  \n", "empty"), (None, "None is not a question")])
def test_start_with_empty_question_raises(question: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        start(question, FAMILY)


def test_start_with_anchor_outside_graph_raises() -> None:
    with pytest.raises(OptionError, match=r"'x' has node 99, but the graph's nodes end at 4"):
        start("?", LINE, anchors=[Anchor("x", nodes=[99])])
    with pytest.raises(OptionError, match="edge 4"):
        start("?", LINE, anchors=[Anchor("x", edges=[4])])


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), "1"])
def test_anchor_with_negative_weight_raises(weight: float) -> None:
    with pytest.raises(OptionError, match="weight"):
        Anchor("x", weight=weight)


def weights(**fields: object) -> dict[int, float]:
    ids, values = seeds(start("?", LINE, **fields))  # type: ignore[arg-type]
    return dict(zip(ids.tolist(), np.round(values, 6).tolist(), strict=True))


def test_seed_weights_are_scores() -> None:
    assert weights(evidence=Evidence.of_nodes([0, 3], [3.0, 1.0])) == {0: 0.75, 3: 0.25}


@pytest.mark.parametrize("scores", [None, [0.5, -0.1], [0.0, 0.0]])
def test_seed_weights_without_usable_scores_are_reciprocal_ranks(scores: list[float] | None) -> None:
    assert weights(evidence=Evidence.of_nodes([0, 3], scores)) == {
        0: pytest.approx(2 / 3, abs=1e-6),
        3: pytest.approx(1 / 3, abs=1e-6),
    }


def test_anchor_weight_is_shared_by_nodes_and_edge_ends() -> None:
    assert weights(anchors=[Anchor("a", nodes=[0, 4], weight=1), Anchor("b", edges=[1], weight=3)]) == {
        0: 0.125,
        4: 0.125,
        1: 0.375,
        2: 0.375,
    }


def test_seeds_prefer_evidence_to_anchors() -> None:
    assert weights(evidence=Evidence.of_edges([0]), anchors=[Anchor("a", nodes=[4])]) == {0: 0.5, 1: 0.5}


def test_seeds_outside_part_are_omitted() -> None:
    state = start("?", LINE.part([0, 1, 2]), evidence=Evidence.of_nodes([1, 4], [1.0, 1.0]))
    ids, values = seeds(state)
    assert ids.tolist() == [1] and values.tolist() == [1.0]


def test_question_without_entities_has_no_seeds() -> None:
    assert weights(entities=["nobody"]) == {}
