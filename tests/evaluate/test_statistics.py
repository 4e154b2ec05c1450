"""Intervals and tests against those of scipy."""

from __future__ import annotations

import random
import tracemalloc
from fractions import Fraction
from itertools import product
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphwright.errors import OptionError
from graphwright.evaluate.statistics import bootstrap_interval, holm, paired_test, ratio_interval

RNG = np.random.default_rng(7)
RECALL = RNG.choice([0, 0.5, 1], 120, p=[0.2, 0.3, 0.5])
BETTER = np.clip(RECALL + RNG.choice([0, 0.5, -0.5], 120, p=[0.5, 0.4, 0.1]), 0, 1)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_interval_agrees_with_scipy(level) -> None:
    ours = bootstrap_interval(RECALL, level)
    theirs = stats.bootstrap(
        (RECALL,), np.mean, confidence_level=level, n_resamples=10_000, method="percentile", random_state=3
    ).confidence_interval
    assert ours == pytest.approx(tuple(theirs), abs=0.006)


def test_interval_is_the_same_for_a_seed_and_contains_a_constant() -> None:
    assert bootstrap_interval(RECALL, seed=1) == bootstrap_interval(RECALL, seed=1)
    assert bootstrap_interval(RECALL, seed=1) != bootstrap_interval(RECALL, seed=2)
    assert bootstrap_interval([0.25] * 9) == (0.25, 0.25)


def theirs(a, b, resamples=10_000) -> float:
    return stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=resamples, random_state=5,
    ).pvalue  # fmt: skip


def test_test_on_many_questions_agrees_with_scipy() -> None:
    p = paired_test(RECALL, BETTER)
    assert 0.001 < p < 0.2
    assert p == pytest.approx(theirs(RECALL, BETTER), abs=0.012)
    assert paired_test(BETTER, RECALL) == p


SOME = [(1, 0), (0.5, 1), (1, 1), (1, 0.25), (0.75, 0), (0.5, 0), (0, 0.5), (1, 0.5), (1, 0)]


@pytest.mark.parametrize("few", range(2, 10))
def test_test_on_few_questions_is_the_exact_one_of_scipy(few) -> None:
    a, b = np.array(SOME[:few]).T
    assert paired_test(a, b) == pytest.approx(theirs(a, b))


sixths = st.sampled_from([Fraction(n, 6) for n in range(7)])


@given(st.lists(st.tuples(sixths, sixths), min_size=1, max_size=7))
def test_test_is_exact_where_sums_are_equal_but_for_rounding(pairs) -> None:
    differences = [a - b for a, b in pairs]
    sums = [abs(sum(map(mul, differences, signs))) for signs in product((1, -1), repeat=len(pairs))]
    p = Fraction(sum(one >= abs(sum(differences)) for one in sums), len(sums))
    a, b = (list(map(float, column)) for column in zip(*pairs, strict=True))
    assert paired_test(a, b) == pytest.approx(float(p))


def test_a_random_p_value_is_never_zero() -> None:
    assert paired_test(np.ones(100), np.zeros(100), resamples=999) == 1 / 1000


def test_memory_is_bounded_on_many_questions() -> None:
    many = RNG.random(20_000)
    tracemalloc.start()
    bootstrap_interval(many, resamples=200)
    paired_test(many, many[::-1], resamples=200)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6  # at once, 200 × 20,000 indexes alone would be 32 MB, and their values as much


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bootstrap_interval([]), "values is empty"),
        (lambda: bootstrap_interval([0.5, float("nan")]), r"values\[1\] is nan"),
        (lambda: bootstrap_interval([0.5], level=95), "level is 95"),
        (lambda: ratio_interval([0.5], [1.0], level=95), "level is 95"),
        (lambda: bootstrap_interval([0.5], resamples=0), "resamples is 0"),
        (lambda: paired_test([1, 0], [1]), "a holds 2 values and b 1"),
        (lambda: paired_test([1], [0], resamples=0), "resamples is 0"),
    ],
)
def test_values_that_cannot_be_used_are_refused(call, says) -> None:
    with pytest.raises(OptionError, match=says):
        call()


def test_holm_corrects_for_the_number_of_comparisons() -> None:
    assert holm([]) == [] and holm([0.2]) == [0.2]
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrected_values_keep_the_order_and_are_no_smaller(p: list[float]) -> None:
    corrected = holm(p)
    assert all(one <= other <= 1 for one, other in zip(p, corrected, strict=True))
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= 0).all()
    assert min(corrected) == pytest.approx(min(1.0, len(p) * min(p)))
    # As it is defined: of all that are no larger, the most that one comes to times those that are no smaller than it.
    plain = [max(min(1.0, q * sum(one >= q for one in p)) for q in p if q <= of) for of in p]
    assert corrected == pytest.approx(plain)


def test_a_ratio_of_sums_has_an_interval_around_it() -> None:
    above, below = [2.0, 0.0, 2.0, 4.0] * 40, [2.0, 2.0, 4.0, 4.0] * 40
    low, high = ratio_interval(above, below)
    assert low < sum(above) / sum(below) < high and (low, high) == ratio_interval(above, below)
    assert ratio_interval([0, 0], [0, 0]) == (0.0, 0.0)
    drawn = [random.Random(seed).choices(range(160), k=160) for seed in range(2_000)]
    plain = np.quantile([sum(above[i] for i in some) / sum(below[i] for i in some) for some in drawn], [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(plain), abs=0.01)
    with pytest.raises(OptionError, match="numerators holds 1 values and denominators 2"):
        ratio_interval([1], [1, 2])
