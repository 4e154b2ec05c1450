"""Half precision against numpy's, on all numbers that it has, and products against those in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphwright.kernels import half
from graphwright.kernels.blocks import MappedArray, block_sums
from graphwright.kernels.half import LARGEST, HalfArray, products, to_half, to_single

FINITE: NDArray[np.float16] = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FINITE = FINITE[np.isfinite(FINITE)]


def test_all_halves_convert_as_in_numpy() -> None:
    singles = to_single(FINITE)
    assert np.array_equal(singles.view(np.uint32), FINITE.astype(np.float32).view(np.uint32))
    assert np.array_equal(to_half(singles).view(np.uint16), FINITE.view(np.uint16))


def test_to_half_rounds_to_nearest_even() -> None:
    normal = np.sort(FINITE[np.abs(FINITE.astype(np.float32)) >= 2.0**-14]).astype(np.float32)
    middle = (normal[:-1] + normal[1:]) / 2
    for values in (middle, np.nextafter(middle, np.float32(-np.inf)), np.nextafter(middle, np.float32(np.inf))):
        inside = np.abs(values) >= 2.0**-14
        assert np.array_equal(to_half(values[inside]), values[inside].astype(np.float16))


@given(st.lists(st.floats(-LARGEST, LARGEST, width=32), min_size=1))
def test_to_half_error_is_at_most_one_in_2048(values: list[float]) -> None:
    given_, kept = np.float32(values), to_single(to_half(values))
    assert (np.abs(kept - given_) <= np.maximum(np.abs(given_) / 2048, 2.0**-24)).all()


@pytest.mark.parametrize("number", [65_520.0, -1e30, float("inf"), float("nan")])
def test_to_half_too_large_or_not_finite_raises_value_error(number: float) -> None:
    with pytest.raises(ValueError, match=r"not finite or above 65,504"):
        to_half([1.0, number])


def test_half_products_do_not_depend_on_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    table, query = HalfArray.of(draw.standard_normal((1_003, 16))), draw.standard_normal(16).astype(np.float32)
    alone = table @ query
    monkeypatch.setattr(half, "_ALONE", 100)
    monkeypatch.setattr(half, "_CORES", 4)
    assert np.array_equal(table @ query, alone)
    assert np.array_equal(alone, products(table, np.arange(1_003), query))


@pytest.mark.parametrize("dimension", [1, 3, 16, 384, 385])
def test_products_equal_those_of_rounded_numbers(dimension: int) -> None:
    draw = np.random.default_rng(dimension)
    values, query = (draw.standard_normal((rows, dimension)).astype(np.float32) for rows in (50, 1))
    table, some = HalfArray.of(values), draw.permutation(50)[:20]
    expected = values.astype(np.float16).astype(np.float64) @ query[0].astype(np.float64)
    assert np.allclose(table @ query[0], expected, atol=1e-4)
    assert np.array_equal((table @ query[0])[some], products(table, some, query[0]))
    assert np.array_equal(products(table[:], some, query[0]), products(np.asarray(table), some, query[0]))
    both = table @ np.stack((query[0], 2 * query[0]), axis=1)
    assert np.allclose(both, np.stack((expected, 2 * expected), axis=1), atol=1e-4)
    assert np.allclose(table.lengths(), np.linalg.norm(np.asarray(table), axis=1))


def test_half_array_mapped_verifies_blocks_read() -> None:
    bits = to_half(np.random.default_rng(0).standard_normal((512, 64))).view(np.uint16)
    raw = bits.reshape(-1).view(np.uint8).copy()
    sums = block_sums(raw)
    raw[20_000] ^= 1  # in the second block, which begins with row 128
    mapped = MappedArray(raw, raw.view(np.uint16).reshape(512, 64), sums, lambda block: OSError(f"block {block}"))
    table, query = HalfArray(mapped), np.ones(64, np.float32)
    assert np.array_equal(table[:128], to_single(bits[:128].view(np.float16)))
    assert np.array_equal(
        products(table, [5, 300], query), products(to_single(bits[[5, 300]].view(np.float16)), [0, 1], query)
    )
    with pytest.raises(OSError, match="block 1"):
        table[[3, 156]]
    with pytest.raises(OSError, match="block 1"):
        table @ query


def test_half_array_product_of_other_shape_raises_value_error() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\) cannot be multiplied"):
        HalfArray.of(np.ones((2, 3))) @ np.ones(2, np.float32)


def test_half_array_without_rows_gives_empty_results() -> None:
    none = HalfArray.of(np.empty((0, 4)))
    assert (none @ np.ones(4, np.float32)).shape == (0,) and none[:].shape == (0, 4) and none.lengths().size == 0
    assert (none @ np.ones((4, 2), np.float32)).shape == (0, 2)


@pytest.mark.parametrize(
    ("rows", "query", "message"), [([2], [1.0], "rows holds 2"), ([0], [1.0, 2.0], r"the query \(2,\)")]
)
def test_products_invalid_row_or_query_raises_value_error(rows: list[int], query: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        products([[1.0], [2.0]], rows, query)
