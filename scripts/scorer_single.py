"""Fit the passage scorer's weights for questions that need one passage.

    python scripts/scorer_single.py --data DIR --work FOLDER [--passages 2500]

`scripts/fit_scorer.py` fits them with everything else. This fits them alone, in the scorer of the package and in those
of the folds as they are, and prints the figures of collections where one passage answers a question before and after.
It needs scipy, and neither torch nor lightgbm. Four features count: with all of them, Cranfield and CISI were ranked
worse by weights that were not fitted on them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scorer_data import FAMILIES, families_without
from scorer_examples import QUESTIONS, SEVERAL, Example, arguments, examples_of, metric_of, source_of, value
from scorer_files import WEIGHTS, file_of_fold, write

from graphwright.operators.rerank.fitted_scorer import PassageScorer
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


def main() -> None:
    """Fit, write, and print figures before and after."""
    options = arguments(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter))
    labels = [label for label in families_without(None) if source_of(label) not in SEVERAL]
    data = {label: examples_of(options, label) for label in labels}
    for family in (*FAMILIES, None):
        file = WEIGHTS if family is None else file_of_fold(family)
        before = PassageScorer.read(file)
        after = replace(before, single=fitted_single(data, family))
        write(after, file)
        print(family or "all", {name: round(after.single[name], 2) for name in FEATURES}, flush=True)
        for label in data.keys() & set(FAMILIES.get(family or "", ())):
            examples, metric = data[label], metric_of(label)
            means = [100 * float(np.mean([value(s, e, metric) for e in examples])) for s in (before, after)]
            print(f"  {label}: {metric} {means[0]:.1f} before, {means[1]:.1f} after", flush=True)


if __name__ == "__main__":
    main()
