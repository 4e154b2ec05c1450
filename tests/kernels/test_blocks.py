"""Mapped arrays: checksums of blocks, verified before they are read.

Half precision against numpy's, on all numbers that it has, and products against those in float64.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.graph import storage
from graphwright.graph.storage import load_array, save_array
from graphwright.kernels import blocks as half
from graphwright.kernels.blocks import (
    BLOCK,
    LARGEST,
    HalfArray,
    Limits,
    MappedArray,
    block_sums,
    products,
    to_half,
    to_single,
)
from graphwright.kernels.csr import Csr, undirected
from graphwright.kernels.hops import khop
from graphwright.kernels.ppr import push_ppr
from graphwright.kernels.strings import gather, position

N = 12_000


def mapped(array: NDArray[Any], path: Path, monkeypatch: pytest.MonkeyPatch, flip: int | None = None) -> Any:
    """Write an array with checksums of its blocks, perhaps flip a bit of a byte, and open it."""
    monkeypatch.setattr(storage, "IN_BLOCKS", 0)
    save_array(array, path)
    if flip is not None:
        data = bytearray(path.read_bytes())
        data[flip] ^= 4
        path.write_bytes(data)
    opened = load_array(path)
    assert isinstance(opened, MappedArray)
    return opened


def ring() -> Csr:
    """A ring of nodes, each also joined with the one after its next."""
    nodes = np.arange(N)
    return undirected(N, np.concatenate((nodes, nodes)), np.concatenate(((nodes + 1) % N, (nodes + 2) % N)))


def mapped_ring(folder: Path, monkeypatch: pytest.MonkeyPatch, flip: int | None = None) -> Csr:
    graph = ring()
    pointers = mapped(graph.indptr, folder / "indptr.npy", monkeypatch)
    return Csr(pointers, mapped(graph.values, folder / "values.npy", monkeypatch, flip))


def test_checksums_equal_xxh64() -> None:
    # Computed with the reference implementation.
    data = (np.arange(40_000) % 251).astype(np.uint8)
    expected = [0x5773FB9AE5FE381, 0x1A577AD2AF57E537, 0xA154B9A95E6E2478]
    assert block_sums(data).tolist() == expected
    assert block_sums(np.zeros(BLOCK, np.uint8)).tolist() == [0x594EDC66332C45EC]


INDEXES: list[Any] = [
    5, -1, np.int64(7), slice(3, 9), slice(None, None, 2), slice(9, 3, -2), slice(-5, None), slice(4, 4),
    np.array([N - 1, 0, -3]), np.array([], np.int64), [1, 2], np.arange(N) % 3 == 0, (slice(2, 4),), ...,
]  # fmt: skip


@pytest.mark.parametrize("index", INDEXES, ids=str)
@pytest.mark.parametrize("shape", [(N,), (N, 3)])
def test_mapped_array_indexing_equals_plain_array(
    shape: tuple[int, ...], index: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    array = mapped(plain, tmp_path / "a.npy", monkeypatch)
    assert np.array_equal(array[index], plain[index]) and type(array[index]) is type(plain[index])


def test_mapped_array_behaves_like_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = np.arange(N, dtype=np.float32).reshape(-1, 4)

    def new() -> Any:
        return mapped(plain, tmp_path / "a.npy", monkeypatch)

    query = np.ones(4, np.float32)
    assert np.array_equal(new() @ query, plain @ query) and np.array_equal(query @ new().T, query @ plain.T)
    assert np.array_equal(new() + new(), plain + plain) and np.array_equal(np.diff(new()), np.diff(plain))
    assert new().sum() == plain.sum() and new().astype(int).dtype == int and len(list(new())) == len(plain)
    assert (len(new()), new().shape, new().dtype, new().ndim, new().size) == (N // 4, (N // 4, 4), np.float32, 2, N)
    with pytest.raises(IndexError):
        new()[N]
    with pytest.raises(IndexError):
        new()[np.array([N])]


def test_mapped_array_verifies_only_blocks_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = mapped(np.arange(100_000), tmp_path / "a.npy", monkeypatch, flip=BLOCK * 3 + 10)
    assert array[100] == 100 and array[90_000] == 90_000 and array.verified.sum() == 2
    with pytest.raises(StoreError, match=r"a\.npy is damaged within 16,384 bytes of byte 49,152"):
        array[np.array([6_200])]
    for use in (np.sum, np.asarray, lambda a: a[a[:] > 3], list, lambda a: a.max(), lambda a: a @ a):
        with pytest.raises(StoreError, match="is damaged"):
            use(array)


def test_mapped_array_finds_every_flipped_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, rng = 128 + 4 * N, np.random.default_rng(1)
    for flip in [0, 6, 60, 127, 128, BLOCK - 1, BLOCK, size - 1, *rng.integers(0, size, 40).tolist()]:
        with pytest.raises(StoreError, match="damaged"):
            np.asarray(mapped(np.arange(N, dtype=np.int32), tmp_path / "a.npy", monkeypatch, flip))


def test_mapped_array_value_outside_limits_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(N)
    for limits, wrong in [(Limits(0, N - 2), N - 1), (Limits(1, N), 0), (Limits(0, N, ascending=True), None)]:
        array = mapped(values if wrong is not None else values[::-1], tmp_path / "a.npy", monkeypatch)
        array.limit(limits)
        with pytest.raises(StoreError, match="is damaged"):
            array[:]
    array.limit(Limits(0, N - 1))
    assert array[0] == N - 1


def test_kernels_on_mapped_arrays_equal_plain_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ring()
    some = mapped_ring(tmp_path, monkeypatch)
    for kernel in (lambda g: khop(*g, [7], 9), lambda g: push_ppr(*g, [7], k=5)):
        assert [part.tolist() for part in kernel(some)] == [part.tolist() for part in kernel(plain)]
    data, offsets = np.frombuffer(b"abc" * N, np.uint8), np.arange(0, 3 * N + 1, 3)
    column = mapped(data, tmp_path / "d.npy", monkeypatch), mapped(offsets, tmp_path / "o.npy", monkeypatch)
    assert position(*column, b"abd") == N and position(*column, b"abc", np.arange(N), 5) == 5


def test_gather_verifies_only_blocks_of_its_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, offsets = np.frombuffer(b"abc" * N, np.uint8), np.arange(0, 3 * N + 1, 3)
    damaged = mapped(data, tmp_path / "d.npy", monkeypatch, flip=2 * BLOCK)
    borders = mapped(offsets, tmp_path / "o.npy", monkeypatch)
    assert gather(damaged, borders, [9, 1, 3000])[0].tobytes() == b"abcabcabc"
    assert damaged.verified.sum() == 1 and borders.verified.sum() == 2
    with pytest.raises(StoreError, match="damaged"):
        gather(damaged, borders, [9, 2 * BLOCK // 3])


def test_kernel_on_damaged_array_raises_store_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mapped_ring(tmp_path, monkeypatch, flip=128 + 4 * (N // 2) * 4 + 3)  # a node far above n
    for call in (lambda: khop(*graph, [7], 3), lambda: push_ppr(*graph, [N // 2], k=5)):
        with pytest.raises(StoreError, match="damaged"):
            call()


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
