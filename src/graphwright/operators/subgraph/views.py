"""Views of a graph with the same nodes and other edges, for `OnGraph(view, step)`: passages, entities, statements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import OptionError
from graphwright.graph.columns import Passages, TextColumn
from graphwright.graph.evidence import Evidence, Ints
from graphwright.graph.graph import ABOUT, ALIAS, MENTIONS, REFERS, Columns, Graph, Ids32, Kind
from graphwright.graph.items import Step, ends_of, steps_between
from graphwright.kernels.csr import Csr
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.vector_index import VectorIndex, normalised

NAMES = "names the topic of"  # a passage that mentions the topic of another
SHARES = "shares a name with"  # two passages that name the same rare entity
CONTINUES = "continues"  # a passage and the previous passage of its document
RELATIONS = (REFERS, NAMES, SHARES, CONTINUES)
_BLOCK = 4096  # entities whose passages' vectors are averaged together
_graphs: SnapshotCache[Graph] = SnapshotCache()
_averages: SnapshotCache[VectorIndex] = SnapshotCache()
# Parts of the columns rather than a graph, whose reference to the columns would prevent their release.
_statements: SnapshotCache[tuple[Ints, Ints, Csr]] = SnapshotCache()


class _CachedView(Checked):
    """A view that is built once for a snapshot."""

    has_other_edges: ClassVar[bool] = True  # its edge ids are not those of the snapshot
    needs_passages: ClassVar[bool] = True  # a graph without them is returned unchanged

    def __call__(self, graph: Graph) -> Graph:
        if self.needs_passages and graph.passages is None:
            return graph
        view = _graphs.get(graph.columns, self, lambda: Graph(self.columns(graph.columns)))
        return view if graph.whole else view.part(graph.nodes)

    @abstractmethod
    def columns(self, columns: Columns) -> Columns:
        """Return columns with the same nodes, and the edges of the view."""


@dataclass(frozen=True, repr=False)
class PassageGraph(_CachedView):
    """The graph of passages alone: each is joined to the passages that it refers to, names, or continues.

    `relations` selects among four. A passage "refers to" the first passage of each document that its own lists
    (`Document.links`), as a paper cites another in a reference network (FastInsight, section 4.2.1). It "names the
    topic of" another if it mentions that topic (also over an alias edge), "shares a name with" it if both name an
    entity that at most `shared` passages name, and "continues" the previous passage of its document. Two passages with
    several edges are neighbours once. Other nodes have no edges. A graph without passages is returned unchanged. Built
    once for a snapshot.
    """

    shared: Annotated[int, AtLeast(0)] = 5
    relations: tuple[str, ...] = RELATIONS

    def __post_init__(self) -> None:
        super().__post_init__()
        relations = self.relations
        if isinstance(relations, str) or not relations or not set(relations) <= set(RELATIONS):
            raise OptionError(f"PassageGraph: relations is {relations!r}; it must be a list of some of {RELATIONS}.")
        object.__setattr__(self, "relations", tuple(dict.fromkeys(relations)))

    def columns(self, columns: Columns) -> Columns:
        passages: Passages = columns.passages  # type: ignore[assignment]
        nodes = np.asarray(passages.nodes, np.int64)
        sources: dict[str, Callable[[], Ints]] = {
            REFERS: lambda: np.unique(np.stack(columns.references, axis=1).astype(np.int64), axis=0),
            NAMES: lambda: _naming(columns, nodes),
            SHARES: lambda: _sharing(columns, nodes, self.shared),
            CONTINUES: lambda: _continuing(passages),
        }
        pairs = [sources[name]() for name in self.relations]
        ends = np.concatenate(pairs).astype(np.int32)
        return Columns(
            names=columns.names,
            heads=np.ascontiguousarray(ends[:, 0]),
            tails=np.ascontiguousarray(ends[:, 1]),
            relation=np.repeat(np.arange(len(pairs), dtype=np.int32), [len(joined) for joined in pairs]),
            relations=TextColumn.of(self.relations),
            kinds=columns.kinds,
            texts=columns.texts,
            passages=passages,
        )


@dataclass(frozen=True, repr=False)
class EntityGraph(_CachedView):
    """The graph of entities alone, each with the sentences that connect it to others as its text.

    FastInsight's text-rich knowledge graph (section 4.2.2). An entity's text is its name and description, then the
    distinct texts of its edges, the first `sentences` of them, on lines of their own. Chunks stay, without edges.
    """

    needs_passages = False
    sentences: Annotated[int, AtLeast(0)] = 5

    def columns(self, columns: Columns) -> Columns:
        edges = np.flatnonzero(columns.between_entities(np.arange(len(columns.heads))))
        edge_sentence = None if columns.edge_text is None else columns.edge_text[edges]
        texts = columns.every_text
        if edge_sentence is not None and columns.sentences is not None:
            ends = columns.heads[edges], columns.tails[edges]
            texts = _with_sentences(texts, *ends, edge_sentence, columns.sentences, self.sentences)
        return _with_edges(columns, edges, texts, edge_sentence)


@dataclass(frozen=True, repr=False)
class MentionGraph(_CachedView):
    """The graph of passages and the entities that they mention, without edges between entities (LinearRAG)."""

    def columns(self, columns: Columns) -> Columns:
        return _with_edges(columns, columns.edges_of(ABOUT, MENTIONS), columns.texts, None)


def _with_edges(columns: Columns, edges: Ints, texts: TextColumn, edge_text: Ids32 | None) -> Columns:
    """Return columns with some of the edges, the texts of nodes, and the sentences of these edges."""
    heads, tails, relation = (column[edges] for column in (columns.heads, columns.tails, columns.relation))
    return replace(
        columns, heads=heads, tails=tails, relation=relation, texts=texts, edge_text=edge_text, edge_chunks=None
    )


@dataclass(frozen=True)
class StatementGraph:
    """The graph without its passages, the indexing graph of PathRAG and LightRAG; ids of nodes and edges stay."""

    def __call__(self, graph: Graph) -> Graph:
        if graph.passages is None:
            return graph
        columns = graph.columns
        if not graph.whole:
            return graph.part(graph.nodes[columns.kinds[graph.nodes] != Kind.CHUNK])

        def build() -> tuple[Ints, Ints, Csr]:
            part = graph.part(np.flatnonzero(columns.kinds != Kind.CHUNK))
            return part.nodes, part.edges, part.adjacency

        nodes, edges, adjacency = _statements.get(columns, self, build)
        part = Graph(columns, nodes, edges)
        vars(part)["adjacency"] = adjacency  # where the cached property keeps it
        return part


def with_steps_of(graph: Graph, evidence: Evidence, view: Graph) -> Evidence:
    """Return evidence found on a view with its steps on the graph, none where this does not connect two nodes."""
    if not len(evidence.steps.edges):
        return evidence

    def walk(steps: Sequence[Step]) -> tuple[Step, ...]:
        starts, ends = np.array(list(ends_of(view, steps)), np.int64).reshape(-1, 2).T
        parts = list(steps_between(graph, starts, ends).rows())
        return tuple(chain.from_iterable(parts)) if all(parts) else ()

    return Evidence.of_items(
        (item._replace(steps=walk(item.steps)) for item in evidence.items()), None, evidence.render
    ).with_scores(evidence.scores)


def entity_vectors(graph: Graph, passages: VectorIndex) -> VectorIndex:
    """Return a vector for each entity: the normalised mean of the passages that mention it; computed once.

    FastInsight encodes a node's content (V_n), of which a name has little. Over a graph without passages, whose nodes
    have vectors, `passages` is returned.
    """
    if graph.passages is None:
        return passages
    return _averages.get(graph.columns, passages, lambda: _means(graph.columns, passages))


def _naming(columns: Columns, passages: Ints) -> Ints:
    """Return the distinct pairs of a passage and another whose topic it mentions: int64[p, 2]."""
    heads, mentioned = columns.by_relation(MENTIONS).expand(passages, passages)
    again, same = columns.by_relation(ALIAS).expand(mentioned, heads)
    heads, mentioned = np.concatenate((heads, again)), np.concatenate((mentioned, same))
    heads, tails = columns.by_relation(ABOUT).expand(mentioned, heads)
    return np.unique(np.stack((heads, tails), axis=1)[heads != tails], axis=0)


def _sharing(columns: Columns, passages: Ints, max_passages: int) -> Ints:
    """Return the distinct pairs of passages that name an entity which at most `max_passages` name: int64[p, 2]."""
    owners, entities = columns.by_relation(ABOUT, MENTIONS).expand(passages, passages)
    rare = np.bincount(entities, minlength=1)[entities] <= max_passages
    owners, entities = owners[rare], entities[rare]
    order = np.lexsort((owners, entities))
    owners, entities = owners[order], entities[order]
    pairs = [np.empty((0, 2), np.int64)]
    for apart in range(1, min(max_passages, len(owners))):
        same = entities[apart:] == entities[:-apart]
        pairs.append(np.stack((owners[:-apart][same], owners[apart:][same]), axis=1))
    return np.unique(np.concatenate(pairs), axis=0)


def _continuing(passages: Passages) -> Ints:
    """Return the pairs of a passage and the previous passage of its document: int64[p, 2]."""
    order = np.lexsort((passages.nodes, passages.start, passages.document))
    nodes, document = np.asarray(passages.nodes, np.int64)[order], passages.document[order]
    within = document[1:] == document[:-1]
    return np.stack((nodes[1:][within], nodes[:-1][within]), axis=1)


def _means(columns: Columns, passages: VectorIndex) -> VectorIndex:
    mentions, chunks = columns.by_relation(ABOUT, MENTIONS), passages.ids
    row = np.repeat(np.arange(len(chunks)), np.diff(mentions.indptr)[chunks])
    order = np.argsort(entity := mentions.rows(chunks), kind="stable")
    entities, begin = np.unique(entity[order], return_index=True)
    begin, row = np.append(begin, len(row)), row[order]
    vectors = np.zeros((len(entities), passages.dimension), np.float32)
    for at in range(0, len(entities), _BLOCK):
        borders = begin[at : at + _BLOCK + 1]
        members = passages.of(chunks[row[borders[0] : borders[-1]]])
        vectors[at : at + len(borders) - 1] = np.add.reduceat(members, borders[:-1] - borders[0])
    row_of = np.full(len(columns.names), -1, np.int32)
    row_of[entities] = np.arange(len(entities), dtype=np.int32)
    return VectorIndex(normalised(vectors), row_of, passages.encoder)


def _with_sentences(
    texts: TextColumn, heads: Ids32, tails: Ids32, edge_sentence: Ids32, sentences: TextColumn, max_sentences: int
) -> TextColumn:
    """Return the text of each node followed by the first `max_sentences` sentences of its edges, each on a line."""
    stated = edge_sentence >= 0
    node = np.concatenate((heads[stated], tails[stated])).astype(np.int64)
    pairs = np.unique(node * len(sentences) + np.tile(edge_sentence[stated], 2))
    node, sentence = pairs // max(len(sentences), 1), pairs % max(len(sentences), 1)
    among_first = np.arange(len(node)) - np.searchsorted(node, node) < max_sentences
    node, sentence = node[among_first], sentence[among_first]
    line = TextColumn.of(["\n"]).gather(np.zeros(len(node), np.int64))
    parts = TextColumn.joined((texts, TextColumn.paired(line, sentences.gather(sentence))))
    owner = np.concatenate((np.arange(len(texts)), node))
    order = np.argsort(owner, kind="stable")  # a node's own text before its sentences
    whole = parts.gather(order)
    return TextColumn(whole.data, whole.offsets[np.searchsorted(owner[order], np.arange(len(texts) + 1))])
