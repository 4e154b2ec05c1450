"""Measure the cost of verifying blocks of large arrays, on a synthetic graph of `--nodes` nodes.

A graph with nine edges per node, four of them to near nodes and five to any, is written twice: with its arrays verified
in blocks, whole before a kernel first reads them, and without checksums. Each is opened and asked in a process of its
own, whose file pages are dropped before (where the system allows it): the time to open, of the first hop searches and
personalised PageRank, of the same ones again, of others, and of reading and verifying all. Both must give the same
results. Sizes for 100 million nodes are extrapolated in proportion to bytes; times of later local queries do not depend
on the number of nodes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.graph import storage
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Columns, Graph
from graphwright.graph.storage import load_graph, save_graph
from graphwright.kernels.hops import khop
from graphwright.kernels.ppr import push_ppr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record

NEAR, FAR = 4, 5
QUERIES = 20
BLOCKS, PLAIN = "in blocks", "without checksums"
GOAL = 100_000_000


def make_graph(nodes: int, seed: int) -> Graph:
    """Return the synthetic graph."""
    rng, ids = np.random.default_rng(seed), np.arange(nodes, dtype=np.int32)
    heads = np.repeat(ids, NEAR + FAR)
    tails = rng.integers(0, nodes, (nodes, NEAR + FAR), np.int32)
    for step in range(NEAR):
        tails[:, step] = (ids + step + 1) % nodes
    width = len(str(nodes - 1))
    digits = np.stack([ids // 10**place % 10 for place in range(width - 1, -1, -1)], axis=1) + ord("0")
    names = TextColumn(digits.astype(np.uint8).ravel(), np.arange(0, nodes * width + 1, width))
    relation = np.zeros(len(heads), np.int32)
    return Graph(Columns(names, heads, tails.ravel(), relation, TextColumn.of(["r"]), np.zeros(nodes, np.uint8)))


@contextmanager
def _timed(times: dict[str, float], name: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    times[name] = time.perf_counter() - begun


def _drop_pages(folder: Path) -> None:
    """Drop the folder's files from the page cache, so that they are read from the disk."""
    if hasattr(os, "posix_fadvise"):
        for path in folder.iterdir():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _queries(graph: Graph, seeds: list[int]) -> list[Any]:
    adjacency, found = graph.columns.adjacency, []
    for seed in seeds:
        reached = khop(*adjacency, [seed], 2)[0]
        best, scores = push_ppr(*adjacency, [seed], k=20)
        names = graph.names.take(best.tolist())
        found.append([len(reached), int(reached.astype(np.int64).sum()), names, scores.round(9).tolist()])
    return found


def measure(folder: Path, seed: int) -> Record:
    """Open and ask one of the graphs; called in a process of its own."""
    compiled = make_graph(1000, seed)
    with tempfile.TemporaryDirectory() as scratch:  # compile the kernels first
        save_graph(compiled, Path(scratch) / "graph")
        _queries(load_graph(Path(scratch) / "graph"), [1])
    if folder.name == PLAIN:  # opened as if nothing was checked
        storage.check_limits = lambda array, limits, path: None
    _drop_pages(folder)
    times: dict[str, float] = {}
    with _timed(times, "open"):
        graph = load_graph(folder)
    some, others = np.random.default_rng(seed).integers(0, len(graph), (2, QUERIES)).tolist()
    with _timed(times, "first queries"):
        found = _queries(graph, some)
    with _timed(times, "the same again"):
        assert _queries(graph, some) == found
    with _timed(times, "other queries"):
        found += _queries(graph, others)
    columns = graph.columns
    arrays: list[Any] = [*columns.adjacency, columns.heads, columns.tails, columns.names.data]
    with _timed(times, "all of five arrays"):
        total = sum(int(np.asarray(array).max()) for array in arrays)
    size = sum(array.size * array.dtype.itemsize for array in arrays)
    return {"seconds": times, "found": [found, total], "bytes of five arrays": size}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this part."""
    parser.add_argument("--nodes", type=int, default=2_000_000, help="nodes of the synthetic graph (blocks)")


def run(options: Namespace) -> Record:
    """Measure both graphs, and compare their results."""
    results: dict[str, Record] = {}
    with tempfile.TemporaryDirectory(dir=options.work) as scratch:
        graph, usual = make_graph(options.nodes, options.seed), storage.IN_BLOCKS
        writing: dict[str, float] = {}
        try:
            for kind, blocks in {BLOCKS: 0, PLAIN: 1 << 60}.items():
                storage.IN_BLOCKS = blocks
                with _timed(writing, kind):
                    save_graph(graph, Path(scratch) / kind)
        finally:
            storage.IN_BLOCKS = usual
        sizes = {kind: sum(path.stat().st_size for path in (Path(scratch) / kind).iterdir()) for kind in writing}
        for kind in writing:
            command = [sys.executable, __file__, str(Path(scratch) / kind), str(options.seed)]
            results[kind] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    same = results[BLOCKS]["found"] == results[PLAIN]["found"]
    return {
        "nodes": options.nodes,
        "edges": options.nodes * (NEAR + FAR),
        "bytes": sizes,
        "bytes at 100 million nodes, extrapolated": {k: round(v * GOAL / options.nodes) for k, v in sizes.items()},
        "seconds to write": writing,
        **{kind: {k: v for k, v in result.items() if k != "found"} for kind, result in results.items()},
        "failures": [] if same else ["the graphs give different results"],
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
