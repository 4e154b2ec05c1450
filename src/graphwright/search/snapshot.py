"""Snapshots: the graph and the indexes over it, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.graph import Columns, Graph
from graphwright.models.protocols import Encoder
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.vector_index import VectorIndex
from graphwright.store.locks import Lease

INDEXES = ("passages", "names", "triples", "words")  # of a snapshot
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The graph and the indexes that a method is built over.

    `passages` has the vectors of chunk nodes, `names` those of entities, `triples` those of edges (the sentences that
    state them); the last two are None if they were not embedded. In a graph without passages its nodes take their
    place: `passages` has vectors of their triples, else of their names, else none. `about`: revision, encoder, number
    of embedded texts by space. `seconds`: the time of each part of the build. `nearest`: the pivots of each name (see
    `near_pairs`), in a snapshot of documents alone. `gate`: see `Index.gate`. The repr of an index is the expression in
    methods: `ix.passages`.
    """

    graph: Graph
    passages: VectorIndex
    words: WordIndex
    names: VectorIndex | None
    triples: VectorIndex | None
    encoder: Encoder
    about: dict[str, Any]
    lease: Lease | None = None  # keeps its files from being deleted
    seconds: dict[str, float] = field(default_factory=dict)
    nearest: NDArray[np.int32] | None = None
    gate: float = 0.0

    def __post_init__(self) -> None:
        for name in INDEXES:
            index = getattr(self, name)
            if index is not None:
                object.__setattr__(self, name, index.named(f"ix.{name}"))

    @property
    def fingerprints(self) -> dict[str, str]:
        """Kind, shape and checksum of each of its indexes, by name."""
        indexes = {name: getattr(self, name) for name in INDEXES}
        return {name: index.fingerprint for name, index in indexes.items() if index is not None}

    @classmethod
    def of(
        cls,
        graph: Graph,
        spaces: Mapping[str, VectorIndex],
        words: WordIndex,
        encoder: Encoder,
        about: dict[str, Any],
        **more: Any,
    ) -> Snapshot:
        """Make a snapshot of a graph, the vectors of its texts by space, and its words; `more` are further fields."""
        names, triples = spaces.get("names"), spaces.get("triples")
        passages = spaces.get("passages") or names or VectorIndex.from_array(np.empty((0, 0)), encoder)
        return cls(graph, passages, words, names, triples, encoder, about, **more)

    @property
    def imported(self) -> tuple[tuple[int, int], int] | None:
        """The imported graph to which documents were added: the range of its nodes, and its number of edges."""
        part = self.about.get("imported")
        return None if part is None else ((part["nodes"][0], part["nodes"][1]), part["edges"])

    @property
    def is_without_graph(self) -> bool:
        """Whether a filter left out the graph to which the documents were added."""
        return bool(self.about.get("without graph"))

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
        self._entries: WeakKeyDictionary[Columns, dict[Hashable, tuple[Lock, list[Any]]]] = WeakKeyDictionary()
        self._lock = Lock()

    def get(
        self,
        columns: Columns,
        key: Hashable,
        compute: Callable[[], Value],
        is_kept: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """Return the value of a snapshot and a key, computed if it is not there yet; `is_kept` may say no."""
        with self._lock:
            lock, values = self._entries.setdefault(columns, {}).setdefault(key, (Lock(), []))
        with lock:
            if values:
                value: Value = values[0]
            elif is_kept(value := compute()):
                values.append(value)
            return value


def per_snapshot(
    compute: Callable[Concatenate[Columns, Arguments], Value],
) -> Callable[Concatenate[Columns, Arguments], Value]:
    """Compute a function of a snapshot's columns, and of positional arguments, once for each (see SnapshotCache)."""
    cache: SnapshotCache[Value] = SnapshotCache()

    @wraps(compute)
    def cached(columns: Columns, *args: Arguments.args, **none: Arguments.kwargs) -> Value:
        return cache.get(columns, args, lambda: compute(columns, *args, **none))

    return cached  # type: ignore[return-value]  # a keyword `columns` is not promised
