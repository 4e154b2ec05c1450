"""The graph over all shards: made of their chunks as one index makes it, and kept without what lies in the shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.build.build import build_from_chunks
from graphwright.extract.llm import Derived
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.storage import load_array, load_graph, save_array, save_graph
from graphwright.index_folder.shards.columns import (
    Shards,
    Spread,
    SpreadTexts,
    SpreadVectors,
    SpreadWords,
)
from graphwright.index_folder.shards.holder import ShardColumns
from graphwright.kernels.blocks import HalfArray
from graphwright.kernels.csr import Csr, row_pointers
from graphwright.models.protocols import NamedEncoder, Usage
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.snapshot import Snapshot
from graphwright.search.snapshot_format import read_about, write_about
from graphwright.search.vector_index import VectorIndex, vectors_checksum
from graphwright.search.vector_pages import VectorRows
from graphwright.store.changes import Progress
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.layout import IndexLayout
from graphwright.store.locks import Lease
from graphwright.store.store import Store

FORMAT = "shards 1"
_COLUMNS = ("texts", "sentences")  # of the graph that lie in shards


def unite(
    shards: Shards, layout: IndexLayout, store: Store, encoder: NamedEncoder, progress: Progress | None = None
) -> None:
    """Make the graph over all shards and publish it in a folder; the write lock of the folder is held.

    A text that has a vector in no shard is encoded, such as the spelling of a name that is the most frequent only in
    all shards together. `store`: the settings.
    """
    parts: list[ShardColumns] = shards.every("columns")
    joined = ChunkColumns.joined([part.chunks for part in parts])
    chunks, chunk_at = joined.ordered()
    del joined
    known = _known(shards, parts, encoder)
    prompts = Derived({key: value for part in parts for key, value in part.derived.items()}, layout.prompts)
    with store.writing():
        revision = store.revision + 1
        snapshot = build_from_chunks(
            chunks,
            store.build_settings,
            encoder,
            known=known,
            revision=revision,
            derived=prompts,
            schema=store.schema,
            usage=Usage(),
            progress=progress,
            scratch=layout.path,
        )
        layout.publish(revision, lambda folder: _write(folder, snapshot, parts, chunk_at))
        store.set("revision", str(revision))


def _known(shards: Shards, parts: Sequence[ShardColumns], encoder: NamedEncoder) -> Snapshot:
    """Return a snapshot with the vectors of all shards, and the keys of their texts."""
    spaces, revisions = dict[str, VectorIndex](), [part.revision for part in parts]
    for name in parts[0].spaces:
        keys, sums = (np.concatenate([part.spaces[name][at] for part in parts]) for at in (0, 1))
        dimension = max(part.spaces[name][2] for part in parts)
        at = np.arange(len(keys))
        spread = Spread(shards, revisions, frozenset(), at, _borders(len(part.spaces[name][0]) for part in parts))
        vectors = SpreadVectors(spread, name, HalfArray.of(np.empty((0, dimension))), dimension)
        spaces[name] = VectorIndex(VectorRows(vectors, np.empty((0, dimension), np.float32), at, sums, keys), keys=keys)
    nothing = WordIndex.of_words(TextColumn.of([]), np.empty(0, np.int64))
    about = {"texts": {name: len(space.vectors) for name, space in spaces.items()}}
    return Snapshot.of(Graph.from_triples([]), spaces, nothing, encoder, about)


def _borders(sizes: Any) -> Ints:
    return row_pointers(np.array(list(sizes), np.int64))


def _write(folder: Path, snapshot: Snapshot, parts: Sequence[ShardColumns], chunk_at: Ints) -> None:
    """Write the graph, and where the rows of each column lie."""
    columns, p = snapshot.graph.columns, len(chunk_at)
    own = [part.chunks.strings("texts").values for part in parts]
    own = [texts.gather(texts.numbered()[1]) for texts in own]  # as the shard's graph has them
    sentences = columns.sentences if columns.sentences is not None else TextColumn.of([])
    borders = {"texts": _borders(len(part.chunks) for part in parts), "sentences": _borders(map(len, own))}
    places = {"texts": chunk_at, "sentences": TextColumn.joined(own).positions(sentences)}
    kept = replace(columns, texts=_without(columns.texts, p), sentences=_without(sentences, len(sentences)))
    vars(kept)["checksum"] = columns.checksum
    save_graph(Graph(kept), folder / "graph")
    spaces = dict[str, dict[str, Any]]()
    for name in snapshot.about["texts"]:
        borders[name] = _borders(len(part.spaces[name][0]) for part in parts)
        places[name], spaces[name] = _write_space(folder, name, getattr(snapshot, name))
    _write_words(folder, parts, chunk_at)
    for name, at in places.items():
        save_array(at.astype(np.int32), folder / f"{name}.at.npy")
    about = {
        **snapshot.about,
        "encoder": getattr(snapshot.encoder, "id", ""),
        "format": FORMAT,
        "spaces": spaces,
        "revisions": [part.revision for part in parts],
        "documents": [len(part.chunks.ids) for part in parts],
        "borders": {name: border.tolist() for name, border in borders.items()},
    }
    write_about(folder, about)


def _without(column: TextColumn, count: int) -> TextColumn:
    """Return a column whose first texts are empty."""
    first = int(column.offsets[count])
    offsets = np.concatenate((np.zeros(count, np.int64), np.asarray(column.offsets[count:]) - first))
    return TextColumn(np.asarray(column.data[first:]), offsets)


def _write_space(folder: Path, name: str, space: VectorIndex) -> tuple[Ints, dict[str, Any]]:
    """Write the vectors that no shard has, and the row of each id; return the place of each row, and the checksum."""
    rows = VectorRows.of(space.vectors)
    used, first, number = np.unique(rows.row, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # rows in the order of their first texts, as in the pages of one index
    at = np.empty(len(used), np.int64)
    at[rank] = used
    row_of = np.append(rank[number], -1)[np.asarray(space.row_of)].astype(np.int32)
    beside, sums = HalfArray.of(np.asarray(rows.new)), VectorRows(rows.base, rows.new, at, rows.sums).fingerprints()
    parts: dict[str, NDArray[Any]] = {"rows": row_of, "keys": rows.keys[at], "beside": np.asarray(beside.bits)}
    for part, array in parts.items():
        save_array(array, folder / f"{name}.{part}.npy")
    checksum = vectors_checksum(sums, row_of, rows.shape[1])
    return at, {"dimension": rows.shape[1], "checksum": checksum}


def _write_words(folder: Path, parts: Sequence[ShardColumns], chunk_at: Ints) -> None:
    words, rank = TextColumn.joined([part.vocabulary for part in parts]).ranked()
    frequencies = np.zeros(len(words), np.int64)
    np.add.at(frequencies, rank, np.concatenate([part.frequencies for part in parts]))
    lengths = np.concatenate([part.lengths for part in parts])[chunk_at]
    arrays: dict[str, NDArray[Any]] = {
        "words": words.data,
        "borders": words.offsets,
        "indptr": row_pointers(frequencies),
        "lengths": lengths,
    }
    for name, array in arrays.items():
        save_array(array, folder / f"words.{name}.npy")


def open_united(folder: Path, encoder: NamedEncoder, shards: Shards) -> Snapshot:
    """Open the graph over all shards, with their columns. Raises StoreError if it is damaged, as `open_snapshot`."""
    lease = Lease(folder)
    about = read_about(folder, encoder, FORMAT)
    graph, spaces = load_graph(folder / "graph"), dict[str, VectorIndex]()

    def load(name: str) -> NDArray[Any]:
        return np.asarray(load_array(folder / f"{name}.npy"))

    spread = {
        name: Spread(shards, about["revisions"], frozenset(), load(f"{name}.at").astype(np.int64), np.array(border))
        for name, border in about["borders"].items()
    }
    columns = graph.columns
    for name in _COLUMNS:
        if (rest := getattr(columns, name)) is not None:
            setattr(columns, name, SpreadTexts(spread[name], name, rest))
    for name, space in about["spaces"].items():
        vectors = SpreadVectors(spread[name], name, HalfArray(load(f"{name}.beside")), space["dimension"])
        spaces[name] = VectorIndex(vectors, load(f"{name}.rows"), encoder, keys=load(f"{name}.keys"))
        vars(spaces[name])["checksum"] = space["checksum"]
    data, borders, indptr, lengths = (load(f"words.{name}") for name in ("words", "borders", "indptr", "lengths"))
    p, none = len(spread["texts"].at), np.empty(0, np.int32)
    row_of = np.empty(p, np.int32)
    row_of[spread["texts"].at] = np.arange(p)
    words = SpreadWords(
        TextColumn(data, borders), indptr, none, none.astype(np.uint8), lengths, np.arange(p),
        spread=spread["texts"], row_of=row_of,
    )  # fmt: skip
    return Snapshot.of(graph, spaces, words, encoder, about, lease=lease)


def living(snapshot: Snapshot, lost: frozenset[int]) -> Snapshot:
    """Return the snapshot without the passages of lost shards, and without the names and statements of these alone.

    Frequencies of words stay those of all shards, and scores those that the other passages have with them.
    """
    assert isinstance(snapshot.words, SpreadWords)
    columns, words = snapshot.graph.columns, snapshot.words
    owner = np.searchsorted(words.spread.borders, words.spread.at, side="right") - 1
    here = np.ones(len(columns.names), bool)
    here[: len(owner)] = ~np.isin(owner, list(lost))
    node_chunks, has_chunk = _among(columns.node_chunks, here)
    edge_chunks, has_source = _among(columns.edge_chunks, here)
    here &= has_chunk
    kept = np.flatnonzero(here[columns.heads] & here[columns.tails] & has_source)
    parts = {
        name: own[kept]
        for name in ("heads", "tails", "relation", "edge_text")
        if (own := getattr(columns, name)) is not None
    }
    texts: dict[str, Any] = {
        name: SpreadTexts(replace(column.spread, lost=lost), name, column.rest)
        for name in _COLUMNS
        if isinstance(column := getattr(columns, name), SpreadTexts)
    }
    sources = Csr(row_pointers(edge_chunks.sizes(kept)), edge_chunks.rows(kept).astype(np.int32))
    records = None if columns.records is None else columns.records.chosen(here[columns.records.chunk])
    part = replace(columns, **parts, **texts, records=records, node_chunks=node_chunks, edge_chunks=sources)
    sign = f"{columns.checksum[:8]}-without-{'-'.join(map(str, sorted(lost)))}"
    vars(part).update(name_order=columns.name_order, checksum=sign)
    spaces: dict[str, Any] = {
        name: _living_space(space, lost, kept if name == "triples" else here, sign)
        for name in snapshot.about["spaces"]
        if (space := getattr(snapshot, name)) is not None
    }
    here_words = replace(words, spread=replace(words.spread, lost=lost))
    return replace(snapshot, graph=Graph(part), words=here_words, **spaces)


def _among(chunks: Csr | None, here: NDArray[np.bool_]) -> tuple[Csr, NDArray[np.bool_]]:
    """Return the chunks that are here, by owner, and which owners have some, or had none."""
    assert chunks is not None  # as in every index of documents
    kept = here[chunks.values]
    counted = np.concatenate(([0], np.cumsum(kept)))
    indptr = counted[np.asarray(chunks.indptr)]
    return Csr(indptr, chunks.values[kept]), (np.diff(indptr) > 0) | (np.diff(chunks.indptr) == 0)


def _living_space(space: VectorIndex, lost: frozenset[int], kept: NDArray[Any], sign: str) -> VectorIndex:
    """Return the vectors of the ids that are kept: a mask of nodes, or the numbers of edges."""
    vectors, row_of = space.vectors, np.asarray(space.row_of)
    far = SpreadVectors(replace(vectors.spread, lost=lost), vectors.space, vectors.beside, vectors.shape[1])
    rows = np.where(kept, row_of, -1).astype(np.int32) if kept.dtype == bool else row_of[kept]
    result = replace(space, vectors=far, row_of=rows)
    vars(result)["checksum"] = sign
    return result
