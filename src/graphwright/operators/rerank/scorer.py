"""Scorers of evidence: by models that read texts, by vectors of parts, and by relation patterns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.errors import ModelError, OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words
from graphwright.index.vector_index import VectorIndex
from graphwright.kernels.ranking import rank_items
from graphwright.models.protocols import CrossEncoder, Encoder, Floats
from graphwright.operators.operator import source_of
from graphwright.operators.rerank.masked import masked
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = [
    "Composed",
    "Patterns",
    "ScoreFunction",
    "Scorer",
    "Steps",
    "checked",
    "cosines",
    "distinct",
    "means",
    "owners",
    "ranked_by",
    "score_function",
]

ScoreFunction = Callable[[Evidence], Scores]
"""Scores items of evidence for one question: float64, one each, higher is better."""


class Scorer(ABC):
    """Scores pieces; Rerank and BeamSearch take it in the place of a model. `a + b` scores their sum."""

    @abstractmethod
    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return what scores pieces for the question of this state; what is known of the question is found out once."""

    def __add__(self, other: Scorer) -> Scorer:
        return _Sum(self, other) if isinstance(other, Scorer) else NotImplemented

    def __repr__(self) -> str:
        """Return the expression that makes this scorer, defaults left out."""
        return source_of(self)


@dataclass(frozen=True, repr=False)
class _Sum(Scorer):
    first: Scorer
    second: Scorer

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        one, other = self.first.prepare(state, run), self.second.prepare(state, run)
        return lambda pieces: one(pieces) + other(pieces)

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"


