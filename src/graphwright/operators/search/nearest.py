"""What is near to a few words: nodes by their names and edges by what they state, by vectors, else by words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import Columns, Graph, Kind
from graphwright.index.name_index import name_index_of
from graphwright.index.vector_index import VectorIndex
from graphwright.index.word_index import WordIndex
from graphwright.kernels.ranking import top
from graphwright.models.protocols import Floats
from graphwright.operators.run import Run
from graphwright.text.names import normal_form
from graphwright.text.words import words

__all__ = ["Near", "distinct", "edges_near", "lengths_of", "likeness", "name_words", "nodes_near", "overlap"]

Near = dict[int, float]  # how near each node or edge is, at most 1; the nearest first

_LIKE = 0.8  # least similarity of a name that is spelled otherwise
_LOOKED_AT = 5_000  # edges that are compared by words
_ALIKE = 8  # edges of one text are passed over until there are k texts, among so many times k


def nodes_near(index: VectorIndex | None, graph: Graph, texts: Sequence[str], k: int) -> list[Near]:
    """Return for each text the k nodes whose names are nearest, by cosine; the nearest first.

    Without vectors names are compared by their words (`overlap`) and, where none is the same, by spelling.
    """
    if index is None:
        return [_named_alike(graph, text, k) for text in texts]
    ids, rows = index.rows_of(index.ids if graph.whole else graph.nodes)
    scores = _cosines(index, texts)
    return [_best(ids, column[rows], k) for column in scores]


def edges_near(index: VectorIndex | None, graph: Graph, texts: Sequence[str], k: int, around: Ints) -> list[Near]:
    """Return for each text the k edges between entities whose texts are nearest, distinct ones (see `distinct`).

    Without vectors those at the nodes `around` are compared by words.
    """
    if index is None:
        columns = graph.columns
        ids = np.unique(np.append(columns.out.rows(around), columns.into.rows(around)))
        ids = (ids if graph.whole else ids[np.isin(ids, graph.edges)])[:_LOOKED_AT]
        ids = ids[(columns.kinds[graph.ends(ids)] == Kind.ENTITY).reshape(-1, 2).all(axis=1)]
        scored = [np.array([overlap(text, graph.edge_text(edge)) for edge in ids.tolist()]) for text in texts]
    else:
        ids, rows = index.rows_of(index.ids if graph.whole else graph.edges)
        scored = [column[rows] for column in _cosines(index, texts)]
    nearest = (_best(ids, scores, _ALIKE * k) for scores in scored)
    return [distinct(graph, found, text, k) for found, text in zip(nearest, texts, strict=True)]


def likeness(run: Run, index: VectorIndex | None, text_of: Callable[[int], str], ids: Ints, text: str) -> Scores:
    """Return how near each of some ids is to a text: by cosine, without vectors by the words of `text_of(id)`."""
    if index is None:
        return np.array([overlap(text, text_of(i)) for i in ids.tolist()], np.float64)
    return index.cosines(ids, index.encode(text, run))


def overlap(a: str, b: str) -> float:
    """Return twice the words that two texts share over the words of both (Dice), stop words left out.

    >>> overlap("mother of Lothair II", "Lothair II"), overlap("", "the")
    (0.8, 0.0)
    """
    first, second = set(words(a)), set(words(b))
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def lengths_of(index: VectorIndex) -> NDArray[np.floating]:
    """Return the length of each row of an index, worked out once."""
    lengths = _lengths.get(index)
    if lengths is None:
        lengths = _lengths[index] = np.linalg.norm(index.vectors, axis=1)
    return lengths


def name_words(columns: Columns) -> WordIndex:
    """Return the words of all names but those of passages, indexed once."""
    index = _words.get(columns)
    if index is None:
        ids = np.flatnonzero(columns.kinds != Kind.CHUNK)
        index = _words[columns] = WordIndex.of(columns.names.take(ids), ids)
    return index


# Made once for each index and each snapshot, and gone with it.
_lengths: WeakKeyDictionary[VectorIndex, NDArray[np.floating]] = WeakKeyDictionary()
_words: WeakKeyDictionary[Columns, WordIndex] = WeakKeyDictionary()


def _cosines(index: VectorIndex, texts: Sequence[str]) -> Floats:
    """Return the cosine of each text with each row, 0 beside a zero vector: [texts, rows]."""
    queries = index.encode_all(texts)
    inner: Floats = queries @ index.vectors.T
    size = np.linalg.norm(queries, axis=1)[:, None] * lengths_of(index)
    cosines: Floats = np.divide(inner, size, out=np.zeros_like(inner), where=size > 0)
    return cosines


def _best(ids: Ints, scores: NDArray[np.floating], k: int) -> Near:
    kept = top(scores, min(k, len(ids)))
    return {i: score for i, score in zip(ids[kept].tolist(), scores[kept].tolist(), strict=True) if score > 0}


def _named_alike(graph: Graph, text: str, k: int) -> Near:
    index, lexicon, form = name_words(graph.columns), name_index_of(graph.columns), normal_form(text)
    ids = index.nodes[top(index.scores(text), min(4 * k, len(index.nodes)))]
    found = {node: overlap(text, graph.names[node]) for node in ids.tolist()}
    nodes, certainty = lexicon.find(form), 1.0
    if not len(nodes) and len(form) > 3:
        nodes, certainty = lexicon.near(form, _LIKE)
    found |= dict.fromkeys(nodes.tolist(), certainty)
    ids = np.array(sorted(found), np.int64)
    ids = ids[graph.holds(ids)]
    return _best(ids, np.array([found[i] for i in ids.tolist()], np.float64), k)


def distinct(graph: Graph, found: Near, text: str, k: int) -> Near:
    """Return the k nearest edges with different texts: of those that one sentence states, the one most like `text`.

    >>> from graphwright import Graph
    >>> graph = Graph.from_triples([("a", "r", "b"), ("a", "r", "b"), ("a", "r", "c")])
    >>> distinct(graph, {1: 0.9, 0: 0.9, 2: 0.5}, "c", 2)
    {0: 0.9, 2: 0.5}
    """
    alike: dict[str, list[int]] = {}
    for edge in found:
        alike.setdefault(graph.edge_text(edge), []).append(edge)
    best = (min(edges, key=lambda e: (-overlap(text, " ".join(graph.triple(e))), e)) for edges in alike.values())
    return {edge: found[edge] for edge, _ in zip(best, range(k), strict=False)}
