"""Greedy coverage, compared with plain Python and by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphwright.operators.rerank.fitted_scorer import Cover
from graphwright.operators.rerank.passage_features import PassageFeatures

Pairs = dict[tuple[int, int], float]


def features_of(pairs: Pairs, words: list[list[float]]) -> tuple[PassageFeatures, np.ndarray]:
    ends = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    none = np.zeros((len(words), 0), np.float32)
    shares = np.array(words, np.float32).reshape(len(words), len(words[0]) if words else 0)
    features = PassageFeatures(np.arange(len(words)), none, ends[:, 0], ends[:, 1], none, shares, none, False)
    return features, np.array([pairs[pair] for pair in sorted(pairs)])


def by_hand(
    cover: Cover, alone: list[float], pairs: Pairs, several: float, words: list[list[float]]
) -> list[tuple[int, float]]:
    """All passages with their gains, by the formula."""
    chosen: list[tuple[int, float]] = []
    while len(chosen) < len(alone):
        taken = [i for i, _ in chosen]

        def gain(t: int, taken: list[int] = taken) -> float:
            known = max([0.0, *(value for (s, to), value in pairs.items() if to == t and s in taken)])
            unknown = cover.open * max([0.0, *(value for (_, to), value in pairs.items() if to == t)])
            covered = [max((words[s][w] for s in taken), default=0.0) for w in range(len(words[t]))]
            return alone[t] + max(known, unknown) - several * cover.overlap * sum(map(min, words[t], covered))

        best = max((t for t in range(len(alone)) if t not in taken), key=lambda t: (gain(t), -t))
        chosen.append((best, gain(best)))
    return chosen


@st.composite
def cases(draw: st.DrawFn) -> tuple[Cover, list[float], Pairs, float, list[list[float]]]:
    # Multiples of 1/16 add without rounding, so that ties are ties.
    sixteenths = st.integers(0, 32).map(lambda i: i / 16)
    p, w = draw(st.integers(0, 7)), draw(st.integers(0, 3))
    alone = draw(st.lists(sixteenths.map(lambda v: v - 1), min_size=p, max_size=p))
    ends = st.tuples(st.integers(0, p - 1), st.integers(0, p - 1)).filter(lambda e: e[0] != e[1])
    pairs = draw(st.dictionaries(ends, sixteenths.map(lambda v: v - 0.5), max_size=10)) if p > 1 else {}
    words = draw(st.lists(st.lists(sixteenths, min_size=w, max_size=w), min_size=p, max_size=p))
    cover = Cover(draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])), draw(st.sampled_from([0.0, 0.5, 2.0])))
    return cover, alone, pairs, draw(st.sampled_from([0.0, 0.5, 1.0])), words


@given(cases())
def test_coverage_selection_equals_plain_python(
    case: tuple[Cover, list[float], Pairs, float, list[list[float]]],
) -> None:
    cover, alone, pairs, several, words = case
    features, values = features_of(pairs, words)
    order, scores = cover(features, np.array(alone), values, several, 1000)
    expected = by_hand(cover, alone, pairs, several, words)
    assert order.tolist() == [t for t, _ in expected]
    assert (np.diff(scores) < 0).all()
    falling = [gain for at, (_, gain) in enumerate(expected) if all(gain < other for _, other in expected[:at])]
    assert set(falling) <= set(scores.tolist())  # a gain that rose by a choice counts just less than the one before
    for k in range(len(alone) + 1):
        first, best = cover(features, np.array(alone), values, several, k)
        assert first.tolist() == order[:k].tolist() and best.tolist() == scores[:k].tolist()


def test_coverage_gains_equal_worked_numbers() -> None:
    words = [[0.5, 0.0], [0.5, 0.5], [0.0, 0.25]]
    features, pairs = features_of({(0, 2): 0.5}, words)
    alone = np.array([1.0, 0.75, 0.25])
    order, scores = Cover(0.5, 1.0)(features, alone, pairs, 1.0, 3)
    # 0 first: 1. Then 2, whose pair counts whole: 0.25 + 0.5, and 1 repeats a word: 0.75 - 0.5.
    # Then 1: 0.75 - 0.5 - 0.25 = 0.
    assert order.tolist() == [0, 2, 1] and scores.tolist() == [1.0, 0.75, 0.0]
    order, scores = Cover(0.0, 0.0)(features, alone, np.array([0.25]), 1.0, 3)
    assert order.tolist() == [0, 1, 2] and scores.tolist() == [1.0, 0.75, 0.5]


def test_coverage_scores_descend() -> None:
    features, pairs = features_of({(0, 1): 2.0}, [[], []])
    order, scores = Cover(0.0, 0.0)(features, np.array([1.0, 0.5]), pairs, 1.0, 2)
    assert order.tolist() == [0, 1] and scores.tolist() == [1.0, np.nextafter(1.0, 0)]
