"""Scorers: by steps, by sums, and what a model is asked to read."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.toys import GRAPHS, same

from graphwright import BeamSearch, EnumeratedPaths, Evidence, Graph, Rerank, start
from graphwright.errors import ModelError, OptionError
from graphwright.models import HashEncoder, OverlapCrossEncoder
from graphwright.operators import Patterns, Steps
from graphwright.operators.rerank.scorer import Memory, judge_of, ranked_by

FAMILY = GRAPHS["family"]
QUESTION = "Whose mother is the spouse of Lothair II?"


@dataclass
class Seen:
    """An encoder that remembers the texts it was given."""

    texts: list[str] = field(default_factory=list)
    id: str = "seen"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        return HashEncoder().encode(texts)


def paths(graph: Graph, *entities: str) -> Evidence:
    found = EnumeratedPaths(3)(start(QUESTION, graph, entities=entities)).evidence
    assert found is not None
    return found


@pytest.mark.parametrize("model", [HashEncoder(), OverlapCrossEncoder()], ids=repr)
def test_a_path_scores_the_mean_of_its_triples(model: HashEncoder | OverlapCrossEncoder) -> None:
    state = start(QUESTION, FAMILY, entities=["Lothair I"])
    pieces = paths(FAMILY, "Lothair I")
    each = judge_of(model, state)(Evidence.of_edges(range(len(FAMILY.edges))))
    expected = [each[edges].mean() for _, edges in pieces]
    assert Steps(model).judge(state)(pieces).tolist() == pytest.approx(expected)


def test_a_worked_number() -> None:
    # Two of the question's four words in two of three, one of four in one of three: 0.625 / 2 + 0.25 * 2 / 3 and
    # 0.625 / 4 + 0.25 / 3, by OverlapCrossEncoder; the path of both has their mean.
    graph = Graph.from_triples([("red", "fox", "a"), ("a", "ran", "b")])
    judge = Steps(OverlapCrossEncoder()).judge(start("red fox ran home", graph))
    first, second = 0.625 / 2 + 0.25 * 2 / 3, 0.625 / 4 + 0.25 / 3
    found = judge(Evidence.of_pieces([([0, 1], [0]), ([1, 2], [1]), ([0, 1, 2], [0, 1])]))
    assert found.tolist() == pytest.approx([first, second, (first + second) / 2], abs=1e-6)


def test_only_the_step_that_was_added_is_read() -> None:
    model = Seen()
    BeamSearch(Steps(model), width=8, length=3)(start(QUESTION, FAMILY, entities=["Lothair I"]))
    assert len(model.texts) == len(set(model.texts))
    assert set(model.texts) <= {QUESTION, *(FAMILY.edge_text(e) for e in range(len(FAMILY.edges)))}
    whole = Seen()
    BeamSearch(whole, width=8, length=3)(start(QUESTION, FAMILY, entities=["Lothair I"]))
    assert len(whole.texts) > len(model.texts)


def test_a_piece_without_edges_is_read_as_it_is() -> None:
    state = start(QUESTION, FAMILY)
    pieces = Evidence.of_pieces([([2], []), ([2, 3], [3]), ([0, 4], [])])
    expected = judge_of(HashEncoder(), state)(pieces)
    assert Steps(HashEncoder()).judge(state)(pieces).tolist() == pytest.approx(expected.tolist())
    assert Steps(HashEncoder()).judge(state)(Evidence.of_nodes([])).tolist() == []


def test_scorers_add_up_and_are_expressions() -> None:
    both = Steps(HashEncoder()) + Patterns(HashEncoder())
    assert repr(Rerank(both) % 3) == (
        "Rerank(Steps(HashEncoder(dimension=64)) + Patterns(HashEncoder(dimension=64))) % 3"
    )
    assert both == Steps(HashEncoder()) + Patterns(HashEncoder()) and hash(both) == hash(
        pickle.loads(pickle.dumps(both))
    )
    state, pieces = start(QUESTION, FAMILY, entities=["Lothair II"]), paths(FAMILY, "Lothair II")
    parts = [one.judge(state)(pieces) for one in (Steps(HashEncoder()), Patterns(HashEncoder()))]
    assert both.judge(state)(pieces).tolist() == pytest.approx((parts[0] + parts[1]).tolist())
    with pytest.raises(TypeError):
        both + HashEncoder()  # type: ignore[operator]


def test_pieces_are_ranked_as_evidence_ranks_them() -> None:
    pieces = paths(GRAPHS["club"], "member 0").top(300)
    scores = np.random.default_rng(1).integers(0, 4, len(pieces)) / 4
    expected = Evidence.of_pieces(pieces, scores)
    assert same(ranked_by(pieces, scores), expected)
    assert same(ranked_by(pieces, scores, 40), expected.top(40))


def test_texts_that_come_again_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Seen()
    memory = Memory(model)  # type: ignore[arg-type]
    first = memory.encode(["a", "b", "a"])
    assert (memory.encode(["b", "a"]) == first[[1, 0]]).all() and model.texts == ["a", "b"]
    monkeypatch.setattr("graphwright.operators.rerank.scorer._MEMORY", 2)
    assert (memory.encode(["c", "a"])[1] == first[0]).all() and model.texts == ["a", "b", "c"]
    memory.encode(["a", "c"])  # a was forgotten when c came
    assert model.texts == ["a", "b", "c", "a"]
    again = pickle.loads(pickle.dumps(Memory(HashEncoder())))
    assert again.encoder == HashEncoder()


def test_scores_that_are_none_are_refused() -> None:
    class Broken:
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return np.full((len(texts), 2), np.nan, np.float32)

    with pytest.raises(ModelError, match="NaN"):
        Rerank(Broken())(start("?", FAMILY, evidence=Evidence.of_edges([0])))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="Steps"):
        Steps("minilm")  # type: ignore[arg-type]
