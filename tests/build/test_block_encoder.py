"""Encoding in blocks: vectors that are held on disk equal those in memory, and leave no file."""

from __future__ import annotations

from collections.abc import Sequence
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphwright import Document, Index
from graphwright.build import known_vectors
from graphwright.build.known_vectors import BlockEncoder
from graphwright.errors import ModelError, StoreError
from graphwright.graph.columns import TextColumn
from graphwright.models import HashEncoder
from graphwright.models.protocols import Floats, Usage

TEXTS = [f"text {at % 700}" for at in range(1200)]


def is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap)


def test_block_encoder_many_vectors_are_held_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = HashEncoder(8).encode(TEXTS).astype(np.float16)
    monkeypatch.setattr(known_vectors, "_MAX_IN_MEMORY", 10_000)
    told: list[tuple[str, int, int]] = []
    encode = BlockEncoder(HashEncoder(8), Usage(), lambda *done: told.append(done), tmp_path)
    on_disk = encode.all("names", TEXTS)
    assert is_mapped(on_disk.bits) and np.array_equal(on_disk, expected)
    assert not is_mapped(encode.all("names", TEXTS[:600]).bits)
    assert told[:3] == [("encode names", done, 1200) for done in (512, 1024, 1200)]
    rows = encode.new("names", TextColumn.of(TEXTS), None)
    assert len(rows.new) == 700 and np.array_equal(np.asarray(rows), expected)
    assert list(tmp_path.iterdir()) == []


def test_index_built_on_disk_is_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Document(f"{at:03d}", f"Town{at} lies on River{at}. Anna{at} Berg lives in Town{at}.") for at in range(50)]
    indexes = []
    for held in (2**26, 100):
        monkeypatch.setattr(known_vectors, "_MAX_IN_MEMORY", held)
        index = Index.create(tmp_path / str(held), encoder=HashEncoder(8))
        index.add(rows)
        assert index.verify() == []
        indexes.append(index)
    first, second = (index.snapshot for index in indexes)
    assert first.graph.checksum == second.graph.checksum and first.names == second.names
    assert first.passages == second.passages and first.triples == second.triples


def test_unwritable_vector_folder_raises_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_vectors, "_MAX_IN_MEMORY", 0)
    with pytest.raises(StoreError, match=r"vectors cannot be held in .*none"):
        BlockEncoder(HashEncoder(8), Usage(), None, tmp_path / "none").all("names", TEXTS)


@pytest.mark.parametrize("number", [70_000.0, float("inf"), float("nan")])
def test_invalid_vector_limit_raises(number: float) -> None:
    class Large(HashEncoder):
        def encode(self, texts: Sequence[str]) -> Floats:
            return np.full((len(texts), 8), number, np.float32)

    with pytest.raises(ModelError, match=r"Large.* returned a number above 65,504 or none"):
        BlockEncoder(Large(8), Usage(), None).all("names", TEXTS)
