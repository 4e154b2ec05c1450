"""Similarity of texts to names and statements of the graph: by vectors, or without them by words and spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import Columns, Graph, Kind
from graphwright.index.inverted_index import WordIndex
from graphwright.index.name_index import name_index_of
from graphwright.index.snapshot import SnapshotCache
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.run import Run
from graphwright.text.names import normal_form
from graphwright.text.words import words

__all__ = ["Near", "distinct_edges", "edges_near", "likeness", "name_words", "nodes_near", "overlap"]

Near = dict[int, float]
"""Similarity of each node or edge, at most 1, in descending order."""

_SPELLING = 0.8  # least similarity of a name that is spelled differently
_MAX_EDGES = 5_000  # edges that are compared by words
_DUPLICATES = 8  # 8 · k edges are ranked to find k with different texts

_words: SnapshotCache[WordIndex] = SnapshotCache()


def nodes_near(run: Run, index: VectorIndex | None, graph: Graph, texts: Sequence[str], k: int) -> list[Near]:
    """Return for each text the k nodes whose names are nearest, by cosine.

    Without vectors names are compared by words (`overlap`) and, where none is equal, by spelling.
    """
    if index is None:
        return [_names_by_words(graph, text, k) for text in texts]
    ids, rows = index.rows_of(index.ids if graph.whole else graph.nodes)
    return [_best(ids, cosines[rows], k) for cosines in _cosines(run, index, texts)]


def edges_near(
    run: Run, index: VectorIndex | None, graph: Graph, texts: Sequence[str], k: int, around: Ints
) -> list[Near]:
    """Return for each text the k edges between entities with the nearest texts, each text once (see `distinct_edges`).

    Without vectors the edges at the nodes `around` are compared by words.
    """
    if index is None:
        columns = graph.columns
        ids = graph.inside(np.union1d(columns.out.rows(around), columns.into.rows(around)))[:_MAX_EDGES]
        ids = ids[(columns.kinds[graph.ends(ids)] == Kind.ENTITY).reshape(-1, 2).all(axis=1)]
        scores = [np.array([overlap(text, graph.edge_text(edge)) for edge in ids.tolist()]) for text in texts]
    else:
        ids, rows = index.rows_of(index.ids if graph.whole else graph.edges)
        scores = [cosines[rows] for cosines in _cosines(run, index, texts)]
    nearest = (_best(ids, row, _DUPLICATES * k) for row in scores)
    return [distinct_edges(graph, edges, text, k) for edges, text in zip(nearest, texts, strict=True)]


def likeness(run: Run, index: VectorIndex | None, text_of: Callable[[int], str], ids: Ints, text: str) -> Scores:
    """Return the similarity of a text to each id: its cosine, or without vectors the overlap with `text_of(id)`."""
    if index is None:
        return np.array([overlap(text, text_of(i)) for i in ids.tolist()], np.float64)
    return index.cosines(ids, index.encode(text, run))


def overlap(a: str, b: str) -> float:
    """Return the Dice coefficient of the words of two texts, without stop words.

    >>> overlap("mother of Lothair II", "Lothair II"), overlap("", "the")
    (0.8, 0.0)
    """
    first, second = set(words(a)), set(words(b))
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def name_words(columns: Columns) -> WordIndex:
    """Return a word index of all names except those of passages, built once for a snapshot."""

    def build() -> WordIndex:
        ids = np.flatnonzero(columns.kinds != Kind.CHUNK)
        return WordIndex.of(columns.names.take(ids), ids)

    return _words.get(columns, "names", build)


def _cosines(run: Run, index: VectorIndex, texts: Sequence[str]) -> Floats:
    """Return the cosine of each text with each row, 0 for a zero vector: [texts, rows]."""
    queries = index.encode_all(texts, run)
    products: Floats = queries @ index.vectors.T
    norms = np.linalg.norm(queries, axis=1)[:, None] * index.lengths
    cosines: Floats = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
    return cosines


def _best(ids: Ints, scores: NDArray[np.floating], k: int) -> Near:
    best = top(scores, min(k, len(ids)))
    return {i: score for i, score in zip(ids[best].tolist(), scores[best].tolist(), strict=True) if score > 0}


def _names_by_words(graph: Graph, text: str, k: int) -> Near:
    word_index, name_index, form = name_words(graph.columns), name_index_of(graph.columns), normal_form(text)
    ids = word_index.nodes[top(word_index.scores(text), min(4 * k, len(word_index.nodes)))]
    scores = {node: overlap(text, graph.names[node]) for node in ids.tolist()}
    nodes, similarity = name_index.find(form), 1.0
    if not len(nodes) and len(form) > 3:
        nodes, similarity = name_index.near(form, _SPELLING)
    scores |= dict.fromkeys(nodes.tolist(), similarity)
    ids = np.array(sorted(scores), np.int64)
    ids = ids[graph.holds(ids)]
    return _best(ids, np.array([scores[i] for i in ids.tolist()], np.float64), k)


def distinct_edges(graph: Graph, edges: Near, text: str, k: int) -> Near:
    """Return the k nearest edges with different texts: of the edges of one sentence the one most like `text`.

    >>> graph = Graph.from_triples([("a", "r", "b"), ("a", "r", "b"), ("a", "r", "c")])
    >>> distinct_edges(graph, {1: 0.9, 0: 0.9, 2: 0.5}, "c", 2)
    {0: 0.9, 2: 0.5}
    """
    by_text: dict[str, list[int]] = {}
    for edge in edges:
        by_text.setdefault(graph.edge_text(edge), []).append(edge)
    groups = islice(by_text.values(), k)
    best = (group[0] if len(group) == 1 else _most_like(graph, group, text) for group in groups)
    return {edge: edges[edge] for edge in best}


def _most_like(graph: Graph, edges: Sequence[int], text: str) -> int:
    """Return the edge whose triple shares most words with a text."""
    return min(edges, key=lambda edge: (-overlap(text, " ".join(graph.triple(edge))), edge))
