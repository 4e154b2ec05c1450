"""Vectors in pages: what any history keeps, what a change writes, and what damage is found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Document, Index
from graphwright.errors import StoreError
from graphwright.graph import storage
from graphwright.kernels.blocks import MappedArray
from graphwright.models import HashEncoder
from graphwright.search import vector_pages
from graphwright.search.vector_index import VectorIndex, vectors_checksum
from graphwright.search.vector_pages import Pages, VectorRows, map_pages, row_sums, write_pages
from graphwright.store import Settings


def halves(values: np.ndarray) -> np.ndarray:
    """Return numbers, each the nearest that half precision has."""
    return values.astype(np.float16).astype(np.float32)


def first(folder: Path, vectors: np.ndarray) -> tuple[Pages, np.ndarray]:
    folder.mkdir()
    return write_pages(folder, "names", VectorRows.of(vectors), None)


def changed(folder: Path, before: Pages, rows: np.ndarray, new: np.ndarray) -> tuple[Pages, np.ndarray]:
    """Keep some rows of pages, and add vectors."""
    folder.mkdir()
    row = np.concatenate((rows, before.rows + np.arange(len(new))))
    return write_pages(folder, "names", VectorRows(map_pages(before), new, row), before)


def unchanged(before: Pages, after: Pages) -> list[bool]:
    return [
        path.stat().st_ino in {old.stat().st_ino for old in before.paths() if old.exists()} for path in after.paths()
    ]


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), min_size=1, max_size=5), st.integers(0, 2**32))
def test_pages_keep_vectors_over_any_history(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], seed: int
) -> None:
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_pages, "PAGE", 2**15)
        expected = halves(rng.standard_normal((1500, 16)))
        pages, place = first(folder / "0", expected)
        for number, (removed, added) in enumerate(changes):
            left = np.sort(rng.permutation(len(expected))[min(removed, len(expected)) :])
            new = halves(rng.standard_normal((added, 16)))
            pages, place = changed(folder / str(number + 1), pages, place[left], new)
            expected = np.concatenate((expected[left], new))
            rows = np.asarray(map_pages(pages))
            assert np.array_equal(rows[place], expected) and len(set(place.tolist())) == len(place)
            rest = np.delete(np.arange(pages.rows), place)
            assert not rows[rest].any() and not pages.sums[rest].any()
            assert len(rest) <= max(pages.rows / 4, 512)
            assert np.array_equal(pages.sums[place], row_sums(expected))
    whole = VectorIndex(expected, np.arange(len(expected), dtype=np.int32))
    assert vectors_checksum(pages.sums, place, 16) == whole.checksum


def test_write_pages_rewrites_only_touched_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_pages, "PAGE", 2**14)
    vectors = halves(np.random.default_rng(0).standard_normal((5120, 16)))
    pages, place = first(tmp_path / "a", vectors)
    assert len(pages.paths()) == 10
    more, rows = changed(tmp_path / "b", pages, place, vectors[:5] + 1)
    assert unchanged(pages, more) == [True] * 10 + [False]
    less, rows = changed(tmp_path / "c", more, np.delete(rows, [600, 601]), vectors[:0])
    assert unchanged(more, less) == [True, False] + [True] * 9
    # A vector takes the place of one that is removed, in a page that is written anyway.
    last, _ = changed(tmp_path / "d", less, np.delete(rows, 700), vectors[:1] + 2)
    assert unchanged(less, last) == [True, False] + [True] * 9 and last.rows == less.rows


def test_add_document_writes_one_page_of_each_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_pages, "PAGE", 2**14)
    rows = [Document(f"{at:03d}", f"Town{at} lies on River{at}. Anna{at} Berg lives in Town{at}.") for at in range(300)]
    with Index.create(tmp_path / "index", encoder=HashEncoder(128), settings=Settings()) as index:
        index.add(rows)
        before = {path.stat().st_ino for path in index.path.glob("snapshot-*/*.page")}
        embedded = sum(index.info()["embedded"].values())
        changes = index.add([Document("150a", "Carla Dorn moved to Ulm.")])
        assert 0 < changes.usage.texts <= sum(index.info()["embedded"].values()) - embedded == 4
        pages = list(index.path.glob("snapshot-*/*.page"))
        written = [path for path in pages if path.stat().st_ino not in before]
        assert len(pages) > 12 and len({path.name.split(".")[0] for path in written}) == len(written) == 3
        written_bytes = sum(path.stat().st_size for path in written)
        assert written_bytes <= 3 * 2**14
        removed = {path.stat().st_ino for path in pages}
        assert index.remove(["150a"]).usage.texts == 0
        again = [path for path in index.path.glob("snapshot-*/*.page") if path.stat().st_ino not in removed]
        assert sum(path.stat().st_size for path in again) <= 3 * 2**14
        assert index.verify() == []


@pytest.mark.parametrize("large", [False, True])
def test_map_pages_damage_names_block(large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_pages, "PAGE", 2**15)
    monkeypatch.setattr(vector_pages, "IN_BLOCKS", 0 if large else storage.IN_BLOCKS)
    vectors = halves(np.random.default_rng(0).standard_normal((5120, 16)))
    pages, _ = first(tmp_path / "a", vectors)
    path = pages.paths()[3]
    data = bytearray(path.read_bytes())
    data[20_000] ^= 1
    path.write_bytes(data)
    message = r"names\.000003072\.page is damaged within 16,384 bytes of byte 16,384"
    if large:
        rows = map_pages(pages)
        assert isinstance(rows.bits, MappedArray) and np.array_equal(rows[:1500], vectors[:1500])
        with pytest.raises(StoreError, match=message):
            rows[[3 * 1024 + 600]]
    else:
        with pytest.raises(StoreError, match=message):
            map_pages(pages)
    path.write_bytes(data[:100])
    with pytest.raises(StoreError, match="cut short or damaged: 100 bytes, not 32,768"):
        map_pages(pages)
    path.unlink()
    with pytest.raises(StoreError, match="missing"):
        map_pages(pages)


def test_encoder_without_dimension_starts_empty(tmp_path: Path) -> None:
    class Plain:
        id = "plain"

        def encode(self, texts: list[str]) -> np.ndarray:
            return np.array([[len(text), 1, 0] for text in texts], np.float32)

    with Index.create(tmp_path / "index", encoder=Plain()) as index:
        index.add([Document("a", "Graz lies on the Mur.")])
        index.add([Document("b", "Linz lies on the Danube.")])
        assert index.snapshot.passages.vectors[:, 0].max() == 24 and index.verify() == []


@pytest.mark.parametrize("width", [8, 16, 64, 384])
def test_scores_are_independent_of_row_order(width: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(width)
    vectors, query = (
        rng.standard_normal((3000, width)).astype(np.float32),
        rng.standard_normal(width).astype(np.float32),
    )
    pages, place = first(tmp_path / "a", vectors)
    order = rng.permutation(3000)
    shuffled, other = first(tmp_path / "b", vectors[order])
    scores = VectorIndex(map_pages(pages)).scores(query)[place]
    assert scores.tolist() == VectorIndex(map_pages(shuffled)).scores(query)[other][np.argsort(order)].tolist()


def test_open_older_format_raises_store_error(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        index.add([Document("a", "Graz lies on the Mur.")])
        path = next(index.path.glob("snapshot-*/about.json"))
    about = json.loads(path.read_text())
    path.write_text(json.dumps({**about, "format": 5}))
    with pytest.raises(StoreError, match=r"has format 5; this version reads 11\..*graphwright verify --repair"):
        Index.open(tmp_path / "index", encoder=HashEncoder(8)).retrieve("Graz")
    assert Index.open(tmp_path / "index", encoder=HashEncoder(8)).verify(repair=True) == []


def test_small_changes_write_small_pages(tmp_path: Path) -> None:
    vectors = halves(np.random.default_rng(0).standard_normal((20_000, 384)))
    pages, rows = first(tmp_path / "0", vectors)
    initial, written = len(pages.paths()), 0
    for number in range(1, 101):
        pages_before, (pages, rows) = pages, changed(tmp_path / str(number), pages, rows, vectors[:7] + number)
        same = unchanged(pages_before, pages)
        written += sum(size for size, linked in zip(pages.sizes(), same, strict=True) if not linked)
    assert len(pages.paths()) <= initial + 6 and written < 100 * 300_000
    assert np.array_equal(np.asarray(map_pages(pages))[rows[-7:]], halves(vectors[:7] + 100))
