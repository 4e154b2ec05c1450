"""Similarity of texts to names and statements of the graph, and the entities that passages mention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.graph import ALIAS, Columns, Graph, Kind
from graphwright.kernels.csr import Csr
from graphwright.kernels.ranking import sorted_distinct, top
from graphwright.models.protocols import Floats
from graphwright.operators.run import Run
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.name_index import name_index_of
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.vector_index import VectorIndex
from graphwright.text.names import normal_form
from graphwright.text.words import words


def reach(graph: Graph, nodes: Ints) -> tuple[Ints, Csr]:
    """Return the entities that passages mention by name or alias, and the positions of each passage's, ascending."""
    owner, mentioned = graph.columns.adjacency.expand(nodes)
    entity = graph.columns.kinds[mentioned] == Kind.ENTITY  # not a passage that another refers to
    owner, mentioned = owner[entity], mentioned[entity]
    row, aliases = graph.columns.by_relation(ALIAS).expand(mentioned)
    owner = np.concatenate((owner, owner[row]))
    entities, position = np.unique(np.concatenate((mentioned, aliases)), return_inverse=True)
    # One number per (passage, entity): distinct, and ascending as the rows must be.
    keys = sorted_distinct(owner * len(entities) + position)
    indptr = np.searchsorted(keys, np.arange(len(nodes) + 1) * len(entities))
    return entities, Csr(indptr, (keys % max(len(entities), 1)).astype(np.int32))


def frequency(graph: Graph, entities: Ints) -> Scores:
    """Return the number of passages that mention each entity or one of its aliases."""
    chunks = graph.columns.node_chunks
    if chunks is None:
        return np.zeros(len(entities))
    owner, aliases = graph.columns.by_relation(ALIAS).expand(entities)
    total = chunks.sizes(entities) + np.bincount(owner, chunks.sizes(aliases), len(entities))
    return total.astype(np.float64)


def rarity(graph: Graph, df: Scores) -> Scores:
    """Return log(N/df)/log(N) of entities that df of N passages mention: 1 for one, 0 for all, or df above N."""
    count = max(len(graph.passages) if graph.passages is not None else 0, 2)
    rare: Scores = np.log(np.maximum(count / np.maximum(df, 1), 1)) / np.log(count)
    return rare


Near = dict[int, float]  # similarity of each node or edge, at most 1, in descending order

_SPELLING = 0.8  # minimum similarity of a name that is spelled differently
_MAX_EDGES = 5_000  # at nodes, of each kind
_DUPLICATES = 8  # 8 · k edges are ranked to find k with different texts

_words: SnapshotCache[WordIndex] = SnapshotCache()


def nodes_near(run: Run, index: VectorIndex | None, graph: Graph, texts: Sequence[str], k: int) -> list[Near]:
    """Return for each text the k nodes with the nearest names, by cosine, else by `overlap` and spelling."""
    if index is None:
        run.note_missing("names")
        return [_names_by_words(graph, text, k) for text in texts]
    ids, rows = index.rows_of(index.ids if graph.whole else graph.nodes)
    return [_best(ids, cosines[rows], k) for cosines in _cosines(run, index, texts)]


def edges_near(
    run: Run, index: VectorIndex | None, graph: Graph, texts: Sequence[str], k: int, around: Ints | None = None
) -> list[Near]:
    """Return for each text the k edges between entities with the nearest texts, each text once (see `distinct_edges`).

    `around`: the nodes whose edges are compared; None for all edges with a vector. Without vectors edges are compared
    by words, and None gives no edges.
    """
    if index is not None and around is None:
        ids, rows = index.rows_of(index.ids if graph.whole else graph.edges)
        scores = [cosines[rows] for cosines in _cosines(run, index, texts)]
    else:
        near = edges_at(graph.columns, np.empty(0, np.int64) if around is None else around)
        ids = graph.inside(near[graph.columns.between_entities(near)])
        if index is None:
            run.note_missing("triples")
            scores = [np.array([overlap(text, graph.edge_text(edge)) for edge in ids.tolist()]) for text in texts]
        else:
            ids, rows = index.rows_of(ids)
            scores = list(_cosines(run, index, texts, rows))
    nearest = (_best(ids, row, _DUPLICATES * k) for row in scores)
    return [distinct_edges(graph, edges, text, k) for edges, text in zip(nearest, texts, strict=True)]


