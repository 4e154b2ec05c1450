"""From what the store remembers to a snapshot: merge, embed, write."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from graphwright.graph.graph import Graph
from graphwright.index.merge import Draft, draft
from graphwright.index.snapshot import Space, write_snapshot
from graphwright.index.store import Store
from graphwright.index.synonyms import synonyms
from graphwright.index.words import WordIndex
from graphwright.models.base import Encoder, Floats

__all__ = ["SPACES", "Progress", "Settings", "build"]

SPACES = ("passages", "names", "triples")
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is in all."""


@dataclass(frozen=True)
class Settings:
    """How documents become a graph; kept in the index folder.

    `chunk_tokens`, `overlap`: tokens of a chunk at most, and of the text that two neighbours share.
    `embed`: which texts get a vector, of passages (always), names and triples.
    `synonym`: least cosine of two names for a synonym edge; needs names embedded.
    """

    chunk_tokens: int = 200
    overlap: int = 40
    embed: tuple[str, ...] = ("passages",)
    synonym: float = 0.9


@dataclass
class Built:
    """What a build made and where its time went, in seconds."""

    graph: Graph
    texts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def build(
    store: Store,
    settings: Settings,
    encoder: Encoder,
    folder: Path,
    progress: Progress | None = None,
    revision: int = 0,
) -> Built:
    """Write a snapshot of everything in the store, as of `revision`, into a new folder."""
    clock = _Clock()
    made = draft(store.documents(), store.chunks())
    clock.lap("merge")
    vectors: dict[str, Floats] = {}
    texts = _texts(made, settings)
    for name, some in texts.items():
        vectors[name] = _encode(encoder, name, some, progress)
    clock.lap("encode")
    near = np.empty((0, 2), np.int64)
    if "names" in vectors:
        near = synonyms(texts["names"], vectors["names"], settings.synonym)
    clock.lap("synonyms")
    graph = made.graph(near)
    clock.lap("graph")
    words = WordIndex.of(_word_texts(made, texts["passages"]), np.arange(len(made.chunks)))
    clock.lap("words")
    spaces = {name: Space(matrix, _rows(name, graph, made)) for name, matrix in vectors.items()}
    counts = {name: len(some) for name, some in texts.items()}
    about = {
        "revision": revision,
        "encoder": str(getattr(encoder, "id", repr(encoder))),
        "documents": len(made.documents),
        "chunks": len(made.chunks),
        "texts": counts,
    }
    write_snapshot(folder, graph, spaces, words, about)
    clock.lap("write")
    return Built(graph, counts, clock.seconds)


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


def _texts(made: Draft, settings: Settings) -> dict[str, list[str]]:
    titles = {d.number: d.title for d in made.documents}
    # As Graph.reading gives them to models.
    readings = [f"{titles[c.document]}\n{c.text}" if titles[c.document] else c.text for c in made.chunks]
    texts = {"passages": readings}
    if "names" in settings.embed:
        texts["names"] = made.names()
    if "triples" in settings.embed:
        texts["triples"] = made.sentences()
    return texts


def _word_texts(made: Draft, readings: list[str]) -> list[str]:
    """Return the passages as BM25 reads them: a title counts twice."""
    titles = {d.number: d.title for d in made.documents}
    return [f"{titles[c.document]}\n{reading}" for c, reading in zip(made.chunks, readings, strict=True)]


def _rows(name: str, graph: Graph, made: Draft) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the row of each node's (each edge's) vector, -1 for none."""
    n, p = len(graph), len(made.chunks)
    columns = graph.columns
    if name == "triples":
        sentence = columns.edge_text
        return np.empty(0, np.int32) if sentence is None else sentence
    node = np.arange(n, dtype=np.int32)
    return np.where(node < p, node, -1) if name == "passages" else np.where(node < p, -1, node - p).astype(np.int32)


def _encode(encoder: Encoder, name: str, texts: Sequence[str], progress: Progress | None) -> Floats:
    if progress is None:
        return encoder.encode(texts)
    done = [np.empty((0, 0), np.float32)]
    for block in range(0, len(texts), 1024):
        done.append(encoder.encode(texts[block : block + 1024]))
        progress(f"encode {name}", min(block + 1024, len(texts)), len(texts))
    return np.concatenate(done[1:]) if len(done) > 1 else encoder.encode([])
