"""Create index folders, and build their search structures: merge or read the graph, embed texts, index words."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.build.apply_edits import Edited, edited, forms_apart
from graphwright.build.imports.combination import Combination
from graphwright.build.imports.node_passages import shown_edges
from graphwright.build.known_vectors import BlockEncoder, known_pairs, known_vectors
from graphwright.build.merge import MergedChunks
from graphwright.build.near_pairs import NearPairs, synonyms
from graphwright.build.resolution import resolve
from graphwright.extract.llm import Derived
from graphwright.extract.schema import NO_SCHEMA, Schema
from graphwright.graph.columns import TextColumn
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Columns, Graph
from graphwright.models.protocols import Encoder, Usage
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.name_index import MAX_NORMALISED, name_forms
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex
from graphwright.search.vector_pages import VectorRows
from graphwright.store.changes import Progress
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.edits import Edit
from graphwright.store.settings import Settings
from graphwright.text.words import words

MAX_NAMES_EMBEDDED = 50_000  # nodes of an imported graph whose names are embedded by default: a minute on two cores
MAX_TRIPLES_EMBEDDED = 50_000  # edges of one whose triples are embedded by default: a minute on two cores
MAX_TRIPLES_INDEXED = 2_000_000  # edges of one whose triples are indexed by words: a minute on two cores


def build_from_chunks(
    chunks: ChunkColumns,
    settings: Settings,
    encoder: Encoder,
    *,
    known: Snapshot | None = None,
    revision: int = 0,
    derived: Derived | None = None,
    schema: Schema = NO_SCHEMA,
    usage: Usage | None = None,
    progress: Progress | None = None,
    imported: Snapshot | None = None,
    scratch: Path | None = None,
    edits: Sequence[Edit] = (),
) -> Snapshot:
    """Build the graph of chunks and the indexes over it, as of `revision` of the store.

    `known`: a snapshot of the same encoder, whose vectors are reused where a text is the same. `derived`: values that a
    language model derived from the merged graph; the keys that are used and missing are recorded in it. `schema`: that
    of the index. `usage`: the encoder's work is added to it. `imported`: the snapshot of an imported graph, which
    is edited and combined with the chunks, if any (see `Combination`). `scratch`: a folder on whose disk many new
    vectors are held, instead of in memory. `edits`: those by hand; `about` has why some change nothing, by id, and the
    number of passages that they add, the last ones. The result can only be written, and shares files with `known`.
    """
    clock, derived = _Clock(), derived or Derived()
    encode = BlockEncoder(encoder, usage or Usage(), progress, scratch)
    before = {} if known is None else known_vectors(known)
    base = None if imported is None else imported.graph.columns
    merged, idle, added, nodes = _merged(chunks, settings, encode, before, derived, schema, edits, base)
    about: dict[str, Any] = {"revision": revision}
    about |= {"idle edits": idle, "added passages": added} if edits else {}
    if imported is not None and nodes is not None and nodes is not base:
        embed = tuple(imported.about["texts"])
        imported = build_from_graph(Graph(nodes), encoder, embed=embed, known=known or imported, progress=progress)
    chunks = merged.chunks
    if imported is not None and not len(chunks):
        return dataclasses.replace(imported, about={**about, "texts": imported.about["texts"]})
    with ThreadPoolExecutor(1) as beside:  # kernels and numpy's sorts release the interpreter lock
        merged.entities  # noqa: B018  # before threads need them
        mentions = beside.submit(lambda: merged.mentions)
        every = {"passages": chunks.texts_with_titles, "names": merged.names, "triples": merged.sentences}
        texts = {name: column for name, column in every.items() if name == "passages" or name in settings.embed}
        for name, column in reversed(texts.items()):
            if progress is not None and name not in before:  # so that it is known what follows
                progress(f"encode {name}", 0, len(column))
        clock.lap("merge")
        vectors = {name: encode.new(name, column, before.get(name)) for name, column in texts.items()}
        words, row = _known_words(chunks, known, vectors["passages"])
        words_indexed = beside.submit(
            lambda: words.changed(chunks.words(np.flatnonzero(row < 0)), row, np.arange(len(row)))
        )
        clock.lap("encode")
        near = NearPairs(np.empty((0, 2), np.int64), np.empty((0, 0), np.int32))
        if "names" in vectors:
            earlier = None if known is None else known_pairs(known, vectors["names"])
            near = synonyms(texts["names"], vectors["names"], settings.synonym_threshold, earlier)
        clock.lap("synonyms")
        mentions.result()
        chunks.release("name_words", "topic_phrases", "surfaces", "counts", "texts")
        graph = merged.graph(near.pairs)
        clock.lap("graph")
        word_index = words_indexed.result()
    clock.lap("words")
    rows = _rows(graph, len(chunks))
    pages = {name: getattr(getattr(known, name, None), "pages", None) for name in vectors}  # which are not copied
    spaces = {name: VectorIndex(vectors[name], rows[name], encoder, pages=pages[name]) for name in vectors}
    about["texts"] = {name: len(column) for name, column in texts.items()}
    snapshot = Snapshot.of(graph, spaces, word_index, encoder, about, seconds=clock.seconds, nearest=near.nearest)
    if imported is None:
        return snapshot

    def encoded(name: str, texts: TextColumn) -> VectorRows:
        return encode.new(name, texts, before.get(name))

    return Combination(imported, snapshot).snapshot(triple_words(imported.graph), encoded, MAX_NAMES_EMBEDDED)


def _known_words(chunks: ChunkColumns, known: Snapshot | None, vectors: VectorRows) -> tuple[WordIndex, Ints]:
    """Return the words of a snapshot, and the row there of each chunk that has its text and title, -1 for none.

    `vectors`: those of the chunks, of which one with the same text has the same row.
    """
    passages = None if known is None else known.graph.passages
    before, position = (None, None) if known is None else known.passages.by_text()
    if known is None or not passages or before is None or position is None or not known.words.is_of(len(passages)):
        return WordIndex.of([], np.empty(0, np.int64)), np.full(len(chunks), -1)
    row, (titles, title) = passages.names.positions(chunks.names), chunks.titles
    at = np.maximum(row, 0)
    same = (row >= 0) & (before.row[position[passages.nodes[at]]] == vectors.row)
    same &= np.diff(titles.offsets)[title] == np.diff(passages.titles.offsets)[passages.title[at]]
    return known.words, np.where(same, row, -1)


def idle_edits(
    chunks: ChunkColumns,
    settings: Settings,
    encoder: Encoder,
    known: Snapshot | None,
    *,
    derived: Derived,
    schema: Schema,
    imported: Snapshot | None,
    edits: Sequence[Edit],
) -> dict[str, str]:
    """Return why edits change nothing, or less than they say, by id; arguments as in `build_from_chunks`."""
    before = {} if known is None else known_vectors(known)
    base = None if imported is None else imported.graph.columns
    return _merged(chunks, settings, BlockEncoder(encoder, Usage(), None), before, derived, schema, edits, base).idle


def _merged(
    chunks: ChunkColumns,
    settings: Settings,
    encode: BlockEncoder,
    known: dict[str, VectorRows],
    derived: Derived,
    schema: Schema,
    edits: Sequence[Edit],
    imported: Columns | None,
) -> Edited:
    """Return the merged chunks, resolved and edited; vectors that this needs are added to the `known` ones."""
    merged = MergedChunks(chunks, {}, derived, settings.description_tokens, schema)
    if settings.resolve:
        vectors = None
        if "vectors" in settings.resolve:
            known["names"] = encode.new("names", merged.names, known.get("names"))
            vectors = np.asarray(known["names"])
        apart = forms_apart(edits)
        same = resolve(merged, vectors, settings.resolve, settings.synonym_threshold, derived, apart)
        merged = dataclasses.replace(merged, same=same)
    return edited(merged, edits, imported) if edits else Edited(merged, {}, 0)


def build_from_graph(
    graph: Graph,
    encoder: Encoder,
    *,
    embed: Sequence[str] | None = None,
    ids: Mapping[int, str] | None = None,
    labels: Mapping[int, Sequence[str]] | None = None,
    known: Snapshot | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Build the indexes over a graph without passages; its nodes take their place.

    `embed`: which of names, triples (one for each edge; equal texts share a vector) and passages (a node's triples as
    text) are embedded; by default names, if the graph has at most MAX_NAMES_EMBEDDED nodes, and triples, if it has at
    most MAX_TRIPLES_EMBEDDED edges. `ids`, `labels`: the ids that nodes had in a file, and their further labels, which
    questions may use as names too. Beyond MAX_NORMALISED nodes a name is found only in its exact spelling, and beyond
    MAX_TRIPLES_INDEXED edges passages are not indexed by words: either would take longer than all other work.
    `known`: a snapshot of the same encoder, whose vectors are reused where a text is the same; the result can then only
    be written.
    """
    clock = _Clock()
    if embed is None:
        sizes = {"names": len(graph) <= MAX_NAMES_EMBEDDED, "triples": len(graph.edges) <= MAX_TRIPLES_EMBEDDED}
        embed = tuple(name for name, affordable in sizes.items() if affordable)
    if len(graph) <= MAX_NORMALISED and not len(graph.columns.aliases):
        forms, nodes = name_forms(graph.columns, ids, labels)
        graph = Graph(dataclasses.replace(graph.columns, aliases=forms, alias_node=nodes))
    clock.lap("forms of names")
    texts: dict[str, Callable[[], Sequence[str]]] = {
        "passages": lambda: [graph.passage(node) for node in range(len(graph))],
        "names": lambda: graph.names,
        "triples": lambda: TextColumn.of(map(graph.edge_text, range(len(graph.columns.heads)))),
    }
    encode, spaces = BlockEncoder(encoder, Usage(), progress), {}
    before = {} if known is None else known_vectors(known)
    for name in embed:
        rows = encode.new(name, TextColumn.of(texts[name]()), before.get(name))
        if name not in before:
            spaces[name] = VectorIndex(rows.new, rows.row.astype(np.int32), encoder, keys=rows.keys)
            continue
        used, row = np.unique(rows.row, return_inverse=True)
        vectors = VectorRows(rows.base, rows.new, used, rows.sums, rows.keys)
        spaces[name] = VectorIndex(vectors, row.astype(np.int32), encoder, pages=getattr(known, name).pages)
    clock.lap("vectors")
    column = triple_words(graph) if len(graph.columns.heads) <= MAX_TRIPLES_INDEXED else TextColumn.of([])
    word_index = WordIndex.of_words(column, np.arange(len(column)))
    clock.lap("words")
    about = {"revision": 0, "texts": {name: len(space.vectors) for name, space in spaces.items()}}
    return Snapshot.of(graph, spaces, word_index, encoder, about, seconds=clock.seconds)


