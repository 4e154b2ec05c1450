"""Fit the passage scorer's weights for questions that need one passage.

Four features count: with all of them, Cranfield and CISI were ranked
worse by weights that were not fitted on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scorer_data import families_without
from scorer_examples import QUESTIONS, SEVERAL, Example, source_of

from graphwright.operators.rerank.passage_features import ALONE

FEATURES = ("cosine_of_best", "bm25", "statement", "exact")
PENALTY = 1e-3

Array = NDArray[np.float64]


def fitted_single(data: Mapping[str, Sequence[Example]], left_out: str | None) -> dict[str, float]:
    """Return the weights, fitted without the collections of one source; collections count alike."""
    columns = [ALONE.index(name) for name in FEATURES]
    labels = [label for label in families_without(left_out) if source_of(label) not in SEVERAL]
    chosen = {label: [e for e in data[label] if e.gold.any() and not e.gold.all()][:QUESTIONS] for label in labels}
    examples = [example for label in labels for example in chosen[label]]
    weights = np.concatenate([np.full(len(chosen[label]), 1 / len(chosen[label])) for label in labels]) / len(labels)
    rows = np.concatenate([example.features.alone[:, columns] for example in examples]).astype(np.float64)
    scale = rows.std(0)
    gold = np.concatenate([example.gold for example in examples])
    starts = np.cumsum([0, *(len(example.gold) for example in examples[:-1])])
    fit = minimize(_loss, np.zeros(len(columns)), (rows / scale, gold, starts, weights), "L-BFGS-B", jac=True)
    return dict.fromkeys(ALONE, 0.0) | dict(zip(FEATURES, map(float, fit.x / scale), strict=True))


def _loss(
    coefficients: Array, rows: Array, gold: NDArray[np.bool_], starts: NDArray[np.int64], weights: Array
) -> tuple[float, Array]:
    """Return the weighted mean over questions of -log p(gold passage against all that are not), and its gradient."""
    question = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
    scores = rows @ coefficients
    others = np.where(gold, -np.inf, scores)
    largest = np.maximum.reduceat(others, starts)
    total = np.log(np.add.reduceat(np.exp(others - largest[question]), starts)) + largest
    behind = total[question] - scores
    share = gold * weights[question] / np.add.reduceat(gold.astype(np.float64), starts)[question]
    pull = share / (1 + np.exp(-behind))
    slope = np.exp(others - total[question]) * np.add.reduceat(pull, starts)[question] - pull
    loss = float(share @ np.logaddexp(0, behind) + PENALTY * coefficients @ coefficients)
    return loss, rows.T @ slope + 2 * PENALTY * coefficients
