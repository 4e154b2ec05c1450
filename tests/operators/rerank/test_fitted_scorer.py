"""The linear scorer of passages: worked numbers, and errors of its file."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphwright.errors import DataError
from graphwright.operators.rerank.fitted_scorer import Cover, PassageScorer, fitted_scorer
from graphwright.operators.rerank.passage_features import ALONE, PAIR, PassageFeatures


def record(
    alone: dict[str, float],
    pair: dict[str, float],
    bias: float = 0.0,
    constant: float = 0.0,
    single: dict[str, float] | None = None,
) -> dict[str, Any]:
    """What a file holds: these weights, all others 0.

    `constant`: of the probability of several passages; `single`: by default as `alone`.
    """
    return {
        "alone": dict.fromkeys(ALONE, 0.0) | alone,
        "single": dict.fromkeys(ALONE, 0.0) | (alone if single is None else single),
        "pair": dict.fromkeys((*PAIR, "source_score", "target_score"), 0.0) | pair,
        "bias": bias,
        "several": [1.0, *[0.0] * 383, 0.5, constant],
        "cover": {"open": 0.5, "overlap": 1.0},
    }


def scorer(tmp_path: Path, *weights: Any, **more: Any) -> PassageScorer:
    file = tmp_path / "model.json"
    file.write_text(json.dumps(record(*weights, **more)), encoding="utf-8")
    return PassageScorer.read(file)


def features(
    cosines: list[float], pairs: dict[tuple[int, int], float], question: float = 0.0, names_topic: bool = False
) -> PassageFeatures:
    """Passages with a cosine, and pairs with a rarity of the topic; all other features are 0."""
    ends = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    alone = np.zeros((len(cosines), len(ALONE)), np.float32)
    alone[:, ALONE.index("cosine")] = cosines
    pair = np.zeros((len(pairs), len(PAIR)), np.float32)
    pair[:, PAIR.index("topic_rarity")] = [pairs[key] for key in sorted(pairs)]
    vector = np.zeros(384, np.float32)
    vector[0] = question
    words = np.zeros((len(cosines), 0), np.float32)
    return PassageFeatures(np.arange(len(cosines)), alone, ends[:, 0], ends[:, 1], pair, words, vector, names_topic)


def test_scorer_reaches_chain_of_three_in_two_rounds(tmp_path: Path) -> None:
    weights = {"topic_rarity": 2.0, "source_score": 0.5, "target_score": 0.25}
    made = scorer(tmp_path, {"cosine": 4.0}, weights, bias=-1.0)
    alone, pairs = made(features([0.5, 0.25, 0.0], {(0, 1): 0.5, (1, 2): 0.75}))
    assert alone.tolist() == [2.0, 1.0, 0.0]
    # g = 1/2. First round: p(0, 1) = -1 + 1 + 1 + 0.25 = 1.25, so that 1 scores 1 + 0.625.
    # Second round: p(1, 2) = -1 + 1.5 + 0.5 * 1.625 = 1.3125.
    assert pairs.tolist() == [0.625, 0.65625]


def test_scorer_weights_match_features_by_name(tmp_path: Path) -> None:
    made = scorer(tmp_path, {name: i + 1.0 for i, name in enumerate(ALONE)}, {n: i + 1.0 for i, n in enumerate(PAIR)})
    one = features([0.0, 0.0], {(0, 1): 0.0})
    one.alone[0], one.pair[0] = np.arange(len(ALONE)), np.arange(len(PAIR))
    alone, pairs = made(one)
    assert alone.tolist() == [sum(i * (i + 1) for i in range(len(ALONE))), 0.0]
    assert pairs.tolist() == [0.5 * sum(i * (i + 1) for i in range(len(PAIR)))]


def test_pair_scores_are_weighted_by_multi_passage_probability(tmp_path: Path) -> None:
    made = scorer(tmp_path, {}, {"topic_rarity": 1.0}, constant=-0.25)
    for question, names_topic in ((0.0, False), (2.0, False), (-1.0, True)):
        asked = features([0.0, 0.0], {(0, 1): 1.0}, question, names_topic)
        expected = 1 / (1 + math.exp(-(question + 0.5 * names_topic - 0.25)))
        assert made.needs_several(asked) == pytest.approx(expected)
        assert made(asked)[1].tolist() == pytest.approx([expected])


@pytest.mark.parametrize(("constant", "several"), [(0.0, 0.5), (math.log(3), 0.75)])
def test_scores_alone_are_mixed_by_multi_passage_probability(tmp_path: Path, constant: float, several: float) -> None:
    made = scorer(
        tmp_path, {"cosine": 4.0}, {"source_score": 1.0}, constant=constant, single={"cosine": 8.0, "bm25": 1.0}
    )
    asked = features([1.0, 0.5], {(0, 1): 0.0})
    asked.alone[1, ALONE.index("bm25")] = 2.0
    alone, pairs = made(asked)
    assert alone.tolist() == pytest.approx([4 * several + 8 * (1 - several), 2 * several + 6 * (1 - several)])
    assert pairs.tolist() == pytest.approx([4 * several])  # pairs see the scores for several passages


def test_scorer_without_passages_or_pairs_is_empty(tmp_path: Path) -> None:
    made = scorer(tmp_path, {"cosine": 1.0}, {})
    assert [part.tolist() for part in made(features([], {}))] == [[], []]
    assert [part.tolist() for part in made(features([0.5], {}))] == [[0.5], []]


def test_scorers_are_equal_by_value(tmp_path: Path) -> None:
    made = scorer(tmp_path, {"cosine": 1.0}, {}, bias=-0.5)
    again = scorer(tmp_path, {"cosine": 1.0}, {}, bias=-0.5)
    assert made == again == pickle.loads(pickle.dumps(made)) and hash(made) == hash(again)
    assert made != scorer(tmp_path, {"cosine": 2.0}, {}, bias=-0.5)
    assert made != scorer(tmp_path, {"cosine": 1.0}, {}, bias=-0.5, single={})
    assert repr(made) == "PassageScorer(bias=-0.500, …)" and made.cover == Cover(0.5, 1.0)


def test_packaged_scorer_loads() -> None:
    made = fitted_scorer()
    assert made is fitted_scorer() and repr(made) == "fitted_scorer()" and len(made.several) == 386
    assert set(made.alone) == set(made.single) == set(ALONE) and set(made.pair) == {
        *PAIR,
        "source_score",
        "target_score",
    }


@pytest.mark.parametrize("missing", ["alone", "single", "pair", "bias", "several", "cover"])
def test_scorer_file_without_part_raises(tmp_path: Path, missing: str) -> None:
    made = record({}, {})
    del made[missing]
    file = tmp_path / "model.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(DataError, match=rf"model.json is not a passage scorer: KeyError\('{missing}'\)\. Fit"):
        PassageScorer.read(file)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '"x"',
        json.dumps(record({}, {}) | {"several": ["x"]}),
        json.dumps(record({}, {}) | {"cover": {}}),
    ]
    + [
        json.dumps(record({}, {}) | change)
        for change in ({"several": [0.0]}, {"alone": 3}, {"single": 3}, {"pair": [1]}, {"bias": "x"})
    ]
    + [json.dumps(record({"cosine": value}, {})) for value in ("x", None)]
    + [json.dumps(record({}, {}) | {"cover": {"open": 2.0, "overlap": 0.0}})],
)
def test_invalid_scorer_raises(tmp_path: Path, text: str) -> None:
    file = tmp_path / "model.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"model\.json"):
        PassageScorer.read(file)
    with pytest.raises(DataError, match=r"absent\.json is not a passage scorer"):
        PassageScorer.read(tmp_path / "absent.json")


@pytest.mark.parametrize("part", ["alone", "single", "pair"])
def test_scorer_with_unknown_features_raises(tmp_path: Path, part: str) -> None:
    made = record({}, {})
    made[part]["colour"] = made[part].pop(next(iter(made[part])))
    file = tmp_path / "model.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(DataError, match=r"differ from those of this version: (colour, .*|.*, colour)\. Fit it again"):
        PassageScorer.read(file)


def with_trees(tmp_path: Path, feature: int, threshold: float = 0.5) -> PassageScorer:
    """Twice the cosine and the rarity of a pair's topic; one tree: 3 above the threshold of a feature, else 1."""
    tree = {"roots": [0], "feature": [feature, -1, -1], "value": [threshold, 1.0, 3.0], "other": [2, 0, 0]}
    file = tmp_path / "trees.json"
    file.write_text(json.dumps(record({"cosine": 2.0}, {"topic_rarity": 1.0}) | {"trees": tree}), encoding="utf-8")
    return PassageScorer.read(file)