def triple_words(graph: Graph) -> TextColumn:
    """Return the words of each node's passage, joined from the words of names and relations.

    >>> list(triple_words(Graph.from_triples([("Graz", "lies_on", "the Mur"), ("Ida", "born_in", "Graz")])))
    ['graz lie mur ida born graz ', 'graz lie mur ', 'ida born graz ']
    """
    c = graph.columns
    if len(c.texts) or c.edge_text is not None:
        return TextColumn.of("".join(f"{word} " for word in words(graph.passage(node))) for node in range(len(graph)))
    names = TextColumn.of("".join(f"{word} " for word in words(name)) for name in c.names)
    labels = TextColumn.of("".join(f"{word} " for word in words(label.replace("_", " "))) for label in c.relations)
    owner, edge = shown_edges(c)
    parts = np.stack((c.heads[edge], c.relation[edge].astype(np.int64) + len(names), c.tails[edge]), axis=1)
    column = TextColumn.joined((names, labels)).gather(parts.ravel())
    return TextColumn(column.data, column.offsets[3 * np.searchsorted(owner, np.arange(len(names) + 1))])


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


def _rows(graph: Graph, p: int) -> dict[str, NDArray[np.int32]]:
    """Return the row of each node's (each edge's) vector by space, -1 for none; the first `p` nodes are chunks."""
    node, sentence = np.arange(len(graph), dtype=np.int32), graph.columns.edge_text
    return {
        "passages": np.where(node < p, node, -1).astype(np.int32),
        "names": np.where(node < p, -1, node - p).astype(np.int32),
        "triples": np.empty(0, np.int32) if sentence is None else sentence,
    }
