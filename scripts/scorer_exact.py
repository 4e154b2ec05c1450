"""Fit the weight of identifiers that a passage has, in the passage scorer, its other weights as they are.

    python scripts/scorer_exact.py --data DIR --work FOLDER [--passages 2500] [--labels identifiers squad ...]

`scripts/fit_scorer.py` fits it with everything else. This takes the same weight for questions that need one passage and
for those that need several: the smallest that is best in the mean over the collections, questions about identifiers
among them. It is written into the scorer of the package and those of the folds, and the figures of all weights tried
are printed. It needs neither torch nor lightgbm.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from scorer_data import FAMILIES
from scorer_examples import arguments, examples_of, metric_of, value
from scorer_files import WEIGHTS, file_of_fold, write

from graphwright.operators.rerank.fitted_scorer import PassageScorer

TRIED = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0)


def with_weight(scorer: PassageScorer, weight: float) -> PassageScorer:
    """Return a scorer with this weight of identifiers."""
    return replace(scorer, alone={**scorer.alone, "exact": weight}, single={**scorer.single, "exact": weight})


def main() -> None:
    """Fit, write, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", nargs="+", default=["identifiers", "squad", "pubmedqa"], help="collections")
    options = arguments(parser)
    data = {label: examples_of(options, label) for label in options.labels}
    scorer, means = PassageScorer.read(WEIGHTS), dict[float, float]()
    for weight in TRIED:
        tried = with_weight(scorer, weight)
        figures = {
            label: round(100 * float(np.mean([value(tried, e, metric_of(label)) for e in examples])), 1)
            for label, examples in data.items()
        }
        means[weight] = round(float(np.mean(list(figures.values()))), 1)
        print(weight, means[weight], figures, flush=True)
    best = min(weight for weight, mean in means.items() if mean == max(means.values()))
    for file in (WEIGHTS, *map(file_of_fold, FAMILIES)):
        write(with_weight(PassageScorer.read(file), best), file)


if __name__ == "__main__":
    main()
