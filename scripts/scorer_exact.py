"""Measure or set the weight of identifiers that a passage has, in the passage scorer; no other weight changes.

    python scripts/scorer_exact.py --data DIR --work FOLDER [--passages N] [--labels identifiers ...] [--write 8]

`scripts/fit_scorer.py` fits it with everything else. This takes the same weight for questions that need one passage and
for those that need several. It prints the figures of the collections, questions about identifiers among them, at some
weights; `--write` puts one into the scorer of the package and those of the folds. It needs neither torch nor lightgbm.
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
    """Print the figures, or write the weight."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--labels", nargs="+", default=["identifiers", "squad", "pubmedqa"], help="collections")
    parser.add_argument("--write", type=float, help="weight to write; nothing is measured")
    options = arguments(parser)
    if options.write is not None:
        for file in (WEIGHTS, *map(file_of_fold, FAMILIES)):
            write(with_weight(PassageScorer.read(file), options.write), file)
        return
    data = {label: examples_of(options, label) for label in options.labels}
    scorer = PassageScorer.read(WEIGHTS)
    for weight in TRIED:
        tried = with_weight(scorer, weight)
        figures = {
            label: round(100 * float(np.mean([value(tried, e, metric_of(label)) for e in examples])), 1)
            for label, examples in data.items()
        }
        print(weight, figures, flush=True)


if __name__ == "__main__":
    main()
