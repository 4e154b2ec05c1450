"""From what the store remembers to all that is searched: merge, embed, index, write."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import OptionError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import WRITTEN, Graph
from graphwright.index.chunk_columns import ChunkColumns, readings
from graphwright.index.merge import MergedChunks, synonyms
from graphwright.index.name_index import FOLDED, forms_of
from graphwright.index.snapshot import Snapshot, Space, standing_for_passages, write_snapshot
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.strings import distinct
from graphwright.models.protocols import Encoder, Floats, NamedEncoder
from graphwright.text.words import words

__all__ = [
    "EMBEDDED",
    "SPACES",
    "WORDED",
    "Built",
    "Progress",
    "Settings",
    "build",
    "checked_spaces",
    "encoded",
    "given",
    "words_of_passages",
]

_BLOCK = 512  # texts that are encoded before progress is told
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
    """All that is searched, in memory; `seconds` by part of the work."""

    graph: Graph
    spaces: Mapping[str, Space]
    words: WordIndex
    about: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it as a snapshot into a new folder."""
        begun = time.perf_counter()
        write_snapshot(folder, self.graph, self.spaces, self.words, self.about)
        self.seconds["write"] = time.perf_counter() - begun

    def snapshot(self, encoder: Encoder) -> Snapshot:
        """Return it as if it had been written and opened."""
        spaces = {name: VectorIndex(space.vectors, space.row_of, encoder) for name, space in self.spaces.items()}
        names, triples = spaces.get("names"), spaces.get("triples")
        passages = standing_for_passages(spaces, encoder)
        return Snapshot(self.graph, passages, self.words, names, triples, encoder, self.about)


def build(
    ledger: ChunkColumns,
    settings: Settings,
    encoder: Encoder,
    progress: Progress | None = None,
    revision: int = 0,
    known: Snapshot | None = None,
) -> Built:
    """Make everything that is searched of the chunks of a ledger, as of `revision` of the store.

    `known`: a snapshot of the same encoder, whose vectors are taken over where a text is the same.
    """
    clock = _Clock()
    merged = MergedChunks(ledger)
    texts = _texts(merged, settings)
    clock.lap("merge")
    before = {} if known is None else _vectors(known)
    vectors = {name: _encoded(name, some, before.get(name), encoder, progress) for name, some in texts.items()}
    clock.lap("encode")
    near = np.empty((0, 2), np.int64)
    if "names" in vectors:
        near = synonyms(list(texts["names"]), vectors["names"], settings.synonym)
    clock.lap("synonyms")
    graph = merged.graph(near)
    clock.lap("graph")
    words = WordIndex.of_words(ledger.strings("tokens").column, np.arange(len(ledger)))
    clock.lap("words")
    spaces = {name: Space(matrix, _rows(name, graph, len(ledger))) for name, matrix in vectors.items()}
    about = {
        "revision": revision,
        "encoder": str(getattr(encoder, "id", "")),
        "documents": len(ledger.documents),
        "chunks": len(ledger),
        "texts": {name: len(some) for name, some in texts.items()},
    }
    return Built(graph, spaces, words, about, clock.seconds)


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


def _texts(merged: MergedChunks, settings: Settings) -> dict[str, TextColumn]:
    """Return the texts that get a vector, by space; the row of each is its place."""
    texts = {"passages": merged.ledger.readings}
    if "names" in settings.embed:
        texts["names"] = merged.names
    if "triples" in settings.embed:
        texts["triples"] = merged.sentences
    return texts


def _vectors(snapshot: Snapshot) -> dict[str, tuple[TextColumn, Floats]]:
    """Return the texts of a snapshot and their vectors, by space."""
    columns, passages = snapshot.graph.columns, snapshot.graph.passages
    found = {}
    if passages is not None and columns.texts is not None:
        p = np.arange(len(passages))
        read = readings(passages.titles, passages.document, columns.texts.gather(p))
        found["passages"] = read, snapshot.passages.vectors
        if snapshot.names is not None:
            found["names"] = columns.names.gather(np.arange(len(p), len(columns.names))), snapshot.names.vectors
    if snapshot.triples is not None and columns.sentences is not None:
        found["triples"] = columns.sentences, snapshot.triples.vectors
    return found


def _rows(name: str, graph: Graph, p: int) -> NDArray[np.int32]:
    """Return the row of each node's (each edge's) vector, -1 for none; p: how many of the nodes are chunks."""
    if name == "triples":
        sentence = graph.columns.edge_text
        return np.empty(0, np.int32) if sentence is None else sentence
    node = np.arange(len(graph), dtype=np.int32)
    return np.where(node < p, node, -1) if name == "passages" else np.where(node < p, -1, node - p).astype(np.int32)


def _encoded(
    name: str, texts: TextColumn, known: tuple[TextColumn, Floats] | None, encoder: Encoder, progress: Progress | None
) -> Floats:
    """Return a vector for each text; those of texts that are known are taken over."""
    if known is None or not len(known[0]):
        return encoded(encoder, name, list(texts), progress)
    both = TextColumn.joined((known[0], texts))
    number, first = distinct(both.data, both.offsets)
    row = np.asarray(first)[number[len(known[0]) :]]
    new = np.flatnonzero(row >= len(known[0]))
    vectors = np.empty((len(texts), known[1].shape[1]), np.float32)
    old = row < len(known[0])
    vectors[old] = known[1][row[old]]
    if len(new):
        vectors[new] = encoded(encoder, name, texts.take(new.tolist()), progress)
    return vectors


