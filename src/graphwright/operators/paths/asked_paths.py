"""Walks from the entities of a question by the relations that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Piece
from graphwright.graph.graph import Graph
from graphwright.graph.walks import RelationPath, extensions, labelled_edges, path_from, walk_text
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.answer_types import AnswerType, answer_type
from graphwright.operators.paths.plans import plans_from
from graphwright.operators.paths.relation_match import Reading, read_state
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State

DOUBTFUL = 0.5
"""Weight of an anchor that may be no name: an ordinary word beside names that are written as such."""


@dataclass(frozen=True, repr=False)
class AskedPaths(Operator):
    """Find the walks from the question's entities by the relations that the question asks for, to answers of its type.

    A relation is asked for by a word of the question (a form of a word of its name, or near it in meaning), or, one
    relation alone, by the meaning of the question without its entities. A path of several relations is taken only if
    each is asked for by a word of its own, those of the first relation nearest to the entity. The grammar gives the
    direction of a relation that leads both ways: "what needs X" and "what does X need". Of several paths the one that
    accounts for most words wins; the shorter, if they account for as many. Ends must be of the type that the
    interrogative and its noun ask for. With several entities, answers are those that belong to all.

    Needs no training. BY_WORD and BY_SENTENCE were set on questions over toy graphs (see docs/methods.md).

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("gimp", "needs", "gtk"), ("sketch", "needs", "gimp"), ("gtk", "needs", "glib")])
    >>> AskedPaths(HashEncoder())(start("What does gimp need?", graph, entities=["gimp"])).evidence.texts(graph)
    ['gimp → [needs] → gtk']
    >>> AskedPaths(HashEncoder())(start("What needs gimp?", graph, entities=["gimp"])).evidence.texts(graph)
    ['gimp → [needs⁻¹] → sketch']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    hops: Annotated[int, AtLeast(1)] = 3
    needs = ("anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Find the walks."""
        reading = read_state(state, run, self.encoder).positive
        kind = answer_type(state.graph, reading)
        anchors = positive_anchors(reading)
        if reading.form.asks == "truth" or offers_choice(reading) or not anchors:
            return state.with_(evidence=Evidence.of_nodes([], []))
        if joint := list(_joint(state.graph, anchors, reading, kind)):
            return state.with_(evidence=Evidence.of_pieces(joint, [1.0] * len(joint), render=walk_text))
        anchors = [a for a in anchors if a.weight > DOUBTFUL] or anchors
        doubtful = [a for a in positive_anchors(reading) if a not in anchors]
        found = [_from_anchor(state.graph, anchor, reading, kind, int(self.hops)) for anchor in anchors]
        best = max(found, key=lambda walks: walks.score)
        others = [(anchor, walks) for anchor, walks in zip(anchors, found, strict=True) if walks is not best]
        pieces = [piece for piece in best.pieces if all(_belongs(state.graph, piece, *other) for other in others)]
        for anchor in doubtful:  # a word that may be a name narrows the answers if it can
            pieces = [p for p in pieces if _belongs(state.graph, p, anchor, _Walks([], -1.0))] or pieces
        return state.with_(evidence=Evidence.of_pieces(pieces, [best.score] * len(pieces), render=walk_text))


class _Walks(NamedTuple):
    """The walks from one anchor by its best plans, and their score; -1 where there is none."""

    pieces: list[Piece]
    score: float


def positive_anchors(reading: Reading) -> list[Anchor]:
    """Return the anchors that the question does not negate."""
    negated = reading.form.negated
    pairs = zip(reading.anchors, reading.spans, strict=True)
    return [anchor for anchor, span in pairs if negated < 0 or not span or span[0] < negated]


def offers_choice(reading: Reading) -> bool:
    """Return whether the question offers its entities as alternatives: "A or B"."""
    spans = [span for span in reading.spans if span]
    return len(spans) > 1 and "or" in reading.words[spans[0][-1] : spans[-1][0]]


def _from_anchor(graph: Graph, anchor: Anchor, reading: Reading, kind: AnswerType, hops: int) -> _Walks:
    """Return the walks from the nodes of an anchor by the plans of the best score."""
    plans = [p for node in anchor.seeds(graph).tolist() for p in plans_from(graph, node, reading, kind, hops)]
    best = max((plan.score for plan in plans), default=-1.0)
    return _Walks([w for plan in plans if plan.score == best for w in _walks(graph, plan.path, kind)], best)


def _joint(graph: Graph, anchors: Sequence[Anchor], reading: Reading, kind: AnswerType) -> Iterator[Piece]:
    """Yield the walks to what is next to all of several entities, where no word is left that asks for a relation.

    For a person or a time, what is next to all of them may be a statement: then the walk goes on to such an end.
    """
    if len(anchors) < 2 or set(reading.content) - set(reading.form.noun) - set(reading.unmatched):
        return
    beside = [np.unique(graph.at(graph.adjacency.rows(graph.local(anchor.seeds(graph))))) for anchor in anchors]
    common = np.array([v for v in beside[0].tolist() if all(v in others for others in beside[1:])], np.int64)
    common = common if kind.asks in ("person", "time") else common[kind.fits(common)]
    source = anchors[0].seeds(graph)
    for node in common.tolist():
        start = next(int(v) for v in source if len(graph.edges_between(int(v), node)))
        edges = graph.edges_between(start, node)[:1]
        if kind.asks in ("person", "time"):
            seeds = np.concatenate([anchor.seeds(graph) for anchor in anchors])
            onward = [
                path
                for path in extensions(graph, path_from(graph, node), labelled_edges(graph))
                if not np.isin(graph.at(path.ends), seeds).any() and kind.accepts(graph, path)
            ]
            if onward:
                best = max(onward, key=lambda path: float(reading.sentence[path.ways[0] >> 1]))
                for nodes, last in _walks(graph, best, kind):
                    yield np.append(start, nodes), np.append(edges, last)
        else:
            yield np.array([start, node]), edges


def _belongs(graph: Graph, piece: Piece, anchor: Anchor, walks: _Walks) -> bool:
    """Return whether the end of a walk is also an end from another anchor, or next to it, or on the way."""
    seeds, end = anchor.seeds(graph), int(piece[0][-1])
    if np.isin(piece[0], seeds).any() or any(int(nodes[-1]) == end for nodes, _ in walks.pieces):
        return True
    return bool(np.isin(seeds, graph.at(graph.adjacency.row(int(graph.local([end])[0])))).any())


def _walks(graph: Graph, path: RelationPath, kind: AnswerType) -> list[Piece]:
    """Return the walks of a path to the ends of the type asked for."""
    fit = np.flatnonzero(kind.fits(graph.at(path.ends)))
    nodes, edges = path.walks(fit)
    order = np.lexsort(nodes.T[::-1])
    return list(zip(graph.at(nodes[order]), graph.edges[edges[order]], strict=True))
