"""Graphs, snapshots and retrievers that tests of the rooms share, beside those of tests.shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import networkx as nx
import numpy as np
from tests.shared import GRAPHS

from graphwright import Evidence, Graph, VectorIndex
from graphwright.build.merge import MergedChunks
from graphwright.extract.extraction import Extraction
from graphwright.graph.columns import TextColumn, terminate
from graphwright.learn import Checkpoint, load_retriever
from graphwright.learn.retriever import Retriever
from graphwright.models import HashEncoder
from graphwright.operators.state import State, start
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.snapshot import Snapshot
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.chunk_record import ChunkRecord


def loose(texts: Iterable[str]) -> Graph:
    """A graph of nodes that no edge joins, so that each is read and quoted as what it is called."""
    columns = Graph.from_triples([]).columns
    names = TextColumn.of(list(texts))
    return Graph(replace(columns, names=names, kinds=np.zeros(len(names), np.uint8)))


def untrained(level: str, seed: int = 0) -> Retriever:
    """A retriever with drawn weights over HashEncoder: it knows nothing, and does all that a trained one does."""
    draw, d, h = np.random.default_rng(seed), 64, 8
    gates = {f"gate {i}": (h, 4) for i in range(2)} | {f"gate end {i}": (h, 1) for i in range(2)}
    sides = {f"{side} {i}": (h,) for side in ("along", "against") for i in range(2)}
    shapes: dict[str, dict[str, tuple[int, ...]]] = {
        "triple": {
            "question": (d, h), "asked": (h,), "relation": (d, h), "first": (h,), "head near": (7, h),
            "tail near": (7, h), "second weights": (h, 4), "second": (4,), "last weights": (4, 1), "last": (1,),
            "gate question": (d, h), "gate asked": (h,), "gate relation": (d, 8), **gates, **sides,
            **{f"gate bias {i}": (1,) for i in range(2)},
        },
        "entity": {
            "near": (9, h), "question": (d, h), "start": (h,), "last weights": (h, 1), "last near": (9, 1),
            "last": (1,), "relation 0": (d, 2 * h), "ask 0": (d, h), "self 0": (h, h), "bias 0": (h,),
            "said 0": (4 * h, 3 * h), "gate question": (d, h), "gate asked": (h,), "gate relation": (d, 8),
            "gate 0": (h, 4), "gate end 0": (h, 1), "gate bias 0": (1,),
        },
        "path": {
            "question": (d, h), "again": (d, h), "relation": (d, h), "step": (h // 2, h), "carry": (h, h),
            "write": (h, h // 2), "end weights": (h, 1), "start": (h,), "bias": (h,), "end": (1,),
        },
    }  # fmt: skip
    weights = {name: draw.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes[level].items()}
    about = {"rounds": 2, "steps": 2, "layers": 1, "degree": 1.0, "length": 3}
    return load_retriever(Checkpoint(level, weights, about), HashEncoder())


def as_networkx(graph: Graph) -> nx.Graph:
    """The graph as walks see it: undirected, simple, without self-loops; nodes are snapshot ids."""
    simple = nx.Graph()
    simple.add_nodes_from(graph.nodes.tolist())
    ends = graph.ends(graph.edges).reshape(-1, 2)
    simple.add_edges_from((a, b) for a, b in ends.tolist() if a != b)
    return simple


def knowledge(graph: Graph) -> Snapshot:
    """A snapshot of a graph without passages, in which nothing is embedded."""
    nothing = VectorIndex.from_array(np.empty((0, 64), np.float32), HashEncoder())
    return Snapshot(graph, nothing, WordIndex.of([], np.empty(0, np.int64)), None, None, HashEncoder(), {})


def family_state(**more: object) -> State:
    return start("Who was the mother of Lothair II?", GRAPHS["family"], entities=["Lothair II"], **more)  # type: ignore[arg-type]


def chunk_columns_of(
    docs: Iterable[tuple[str, str, str, Extraction]], links: Mapping[str, Iterable[str]] | None = None
) -> ChunkColumns:
    """Documents (id, title, text, contribution) of one chunk each, in the order given; `links`: what they refer to."""
    refers = {name: terminate(others) for name, others in (links or {}).items()}
    return ChunkColumns.of(
        [
            (
                *(name, title, refers.get(name, b""), b"", b"", 0, 0, len(text), ""),
                ChunkRecord.of(title, text, made).content(text),
            )
            for name, title, text, made in docs
        ]
    )


def merged_graph(docs: Iterable[tuple[str, str, str, Extraction]]) -> Graph:
    return MergedChunks(chunk_columns_of(docs)).graph(np.empty((0, 2), np.int64))


def same(a: Evidence | None, b: Evidence | None) -> bool:
    """Whether two evidences hold the same pieces in the same order with the same scores."""
    if a is None or b is None:
        return a is b
    scores = (None if e.scores is None else e.scores.tolist() for e in (a, b))
    return a.identities() == b.identities() and next(scores) == next(scores)
