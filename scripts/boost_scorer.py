"""Measure boosted trees on top of the linear scorer of passages, on collections that neither was fitted on.

    python scripts/boost_scorer.py --work FOLDER [--seeds 3] [--share 0.5 1.0]

Needs torch and lightgbm. FOLDER holds the features that scripts/fit_scorer.py computed; collections without them are
left out, in the fits too. Trees rank the passages of a question by the features of a passage alone, those of its best
pair, and what the linear scorer of the fold gives both. Their value, less the best, times the probability that a
question needs several passages, times a share, is added to the score alone before the coverage chooses. An experiment:
the package has the linear scorer only. Prints a table: the metric of both, the seeds, and the paired difference.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from fit_scorer import QUESTIONS, RESULTS, Example, metric_of, quality
from numpy.typing import NDArray
from scorer_data import FAMILIES, OPEN, families_without

from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.operators.rerank.passage_scorer import PassageScorer

ROUNDS = 150
OPTIONS = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 20,
    "num_leaves": 8,
    "learning_rate": 0.05,
    "min_data_in_leaf": 200,
    "lambda_l2": 5.0,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "num_threads": 1,
    "verbose": -1,
}


def rows_of(scorer: PassageScorer, example: Example) -> NDArray[np.float32]:
    """Return what the trees see of each passage: its features, those of its best pair, and the linear values."""
    features = example.features
    alone, pairs = scorer(features)
    best_pair = np.full(len(alone), -1)
    order = np.argsort(pairs, kind="stable")
    best_pair[features.target[order]] = order  # of several the last, which is the best
    of_pair = np.zeros((len(alone), features.pair.shape[1]))
    of_pair[best_pair >= 0] = features.pair[best_pair[best_pair >= 0]]
    added = features.best_pair(pairs)
    linear = alone + added
    ranks = np.argsort(np.argsort(-linear, kind="stable"), kind="stable")
    several = np.full(len(alone), scorer.needs_several(features))
    values = np.stack([alone, added, linear - linear.max(), ranks, several], 1)
    return np.concatenate([features.alone, of_pair, values], 1).astype(np.float32)


def boosted(data: Mapping[str, list[Example]], scorer: PassageScorer, family: str, seed: int) -> Any:
    """Return trees fitted without the collections of a family; each collection counts alike."""
    draw = np.random.default_rng(seed)
    examples: list[Example] = []
    weights: list[float] = []
    for label in families_without(family):
        usable = [example for example in data.get(label, []) if example.gold.any()]
        chosen = [usable[i] for i in draw.permutation(len(usable))[:QUESTIONS]]
        examples += chosen
        weights += [1 / len(chosen) for example in chosen for _ in example.gold]
    rows = np.concatenate([rows_of(scorer, example) for example in examples])
    gold = np.concatenate([example.gold for example in examples]).astype(int)
    groups = [len(example.gold) for example in examples]
    table = lightgbm.Dataset(rows, gold, group=groups, weight=np.array(weights) / np.mean(weights))
    return lightgbm.train(OPTIONS | {"seed": seed}, table, ROUNDS)


def value(scorer: PassageScorer, example: Example, metric: str, trees: Any = None, share: float = 0.0) -> float:
    """Return the quality of the list that is chosen, with a share of the trees' value."""
    features = example.features
    alone, pairs = scorer(features)
    several = scorer.needs_several(features)
    if trees is not None:
        given = trees.predict(rows_of(scorer, example))
        alone = alone + share * several * (given - given.max())
    return quality(example, scorer.cover(features, alone, pairs, several, 20)[0], metric)


def line(linear: NDArray[np.float64], seeds: Sequence[NDArray[np.float64]]) -> str:
    """Return both means, the seeds, and the paired difference with its interval and p."""
    mean = np.mean(seeds, axis=0)
    low, high = bootstrap_interval(mean - linear)
    each = ", ".join(f"{100 * seed.mean():.1f}" for seed in seeds)
    difference = f"{100 * (mean - linear).mean():+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    p = paired_test(mean, linear)
    return f"{100 * linear.mean():.1f} | {100 * mean.mean():.1f} | {each} | {difference} | {p:.3f}"


def main() -> None:
    """Fit the trees of each fold, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("runs"), help="folder of features")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, nargs="+", default=[0.5, 1.0])
    options = parser.parse_args()
    sys.modules["__main__"].Example = Example  # type: ignore[attr-defined]  # as the features were written
    labels = [label for group in FAMILIES.values() for label in group] + [*OPEN]
    files = {label: options.work / "features" / f"{label}.pkl" for label in labels}
    data = {label: pickle.loads(file.read_bytes()) for label, file in files.items() if file.exists()}
    print(
        f"features of {', '.join(data)}\n\n| collection | share | linear | with trees | seeds | difference (95 %) | p |"
    )
    print("| --- |" + " ---: |" * 6)
    for family, group in FAMILIES.items():
        scorer = PassageScorer.read(RESULTS / "scorer" / f"{family}.json")
        present = [label for label in group if label in data]
        trees = [boosted(data, scorer, family, seed) for seed in range(options.seeds)] if present else []
        for label in present:
            metric = metric_of(label)
            linear = np.array([value(scorer, example, metric) for example in data[label]])
            for share in options.share:
                seeds = [np.array([value(scorer, e, metric, each, share) for e in data[label]]) for each in trees]
                print(f"| {label} | {share:g} | {line(linear, seeds)} |", flush=True)


if __name__ == "__main__":
    main()
