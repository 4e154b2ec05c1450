"""Scorers of evidence: by models that read texts, by vectors of parts, and by relation patterns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import Checked, Constraint
from graphwright.errors import ModelError, OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.walks import relation_words
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import CrossEncoder, Encoder, Floats
from graphwright.operators.operator import source_of
from graphwright.operators.rerank.mask import mask_names
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = [
    "Composed",
    "Patterns",
    "ScoreFunction",
    "Scorer",
    "Steps",
    "cosines",
    "distinct",
    "means",
    "owners",
    "ranked_by",
    "score_function",
    "scores_by_text",
]

ScoreFunction = Callable[[Evidence], Scores]
"""Scores items of evidence for one question: float64, one each, higher is better."""


class Scorer(Checked, ABC):
    """Scores items; Rerank and BeamSearch take it in place of a model. `a + b` scores their sum."""

    @abstractmethod
    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the function that scores items for the question of this state; the question is read once."""

    def __add__(self, other: Scorer) -> Scorer:
        return _Sum(self, other) if isinstance(other, Scorer) else NotImplemented

    def __repr__(self) -> str:
        """Return the expression that makes this scorer, defaults left out."""
        return source_of(self)


def ModelOf(expected: str, *types: type) -> Constraint:
    """Return the condition of an instance of these types; a text is none, although it has `encode` as an Encoder has.

    `expected`: the names of the types, for the error message.
    """

    def holds(value: Any) -> bool:
        return not isinstance(value, str) and isinstance(value, types)

    return Constraint(f"{expected}, not its name", holds)


@dataclass(frozen=True, repr=False)
class _Sum(Scorer):
    first: Scorer
    second: Scorer

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        first, second = self.first.prepare(state, run), self.second.prepare(state, run)
        return lambda items: first(items) + second(items)

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"


