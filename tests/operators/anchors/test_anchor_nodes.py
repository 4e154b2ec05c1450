"""The nodes of anchors as evidence, with their shares of the weights."""

from __future__ import annotations

import pytest
from tests.shared import GRAPHS

from graphwright import Anchor, start
from graphwright.operators import AnchorNodes

FAMILY = GRAPHS["family"]


def scores(anchors: list[Anchor], nodes: list[int] | None = None) -> dict[int, float]:
    graph = FAMILY if nodes is None else FAMILY.part(nodes)
    evidence = AnchorNodes()(start("?", graph, anchors=anchors)).evidence
    assert evidence is not None and evidence.scores is not None
    return dict(zip(evidence.nodes.tolist(), evidence.scores.tolist(), strict=True))


def test_anchor_nodes_share_anchor_weight() -> None:
    assert scores([Anchor("two", [0, 1], weight=3.0), Anchor("one", [1])]) == {1: 2.5, 0: 1.5}
    assert list(scores([Anchor("light", [2], weight=0.5), Anchor("heavy", [1])])) == [1, 2]


def test_anchor_nodes_of_edge_are_its_ends() -> None:
    head, tail = FAMILY.ends([0]).tolist()
    assert scores([Anchor("spouse", edges=[0])]) == {head: 0.5, tail: 0.5}
    assert scores([Anchor("spouse", [head], edges=[0])]) == {head: 0.5, tail: 0.5}


def test_anchor_nodes_outside_part_are_omitted() -> None:
    assert scores([Anchor("two", [0, 1])], [1, 2]) == {1: 0.5}


@pytest.mark.parametrize("anchors", [[], [Anchor("nobody")]])
def test_anchor_nodes_without_nodes_are_empty(anchors: list[Anchor]) -> None:
    assert scores(anchors) == {}
