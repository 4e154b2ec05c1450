"""The kernel of regression trees against a walk in plain Python."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.kernels.regression_trees import RegressionTrees

Tree = float | tuple[int, float, Any, Any]
"""A leaf, or the feature and threshold of a node and what is below and above it."""
TREES = st.recursive(
    st.floats(-9, 9), lambda below: st.tuples(st.integers(0, 2), st.sampled_from([-1.0, 0.0, 0.5, 1.0]), below, below)
)
ROWS = st.lists(st.lists(st.sampled_from([-1.5, -1.0, 0.0, 0.25, 0.5, 2.0]), min_size=3, max_size=3), max_size=6)
ONE = {"roots": [0], "feature": [0, -1, -1], "value": [0.5, 1, 2], "other": [2, 0, 0]}


def in_preorder(trees: list[Tree]) -> dict[str, list[Any]]:
    parts: dict[str, list[Any]] = {name: [] for name in ONE}

    def put(tree: Tree) -> None:
        at = len(parts["feature"])
        feature, value = tree[:2] if isinstance(tree, tuple) else (-1, tree)
        for name, number in (("feature", feature), ("value", value), ("other", 0)):
            parts[name].append(number)
        if isinstance(tree, tuple):
            put(tree[2])
            parts["other"][at] = len(parts["feature"])
            put(tree[3])

    for tree in trees:
        parts["roots"].append(len(parts["feature"]))
        put(tree)
    return parts


def walked(tree: Tree, row: list[float]) -> float:
    while isinstance(tree, tuple):
        feature, threshold, below, above = tree
        tree = below if row[feature] <= threshold else above
    return tree


@given(st.lists(TREES, max_size=4), ROWS)
def test_trees_equal_plain_walk(trees: list[Tree], rows: list[list[float]]) -> None:
    made = RegressionTrees(**in_preorder(trees))
    expected = [sum(walked(tree, row) for tree in trees) for row in rows]
    assert made(np.reshape(np.array(rows, np.float32), (-1, 3))).tolist() == pytest.approx(expected)
    again = pickle.loads(pickle.dumps(made))
    assert again == made and hash(again) == hash(made)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"other": [1, 0, 0]}, "two others after it"),
        ({"other": [3, 0, 0]}, "two others after it"),
        ({"feature": [0, -1, 0]}, "two others after it"),
        ({"roots": [3]}, "not all among their 3 nodes"),
        ({"roots": [-1]}, "not all among their 3 nodes"),
        ({"value": [0.5]}, "3 features and 1 values"),
    ],
)
def test_trees_inconsistent_arrays_raise_value_error(change: dict[str, list[float]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        RegressionTrees(**{**ONE, **change})


def test_trees_rows_without_feature_raise_value_error() -> None:
    trees = RegressionTrees(**{**ONE, "feature": [1, -1, -1]})
    assert trees.features == 2 and trees != RegressionTrees(**ONE)
    with pytest.raises(ValueError, match=r"test 2 features; rows are of shape \(1, 1\)"):
        trees([[0.0]])
