"""Values computed once for a snapshot: by one thread for all, and freed with the snapshot."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphwright import Graph
from graphwright.search.snapshot import SnapshotCache


def test_snapshot_cache_computes_once_for_all_threads() -> None:
    selected: SnapshotCache[object] = SnapshotCache()
    graph, made, ready = Graph.from_triples([("a", "r", "b")]), list[int](), threading.Barrier(4)

    def make() -> object:
        made.append(1)
        return object()

    def ask(_: int) -> object:
        ready.wait()
        return selected.get(graph.columns, "one", make)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    assert made == [1]
    assert selected.get(graph.columns, "another", make) is not selected.get(graph.columns, "one", make)


def test_snapshot_cache_drops_failures_and_freed_snapshots() -> None:
    selected: SnapshotCache[set[int]] = SnapshotCache()
    graph = Graph.from_triples([("a", "r", "b")])
    with pytest.raises(ZeroDivisionError):
        selected.get(graph.columns, 0, lambda: {1 // 0})
    value = weakref.ref(selected.get(graph.columns, 0, lambda: {1}))
    assert value() == {1}
    del graph
    gc.collect()
    assert value() is None
