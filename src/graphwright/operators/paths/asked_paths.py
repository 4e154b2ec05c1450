"""Walks from the entities of a question by the relations that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Has
from graphwright.graph.evidence import Evidence, Piece
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import RelationPath, extensions, labelled_edges, path_from
from graphwright.graph.walks import walk_text
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.answer_types import AnswerType, answer_type
from graphwright.operators.paths.plans import Plan, plans_from
from graphwright.operators.paths.relation_match import Reading, read_state
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.text.question_form import COPULAS

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
    interrogative and its noun ask for. With several entities, answers are what each leads to by words of its own, else
    those that belong to all; an entity of the question is none, unless a walk returns to where it begins.

    Needs no training. BY_WORD and BY_SENTENCE were set on questions over toy graphs (see docs/methods.md).

    >>> from graphwright import start; from graphwright.models import HashEncoder
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
            return state.with_(evidence=Evidence.of_paths(state.graph, joint, [1.0] * len(joint), render=walk_text))
        anchors = [a for a in anchors if a.weight > DOUBTFUL] or anchors
        doubtful = [a for a in positive_anchors(reading) if a not in anchors]
        best = _from_all(state.graph, anchors, reading, kind, int(self.hops))
        named = np.concatenate([anchor.seeds(state.graph) for anchor in anchors])
        pieces = [piece for piece in best.pieces if piece[0][-1] == piece[0][0] or piece[0][-1] not in named]
        for anchor in doubtful:  # a word that may be a name narrows the answers if it can, and if it is the predicate
            narrowed = [p for p in pieces if _belongs(state.graph, p, _NO_WORDS, reading, anchor, _NO_WALKS)]
            pieces = narrowed if narrowed or _is_predicate(state.graph, anchor, reading) else pieces
        return state.with_(
            evidence=Evidence.of_paths(state.graph, pieces, [best.score] * len(pieces), render=walk_text)
        )


_NO_WORDS = frozenset[int]()
_COMBINED = 8  # plans of an anchor that are combined with those of others


class _Walks(NamedTuple):
    """The walks from one anchor by its best plans, their score (-1 without any), and the words that ask for them."""

    pieces: list[Piece]
    score: float
    words: frozenset[int]


_NO_WALKS = _Walks([], -1.0, _NO_WORDS)


def positive_anchors(reading: Reading) -> list[Anchor]:
    """Return the anchors that the question does not negate."""
    negated = reading.form.negated
    pairs = zip(reading.anchors, reading.spans, strict=True)
    return [anchor for anchor, span in pairs if negated < 0 or not span or span[0] < negated]


def _is_predicate(graph: Graph, anchor: Anchor, reading: Reading) -> bool:
    """Return whether a question ends in "is" or "are" and a value: "which packages are required"."""
    span = next(own for other, own in zip(reading.anchors, reading.spans, strict=True) if other is anchor)
    at_end = bool(span) and span[-1] == len(reading.words) - 1 and reading.words[span[0] - 1] in COPULAS
    return at_end and not len(graph.columns.out.rows(anchor.seeds(graph)))


def offers_choice(reading: Reading) -> bool:
    """Return whether the question offers its entities as alternatives: "A or B"."""
    spans = [span for span in reading.spans if span]
    return len(spans) > 1 and "or" in reading.words[spans[0][-1] : spans[-1][0]]


def _from_all(graph: Graph, anchors: Sequence[Anchor], reading: Reading, kind: AnswerType, hops: int) -> _Walks:
    """Return the walks to the nodes that all entities lead to, else walks from one entity whose ends belong to all."""
    plans = [_plans(graph, anchor, reading, kind, hops) for anchor in anchors]
    found = [_best(graph, own, kind, reading) for own in plans]
    best = max(found, key=lambda walks: walks.score)
    if together := _together(graph, plans, best.words, reading, kind):
        return together
    pieces = best.pieces
    for anchor, walks in zip(anchors, found, strict=True):
        if walks is not best:
            pieces = [piece for piece in pieces if _belongs(graph, piece, best.words, reading, anchor, walks)]
    return best._replace(pieces=pieces)


def _plans(graph: Graph, anchor: Anchor, reading: Reading, kind: AnswerType, hops: int) -> list[Plan]:
    """Return the plans from the nodes of an anchor, the best first."""
    plans = [p for node in anchor.seeds(graph).tolist() for p in plans_from(graph, node, reading, kind, hops)]
    return sorted(plans, key=lambda plan: -plan.score)


def _best(graph: Graph, plans: Sequence[Plan], kind: AnswerType, reading: Reading) -> _Walks:
    """Return the walks by the plans of the best score."""
    best = [plan for plan in plans if plan.score == plans[0].score]
    if not best:
        return _NO_WALKS
    words = frozenset().union(*(_words(plan, reading) for plan in best))
    return _Walks([walk for plan in best for walk in _walks(graph, plan.path, kind)], best[0].score, words)


def _words(plan: Plan, reading: Reading) -> frozenset[int]:
    """Return the words of the question that ask for the relations of a plan."""
    return frozenset(at for way in plan.path.ways for at in reading.asked.get(way >> 1, ()))


def _together(
    graph: Graph, plans: Sequence[Sequence[Plan]], words: frozenset[int], reading: Reading, kind: AnswerType
) -> _Walks | None:
    """Return the walks to what all entities lead to, each by words of its own: "films by X that star Y".

    None where this accounts for fewer words of the question than `words`, those of the best plan from one entity.
    """
    if len(plans) < 2:
        return None
    asking = [[(plan, own) for plan in some[:_COMBINED] if (own := _words(plan, reading))] for some in plans]
    chosen: tuple[float, list[Piece]] = (-1.0, [])
    for combined in product(*asking):
        owns, score = [own for _, own in combined], sum(plan.score for plan, _ in combined)
        union = frozenset().union(*owns)
        if len(union) < sum(map(len, owns)) or not words <= union or score <= chosen[0]:
            continue
        *others, last = [_walks(graph, plan.path, kind) for plan, _ in combined]
        ends = [{int(nodes[-1]) for nodes, _ in pieces} for pieces in others]
        if common := [piece for piece in last if all(int(piece[0][-1]) in own for own in ends)]:
            chosen = score, common
    return _Walks(chosen[1], chosen[0], words) if chosen[1] else None


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


def _belongs(
    graph: Graph, piece: Piece, words: frozenset[int], reading: Reading, anchor: Anchor, walks: _Walks
) -> bool:
    """Return whether the end of a walk is also an end from another anchor, or next to it, or it is on the way.

    `words`: those that ask for the walk; relations that only some of these ask for do not join its end to the anchor
    too, unless both walks have the same words, as in "what do X and Y need".
    """
    seeds, end = anchor.seeds(graph), int(piece[0][-1])
    if np.isin(piece[0], seeds).any():
        return True
    if not walks.words < words and any(int(nodes[-1]) == end for nodes, _ in walks.pieces):
        return True
    beside = seeds[np.isin(seeds, graph.at(graph.adjacency.row(int(graph.local([end])[0]))))]
    edges = [edge for seed in beside.tolist() for edge in graph.edges_between(end, seed).tolist()]
    asked = [reading.asked.get(int(graph.columns.relation[edge]), ()) for edge in edges]
    return any(not own or not words.issuperset(own) for own in asked)


def _walks(graph: Graph, path: RelationPath, kind: AnswerType) -> list[Piece]:
    """Return the walks of a path to the ends of the type asked for."""
    fit = np.flatnonzero(kind.fits(graph.at(path.ends)))
    nodes, edges = path.walks(fit)
    order = np.lexsort(nodes.T[::-1])
    return list(zip(graph.at(nodes[order]), graph.edges[edges[order]], strict=True))
