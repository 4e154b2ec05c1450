"""What scores pieces of evidence against the question: a model that reads their texts, or what makes do without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import ModelError, OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import CrossEncoder, Encoder
from graphwright.operators.operator import source_of
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = [
    "ScoreFunction",
    "Scorer",
    "Steps",
    "checked",
    "cosines",
    "distinct",
    "means",
    "owners",
    "ranked_by",
    "score_function",
]

ScoreFunction = Callable[[Evidence], Scores]
"""Scores items of evidence for one question: float64, one each, higher is better."""


class Scorer(ABC):
    """Scores pieces; Rerank and BeamSearch take it in the place of a model. `a + b` scores their sum."""

    @abstractmethod
    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return what scores pieces for the question of this state; what is known of the question is found out once."""

    def __add__(self, other: Scorer) -> Scorer:
        return _Sum(self, other) if isinstance(other, Scorer) else NotImplemented

    def __repr__(self) -> str:
        """Return the expression that makes this scorer, defaults left out."""
        return source_of(self)


@dataclass(frozen=True, repr=False)
class _Sum(Scorer):
    first: Scorer
    second: Scorer

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        one, other = self.first.prepare(state, run), self.second.prepare(state, run)
        return lambda pieces: one(pieces) + other(pieces)

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"


@dataclass(frozen=True, repr=False)
class Steps(Scorer):
    """Scores a path by its steps: the mean over its triples of how well a model finds each to fit the question.

    Triple-level scoring (LEGO-GraphRAG, section 4.2), which the paper only names: a path that is prolonged is not read
    anew, only the step that was added. Steps add up to their mean, so that paths of different length compare. In a
    BeamSearch every triple is read once. A piece without edges is read as it is.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo")])
    >>> judge = Steps(OverlapCrossEncoder()).judge(start("the spouse of Ida", kin))
    >>> judge(Evidence.of_pieces([([0, 1], [0]), ([1, 2], [1]), ([0, 1, 2], [0, 1])])).round(3).tolist()
    [0.24, 0.479, 0.359]
    """

    model: Encoder | CrossEncoder

    def __post_init__(self) -> None:
        checked(self.model, "Steps")

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean of the scores of triples, each read once."""
        read, known = score_function(self.model, state, run), dict[int, float]()

        def scores(pieces: Evidence) -> Scores:
            edges, at = distinct(pieces.edges)
            new = [edge for edge in edges.tolist() if edge not in known]
            found = read(Evidence.of_edges(new)) if new else np.empty(0)
            known.update(zip(new, found.tolist(), strict=True))
            each = np.array([known[edge] for edge in edges.tolist()], np.float64)[at]
            result = means(each, owners(pieces.edge_ptr), len(pieces))
            bare = np.flatnonzero(np.diff(pieces.edge_ptr) == 0)
            if len(bare):
                result[bare] = read(pieces.take(bare.tolist()))
            return result

        return scores


def score_function(model: Encoder | CrossEncoder | Scorer, state: State, run: Run) -> ScoreFunction:
    """Return what scores pieces by this model: a scorer as it does, any other by their texts, each text once.

    An Encoder scores the cosine of the vectors of question and text, a CrossEncoder the head of its latents; one that
    is both is used as a CrossEncoder. Raises ModelError for scores of another number, or that are not numbers.
    """
    if isinstance(model, Scorer):
        return model.prepare(state, run)
    question = state.question.text

    def scores(items: Evidence) -> Scores:
        texts = items.texts(state.graph)
        row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        values = _text_scores(model, run, question, list(row)) if row else np.empty(0)
        if values.shape != (len(row),) or np.isnan(values).any():
            raise ModelError(f"{model!r} returned scores of shape {values.shape} for {len(row)} texts, or a NaN.")
        return values[[row[text] for text in texts]]

    return scores


def _text_scores(model: Encoder | CrossEncoder, run: Run, question: str, texts: list[str]) -> Scores:
    if isinstance(model, CrossEncoder):
        return run.scores(model, question, texts)
    vectors = run.encode(model, [question, *texts]).astype(np.float64)
    return cosines(vectors[1:], vectors[0])


def cosines(vectors: Scores, wanted: Scores) -> Scores:
    """Return the cosine of each row with a vector; the cosine with a zero vector is 0."""
    found: Scores = vectors @ wanted / np.maximum(np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted), 1e-12)
    return found


def means(values: Scores, owner: Ints, count: int) -> Scores:
    """Return the mean of the values that each of `count` owners has, 0 for one that has none.

    >>> means(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 2]), 3).tolist()
    [2.0, 0.0, 5.0]
    """
    return np.bincount(owner, values, count) / np.maximum(np.bincount(owner, minlength=count), 1)


def owners(ptr: Ints) -> Ints:
    """Return for each entry of a ragged array the row that it stands in."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values, ascending, and for each value which of them it is.

    Few among many, as the nodes of a hundred thousand paths: looked up, which beats the sort that np.unique makes.

    >>> [part.tolist() for part in distinct(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    found = np.unique(values)
    return found, np.searchsorted(found, values).astype(np.int64, copy=False)


def ranked_by(pieces: Evidence, scores: Scores, k: int | None = None) -> Evidence:
    """Return the k best pieces (all, if None) with these scores: the higher score first, then the smaller ids."""
    order = rank_items(scores, pieces.nodes, pieces.node_ptr, pieces.edges, pieces.edge_ptr, k)
    kept, best = pieces.unscored().take(order.tolist()), scores[order]
    best.flags.writeable = False
    return type(pieces)(kept.nodes, kept.node_ptr, kept.edges, kept.edge_ptr, best)


def checked(model: object, where: str, also: Sequence[type] = ()) -> None:
    """Raise OptionError where a model is none that scores texts, nor of the other types."""
    # A text has a method `encode` too.
    if isinstance(model, str) or not isinstance(model, (Encoder, CrossEncoder, *also)):
        raise OptionError(f"{where}({model!r}): an encoder or a cross-encoder is needed, not its name.")
