"""An opened snapshot: the graph and the indexes over it, all that a method searches."""

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
from graphwright.graph.snapshot import load_array, load_graph, save_array, save_graph
from graphwright.index.locks import Lease
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.models.protocols import Encoder, Floats

__all__ = ["Snapshot", "SnapshotCache", "Space", "damaged", "open_snapshot", "standing_for_passages", "write_snapshot"]

FORMAT = 2
_SMALL = 64 * 2**20  # bytes of a file that is read to its end when a snapshot is opened
_LARGE = -1  # in the place of the sum of a file that was not read


@dataclass(frozen=True)
class Space:
    """Vectors to be written: one row per text, and the row of each node or edge id (see VectorIndex)."""

    vectors: Floats
    row_of: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a method is built over.

    `passages` has the vectors of chunk nodes, `names` those of entities, `triples` those of edges (the
    sentences that state them); the last two are None where they were not embedded. Over a graph without passages its
    nodes stand for them: `passages` has their vectors, by their triples or else by their names, or none at all.
    """

    graph: Graph
    passages: VectorIndex
    words: WordIndex
    names: VectorIndex | None
    triples: VectorIndex | None
    encoder: Encoder
    about: dict[str, Any]
    lease: Lease | None = None  # keeps its files from being cleaned up

    def __repr__(self) -> str:
        return f"Snapshot({self.graph!r})"


def write_snapshot(
    folder: Path, graph: Graph, spaces: Mapping[str, Space], words: WordIndex, about: dict[str, Any]
) -> None:
    """Write everything into a new folder; all of it is on disk when this returns."""
    folder.mkdir(parents=True)
    save_graph(graph, folder / "graph")
    words.save(folder / "words")
    checksums = {}
    for name, space in spaces.items():
        save_array(space.vectors, folder / f"{name}.npy")
        save_array(space.row_of, folder / f"{name}.rows.npy")
        checksums[name] = VectorIndex(space.vectors, space.row_of).checksum
    about = {"format": FORMAT, **about, "spaces": checksums, "words": words.checksum, "files": _sums(folder)}
    about["sum"] = _sum_of(about)
    (folder / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    flush(folder / "about.json")


def damaged(folder: Path, *, vectors: bool = False, most: float = math.inf) -> list[str]:
    """Return the names of files that are not what they were when the snapshot was written.

    `vectors`: of files of vectors only; `most`: bytes of files that are looked into, larger ones are taken
    for sound. A file that cannot be read is one of them, and so is what says what the files were.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        kept = about["files"]
        if about.pop("sum") != _sum_of(about):
            return ["about.json"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ["about.json"]
    wanted = {name: known for name, known in kept.items() if not vectors or "/" not in name}
    found = _sums(folder, wanted, most)
    return [name for name, known in wanted.items() if found.get(name) not in (known, _LARGE)]


def _sums(folder: Path, names: Iterable[str] | None = None, most: float = math.inf) -> dict[str, int]:
    """Return a sum of each file of a snapshot: enough to find decay, and quick."""
    listed = (
        sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()) if names is None else names
    )
    sums = {}
    for name in listed:
        with suppress(OSError):
            path = folder / name
            sums[name] = zlib.crc32(path.read_bytes()) if path.stat().st_size <= most else _LARGE
    return sums


def _sum_of(about: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


def open_snapshot(folder: Path, encoder: Encoder) -> Snapshot:
    """Open a snapshot; its arrays are memory-mapped. `encoder` must be the one it was written with.

    Raises StoreError for one that is missing, cut short, of another format, or decayed. Files above 64 MB are not read
    for that; `verify` reads all.
    """
    lease = Lease(folder)
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        spaces = about["spaces"]
        words = about["words"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} is not a readable snapshot ({error}); index the documents again.") from error
    if about.get("format") != FORMAT:
        raise StoreError(f"{folder} has format {about.get('format')}; this version reads {FORMAT}. Index again.")
    if wrong := damaged(folder, most=_SMALL):
        raise StoreError(f"{folder / wrong[0]} is missing, or not what was written; index the documents again.")
    graph = load_graph(folder / "graph")
    opened = {name: _open_space(folder, name, checksum, encoder) for name, checksum in spaces.items()}
    if ("passages" not in opened and about.get("passages", True)) or any(
        len(space.vectors) != about["texts"].get(name)
        or len(space.row_of if space.row_of is not None else ()) != _ids(name, graph)
        for name, space in opened.items()
    ):
        raise StoreError(f"{folder}: vectors are missing or cut short; index the documents again.")
    index = WordIndex.load(folder / "words")
    if index.checksum != words:
        raise StoreError(f"{folder / 'words'} is not what was written there; index the documents again.")
    return Snapshot(
        graph,
        standing_for_passages(opened, encoder),
        index,
        opened.get("names"),
        opened.get("triples"),
        encoder,
        about,
        lease,
    )


def standing_for_passages(spaces: Mapping[str, VectorIndex], encoder: Encoder) -> VectorIndex:
    """Return the vectors of passages, else those of names, else none."""
    return spaces.get("passages") or spaces.get("names") or VectorIndex.from_array(np.empty((0, 0)), encoder)


def _ids(name: str, graph: Graph) -> int:
    """Return how many ids a space has rows for: nodes, or for triples edges."""
    return len(graph.edges) if name == "triples" else len(graph)


def _open_space(folder: Path, name: str, checksum: str, encoder: Encoder) -> VectorIndex:
    index = VectorIndex(load_array(folder / f"{name}.npy"), load_array(folder / f"{name}.rows.npy"), encoder)
    # Known from the day it was written: reading 30 MB to print an expression would be a waste.
    vars(index)["checksum"] = checksum
    return index


Value = TypeVar("Value")


@dataclass
class _Place:
    lock: Lock = field(default_factory=Lock)
    made: list[Any] = field(default_factory=list)


class SnapshotCache(Generic[Value]):
    """What was made from a snapshot, by key. Threads that ask for the same value wait while one of them makes it.

    A value must not hold its own snapshot's columns, or neither would ever go.

    >>> from graphwright.graph.graph import Graph
    >>> lengths, graph = SnapshotCache(), Graph.from_triples([("a", "r", "b")])
    >>> lengths.get(graph.columns, "nodes", lambda: len(graph)), lengths.get(graph.columns, "nodes", lambda: 1 / 0)
    (2, 2)
    """

    def __init__(self) -> None:
        self._places: WeakKeyDictionary[Columns, dict[Hashable, _Place]] = WeakKeyDictionary()
        self._lock = Lock()

    def get(self, columns: Columns, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a snapshot and a key, made if it is not there yet."""
        with self._lock:
            place = self._places.setdefault(columns, {}).setdefault(key, _Place())
        with place.lock:
            if not place.made:
                place.made.append(make())
            value: Value = place.made[0]
            return value
