"""Scorers: by steps, and the texts that a model reads.

Masked names in questions, and the penalty for edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.shared import GRAPHS
from tests.toys import same

from graphwright import Anchor, BeamSearch, EnumeratedPaths, Evidence, Graph, Keep, Rerank, start
from graphwright.errors import ModelError
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.models.protocols import Floats
from graphwright.operators import Choose, LengthPenalty, MaskEntities, Patterns, Steps
from graphwright.operators.rerank.scorer import ranked_by, score_function
from graphwright.operators.run import ModelMemory, Run

FAMILY = GRAPHS["family"]
QUESTION = "Whose mother is the spouse of Lothair II?"


def paths(graph: Graph, *entities: str) -> Evidence:
    evidence = EnumeratedPaths(3)(start(QUESTION, graph, entities=entities)).evidence
    assert evidence is not None
    return evidence


@dataclass(eq=False)
class RecordingEncoder:
    """Encode as `HashEncoder` does, and record the texts in `texts`."""

    texts: list[str] = field(default_factory=list)
    id: str = "recording"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row per text."""
        self.texts += texts
        return HashEncoder().encode(texts)


@pytest.mark.parametrize("model", [HashEncoder(), OverlapCrossEncoder()], ids=repr)
def test_path_score_is_mean_of_its_triples(model: HashEncoder | OverlapCrossEncoder) -> None:
    state = start(QUESTION, FAMILY, entities=["Lothair I"])
    pieces = paths(FAMILY, "Lothair I")
    each = score_function(model, state, Run())(Evidence.of_edges(range(len(FAMILY.edges))))
    expected = [each[edges].mean() for _, edges in pieces]
    assert Steps(model).prepare(state, Run())(pieces).tolist() == pytest.approx(expected)


def test_path_score_equals_worked_number() -> None:
    # Two of the question's four words in two of three, one of four in one of three: 0.625 / 2 + 0.25 * 2 / 3 and
    # 0.625 / 4 + 0.25 / 3, by OverlapCrossEncoder; the path of both has their mean.
    graph = Graph.from_triples([("red", "fox", "a"), ("a", "ran", "b")])
    score = Steps(OverlapCrossEncoder()).prepare(start("red fox ran home", graph), Run())
    first, second = 0.625 / 2 + 0.25 * 2 / 3, 0.625 / 4 + 0.25 / 3
    scores = score(Evidence.of_trees(graph, [([0, 1], [0]), ([1, 2], [1]), ([0, 1, 2], [0, 1])]))
    assert scores.tolist() == pytest.approx([first, second, (first + second) / 2], abs=1e-6)


def test_path_scorer_reads_new_step_only() -> None:
    model = RecordingEncoder()
    BeamSearch(Steps(model), width=8, length=3)(start(QUESTION, FAMILY, entities=["Lothair I"]))
    assert len(model.texts) == len(set(model.texts))
    assert set(model.texts) <= {QUESTION, *(FAMILY.edge_text(e) for e in range(len(FAMILY.edges)))}
    whole = RecordingEncoder()
    BeamSearch(whole, width=8, length=3)(start(QUESTION, FAMILY, entities=["Lothair I"]))
    assert len(whole.texts) > len(model.texts)


def test_item_without_edges_is_scored_by_text() -> None:
    state = start(QUESTION, FAMILY)
    pieces = Evidence.of_trees(FAMILY, [([2], []), ([2, 3], [3]), ([0, 4], [])])
    expected = score_function(HashEncoder(), state, Run())(pieces)
    assert Steps(HashEncoder()).prepare(state, Run())(pieces).tolist() == pytest.approx(expected.tolist())
    assert Steps(HashEncoder()).prepare(state, Run())(Evidence.of_nodes([])).tolist() == []


def test_scored_items_rank_as_evidence() -> None:
    pieces = paths(GRAPHS["club"], "member 0").top(300)
    scores = np.random.default_rng(1).integers(0, 4, len(pieces)) / 4
    expected = pieces.take(range(300), scores)
    assert same(ranked_by(pieces, scores), expected)
    assert same(ranked_by(pieces, scores, 40), expected.top(40))


@pytest.mark.parametrize("scorer", [Steps, Patterns])
def test_scorer_reads_text_once_per_memory(scorer: type) -> None:
    model, memory, pieces = RecordingEncoder(), ModelMemory(), paths(FAMILY, "Lothair II")
    first, again = (
        scorer(model).prepare(start(QUESTION, FAMILY), Run(memory=memory))(pieces).tolist() for _ in range(2)
    )
    assert first == again and len(model.texts) == len(set(model.texts)) > 1


def test_scorer_with_invalid_model_raises() -> None:
    class Broken:
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return np.full((len(texts), 2), np.nan, np.float32)

    with pytest.raises(ModelError, match="NaN"):
        Rerank(Broken())(start("?", FAMILY, evidence=Evidence.of_edges([0])))  # type: ignore[arg-type]


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