def edges_at(columns: Columns, nodes: Ints, *more: Csr) -> Ints:
    """Return the edges at nodes, of `more` rows too, ascending, at most 5,000 of each kind, of small nodes first."""
    parts = []
    for rows in (columns.out, columns.into, *more):
        small_first = nodes[np.argsort(rows.sizes(nodes), kind="stable")]
        parts.append(rows.rows(small_first)[:_MAX_EDGES])
    return np.unique(np.concatenate(parts))


def likeness(run: Run, index: VectorIndex | None, text_of: Callable[[int], str], edges: Ints, text: str) -> Scores:
    """Return the similarity of a text to each edge: its cosine, or without vectors the overlap with `text_of(edge)`."""
    if index is None:
        run.note_missing("triples")
        return np.array([overlap(text, text_of(edge)) for edge in edges.tolist()], np.float64)
    return index.cosines(edges, index.encode(text, run))


def overlap(a: str, b: str) -> float:
    """Return the Dice coefficient of the words of two texts, without stop words.

    >>> overlap("mother of Lothair II", "Lothair II"), overlap("", "the")
    (0.8, 0.0)
    """
    return _dice(set(words(a)), set(words(b)))


def _dice(a: set[str], b: set[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0


def name_words(columns: Columns) -> WordIndex:
    """Return a word index of all names except those of passages, built once for a snapshot."""

    def build() -> WordIndex:
        ids = np.flatnonzero(columns.kinds != Kind.CHUNK)
        return WordIndex.of(columns.names.take(ids), ids)

    return _words.get(columns, "names", build)


def _cosines(run: Run, index: VectorIndex, texts: Sequence[str], rows: Ints | None = None) -> Floats:
    """Return the cosine of each text with each row, or some of them, 0 for a zero vector: [texts, rows]."""
    queries = index.encode_all(texts, run)
    vectors, lengths = (index.vectors, index.lengths) if rows is None else (index.vectors[rows], index.lengths[rows])
    norms = np.linalg.norm(queries, axis=1)
    unit = queries / np.where(norms > 0, norms, 1)[:, None]
    # Many rows times few columns: twice as fast as few rows times many columns.
    products: Floats = vectors @ np.ascontiguousarray(unit.T)
    products /= np.where(lengths > 0, lengths, 1)[:, None]
    return products.T


def _best(ids: Ints, scores: NDArray[np.floating], k: int) -> Near:
    best = top(scores, min(k, len(ids)))
    return {i: score for i, score in zip(ids[best].tolist(), scores[best].tolist(), strict=True) if score > 0}


def nodes_named(columns: Columns, text: str) -> tuple[Ints, float]:
    """Return the nodes with the name that a text is, else with the nearest spelling, and how alike they are."""
    index, form = name_index_of(columns), normal_form(text)
    nodes = index.find(form)
    return index.near(form, _SPELLING) if not len(nodes) and len(form) > 3 else (nodes, 1.0)


def _names_by_words(graph: Graph, text: str, k: int) -> Near:
    word_index, (nodes, similarity) = name_words(graph.columns), nodes_named(graph.columns, text)
    ids = word_index.nodes[top(word_index.scores(text), min(4 * k, len(word_index.nodes)))]
    scores = {node: overlap(text, graph.names[node]) for node in ids.tolist()}
    scores |= dict.fromkeys(nodes.tolist(), similarity)
    ids = np.array(sorted(scores), np.int64)
    ids = ids[graph.holds(ids)]
    return _best(ids, np.array([scores[i] for i in ids.tolist()], np.float64), k)


def distinct_edges(graph: Graph, edges: Near, text: str, k: int) -> Near:
    """Return the k nearest edges with different texts; of the edges of a sentence, the most similar to `text`."""
    by_text: dict[str, list[int]] = {}
    graph.fetch_texts(list(edges))
    for edge in edges:
        by_text.setdefault(graph.edge_text(edge), []).append(edge)
    text_words = set(words(text))

    def unlike(edge: int) -> tuple[float, int]:
        return -_dice(text_words, set(words(" ".join(graph.triple(edge))))), edge

    best = (group[0] if len(group) == 1 else min(group, key=unlike) for group in islice(by_text.values(), k))
    return {edge: edges[edge] for edge in best}
