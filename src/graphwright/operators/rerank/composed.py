"""Scorers that read next to nothing: by the vectors of what a piece is made of, and by its relations alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphwright.errors import OptionError
from graphwright.graph.evidence import Evidence, Ints, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import relation_words
from graphwright.index.vector_index import VectorIndex
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.rerank.masked import masked
from graphwright.operators.rerank.scorer import ScoreFunction, Scorer, checked, cosines, distinct, means, owners
from graphwright.operators.run import Run
from graphwright.operators.state import State

__all__ = ["Composed", "Patterns"]

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
