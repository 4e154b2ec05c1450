"""The trees of the passage scorer: LambdaMART (Burges, 2010) by lightgbm, on what the linear model leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np

from graphwright.kernels.regression_trees import RegressionTrees
from graphwright.operators.rerank.fitted_scorer import PassageScorer

if TYPE_CHECKING:
    from scorer_examples import Example

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
DIGITS = 8  # of a threshold; a leaf has half as many


def with_trees(
    scorer: PassageScorer, examples: Sequence[Example], weights: Sequence[float], seed: int
) -> PassageScorer:
    """Return a scorer with trees fitted on examples; `weights`: of each example."""
    seen = [scorer.seen_by_trees(example.features, *scorer.linear(example.features)) for example in examples]
    sizes = [len(rows) for rows in seen]
    gold = np.concatenate([example.gold for example in examples]).astype(int)
    weight = np.repeat(np.array(weights) / np.average(weights, weights=sizes), sizes)
    table = lightgbm.Dataset(np.concatenate(seen), gold, group=sizes, weight=weight)
    booster = lightgbm.train(OPTIONS | {"seed": seed}, table, ROUNDS)
    return replace(scorer, trees=RegressionTrees(**in_preorder(booster.dump_model()["tree_info"])))


def in_preorder(trees: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the nodes of lightgbm's trees, as `RegressionTrees` takes them."""
    parts: dict[str, list[Any]] = {"roots": [], "feature": [], "value": [], "other": []}

    def put(node: dict[str, Any]) -> None:
        at = len(parts["feature"])
        inner = "split_feature" in node
        value = f"{node['threshold']:.{DIGITS}g}" if inner else f"{node['leaf_value']:.{DIGITS // 2}g}"
        for name, number in (("feature", node.get("split_feature", -1)), ("value", float(value)), ("other", 0)):
            parts[name].append(number)
        if inner:
            put(node["left_child"])
            parts["other"][at] = len(parts["feature"])
            put(node["right_child"])

    for tree in trees:
        parts["roots"].append(len(parts["feature"]))
        put(tree["tree_structure"])
    return parts
