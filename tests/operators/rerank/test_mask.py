"""Masked names in questions, and the penalty for edges."""

from __future__ import annotations

import pytest

from graphwright import Anchor, Evidence, Graph, Keep, start
from graphwright.models import ScriptedLLM
from graphwright.operators import Choose, LengthPenalty, MaskEntities

LINE = Graph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])


def shown(text: str, anchors: list[Anchor], mask: str = "X") -> str:
    prompts: list[str] = []

    def model(system: str, user: str) -> str:
        prompts.append(user.splitlines()[1])
        return '{"numbers": [1]}'

    state = start(text, LINE, anchors=anchors, evidence=Evidence.of_edges([0, 1]))
    after = MaskEntities(Choose(ScriptedLLM(model)), mask)(state)
    # The question itself and the anchors stay, and the selection is kept.
    assert after.question == state.question and after.anchors == state.anchors
    assert after.evidence is not None and after.evidence.edges.tolist() == [0]
    return prompts[0]


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("who directed Heat", ["Heat"], "who directed X"),
        ("Who directed HEAT, and who heated?", ["Heat"], "Who directed X, and who heated?"),
        ("films by Mann and Michael Mann", ["Mann", "Michael Mann"], "films by X and X"),
        ("what is (500) Days?", ["(500) Days"], "what is X?"),
        ("what is it", ["Heat"], "what is it"),
        ("what is it", [""], "what is it"),
    ],
)
def test_mask_replaces_longest_names(text: str, names: list[str], left: str) -> None:
    assert shown(text, [Anchor(name) for name in names]) == f'{{"question": "{left}"}}'


def test_mask_keeps_question_of_name_alone() -> None:
    assert shown("Heat", [Anchor("Heat")], mask=" ") == '{"question": "Heat"}'


def test_length_penalty_divides_by_content_words() -> None:
    paths = Evidence.of_trees(LINE, [([0, 1], [0]), ([0, 1, 2], [0, 1]), ([0, 1, 2, 3], [0, 1, 2])], [0.5, 0.58, 0.6])

    def scores(text: str, penalty: float) -> list[float]:
        result = LengthPenalty(Keep(), penalty)(start(text, LINE, anchors=[Anchor("Heat")], evidence=paths)).evidence
        assert result is not None and result.scores is not None
        assert result.scores.tolist() == sorted(result.scores.tolist(), reverse=True)
        by = dict(zip(map(len, (e for _, e in result)), result.scores.tolist(), strict=True))
        return [round(by[n], 6) for n in (1, 2, 3)]

    # One content word, "directed"; with four, each edge costs a quarter of that.
    assert scores("who directed Heat", 0.12) == [0.38, 0.34, 0.24]
    assert scores("actors of movies directed by writers of Heat", 0.12) == [0.47, 0.52, 0.51]
    assert scores("what is Heat", 0.0) == [0.5, 0.58, 0.6]


def test_length_penalty_applies_before_cut() -> None:
    paths = Evidence.of_trees(LINE, [([0, 1], [0]), ([0, 1, 2], [0, 1])], [0.5, 0.51])
    state = start("who directed it", LINE, evidence=paths)
    cut = (LengthPenalty(Keep()) % 1)(state).evidence
    assert cut is not None and cut.piece(0)[1].tolist() == [0]
    selected = (LengthPenalty(Keep()) % 1)(state.with_(evidence=paths.unscored())).evidence
    assert selected is not None and selected.scores is None and selected.piece(0)[1].tolist() == [0, 1]