def encoded(encoder: Encoder, name: str, texts: Sequence[str], progress: Progress | None) -> Floats:
    """Return the vectors of texts, a block at a time, so that progress on this space of texts can be told."""
    if progress is None:
        return encoder.encode(texts)
    done = [np.empty((0, 0), np.float32)]
    for block in range(0, len(texts), _BLOCK):
        done.append(encoder.encode(texts[block : block + _BLOCK]))
        progress(f"encode {name}", min(block + _BLOCK, len(texts)), len(texts))
    return np.concatenate(done[1:]) if len(done) > 1 else encoder.encode([])


EMBEDDED = 50_000
"""Nodes of a graph up to which names get vectors unless said otherwise: about a minute of two cores."""
WORDED = 2_000_000
"""Edges of a graph up to which its nodes can be searched by the words of their triples: about a minute, too."""


def checked_spaces(embed: Sequence[str]) -> tuple[str, ...]:
    """Return which texts are to get a vector. Raises OptionError for one that there is not."""
    unknown = [name for name in embed if name not in SPACES]
    if unknown:
        raise OptionError(f"embed={','.join(embed)!r}: choose from {', '.join(SPACES)}, or 'none'.")
    return tuple(dict.fromkeys(embed))


def given(
    graph: Graph,
    encoder: NamedEncoder,
    *,
    embed: Sequence[str] | None = None,
    ids: Mapping[int, str] | None = None,
    progress: Progress | None = None,
) -> Built:
    """Return all that is searched of a graph without passages; its nodes stand for them.

    `embed`: which of names, triples (an edge each) and passages (a node's triples, written out) get a vector; names
    unless given, of a graph of at most EMBEDDED nodes. `ids`: what nodes were called in a file beside their names; a
    question may use either. Beyond FOLDED nodes names are only found as they are written, beyond WORDED edges
    passages are not found by their words: both would take longer than all the rest.
    """
    seconds: dict[str, float] = {}

    def lap(part: str, since: float) -> float:
        now = time.perf_counter()
        seconds[part] = now - since
        return now

    clock = time.perf_counter()
    embed = (("names",) if len(graph) <= EMBEDDED else ()) if embed is None else checked_spaces(embed)
    if len(graph) <= FOLDED and not len(graph.columns.aliases):
        forms, nodes = forms_of(graph.columns, ids or {})
        graph = Graph(dataclasses.replace(graph.columns, aliases=forms, alias_node=nodes))
    worded = len(graph.columns.heads) <= WORDED
    texts: dict[str, Sequence[str]] = {
        "passages": [graph.passage(node) for node in range(len(graph))] if "passages" in embed else [],
        "names": graph.names,
        "triples": TextColumn.of(map(graph.edge_text, range(len(graph.columns.heads)))) if "triples" in embed else [],
    }
    clock = lap("forms of names", clock)
    spaces, about = {}, _about(graph, encoder, embed, texts)
    for name in embed:
        vectors = encoded(encoder, name, texts[name], progress)
        spaces[name] = Space(vectors, np.arange(len(texts[name]), dtype=np.int32))
    clock = lap("vectors", clock)
    said = words_of_passages(graph) if worded else TextColumn.of([])
    index = WordIndex.of_words(said, np.arange(len(said)))
    lap("words", clock)
    return Built(graph, spaces, index, about, seconds)


def words_of_passages(graph: Graph) -> TextColumn:
    """Return the words (see `words`) of what is read of each node, put together from those of names and relations.

    >>> list(words_of_passages(Graph.from_triples([("Graz", "lies_on", "the Mur"), ("Ida", "born_in", "Graz")])))
    ['graz lie mur ida born graz ', 'graz lie mur ', 'ida born graz ']
    """
    c = graph.columns
    names = TextColumn.of("".join(f"{word} " for word in words(name)) for name in c.names)
    labels = TextColumn.of("".join(f"{word} " for word in words(label.replace("_", " "))) for label in c.relations)
    apart = c.heads != c.tails
    owner = np.concatenate((c.heads, c.tails[apart])).astype(np.int64)
    edge = np.concatenate((np.arange(len(c.heads)), np.flatnonzero(apart)))
    order = np.lexsort((edge, owner))
    owner, edge = owner[order], edge[order]
    kept = np.arange(len(owner)) - np.searchsorted(owner, owner) < WRITTEN
    owner, edge = owner[kept], edge[kept]
    parts = np.stack((c.heads[edge], c.relation[edge].astype(np.int64) + len(names), c.tails[edge]), axis=1)
    said = TextColumn.joined((names, labels)).gather(parts.ravel())
    return TextColumn(said.data, said.offsets[3 * np.searchsorted(owner, np.arange(len(names) + 1))])


def _about(
    graph: Graph, encoder: NamedEncoder, embed: Sequence[str], texts: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        "revision": 0,
        "encoder": encoder.id,
        "documents": 0,
        "chunks": 0,
        "texts": {name: len(texts[name]) for name in embed},
        "passages": False,
    }