# Columns of what the trees see: the features alone, those of the best pair, a, its best pair, their distance from the
# best sum, the rank, and the probability that the question needs several passages, which is 1/2 here.
LAST = len(ALONE) + len(PAIR)


@pytest.mark.parametrize(
    ("feature", "threshold", "above"),
    [
        (ALONE.index("cosine"), 0.5, [True, False, False]),
        (len(ALONE) + PAIR.index("topic_rarity"), 0.5, [False, False, True]),
        (LAST, 1.0, [True, False, False]),  # a = 2, 1, 0
        (LAST + 1, 0.25, [False, False, True]),  # 1/2 of the rarity 1
        (LAST + 2, -0.75, [True, False, False]),  # 2, 1.125, 0.5 less the best
        (LAST + 3, 1.5, [False, False, True]),
        (LAST + 4, 0.25, [True, True, True]),
    ],
)
def test_scorer_trees_see_passage_and_best_pair(
    tmp_path: Path, feature: int, threshold: float, above: list[bool]
) -> None:
    made, asked = (
        with_trees(tmp_path, feature, threshold),
        features([1.0, 0.5, 0.0], {(0, 1): 0.25, (0, 2): 1.0, (1, 2): 0.5}),
    )
    alone, pairs = made(asked)
    boost = [0.0 if high or not any(above) else -2.0 for high in above]  # the sum of the trees less the best
    assert alone.tolist() == [a + 0.5 * b for a, b in zip([2.0, 1.0, 0.0], boost, strict=True)]
    assert pairs.tolist() == made.linear(asked)[1].tolist() == [0.125, 0.5, 0.25]
    assert made(features([], {}))[0].tolist() == []


def test_scorer_trees_are_part_of_its_value(tmp_path: Path) -> None:
    made = with_trees(tmp_path, 0)
    assert made == with_trees(tmp_path, 0) == pickle.loads(pickle.dumps(made)) and hash(made) == hash(
        with_trees(tmp_path, 0)
    )
    assert made != with_trees(tmp_path, 1) and made.trees is not None and fitted_scorer().trees is not None
    with pytest.raises(DataError, match=r"its trees use feature 33 of 32\. Fit it again"):
        with_trees(tmp_path, 32)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(record({}, {}) | {"trees": {"roots": [0]}}), encoding="utf-8")
    with pytest.raises(DataError, match=r"model\.json is not a passage scorer"):
        PassageScorer.read(file)
