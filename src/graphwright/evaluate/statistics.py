"""Bootstrap intervals and paired permutation tests over questions, by scipy (extra `stats`).

Everything is deterministic for a seed, and questions are drawn in blocks, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError

__all__ = ["available", "bootstrap_interval", "holm", "paired_test", "ratio_interval", "with_interval"]

Values = NDArray[np.float64]

_CELLS = 1 << 20  # numbers drawn at once
_DECIMALS = 9  # sums that differ by less are equal


def available() -> bool:
    """Return whether scipy is installed."""
    return find_spec("scipy") is not None


def bootstrap_interval(
    values: ArrayLike, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean of `values`, one value for each question (Efron, 1979).

    Raises OptionError for values that are missing or not finite, and without scipy.

    >>> low, high = bootstrap_interval([0, 1] * 50); round(low, 1), round(high, 1)
    (0.4, 0.6)
    """
    return _bootstrap((_values(values, "values"),), np.mean, level, resamples, seed)


def ratio_interval(
    numerators: ArrayLike, denominators: ArrayLike, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap interval of Σ numerators / Σ denominators, such as micro F1; 0 / 0 counts as 0.

    >>> low, high = ratio_interval([2, 0] * 50, [2, 2] * 50); round(low, 1), round(high, 1)
    (0.4, 0.6)
    """
    pair = _pair(numerators, denominators, "numerators", "denominators")
    return _bootstrap(pair, _ratio, level, resamples, seed)


def paired_test(a: ArrayLike, b: ArrayLike, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p value of the difference of two methods on the same questions.

    Paired permutation test (Fisher, 1935; for retrieval Smucker, Allan and Carterette, 2007): if the methods were
    alike, each difference would be as likely with the other sign. All patterns of signs are tried where there are at
    most `resamples`, else that number of random ones, the observed one included (Phipson and Smyth, 2010).
    Raises OptionError where a and b differ in length, for values that are not finite, and without scipy.

    >>> paired_test([1, 1, 1, 1, 1], [0, 0, 0, 0, 0])  # 2 of 2**5 patterns
    0.0625
    """
    first, second = _pair(a, b, "a", "b")
    _check_resamples(resamples)
    difference = first - second
    difference = difference[difference != 0]  # zero differences have no sign
    if difference.size < 2:
        return 1.0
    options = {"vectorized": True, "alternative": "greater", "n_resamples": resamples, "batch": _rows(difference.size)}
    if difference.size < 63 and 2**difference.size <= resamples:
        test = _scipy().permutation_test((difference,), _total, permutation_type="samples", **options)
    else:
        rng = np.random.default_rng(seed)
        signs = np.array([-1, 1], np.int8)
        test = _scipy().monte_carlo_test(
            difference, lambda size: difference * signs[rng.integers(0, 2, size, np.int8)], _total, **options
        )
    return float(test.pvalue)


def _total(differences: Values, axis: int) -> Values:
    """Return the distance of the sum from 0; sums that differ by rounding only are made equal."""
    distance: Values = np.round(np.abs(differences.sum(axis=axis)), _DECIMALS)
    return distance


def holm(p: Sequence[float]) -> list[float]:
    """Return p values corrected for their number, in the order given (Holm, 1979).

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * np.asarray(p, float)[order]), 1.0)
    return [float(value) for value in corrected]


def with_interval(values: ArrayLike, denominators: ArrayLike | None = None, seed: int = 0) -> Mapping[str, float]:
    """Return "mean", and with scipy "low" and "high", of values or of a ratio of sums."""
    numerators = _values(values, "values")
    if denominators is None:
        interval = bootstrap_interval(numerators, seed=seed) if available() else None
        mean = float(numerators.mean())
    else:
        interval = ratio_interval(numerators, denominators, seed=seed) if available() else None
        mean = float(_ratio(numerators, np.asarray(denominators, float)))
    return {"mean": mean} if interval is None else {"mean": mean, "low": interval[0], "high": interval[1]}


def _bootstrap(
    data: tuple[Values, ...], statistic: Any, level: float, resamples: int, seed: int
) -> tuple[float, float]:
    _check_resamples(resamples)
    if not 0 < level < 1:
        raise OptionError(f"level is {level!r}; it must lie between 0 and 1, such as 0.95.")
    if data[0].size == 1:
        value = float(statistic(*data, axis=-1))
        return value, value
    interval = (
        _scipy()
        .bootstrap(
            data,
            statistic,
            n_resamples=resamples,
            batch=_rows(data[0].size),
            vectorized=True,
            paired=len(data) > 1,
            confidence_level=level,
            method="percentile",
            random_state=seed,
        )
        .confidence_interval
    )
    return float(interval.low), float(interval.high)


def _ratio(numerators: Values, denominators: Values, axis: int = -1) -> Values:
    above, below = numerators.sum(axis=axis), denominators.sum(axis=axis)
    ratio: Values = np.divide(above, below, out=np.zeros_like(above), where=below != 0)
    return ratio


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise OptionError(
            f'Intervals and tests need scipy, which cannot be imported ({error}): pip install "graphwright[stats]"'
        ) from error
    return stats


def _rows(size: int) -> int:
    return max(1, _CELLS // size)


def _check_resamples(resamples: int) -> None:
    if resamples < 1:
        raise OptionError(f"resamples is {resamples!r}; it must be 1 or more.")


def _pair(a: ArrayLike, b: ArrayLike, name_a: str, name_b: str) -> tuple[Values, Values]:
    first, second = _values(a, name_a), _values(b, name_b)
    if first.size != second.size:
        raise OptionError(
            f"{name_a} holds {first.size} values and {name_b} {second.size}; give both for each question."
        )
    return first, second


def _values(values: ArrayLike, name: str) -> Values:
    array = np.asarray(values, np.float64).reshape(-1)
    if not array.size:
        raise OptionError(f"{name} is empty; give one value for each question.")
    if not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise OptionError(f"{name}[{at}] is {array[at]}; leave questions without a value out.")
    return array
