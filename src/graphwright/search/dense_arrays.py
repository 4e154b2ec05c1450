"""Conversion of a snapshot of documents to the arrays of its image, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.graph import Columns, Graph, Kind
from graphwright.graph.records import RecordColumns
from graphwright.kernels.csr import Csr, group, row_pointers
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.image import Dense
from graphwright.search.snapshot import Snapshot

LEAST, MOST = 2**22, 2**28
"""Bytes of the arrays of a snapshot that is stored as an image: a smaller one is written as a whole as fast, a larger
one has to be mapped."""
_OF_PASSAGES = ("document", "title", "start", "end", "names", "documents", "places", "copy_keys")
_OF_EDGES = ("heads", "tails", "relation", "edge_text", "sentences", "relations", "aliases", "alias_node")


def dense_arrays(snapshot: Snapshot, vectors: dict[str, NDArray[Any]]) -> Dense | None:
    """Return the arrays of a snapshot, None for one that is not stored as an image.

    `vectors`: by "SPACE.rows" the row of each node (edge), and by other names further arrays of the spaces.
    """
    c, w = snapshot.graph.columns, snapshot.words
    if c.passages is None or not len(c.passages) or snapshot.imported is not None or c.sentences is None:
        return None
    p, d, chunks = len(c.passages), len(c.passages.documents), c.edge_chunks
    assert chunks is not None and c.edge_text is not None  # every graph of documents has them
    chunk = np.full(len(c.heads), -1, np.int32)
    chunk[np.diff(chunks.indptr) > 0] = chunks.values
    titles = c.passages.titles
    dense: Dense = {f"passages.{name}": getattr(c.passages, name) for name in _OF_PASSAGES}
    dense |= {name: getattr(c, name) for name in _OF_EDGES}
    dense |= {"edge_chunk": chunk, "entities": c.names.gather(np.arange(p, len(c.names)))}
    dense |= {"document titles": titles.gather(np.arange(d)), "sections": titles.gather(np.arange(d, len(titles)))}
    dense["texts" if len(c.texts) == p else "descriptions"] = c.texts
    dense |= {"words.words": w.vocabulary, "words.rows": w.rows, "words.counts": w.counts, "words.lengths": w.lengths}
    dense["words.word"] = np.repeat(np.arange(len(w.vocabulary), dtype=np.int32), np.diff(w.indptr))
    if c.records is not None:
        dense |= {f"records.{name}": value for name, value in vars(c.records).items()}
    if snapshot.nearest is not None and len(snapshot.nearest):
        dense["nearest"] = snapshot.nearest
    dense |= vectors | _rows(vectors, p, c.edge_text, len(c.sentences))
    size = sum(part.data.nbytes if isinstance(part, TextColumn) else part.nbytes for part in dense.values())
    return dense if LEAST <= size <= MOST else None


def _rows(
    vectors: dict[str, NDArray[Any]], p: int, edge_text: NDArray[np.int32], sentences: int
) -> dict[str, NDArray[Any]]:
    """Return the row of each chunk, entity and sentence in place of those of nodes and edges."""
    rows = {
        f"{name}.rows": vectors[f"{name}.rows"]
        for name in ("passages", "names", "triples")
        if f"{name}.rows" in vectors
    }
    parts = {"passages.rows": slice(p), "names.rows": slice(p, None)}
    result = {name: rows[name][part] for name, part in parts.items() if name in rows}
    if "triples.rows" in rows:
        result["triples.rows"] = np.full(sentences, -1, np.int32)
        result["triples.rows"][edge_text[edge_text >= 0]] = rows["triples.rows"][edge_text >= 0]
    return result


def graph_of(dense: Dense) -> Graph:
    """Return the graph of a snapshot."""
    names = TextColumn.joined((dense["passages.names"], dense["entities"]))
    n, p, chunk = len(names), len(dense["passages.names"]), dense["edge_chunk"]
    mentions = np.flatnonzero((dense["heads"] == chunk) & (dense["tails"] >= p))
    records = {field.name: dense.get(f"records.{field.name}") for field in fields(RecordColumns)}
    return Graph(
        Columns(
            names=names,
            texts=dense["texts"] if "texts" in dense else dense["descriptions"],
            kinds=np.repeat(np.array([Kind.CHUNK, Kind.ENTITY], np.uint8), [p, n - p]),
            node_chunks=group(n, dense["tails"][mentions], chunk[mentions]),
            edge_chunks=Csr(row_pointers(chunk >= 0), chunk[chunk >= 0]),
            passages=Passages(
                nodes=np.arange(p),
                titles=TextColumn.joined((dense["document titles"], dense["sections"])),
                **{name: dense[f"passages.{name}"] for name in _OF_PASSAGES},
            ),
            records=None if records["types"] is None else RecordColumns(**records),  # type: ignore[arg-type]
            **{name: dense[name] for name in _OF_EDGES},
        )
    )


def words_of(dense: Dense) -> WordIndex:
    """Return the index of words of a snapshot."""
    vocabulary, lengths = dense["words.words"], dense["words.lengths"]
    indptr = row_pointers(np.bincount(dense["words.word"], minlength=len(vocabulary)))
    return WordIndex(vocabulary, indptr, dense["words.rows"], dense["words.counts"], lengths, np.arange(len(lengths)))


def vectors_of(dense: Dense, graph: Graph) -> dict[str, NDArray[Any]]:
    """Return the arrays of the spaces of vectors, as `dense_arrays` takes them."""
    n, p, text = len(graph), len(dense["passages.names"]), graph.columns.edge_text
    vectors = {name: part for name, part in dense.items() if name.startswith(("passages.", "names.", "triples."))}
    parts = {"passages.rows": slice(p), "names.rows": slice(p, n)}
    for name, part in parts.items():
        if name in dense:
            vectors[name] = np.full(n, -1, np.int32)
            vectors[name][part] = dense[name]
    if "triples.rows" in dense:
        assert text is not None  # as in every graph of documents
        vectors["triples.rows"] = np.append(dense["triples.rows"], np.int32(-1))[text]
    return vectors