@dataclass(frozen=True, repr=False)
class Steps(Scorer):
    """Scores a path by its steps: the mean over its triples of how well a model finds each to fit the question.

    Triple-level scoring (LEGO-GraphRAG, section 4.2), which the paper only names: a path that is prolonged is not read
    anew, only the step that was added. Steps add up to their mean, so that paths of different length compare. In a
    BeamSearch every triple is read once. A piece without edges is read as it is.

    >>> from graphwright.operators.state import start; from graphwright.graph.graph import Graph
    >>> from graphwright.models.fake import OverlapCrossEncoder
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo")])
    >>> judge = Steps(OverlapCrossEncoder()).judge(start("the spouse of Ida", kin))
    >>> judge(Evidence.of_pieces([([0, 1], [0]), ([1, 2], [1]), ([0, 1, 2], [0, 1])])).round(3).tolist()
    [0.24, 0.479, 0.359]
    """

    model: Encoder | CrossEncoder

    def __post_init__(self) -> None:
        checked(self.model, "Steps")

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean of the scores of triples, each read once."""
        read, known = score_function(self.model, state, run), dict[int, float]()

        def scores(pieces: Evidence) -> Scores:
            edges, at = distinct(pieces.edges)
            new = [edge for edge in edges.tolist() if edge not in known]
            found = read(Evidence.of_edges(new)) if new else np.empty(0)
            known.update(zip(new, found.tolist(), strict=True))
            each = np.array([known[edge] for edge in edges.tolist()], np.float64)[at]
            result = means(each, owners(pieces.edge_ptr), len(pieces))
            bare = np.flatnonzero(np.diff(pieces.edge_ptr) == 0)
            if len(bare):
                result[bare] = read(pieces.take(bare.tolist()))
            return result

        return scores


def score_function(model: Encoder | CrossEncoder | Scorer, state: State, run: Run) -> ScoreFunction:
    """Return what scores pieces by this model: a scorer as it does, any other by their texts, each text once.

    An Encoder scores the cosine of the vectors of question and text, a CrossEncoder the head of its latents; one that
    is both is used as a CrossEncoder. Raises ModelError for scores of another number, or that are not numbers.
    """
    if isinstance(model, Scorer):
        return model.prepare(state, run)
    question = state.question.text

    def scores(items: Evidence) -> Scores:
        texts = items.texts(state.graph)
        row = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        values = _text_scores(model, run, question, list(row)) if row else np.empty(0)
        if values.shape != (len(row),) or np.isnan(values).any():
            raise ModelError(f"{model!r} returned scores of shape {values.shape} for {len(row)} texts, or a NaN.")
        return values[[row[text] for text in texts]]

    return scores


def _text_scores(model: Encoder | CrossEncoder, run: Run, question: str, texts: list[str]) -> Scores:
    if isinstance(model, CrossEncoder):
        return run.scores(model, question, texts)
    vectors = run.encode(model, [question, *texts]).astype(np.float64)
    return cosines(vectors[1:], vectors[0])


def cosines(vectors: Scores, wanted: Scores) -> Scores:
    """Return the cosine of each row with a vector; the cosine with a zero vector is 0."""
    found: Scores = vectors @ wanted / np.maximum(np.linalg.norm(vectors, axis=1) * np.linalg.norm(wanted), 1e-12)
    return found


def means(values: Scores, owner: Ints, count: int) -> Scores:
    """Return the mean of the values that each of `count` owners has, 0 for one that has none.

    >>> means(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 2]), 3).tolist()
    [2.0, 0.0, 5.0]
    """
    return np.bincount(owner, values, count) / np.maximum(np.bincount(owner, minlength=count), 1)


def owners(ptr: Ints) -> Ints:
    """Return for each entry of a ragged array the row that it stands in."""
    return np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values, ascending, and for each value which of them it is.

    Few among many, as the nodes of a hundred thousand paths: looked up, which beats the sort that np.unique makes.

    >>> [part.tolist() for part in distinct(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    found = np.unique(values)
    return found, np.searchsorted(found, values).astype(np.int64, copy=False)


def ranked_by(pieces: Evidence, scores: Scores, k: int | None = None) -> Evidence:
    """Return the k best pieces (all, if None) with these scores: the higher score first, then the smaller ids."""
    order = rank_items(scores, pieces.nodes, pieces.node_ptr, pieces.edges, pieces.edge_ptr, k)
    kept, best = pieces.unscored().take(order.tolist()), scores[order]
    best.flags.writeable = False
    return type(pieces)(kept.nodes, kept.node_ptr, kept.edges, kept.edge_ptr, best)


def checked(model: object, where: str, also: Sequence[type] = ()) -> None:
    """Raise OptionError where a model is none that scores texts, nor of the other types."""
    # A text has a method `encode` too.
    if isinstance(model, str) or not isinstance(model, (Encoder, CrossEncoder, *also)):
        raise OptionError(f"{where}({model!r}): an encoder or a cross-encoder is needed, not its name.")


_NAMED = "x"  # what the question names, in question and pattern
_LETTERS = "yzwvutsrq"


@dataclass(frozen=True, repr=False)
class Composed(Scorer):
    """Scores a piece by the vectors of what it is made of: the mean of the cosines of the question and each part.

    With `names` (vectors by node id, `Snapshot.names`) the parts are the nodes of the piece and the relation of each
    of its edges, whose text is read once; with `triples` (vectors by edge id, `Snapshot.triples`) they are its edges;
    with both, all of these. A part without a vector counts as 0. So a question costs one text to read however many
    paths there are, where reading paths costs a text for each.

    >>> from graphwright.operators.state import start; from graphwright.models.fake import HashEncoder
    >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Lyon", "lies on", "Rhône")])
    >>> names = VectorIndex.from_array(HashEncoder().encode(list(graph.names)), HashEncoder())
    >>> judge = Composed(names).prepare(start("Where does the Rhône flow?", graph), Run())
    >>> judge(Evidence.of_edges([0, 1])).round(2).tolist()
    [0.11, 0.19]
    """

    names: VectorIndex | None = None
    triples: VectorIndex | None = None

    def __post_init__(self) -> None:
        given = [index for index in (self.names, self.triples) if index is not None]
        if not given or not all(isinstance(index, VectorIndex) and index.encoder is not None for index in given):
            raise OptionError(f"{self!r}: vectors by node or by edge are needed, with the encoder that made them.")

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the mean cosine of the parts."""
        graph, index = state.graph, self.names if self.names is not None else self.triples
        asked = index.encode(state.question.text, run)  # type: ignore[union-attr]

        def scores(pieces: Evidence) -> Scores:
            of_edges, found = owners(pieces.edge_ptr), []
            if self.names is not None:
                nodes, of_nodes = _nodes_of(pieces, graph)
                found.append((_near(self.names, nodes, asked), of_nodes))
                found.append((self._of_relations(run, graph, pieces.edges, asked), of_edges))
            if self.triples is not None:
                found.append((_near(self.triples, pieces.edges, asked), of_edges))
            values, owner = (np.concatenate(parts) for parts in zip(*found, strict=True))
            return means(values, owner, len(pieces))

        return scores

    def _of_relations(self, run: Run, graph: Graph, edges: Ints, asked: Floats) -> Scores:
        """Return the cosine of the text of each edge's relation with the question's."""
        relations, at = distinct(graph.columns.relation[edges])
        if not len(relations):
            return np.empty(0)
        texts = [relation_words(graph, (2 * relation + 1,)) for relation in relations.tolist()]
        vectors = run.encode(self.names.encoder, texts).astype(np.float64)  # type: ignore[union-attr, arg-type]
        return cosines(vectors, asked.astype(np.float64))[at]