@dataclass(frozen=True, repr=False)
class Steps(Scorer):
    """Score a path by its steps: the mean over its triples of a model's score of each.

    Triple-level scoring (LEGO-GraphRAG, section 4.2), which the paper mentions without a formula: when a path is
    extended, only the new step is read. A mean makes paths of different lengths comparable. In a BeamSearch every
    triple is read once. An item without edges is scored by its own text.

    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo")])
    >>> score = Steps(OverlapCrossEncoder()).prepare(start("the spouse of Ida", kin), Run())
    >>> score(Evidence.of_pieces([([0, 1], [0]), ([1, 2], [1]), ([0, 1, 2], [0, 1])])).round(3).tolist()
    [0.24, 0.479, 0.359]
    """

    model: Annotated[Encoder | CrossEncoder, ModelOf("an encoder or a cross-encoder", Encoder, CrossEncoder)]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean of the scores of triples, each read once."""
        score, known = score_function(self.model, state, run), dict[int, float]()

        def scores(items: Evidence) -> Scores:
            edges, position = distinct(items.edges)
            new = [edge for edge in edges.tolist() if edge not in known]
            new_scores = score(Evidence.of_edges(new)) if new else np.empty(0)
            known.update(zip(new, new_scores.tolist(), strict=True))
            edge_scores = np.array([known[edge] for edge in edges.tolist()], np.float64)[position]
            item_scores = means(edge_scores, owners(items.edge_ptr), len(items))
            without_edges = np.flatnonzero(np.diff(items.edge_ptr) == 0)
            if len(without_edges):
                item_scores[without_edges] = score(items.take(without_edges.tolist()))
            return item_scores

        return scores


def score_function(model: Encoder | CrossEncoder | Scorer, state: State, run: Run) -> ScoreFunction:
    """Return the function that scores items by this model: a Scorer by its own, any other by their texts, each once.

    An Encoder scores the cosine of the vectors of question and text, a CrossEncoder the head of its latents; a model
    that is both is used as a CrossEncoder. Raises ModelError for a wrong number of scores, or a NaN among them.
    """
    if isinstance(model, Scorer):
        return model.prepare(state, run)
    question = state.question.text

    def scores(texts: list[str]) -> Scores:
        values = _text_scores(model, run, question, texts)
        if values.shape != (len(texts),) or np.isnan(values).any():
            raise ModelError(f"{model!r} returned scores of shape {values.shape} for {len(texts)} texts, or a NaN.")
        return values

    return scores_by_text(state.graph, scores)


def scores_by_text(graph: Graph, score: Callable[[list[str]], Scores]) -> ScoreFunction:
    """Return the function that scores items by their texts; `score` receives the distinct texts of each call."""

    def scores(items: Evidence) -> Scores:
        texts = items.texts(graph)
        row = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        values = score(list(row)) if row else np.empty(0)
        return values[[row[text] for text in texts]]

    return scores


def _text_scores(model: Encoder | CrossEncoder, run: Run, question: str, texts: list[str]) -> Scores:
    if isinstance(model, CrossEncoder):
        return run.scores(model, question, texts)
    vectors = run.encode(model, [question, *texts]).astype(np.float64)
    return cosines(vectors[1:], vectors[0])


def cosines(vectors: Scores, query: Scores) -> Scores:
    """Return the cosine of each row with a vector; the cosine with a zero vector is 0."""
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    values: Scores = vectors @ query / np.maximum(lengths, 1e-12)
    return values


def means(values: Scores, owner: Ints, count: int) -> Scores:
    """Return the mean of the values of each of `count` owners, 0 for an owner without values.

    >>> means(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 2]), 3).tolist()
    [2.0, 0.0, 5.0]
    """
    return np.bincount(owner, values, count) / np.maximum(np.bincount(owner, minlength=count), 1)


def owners(ptr: Ints) -> Ints:
    """Return for each entry of a ragged array the row that contains it."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values, ascending, and for each value its position among them.

    For many values with few distinct ones, such as the nodes of a hundred thousand paths, the search is faster than
    the sort that np.unique makes for the positions.

    >>> [part.tolist() for part in distinct(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    ascending = np.unique(values)
    return ascending, np.searchsorted(ascending, values).astype(np.int64, copy=False)


def ranked_by(items: Evidence, scores: Scores, k: int | None = None) -> Evidence:
    """Return the k best items (all, if None) with these scores: higher score first, then smaller ids."""
    order = rank_items(scores, items.nodes, items.node_ptr, items.edges, items.edge_ptr, k)
    best, best_scores = items.unscored().take(order.tolist()), scores[order]
    best_scores.flags.writeable = False
    return type(items)(best.nodes, best.node_ptr, best.edges, best.edge_ptr, best_scores)


@dataclass(frozen=True, repr=False)
class Composed(Scorer):
    """Score an item by the vectors of its parts: the mean cosine of the question and each part.

    With `names` (vectors by node id, `Snapshot.names`) the parts are the nodes of the item and the relation of each of
    its edges; with `triples` (vectors by edge id, `Snapshot.triples`) they are its edges; with both, all of these. A
    part without a vector counts as 0. Only the question and the texts of relations are encoded, however many paths
    there are.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> names = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> score = Composed(names).prepare(start("Where does the Rhône flow?", graph), Run())
    >>> score(Evidence.of_edges([0, 1])).round(2).tolist()
    [0.11, 0.19]
    """

    names: VectorIndex | None = None
    triples: VectorIndex | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        indexes = [index for index in (self.names, self.triples) if index is not None]
        if not indexes or not all(isinstance(index, VectorIndex) and index.encoder is not None for index in indexes):
            raise OptionError(
                f"Composed: names is {self.names!r} and triples is {self.triples!r}; at least one must be a "
                "VectorIndex, and each needs the encoder of its vectors."
            )

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean cosine of the parts."""
        graph, index = state.graph, self.names if self.names is not None else self.triples
        query = index.encode(state.question.text, run)  # type: ignore[union-attr]

        def scores(items: Evidence) -> Scores:
            edge_owners, parts = owners(items.edge_ptr), []
            if self.names is not None:
                nodes, node_owners = _nodes_of(items, graph)
                parts.append((_index_cosines(self.names, nodes, query), node_owners))
                parts.append((self._relation_cosines(run, graph, items.edges, query), edge_owners))
            if self.triples is not None:
                parts.append((_index_cosines(self.triples, items.edges, query), edge_owners))
            values, owner = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            return means(values, owner, len(items))

        return scores

    def _relation_cosines(self, run: Run, graph: Graph, edges: Ints, query: Floats) -> Scores:
        """Return the cosine of the text of each edge's relation with the question."""
        relations, position = distinct(graph.columns.relation[edges])
        if not len(relations):
            return np.empty(0)
        texts = [_relation_text(graph, relation) for relation in relations.tolist()]
        vectors = run.encode(self.names.encoder, texts).astype(np.float64)  # type: ignore[union-attr, arg-type]
        return cosines(vectors, query.astype(np.float64))[position]


def _nodes_of(items: Evidence, graph: Graph) -> tuple[Ints, Ints]:
    """Return all nodes and the item of each; an item without nodes has those at the ends of its edges."""
    without_nodes = np.diff(items.node_ptr) == 0
    owner = owners(items.edge_ptr)
    selected = without_nodes[owner]
    nodes = np.concatenate((items.nodes, graph.ends(items.edges[selected])))
    return nodes, np.concatenate((owners(items.node_ptr), np.repeat(owner[selected], 2)))


def _index_cosines(index: VectorIndex, ids: Ints, query: Floats) -> Scores:
    """Return the cosine of each id's vector with the question, each distinct id computed once."""
    distinct_ids, position = distinct(ids)
    values: Scores = index.cosines(distinct_ids, query)[position]
    return values


def _relation_text(graph: Graph, relation: int) -> str:
    return relation_words(graph, (2 * relation + 1,))


_NAME = "x"  # replaces a node that the question names, in question and pattern
_LETTERS = "yzwvutsrq"  # other nodes, in the order of the pattern


@dataclass(frozen=True, repr=False)
class Patterns(Scorer):
    """Score an item by its relations alone: the cosine of the question and the item's pattern, all names masked.

    Entities of the question become x in question and pattern, other nodes y, z and so on: "who acted in films by the
    director of x" and "x directed by y; z directed by y; z starred actors w". Names would outweigh the requested
    relations. Paths that differ only in their names have one score, as they answer one question. An item without
    edges scores 0. `model`: an Encoder, which reads each distinct pattern once.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", kin, entities=["Bertha"])
    >>> items = Evidence.of_pieces([([0, 1, 2], [0, 1]), ([0, 1], [0])])
    >>> patterns = Patterns(HashEncoder())
    >>> patterns.texts(state, items), patterns.prepare(state, Run())(items).round(2).tolist()
    (['x child y; y spouse z', 'x child y'], [0.22, 0.21])
    """

    model: Annotated[Encoder, ModelOf("an encoder", Encoder)]

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the cosine of the masked question and the pattern."""
        query = run.encode(self.model, [mask_names(state, _NAME)])[0].astype(np.float64)

        def scores(items: Evidence) -> Scores:
            texts, position = _pattern_texts(state, items)
            if not texts:
                return np.zeros(len(items))
            values = cosines(run.encode(self.model, texts).astype(np.float64), query)
            return np.where(np.diff(items.edge_ptr) > 0, values[position], 0.0)

        return scores

    def texts(self, state: State, items: Evidence) -> list[str]:
        """Return the pattern of each item, as the model reads it."""
        texts, position = _pattern_texts(state, items)
        return [texts[i] for i in position.tolist()]


def _pattern_texts(state: State, items: Evidence) -> tuple[list[str], Ints]:
    """Return the texts of the distinct patterns, and the position of each item's pattern among them."""
    names = [np.empty(0, np.int64), *(anchor.seeds(state.graph) for anchor in state.anchors or ())]
    named = np.unique(np.concatenate(names))
    lengths, position = np.diff(items.edge_ptr), np.zeros(len(items), np.int64)
    texts: list[str] = []
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        table = _patterns(state.graph, items.edges[items.edge_ptr[rows, None] + np.arange(length)], named)
        keys, row_keys = distinct(_row_keys(table))
        example = np.empty(len(keys), np.int64)
        example[row_keys] = np.arange(len(rows))  # any row of each pattern: they are equal
        position[rows] = len(texts) + row_keys
        texts += [_pattern_text(state.graph, row[:length], row[length:]) for row in table[example].tolist()]
    return texts, position


def _patterns(graph: Graph, edges: Ints, named: Ints) -> Ints:
    """Return the patterns of items with n edges each: int64[items, 3 n].

    A pattern is the relations of the edges, then for head and tail of each edge in turn the first place of that node
    among these, -1 for a node that the question names.
    """
    columns = graph.columns
    ends = np.stack((columns.heads[edges], columns.tails[edges]), axis=2).reshape(len(edges), -1)
    first = np.empty_like(ends)
    for place in range(ends.shape[1]):
        first[:, place] = (ends[:, : place + 1] == ends[:, place, None]).argmax(axis=1)
    first[np.isin(ends, named)] = -1
    return np.column_stack((columns.relation[edges], first)).astype(np.int64)


def _row_keys(table: Ints) -> Ints:
    """Return one number for each row, equal for equal rows; numbers sort much faster than rows."""
    keys, size = np.zeros(len(table), np.int64), 1
    for column in table.T:
        base = int(column.max()) + 2
        if size > 2**62 // base:
            keys = distinct(keys)[1]
            size = int(keys.max()) + 1
        keys, size = keys * base + column + 1, size * base
    return keys


def _pattern_text(graph: Graph, relations: Sequence[int], first: Sequence[int]) -> str:
    letters = {-1: _NAME}
    for place in first:
        number = len(letters) - 1
        letters.setdefault(place, _LETTERS[number] if number < len(_LETTERS) else f"x{number}")
    texts = [_relation_text(graph, relation) for relation in relations]
    return "; ".join(f"{letters[first[2 * i]]} {text} {letters[first[2 * i + 1]]}" for i, text in enumerate(texts))
