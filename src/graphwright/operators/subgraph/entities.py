"""The graph of entities alone: each with the sentences that state what joins it with others, and with a vector."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import ABOUT, MENTIONS, Columns, Graph, Ids32, Kind
from graphwright.index.vector_index import VectorIndex, normalised
from graphwright.operators.subgraph.elsewhere import Elsewhere

__all__ = ["OnEntities", "entity_graph", "entity_vectors"]

_made: WeakKeyDictionary[Columns, dict[int, Graph]] = WeakKeyDictionary()
_averaged: WeakKeyDictionary[Columns, dict[VectorIndex, VectorIndex]] = WeakKeyDictionary()
_AT_A_TIME = 4096  # entities whose passages' vectors are gathered


def entity_graph(graph: Graph, sentences: int = 5) -> Graph:
    """Return the graph of a snapshot's entities, made once: same ids and names, the edges between entities only.

    It is the text-rich knowledge graph on which FastInsight is measured beside reference networks (section 4.2.2). An
    entity's text is what it was, its name and what a language model says of it, and on lines of their own the texts of
    its edges, the first `sentences` distinct ones. Chunks are there, as what entities come from, without edges.
    """
    known = _made.setdefault(graph.columns, {})
    if sentences not in known:
        known[sentences] = Graph(_between_entities(graph.columns, sentences))
    return known[sentences] if graph.whole else known[sentences].part(graph.nodes)


def entity_vectors(graph: Graph, passages: VectorIndex) -> VectorIndex:
    """Return a vector for each entity, made once: the mean of those of the passages that it stands in, of length 1.

    What FastInsight encodes of a node is its content (V_n), of which a bare name says little. Of a graph without
    passages they are returned as they are: its nodes have them themselves.
    """
    if graph.passages is None:
        return passages
    known = _averaged.setdefault(graph.columns, {})
    if passages not in known:
        known[passages] = _means(graph.columns, passages)
    return known[passages]


@dataclass(frozen=True, repr=False)
class OnEntities(Elsewhere):
    """Run a step over nodes on the graph of entities alone (`entity_graph`), then put the graph back.

    >>> from graphwright.operators.operator import Keep
    >>> OnEntities(Keep() % 3)
    OnEntities(Keep() % 3)
    """

    sentences: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.sentences, bool) or not hasattr(self.sentences, "__index__") or self.sentences < 0:
            raise OptionError(f"OnEntities(sentences={self.sentences!r}): a number of sentences, 0 or more.")

    def graph_of(self, graph: Graph) -> Graph:
        """Return the graph of entities."""
        return entity_graph(graph, self.sentences)


def _means(columns: Columns, passages: VectorIndex) -> VectorIndex:
    """Return the mean vector of each entity's passages."""
    holds, chunks = columns.by_relation(ABOUT, MENTIONS), passages.ids
    row = np.repeat(np.arange(len(chunks)), np.diff(holds.indptr)[chunks])
    order = np.argsort(entity := holds.rows(chunks), kind="stable")
    entities, begin = np.unique(entity[order], return_index=True)
    begin, row = np.append(begin, len(row)), row[order]
    vectors = np.zeros((len(entities), passages.dimension), np.float32)
    for at in range(0, len(entities), _AT_A_TIME):
        of = begin[at : at + _AT_A_TIME + 1]
        vectors[at : at + len(of) - 1] = np.add.reduceat(passages.of(chunks[row[of[0] : of[-1]]]), of[:-1] - of[0])
    row_of = np.full(len(columns.names), -1, np.int32)
    row_of[entities] = np.arange(len(entities), dtype=np.int32)
    return VectorIndex(normalised(vectors), row_of, passages.encoder)


def _between_entities(columns: Columns, sentences: int) -> Columns:
    """Return columns with the same nodes, the edges between entities, and texts that hold their sentences."""
    entity = columns.kinds == Kind.ENTITY
    edges = np.flatnonzero(entity[columns.heads] & entity[columns.tails])
    heads, tails = columns.heads[edges], columns.tails[edges]
    said = None if columns.edge_text is None else columns.edge_text[edges]
    texts = columns.names if columns.texts is None else columns.texts
    if said is not None and columns.sentences is not None:
        texts = _with_sentences(texts, heads, tails, said, columns.sentences, sentences)
    return Columns(
        names=columns.names,
        heads=heads,
        tails=tails,
        relation=columns.relation[edges],
        relations=columns.relations,
        kinds=columns.kinds,
        texts=texts,
        edge_text=said,
        sentences=columns.sentences,
        node_chunks=columns.node_chunks,
        passages=columns.passages,
        aliases=columns.aliases,
        alias_node=columns.alias_node,
    )


def _with_sentences(
    texts: TextColumn, heads: Ids32, tails: Ids32, said: Ids32, sentences: TextColumn, most: int
) -> TextColumn:
    """Return the text of each node with the first `most` sentences of its edges behind it, each on a line."""
    stated = said >= 0
    node = np.concatenate((heads[stated], tails[stated])).astype(np.int64)
    pairs = np.unique(node * len(sentences) + np.tile(said[stated], 2))
    node, sentence = pairs // max(len(sentences), 1), pairs % max(len(sentences), 1)
    kept = np.arange(len(node)) - np.searchsorted(node, node) < most
    node, sentence = node[kept], sentence[kept]
    line = TextColumn.of(["\n"]).gather(np.zeros(len(node), np.int64))
    parts = TextColumn.joined((texts, TextColumn.paired(line, sentences.gather(sentence))))
    owner = np.concatenate((np.arange(len(texts)), node))
    order = np.argsort(owner, kind="stable")  # a node's own text before its sentences
    whole = parts.gather(order)
    return TextColumn(whole.data, whole.offsets[np.searchsorted(owner[order], np.arange(len(texts) + 1))])