@dataclass(frozen=True, repr=False)
class Patterns(Scorer):
    """Scores a piece by its relations alone: the cosine of the question and the pattern, with all names masked.

    What the question names becomes x in the question and in the pattern, other nodes y, z and so on: "who acted in
    films by the director of x" and "x directed by y; z directed by y; z starred actors w". A name would outweigh what
    is asked about it. Paths that differ only in their names tie, as they should: they answer one question. A piece
    without edges scores 0. `model`: an Encoder; it reads each pattern once and remembers it for the questions to come,
    at which the same patterns are met again.

    >>> from graphwright.operators.state import start; from graphwright.models.fake import HashEncoder
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo")])
    >>> state = start("Who is the spouse of the child of Bertha?", kin, entities=["Bertha"])
    >>> pieces = Evidence.of_pieces([([0, 1, 2], [0, 1]), ([0, 1], [0])])
    >>> patterns = Patterns(HashEncoder())
    >>> patterns.texts(state, pieces), patterns.prepare(state, Run())(pieces).round(2).tolist()
    (['x child y; y spouse z', 'x child y'], [0.22, 0.21])
    """

    model: Encoder

    def __post_init__(self) -> None:
        checked(self.model, "Patterns")
        if not isinstance(self.model, Encoder):
            raise OptionError(f"Patterns({self.model!r}): an encoder is needed.")

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the cosine of the masked question and the pattern."""
        asked = run.encode(self.model, [masked(state, _NAMED)])[0].astype(np.float64)

        def scores(pieces: Evidence) -> Scores:
            patterns, at = _patterns(state, pieces)
            texts = [_written(state.graph, *pattern) for pattern in patterns]
            if not texts:
                return np.zeros(len(pieces))
            found = cosines(run.encode(self.model, texts).astype(np.float64), asked)
            return np.where(np.diff(pieces.edge_ptr) > 0, found[at], 0.0)

        return scores

    def texts(self, state: State, pieces: Evidence) -> list[str]:
        """Return the pattern of each piece, as it is read."""
        patterns, at = _patterns(state, pieces)
        return [_written(state.graph, *patterns[i]) for i in at.tolist()]


def _nodes_of(pieces: Evidence, graph: Graph) -> tuple[Ints, Ints]:
    """Return all nodes of all pieces, those of a piece that lists none being the ends of its edges, and their piece."""
    bare = np.diff(pieces.node_ptr) == 0
    owner = owners(pieces.edge_ptr)
    ends = bare[owner]
    nodes = np.concatenate((pieces.nodes, graph.ends(pieces.edges[ends])))
    return nodes, np.concatenate((owners(pieces.node_ptr), np.repeat(owner[ends], 2)))


def _near(index: VectorIndex, ids: Ints, asked: Floats) -> Scores:
    """Return the cosine of each id's vector with the question's, each id looked up once."""
    known, at = distinct(ids)
    near: Scores = index.cosines(known, asked)[at]
    return near


def _patterns(state: State, pieces: Evidence) -> tuple[list[tuple[list[int], list[int]]], Ints]:
    """Return the distinct patterns, and which of them each piece has.

    A pattern is the relations of the edges, and for head and tail of each in turn where that node stands first among
    these, -1 for a node that the question names.
    """
    c, graph = state.graph.columns, state.graph
    named = np.unique(np.concatenate([np.empty(0, np.int64), *(a.seeds(graph) for a in state.anchors or ())]))
    lengths, which = np.diff(pieces.edge_ptr), np.zeros(len(pieces), np.int64)
    patterns: list[tuple[list[int], list[int]]] = []
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        edges = pieces.edges[pieces.edge_ptr[rows, None] + np.arange(length)]
        ends = np.stack((c.heads[edges], c.tails[edges]), axis=2).reshape(len(rows), -1)
        first = np.empty_like(ends)
        for at in range(2 * length):
            first[:, at] = (ends[:, : at + 1] == ends[:, at, None]).argmax(axis=1)
        first[np.isin(ends, named)] = -1
        table = np.column_stack((c.relation[edges], first)).astype(np.int64)
        keys, same = distinct(_keys(table))
        one = np.empty(len(keys), np.int64)
        one[same] = np.arange(len(rows))  # any row of each pattern: they are the same
        which[rows] = len(patterns) + same
        patterns += [(row[:length], row[length:]) for row in table[one].tolist()]
    return patterns, which


def _keys(table: Ints) -> Ints:
    """Return a number for each row, the same for rows that are; sorting these is much faster than sorting rows."""
    keys, size = np.zeros(len(table), np.int64), 1
    for column in table.T:
        base = int(column.max()) + 2
        if size > 2**62 // base:
            keys = distinct(keys)[1]
            size = int(keys.max()) + 1
        keys, size = keys * base + column + 1, size * base
    return keys


def _written(graph: Graph, relations: Sequence[int], first: Sequence[int]) -> str:
    letters = {-1: _NAMED}
    for at in first:
        n = len(letters) - 1
        letters.setdefault(at, _LETTERS[n] if n < len(_LETTERS) else f"x{n}")
    names = [relation_words(graph, (2 * relation + 1,)) for relation in relations]
    return "; ".join(f"{letters[first[2 * i]]} {name} {letters[first[2 * i + 1]]}" for i, name in enumerate(names))
