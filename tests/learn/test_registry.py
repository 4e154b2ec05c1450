"""The confidence of path retrievers: its fit, the questions that it is calibrated on, and what it drops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from graphwright import Evidence, Graph, start
from graphwright.graph.evidence import Scores
from graphwright.graph.walks import Ways
from graphwright.learn import Checkpoint, ConfidentPaths, Example, Label, Labels, PathRetriever, confidence
from graphwright.learn.candidates import SHORTEST, Candidate
from graphwright.learn.refine import LabelledPath
from graphwright.learn.registry import CALIBRATION, MEANING, _fitted, calibration
from graphwright.models import HashEncoder
from graphwright.operators import Operator, Run, State

RELATIONS = 10
GRAPH = Graph.from_triples([(f"q{n}", f"r{n % RELATIONS}", f"a{n}") for n in range(400)])


@dataclass(frozen=True, repr=False)
class Known(Operator):
    """Walk the edge of each question: surely by a relation that was learned, else with a low score."""

    relations: frozenset[int]
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        node = int(state.anchor_nodes()[0])
        edge = int(GRAPH.columns.out.row(node)[0])
        known = int(GRAPH.columns.relation[edge]) in self.relations
        items = [([node, int(GRAPH.columns.tails[edge])], [edge])] if known else [([node, node], [edge])]
        if not known:  # a wrong relation path: the edge of another question
            items = [([node + 1, int(GRAPH.columns.tails[edge + 1])], [edge + 1])]
        return state.with_(evidence=Evidence.of_paths(GRAPH, items, [-0.5 if known else -8.0]))


class Scripted(PathRetriever):
    def paths(self) -> Operator:
        return Known(frozenset(self.checkpoint.about["known"]))

    def nearness(self, state: State, run: Run, paths: Sequence[Ways]) -> Scores:
        return np.array([float(self.checkpoint.about.get("near", 0.0)) for _ in paths])


def label(number: int) -> Label:
    node = GRAPH.id(f"q{number}")
    ways = (2 * int(GRAPH.columns.relation[int(GRAPH.columns.out.row(node)[0])]) + 1,)
    path = LabelledPath(Candidate(node, ways, SHORTEST), 1.0, 0.0)
    return Label(Example(f"{number}", f"where is q{number}", (node,), (GRAPH.id(f"a{number}"),)), (path,), 1, 1)


LABELS = Labels({}, tuple(label(number) for number in range(398)))


def relations_of(labels: Labels) -> set[int]:
    return {path.candidate.ways[0] >> 1 for row in labels.rows for path in row.paths}


def trained_on(seen: list[Labels]) -> Callable[[Labels], PathRetriever]:
    def train(labels: Labels) -> PathRetriever:
        seen.append(labels)
        return Scripted(Checkpoint("path", {}, {"known": sorted(relations_of(labels))}), HashEncoder())

    return train


def chance(about: dict[str, object], scores: list[float]) -> float:
    items = [([0, 1], [0])] * len(scores)
    state = start("?", GRAPH, evidence=Evidence.of_paths(GRAPH, items, scores))
    return confidence(Scripted(Checkpoint("path", {}, about), HashEncoder()), state, Run())


def test_calibration_leaves_relation_paths_and_questions_out() -> None:
    seen: list[Labels] = []
    assert set(calibration(GRAPH, LABELS, trained_on(seen))) == {CALIBRATION, MEANING}
    assert len(relations_of(seen[0])) == RELATIONS - RELATIONS // 5
    rest = [row for row in LABELS.rows if row.paths[0].candidate.ways[0] >> 1 in relations_of(seen[0])]
    assert len(seen[0].rows) == pytest.approx(0.8 * len(rest), abs=1)


def test_calibrated_confidence_separates_right_from_wrong_paths() -> None:
    about = calibration(GRAPH, LABELS, trained_on([]))
    assert about[MEANING] == 0.0
    assert chance(about, [-0.5]) > 0.8 and chance(about, [-8.0]) < 0.2


def test_few_labels_give_no_calibration() -> None:
    assert calibration(GRAPH, Labels({}, LABELS.rows[:90]), trained_on([])) == {}


def test_fitted_weights_have_no_slope() -> None:
    rng = np.random.default_rng(0)
    features = np.column_stack((np.ones(200), rng.normal(size=(200, 2))))
    right = (rng.random(200) < 1 / (1 + np.exp(-features @ [0.3, 2.0, -1.0]))).astype(float)
    fitted = _fitted(features, right, np.full(200, 1 / 200))

    def loss(w: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        odds = features @ w
        return float(np.mean(np.logaddexp(0, odds) - right * odds) + 0.0005 * float(w @ w))

    steps = 1e-3 * np.vstack((np.eye(3), -np.eye(3)))
    assert all(loss(fitted) < loss(fitted + step) for step in steps)
    assert np.sign(fitted).tolist() == [1, 1, -1]
    assert np.isfinite(_fitted(features, np.ones(200), np.full(200, 1 / 200))).all()


@pytest.mark.parametrize(("score", "kept"), [(-1.0, 1), (-30.0, 0)])
def test_confident_paths_drops_evidence_below_threshold(score: float, kept: int) -> None:
    evidence = Evidence.of_paths(GRAPH, [([0, 1], [0])], [score])
    model = Scripted(Checkpoint("path", {}, {CALIBRATION: [2.0, 10.0, 0.0, 0.0, 0.0]}), HashEncoder())
    state = ConfidentPaths(model, 0.5)(start("?", GRAPH, evidence=evidence))
    assert len(state.items) == kept
    assert any("below 0.5" in note for note in state.trace[-1].notes) == (not kept)


def test_confidence_is_of_likelihood_share_and_cosine() -> None:
    about = {CALIBRATION: [0.5, 1.0, 2.0, 3.0, 4.0], MEANING: 10.0, "near": 0.2}
    odds = 0.5 - 0.1 + 2 * np.exp(-1.0) + 3 / (1 + np.exp(-0.5)) + 4 * 0.2
    assert chance(about, [1.0, 1.0, 0.5, -9.0]) == pytest.approx(1 / (1 + np.exp(-odds)))
    assert chance({}, [-40.0]) == chance(about, []) == 1.0
