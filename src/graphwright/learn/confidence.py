"""The confidence of a trained path retriever: the probability that its best relation path is right; and abstention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from graphwright.constraints import Between, Has
from graphwright.graph import Evidence, Graph
from graphwright.graph.evidence import Scores
from graphwright.graph.relation_paths import Ways, ways_of
from graphwright.learn.candidates import ANSWER
from graphwright.learn.labels import Label, Labels
from graphwright.learn.network import sigmoid
from graphwright.learn.retriever import Retriever
from graphwright.operators import Anchor, Operator, Run, State, start

CALIBRATION = "calibration"
"""Name of the weights in `Checkpoint.about`, one for each feature (see `_features`)."""

_MOST = 1_500  # questions that the retriever which is calibrated on others is trained on
_ASKED = 150  # of the questions of each kind that it is calibrated on
_FEWEST = 20  # of each kind
_SHARE = 5  # one in so many relation paths, and of the other questions, is left out
_WALKS = 500
_LOWEST = -30.0  # score
_PENALTY = 1e-3  # on the squares of the weights, so that a retriever without errors has finite ones


@dataclass(frozen=True, repr=False)
class Abstain(Operator):
    """Drop the evidence of a trained retriever where its best relation path is probably wrong.

    The probability is a logistic function of the best score, a log-likelihood, and of its lead over the next relation
    path, calibrated in training on questions that were left out: half of them ask for relation paths that no other
    question asked for. A retriever without calibration never abstains.
    """

    retriever: Annotated[Retriever, Has("a trained retriever, as load_retriever returns it", "checkpoint")]
    threshold: Annotated[float, Between(0, 1)] = 0.3
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Keep the evidence, or drop it."""
        probability = confidence(self.retriever, state.items.scores)
        if probability >= self.threshold:
            return state
        run.note(f"the best relation path is right with a probability of {probability:.2f}, below {self.threshold:g}")
        return state.with_(evidence=state.items.top(0))


def confidence(retriever: Retriever, scores: Scores | None) -> float:
    """Return the probability that the relation path of the best walk is right; 1 without calibration or scores."""
    weights = retriever.checkpoint.about.get(CALIBRATION)
    if weights is None or scores is None or not len(scores):
        return 1.0
    return float(sigmoid(_features(scores) @ np.array(weights, np.float64)))


def _features(scores: Scores) -> Scores:
    """Return a constant, the best score as log-likelihood and as likelihood, and its share against the next path."""
    best, others = max(float(scores[0]), _LOWEST), scores[scores < scores[0]]
    next_best = float(np.exp(max(float(others[0]), _LOWEST))) if len(others) else 0.0
    likelihood = float(np.exp(min(best, 0.0)))
    return np.array([1.0, best, likelihood, likelihood / (likelihood + next_best)])


def calibration(
    graph: Graph, labels: Labels, train: Callable[[Labels], Retriever], seed: int = 0
) -> list[float] | None:
    """Return the weights of the confidence, or None for too few labels.

    A fifth of the relation paths are left out with all their questions, and a fifth of the other questions. `train`
    makes a retriever of labels; here of the rest, at most 1,500. Its best paths for the left-out questions are right
    where they are labelled.
    """
    rows = [row for row in labels.rows if _labelled(row)]
    rng = np.random.default_rng(seed)
    unseen, others = _split(rows, rng)
    held_out, learned = others[::_SHARE], [row for at, row in enumerate(others) if at % _SHARE]
    if min(len(unseen), len(held_out)) < _FEWEST:
        return None
    retriever = train(replace(labels, rows=tuple(learned[:_MOST])))
    asked = [_asked(graph, retriever, part[:_ASKED]) for part in (unseen, held_out)]
    features, right = (np.concatenate(parts) for parts in zip(*asked, strict=True))
    weights = np.concatenate([np.full(len(part), 0.5 / max(len(part), 1)) for _, part in asked])
    return [round(float(weight), 4) for weight in _fitted(features, right, weights)]


def _labelled(row: Label) -> set[tuple[int, Ways]]:
    """Return the labelled relation paths from query entities, with their entity."""
    return {(p.candidate.source, p.candidate.ways) for p in row.paths if p.candidate.pool != ANSWER}


def _split(rows: Sequence[Label], rng: np.random.Generator) -> tuple[list[Label], list[Label]]:
    """Return the questions of one in five relation paths, and the others, both shuffled."""
    order = [rows[at] for at in rng.permutation(len(rows)).tolist()]
    paths = sorted({ways for row in rows for _, ways in _labelled(row)})
    chosen = {paths[at] for at in rng.permutation(len(paths))[: len(paths) // _SHARE].tolist()}
    unseen = [row for row in order if any(ways in chosen for _, ways in _labelled(row))]
    return unseen, [row for row in order if not any(ways in chosen for _, ways in _labelled(row))]


def _asked(graph: Graph, retriever: Retriever, rows: Sequence[Label]) -> tuple[Scores, Scores]:
    """Return the features of each question's best path, and 1 where it is a labelled one, else 0."""
    search, features, right = retriever.search(_WALKS), [], []
    for row in rows:
        anchors = [Anchor("", nodes=np.array([entity])) for entity in row.example.entities]
        evidence = search(start(row.example.text, graph, anchors=anchors)).evidence or Evidence.of_nodes([], [])
        if evidence.scores is not None and len(evidence):
            best = evidence.item(0)
            features.append(_features(evidence.scores))
            right.append(float((best.nodes[0], ways_of(graph, best)) in _labelled(row)))
    return np.array(features).reshape(-1, 4), np.array(right)


def _fitted(features: Scores, right: Scores, weights: Scores) -> Scores:
    """Return the weights of a logistic regression, by Newton's method; `weights` of the rows sum to 1."""
    penalty = _PENALTY * np.eye(features.shape[1])
    fitted: Scores = np.zeros(features.shape[1])
    for _ in range(50):
        chances = sigmoid(features @ fitted)
        slope = features.T @ (weights * (right - chances)) - penalty @ fitted
        curve = (features * (weights * chances * (1 - chances))[:, None]).T @ features + penalty
        fitted = fitted + np.linalg.solve(curve, slope)
    return fitted
