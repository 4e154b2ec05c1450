"""Train or load a retriever by its level (triple, entity or path); and the confidence of path retrievers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import Between, Has
from graphwright.errors import DataError, OptionError
from graphwright.graph import Graph
from graphwright.graph.evidence import Scores
from graphwright.graph.walks import Ways, ways_of
from graphwright.learn.candidates import ANSWER
from graphwright.learn.graph_retrievers import EntityRetriever, TripleRetriever, train_entity, train_triple
from graphwright.learn.labels import Label, Labels, Progress
from graphwright.learn.network import sigmoid
from graphwright.learn.path import PathRetriever, train_path
from graphwright.learn.retriever import Checkpoint, Retriever, read_checkpoint
from graphwright.learn.training import Schedule, Trained, samples_of
from graphwright.models import Encoder
from graphwright.operators import Anchor, Run, State, start
from graphwright.operators.operator import Confident
from graphwright.search import Snapshot, VectorIndex

CALIBRATION, MEANING = "calibration", "meaning"  # of `Checkpoint.about`: weights of the confidence, of the cosine

_MEANINGS = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)  # in nats
_MOST = 1_500  # questions that the retriever which is calibrated on others is trained on
_ASKED = 150  # of the questions of each kind that it is calibrated on
_FEWEST = 20  # of each kind
_SHARE = 5  # one in so many relation paths, and of the other questions, is left out
_LOWEST = -30.0  # log-likelihood
_PENALTY = 1e-3  # on the squares of the weights, so that a retriever without errors has finite ones


@dataclass(frozen=True, repr=False)
class ConfidentPaths(Confident):
    """Drop the evidence of a path retriever where its best relation path is probably wrong.

    The probability is a logistic function of the path's likelihood, its share against the next path, and its cosine
    with the question (see `calibration`). A retriever without calibration never abstains.
    """

    retriever: Annotated[PathRetriever, Has("a trained path retriever", "nearness")]
    threshold: Annotated[float, Between(0, 1)] = 0.3
    needs = ("evidence",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        probability = confidence(self.retriever, state, run)
        if probability >= self.threshold:
            return state
        run.note(f"the best relation path is right with a probability of {probability:.2f}, below {self.threshold:g}")
        return state.with_(evidence=state.items.top(0))


def confidence(retriever: PathRetriever, state: State, run: Run) -> float:
    """Return the probability that the relation path of the best walk is right; 1 without calibration or scores."""
    weights, items = retriever.checkpoint.about.get(CALIBRATION), state.items
    if weights is None or items.scores is None or not len(items):
        return 1.0
    others = items.scores[items.scores < items.scores[0]]
    lead = float(items.scores[0] - others[0]) if len(others) else -_LOWEST
    (near,) = retriever.nearness(state, run, [ways_of(state.graph, items.item(0).steps)]).tolist()
    likelihood = float(items.scores[0]) - retriever.meaning * near
    return float(sigmoid(_features(likelihood, lead, near) @ np.array(weights, np.float64)))


def _features(log_likelihood: float, lead: float, near: float) -> Scores:
    """Return a constant, the log-likelihood and likelihood of a path, its share against the next, and its cosine."""
    bounded = min(max(log_likelihood, _LOWEST), 0.0)
    return np.array([1.0, bounded / 10, np.exp(bounded), 1 / (1 + np.exp(-min(lead, -_LOWEST))), near])


class Paths(NamedTuple):
    """The best relation paths of one question: log-likelihoods, cosines with the question, and which are labelled."""

    log_likelihoods: Scores
    near: Scores
    right: NDArray[np.bool_]

    def best(self, meaning: float) -> tuple[int, float]:
        """Return the best path with this weight of the cosine, and its lead over the next."""
        scores = self.log_likelihoods + meaning * self.near
        best = int(scores.argmax())
        others = np.delete(scores, best)
        return best, float(scores[best] - others.max()) if len(others) else -_LOWEST


def calibration(
    graph: Graph, labels: Labels, train: Callable[[Labels], PathRetriever], seed: int = 0
) -> dict[str, Any]:
    """Return the weights of the confidence and of the cosine for `Checkpoint.about`; nothing for too few labels.

    A fifth of the relation paths are left out with all their questions, and a fifth of the other questions. `train`
    makes a retriever of labels; here of the rest, at most 1,500. Its paths for the left-out questions are right where
    they are labelled. The weight of the cosine is the smallest by which most of the best paths are right.
    """
    unseen, others = _split([row for row in labels.rows if _labelled(row)], np.random.default_rng(seed))
    held_out, learned = others[::_SHARE], [row for at, row in enumerate(others) if at % _SHARE]
    if min(len(unseen), len(held_out)) < _FEWEST:
        return {}
    retriever = train(replace(labels, rows=tuple(learned[:_MOST])))
    parts = [[_paths(graph, retriever, row) for row in part[:_ASKED]] for part in (unseen, held_out)]
    weights = np.concatenate([np.full(len(part), 0.5 / len(part)) for part in parts])
    asked = [paths for part in parts for paths in part]

    def right(meaning: float) -> Scores:
        return np.array([len(p.right) > 0 and p.right[p.best(meaning)[0]] for p in asked], np.float64)

    shares = [round(float(weights @ right(meaning)), 9) for meaning in _MEANINGS]
    meaning = _MEANINGS[shares.index(max(shares))]
    found = np.array([len(paths.right) > 0 for paths in asked])
    features = np.array([_features_of(paths, meaning) for paths in asked if len(paths.right)])
    fitted = _fitted(features, right(meaning)[found], weights[found])
    return {MEANING: meaning, CALIBRATION: [round(float(weight), 4) for weight in fitted]}


def _features_of(paths: Paths, meaning: float) -> Scores:
    best, lead = paths.best(meaning)
    return _features(float(paths.log_likelihoods[best]), lead, float(paths.near[best]))


def _paths(graph: Graph, retriever: PathRetriever, row: Label) -> Paths:
    anchors = [Anchor("", nodes=np.array([entity])) for entity in row.example.entities]
    state = retriever.paths()(start(row.example.text, graph, anchors=anchors))
    items = list(state.items.items())
    ways = [ways_of(graph, item.steps) for item in items]
    right = [(item.nodes[0], path) in _labelled(row) for item, path in zip(items, ways, strict=True)]
    near = retriever.nearness(state, Run(), ways)
    return Paths(np.array(state.items.ranked_scores), near, np.array(right, bool))


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


LEVELS: dict[str, tuple[type[Retriever], Callable[..., Trained]]] = {  # retriever and training function of each level
    "triple": (TripleRetriever, train_triple),
    "entity": (EntityRetriever, train_entity),
    "path": (PathRetriever, train_path),
}

_MAX_BATCH = {"entity": 8}  # whole graphs, in the memory of a laptop


def load_retriever(source: Path | str | Checkpoint, encoder: Encoder, names: VectorIndex | None = None) -> Retriever:
    """Return the retriever of a file or checkpoint, for an index with this encoder and these vectors of node names.

    Raises DataError for a file that is not a checkpoint, and OptionError where it was trained on other vectors.
    """
    checkpoint = source if isinstance(source, Checkpoint) else read_checkpoint(source)
    if checkpoint.level not in LEVELS:
        raise DataError(f"{checkpoint!r} has the level {checkpoint.level!r}; known levels: {', '.join(LEVELS)}.")
    return LEVELS[checkpoint.level][0](checkpoint, encoder, names)


def train_retriever(
    ix: Snapshot,
    labels: Labels,
    level: str = "triple",
    *,
    names: bool = False,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Checkpoint:
    """Train a retriever on labels, for the method `reg` and for `load_retriever`. Only training needs torch.

    `level`: triple, entity or path; at that of paths a second retriever is trained (see `calibration`). `names`: use
    the vectors of node names, which the index must have. Raises OptionError for an unknown level, NeedsError without
    torch, and DataError where no label has a path.
    """
    if level not in LEVELS:
        raise OptionError(f"level is {level!r}; it must be one of {', '.join(LEVELS)}.")
    if names and ix.names is None:
        raise OptionError("names=True needs vectors of node names. Make the index with --embed names.")
    plan = schedule or Schedule()
    plan = replace(plan, batch=min(plan.batch, _MAX_BATCH.get(level, plan.batch)))
    checkpoint = _trained(ix, labels, level, names, plan, progress)
    if level != "path":
        return checkpoint

    def train(part: Labels) -> PathRetriever:
        return PathRetriever(_trained(ix, part, level, names, plan), ix.encoder)

    about = {**checkpoint.about, **calibration(ix.graph, labels, train, plan.seed)}
    return replace(checkpoint, about=about)


def _trained(
    ix: Snapshot, labels: Labels, level: str, names: bool, plan: Schedule, progress: Progress | None = None
) -> Checkpoint:
    samples = samples_of(ix.graph, labels, ix.encoder, progress)
    weights, about = LEVELS[level][1](samples, ix.names if names else None, plan, progress)
    return Checkpoint(
        level,
        weights,
        {
            "encoder": getattr(ix.encoder, "id", ""),
            "dimension": int(samples.questions.shape[1]),
            "questions": len(samples.rows),
            "labels": dict(labels.about),
            "schedule": asdict(plan),
            **about,
        },
    )
