"""Snapshots: the graph and the indexes over it, in memory and on disk."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import StoreError
from graphwright.files import flush
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.storage import load_array, load_graph, save_array, save_graph
from graphwright.index.bm25_index import WordIndex
from graphwright.index.locks import Lease
from graphwright.index.vector_index import VectorIndex
from graphwright.models.protocols import Encoder, Floats

__all__ = ["Snapshot", "SnapshotCache", "Space", "damaged_files", "open_snapshot", "passage_vectors", "write_snapshot"]

FORMAT = 2
_MAX_CHECKED = 64 * 2**20  # bytes of a file whose checksum is verified when a snapshot is opened
_NOT_CHECKED = -1  # instead of the checksum of a larger file
_REMEDY = "Rebuild it with graphwright verify --repair, or index the documents again."
Value = TypeVar("Value")


@dataclass(frozen=True)
class Space:
    """Vectors to be written: one row per text, and the row of each node or edge id (see VectorIndex)."""

    vectors: Floats
    row_of: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The graph and the indexes that a method is built over.

    `passages` has the vectors of chunk nodes, `names` those of entities, `triples` those of edges (the sentences that
    state them); the last two are None if they were not embedded. In a graph without passages its nodes take their
    place: `passages` has vectors of their triples, else of their names, else none. `about`: revision, encoder, sizes.
    """

    graph: Graph
    passages: VectorIndex
    words: WordIndex
    names: VectorIndex | None
    triples: VectorIndex | None
    encoder: Encoder
    about: dict[str, Any]
    lease: Lease | None = None  # keeps its files from being deleted

    def __repr__(self) -> str:
        return f"Snapshot({self.graph!r})"


class SnapshotCache(Generic[Value]):
    """Values computed from a snapshot's graph, by key, dropped with the graph.

    Threads that ask for the same value wait while one of them computes it. A value must not hold the snapshot's
    columns, or neither would ever be dropped.

    >>> from graphwright.graph.graph import Graph
    >>> cache, graph = SnapshotCache(), Graph.from_triples([("a", "r", "b")])
    >>> cache.get(graph.columns, "nodes", lambda: len(graph)), cache.get(graph.columns, "nodes", lambda: 1 / 0)
    (2, 2)
    """

    def __init__(self) -> None:
        """Start empty."""
        self._entries: WeakKeyDictionary[Columns, dict[Hashable, _CacheEntry]] = WeakKeyDictionary()
        self._lock = Lock()

    def get(self, columns: Columns, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a snapshot and a key, computed if it is not there yet."""
        with self._lock:
            entry = self._entries.setdefault(columns, {}).setdefault(key, _CacheEntry())
        with entry.lock:
            if not entry.values:
                entry.values.append(compute())
            value: Value = entry.values[0]
            return value


@dataclass
class _CacheEntry:
    lock: Lock = field(default_factory=Lock)
    values: list[Any] = field(default_factory=list)  # one at most


def write_snapshot(
    folder: Path, graph: Graph, spaces: Mapping[str, Space], words: WordIndex, about: dict[str, Any]
) -> None:
    """Write a snapshot into a new folder; all of it is on disk when this returns."""
    folder.mkdir(parents=True)
    save_graph(graph, folder / "graph")
    words.save(folder / "words")
    checksums = {}
    for name, space in spaces.items():
        save_array(space.vectors, folder / f"{name}.npy")
        save_array(space.row_of, folder / f"{name}.rows.npy")
        checksums[name] = VectorIndex(space.vectors, space.row_of).checksum
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    about = {
        "format": FORMAT,
        **about,
        "spaces": checksums,
        "words": words.checksum,
        "files": _file_checksums(folder, files),
    }
    about["sum"] = _checksum(about)
    (folder / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    flush(folder / "about.json")


def damaged_files(folder: Path, *, vectors: bool = False, max_bytes: float = math.inf) -> list[str]:
    """Return the names of a snapshot's files that have changed since it was written.

    `vectors`: check files of vectors only; `max_bytes`: larger files are not checked. An unreadable file counts as
    changed; so does about.json, which has the checksums.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        files = about["files"]
        if about.pop("sum") != _checksum(about):
            return ["about.json"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ["about.json"]
    expected = {name: checksum for name, checksum in files.items() if not vectors or "/" not in name}
    actual = _file_checksums(folder, expected, max_bytes)
    return [name for name, checksum in expected.items() if actual.get(name) not in (checksum, _NOT_CHECKED)]


def _file_checksums(folder: Path, names: Iterable[str], max_bytes: float = math.inf) -> dict[str, int]:
    """Return a checksum of each file: fast, and enough to find accidental damage."""
    checksums = {}
    for name in names:
        with suppress(OSError):
            path = folder / name
            checksums[name] = zlib.crc32(path.read_bytes()) if path.stat().st_size <= max_bytes else _NOT_CHECKED
    return checksums


def _checksum(about: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


def open_snapshot(folder: Path, encoder: Encoder) -> Snapshot:
    """Open a snapshot; its arrays are memory-mapped. `encoder` must be the one that it was written with.

    Raises StoreError for one that is missing, truncated, damaged, or of another format. The checksums of files above
    64 MB are not verified here; `verify` does that.
    """
    lease = Lease(folder)
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        spaces, words = about["spaces"], about["words"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} is not a readable snapshot ({error}). {_REMEDY}") from error
    if about.get("format") != FORMAT:
        raise StoreError(f"{folder} has format {about.get('format')}; this version reads {FORMAT}. {_REMEDY}")
    if damaged := damaged_files(folder, max_bytes=_MAX_CHECKED):
        raise StoreError(f"{folder / damaged[0]} is missing or damaged. {_REMEDY}")
    graph = load_graph(folder / "graph")
    opened = {name: _open_space(folder, name, checksum, encoder) for name, checksum in spaces.items()}
    complete = "passages" in opened or not about.get("passages", True)
    if not complete or not all(_matches(name, space, graph, about) for name, space in opened.items()):
        raise StoreError(f"{folder}: vectors are missing or truncated. {_REMEDY}")
    word_index = WordIndex.load(folder / "words")
    if word_index.checksum != words:
        raise StoreError(f"{folder / 'words'} is damaged. {_REMEDY}")
    names, triples = opened.get("names"), opened.get("triples")
    return Snapshot(graph, passage_vectors(opened, encoder), word_index, names, triples, encoder, about, lease)


def passage_vectors(spaces: Mapping[str, VectorIndex], encoder: Encoder) -> VectorIndex:
    """Return the vectors of passages, else those of names, else none."""
    return spaces.get("passages") or spaces.get("names") or VectorIndex.from_array(np.empty((0, 0)), encoder)


def _matches(name: str, space: VectorIndex, graph: Graph, about: Mapping[str, Any]) -> bool:
    """Return whether a space has a vector for each text, and a row for each node or (triples) edge."""
    ids = len(graph.edges) if name == "triples" else len(graph)
    rows = 0 if space.row_of is None else len(space.row_of)
    return len(space.vectors) == about["texts"].get(name) and rows == ids


def _open_space(folder: Path, name: str, checksum: str, encoder: Encoder) -> VectorIndex:
    index = VectorIndex(load_array(folder / f"{name}.npy"), load_array(folder / f"{name}.rows.npy"), encoder)
    vars(index)["checksum"] = checksum  # known since it was written, so that a repr does not read all vectors
    return index
