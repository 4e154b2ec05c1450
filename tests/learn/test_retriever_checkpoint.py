"""Checkpoints: equal after a round trip, and errors for invalid files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from graphwright import VectorIndex
from graphwright.errors import DataError, OptionError
from graphwright.learn.graph_retrievers import EntityRetriever, TripleRetriever
from graphwright.learn.path import PathRetriever
from graphwright.learn.registry import load_retriever
from graphwright.learn.retriever import Checkpoint, read_checkpoint
from graphwright.models import HashEncoder

WEIGHTS = {
    "question": np.arange(24, dtype=np.float32).reshape(4, 6),
    "last bias": np.float32([0.5]),
    "empty": np.empty((0, 3), np.float32),
}
ABOUT = {"encoder": HashEncoder().id, "dimension": 64, "names": False, "labels": {"refiner": "weak"}}
MADE = Checkpoint("triple", WEIGHTS, ABOUT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    MADE.save(tmp_path / "films.gwr")
    return tmp_path / "films.gwr"


def test_checkpoint_round_trips(path: Path) -> None:
    result = read_checkpoint(path)
    assert result.level == "triple" and result.name == "films.gwr"
    assert list(result.weights) == list(WEIGHTS)
    for name, value in WEIGHTS.items():
        assert result.weights[name].dtype == value.dtype and np.array_equal(result.weights[name], value)
    assert ABOUT.items() <= result.about.items()
    assert result == MADE and hash(result) == hash(MADE) and result.checksum in repr(result)
    # Written in one go, in the place of what was there, and nothing left beside it.
    other = Checkpoint("path", {"bias": np.zeros(2, np.float32)})
    other.save(str(path))
    assert read_checkpoint(str(path)) == other != MADE
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_checkpoints_differ_by_weights_and_level() -> None:
    assert Checkpoint("entity", WEIGHTS, ABOUT) != MADE
    assert Checkpoint("triple", {**WEIGHTS, "last bias": np.float32([0.25])}, ABOUT) != MADE
    assert Checkpoint("triple", dict(reversed(WEIGHTS.items())), ABOUT) == MADE


def test_missing_checkpoint_raises(tmp_path: Path) -> None:
    for missing in (tmp_path / "none.gwr", tmp_path):
        with pytest.raises(DataError, match=r"no such file\. Train a retriever with graphwright train"):
            read_checkpoint(missing)


def save(path: Path, **arrays: object) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def array() -> bytes:
    file = BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


def changed(path: Path) -> None:
    """Change the configuration that a file has for its weights."""
    with np.load(path) as arrays:
        parts = dict(arrays)
    parts["about"] = message(**{**json.loads(parts["about"].tobytes()), "encoder": "another"})
    save(path, **parts)


def message(**about: object) -> np.ndarray:
    return np.frombuffer(json.dumps(about).encode(), np.uint8)


NONE: list[tuple[str, Callable[[Path], object]]] = [
    ("nothing", lambda path: path.write_bytes(b"")),
    ("text", lambda path: path.write_text("a retriever, they say")),
    ("an array", lambda path: path.write_bytes(array())),
    ("cut short", lambda path: path.write_bytes(path.read_bytes()[:-40])),
    ("cut in half", lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])),
    ("another zip", lambda path: zipfile.ZipFile(path, "w").close()),
    ("no word about it", lambda path: save(path, question=np.zeros(3))),
    ("words that are none", lambda path: save(path, about=np.frombuffer(b"{level", np.uint8))),
    ("a list", lambda path: save(path, about=np.frombuffer(b"[1]", np.uint8))),
    ("no level", lambda path: save(path, about=message(retriever=2))),
    ("no format", lambda path: save(path, about=message(level="triple"))),
    ("another format", lambda path: save(path, about=message(retriever=3, level="triple"))),
    ("another configuration", changed),
    ("objects", lambda path: save(path, about=message(retriever=2, level="path"), w=np.array([{}], object))),
]


@pytest.mark.parametrize("spoil", [spoil for _, spoil in NONE], ids=[name for name, _ in NONE])
def test_other_file_as_checkpoint_raises(path: Path, spoil: Callable[[Path], object]) -> None:
    spoil(path)
    with pytest.raises(
        DataError, match=r"films\.gwr is not a trained retriever \(format 2\)\. Train one with graphwright"
    ):
        read_checkpoint(path)


def test_damaged_checkpoint_loads_equal_or_raises(path: Path) -> None:
    sound, refused = path.read_bytes(), 0
    for at in range(0, len(sound), 7):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :])
        try:
            assert read_checkpoint(path) == MADE
        except DataError:
            refused += 1
    assert refused > 50


NAMES = VectorIndex.from_array(np.zeros((2, 64), np.float32))


@pytest.mark.parametrize(
    ("level", "kind"), [("triple", TripleRetriever), ("entity", EntityRetriever), ("path", PathRetriever)]
)
def test_retriever_loads_from_file_or_checkpoint_by_level(tmp_path: Path, level: str, kind: type[object]) -> None:
    made = Checkpoint(level, WEIGHTS, ABOUT)
    made.save(tmp_path / "r")
    result = load_retriever(tmp_path / "r", HashEncoder(), NAMES)
    assert type(result) is kind and result == load_retriever(made, HashEncoder(), NAMES)
    assert result.checkpoint == made and result.names is NAMES


def test_unknown_level_raises() -> None:
    with pytest.raises(DataError, match="has the level 'graph'; known levels: triple, entity, path"):
        load_retriever(Checkpoint("graph", WEIGHTS, ABOUT), HashEncoder())


def test_retriever_with_other_encoder_raises(path: Path) -> None:
    with pytest.raises(
        OptionError, match=r"was trained on vectors of .*:64, but this .* has vectors of .*:32\. Train it"
    ):
        load_retriever(path, HashEncoder(32))


def test_retriever_reading_names_needs_them() -> None:
    reads = Checkpoint("entity", WEIGHTS, {**ABOUT, "names": True})
    with pytest.raises(OptionError, match=r"needs vectors of node names, but this index has none.*--embed names"):
        load_retriever(reads, HashEncoder())
    assert load_retriever(reads, HashEncoder(), NAMES).names == NAMES
