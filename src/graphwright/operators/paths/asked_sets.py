"""Set operations that a question asks for over the ends of walks: superlatives, comparisons, and negation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import Has
from graphwright.graph.evidence import Evidence, Ints, Piece
from graphwright.graph.graph import Graph
from graphwright.graph.walks import walk_text
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.answer_types import classes_named, ends_named, instances_of
from graphwright.operators.paths.asked_paths import offers_choice, positive_anchors
from graphwright.operators.paths.relation_match import BY_WORD, Reading, read_state
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.text.question_form import DIMENSIONS, Measure, inflections_match
from graphwright.text.values import Value, value_of

__all__ = ["AskedClass", "Extremes", "Without"]

BY_LITERAL = 0.3
"""Least cosine of a comparison with a relation to literals: there are few, so less than for any relation will do."""
_NUMBER = 0.5  # least share of values among the tails of a relation that is compared
_SAMPLE = 50


@dataclass(frozen=True, repr=False)
class AskedClass(Operator):
    """Find the things that the noun of a question without entities names: instances of a class, or ends of a relation.

    Instances include those of subclasses. Without classes a noun names the ends of a relation: "actors" those of
    "starred actors", "packages" none. A state with evidence or with anchors is returned unchanged.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Mur", "type", "river"), ("Graz", "type", "city"), ("Mur", "length", "453 km")])
    >>> AskedClass(HashEncoder())(start("How many rivers are there?", graph, anchors=[])).evidence.texts(graph)
    ['river → [type⁻¹] → Mur']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Find the things."""
        reading = read_state(state, run, self.encoder)
        if (state.evidence is not None and len(state.evidence)) or positive_anchors(reading):
            return state
        pieces = list(things_named(state.graph, reading))
        return state.with_(evidence=Evidence.of_pieces(pieces, [1.0] * len(pieces), render=walk_text))


def things_named(graph: Graph, reading: Reading) -> Iterator[Piece]:
    """Yield the things that the question's noun names: walks from classes to instances, or ends of a relation."""
    c = graph.columns
    classes = classes_named(graph, reading, reading.form.noun)
    if not len(classes):
        ends = ends_named(reading)
        yield from ((np.array([node]), _NO_EDGES) for node in (() if ends is None else ends.tolist()))
        return
    instances = instances_of(graph, reading, classes)
    edges = c.out.rows(instances)
    edges = edges[np.isin(c.relation[edges], reading.relations.types)]
    firsts = edges[np.unique(c.heads[edges], return_index=True)[1]]
    for edge in firsts.tolist():
        yield np.array([c.tails[edge], c.heads[edge]], np.int64), np.array([edge], np.int64)


@dataclass(frozen=True, repr=False)
class Without(Operator):
    """Remove the things that have what the question negates: "which packages have no licence".

    What is negated is the relation that is asked for after the negation, and the entities that are named there. The
    things are the ends of the evidence; without evidence all nodes with the relations that most heads of the negated
    relation have. A question without a negation leaves the state unchanged.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> triples = [("gimp", "size", "9"), ("vim", "size", "3"), ("gimp", "licence", "GPL")]
    >>> graph = Graph.from_triples(triples)
    >>> Without(HashEncoder())(start("Which packages have no licence?", graph, anchors=[])).evidence.texts(graph)
    ['vim']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Remove them."""
        reading = read_state(state, run, self.encoder)
        negated = reading.form.negated
        if negated < 0 or reading.form.asks == "truth":
            return state
        graph = state.graph
        words = [at for at in reading.content if at > negated]
        classes = classes_named(graph, reading, tuple(words[-1:]))
        relations = [r for r, own in reading.asked.items() if any(at > negated for at in own) and not len(classes)]
        pairs = zip(reading.anchors, reading.spans, strict=True)
        seeds = [anchor.seeds(graph) for anchor, span in pairs if span and span[0] > negated]
        seeds += [instances_of(graph, reading, classes)] if len(classes) else []
        if not relations and not seeds:
            return state
        having = _having(graph, reading, relations, seeds).union(*(own.tolist() for own in seeds))
        evidence = state.evidence if state.evidence is not None else Evidence.of_nodes([])
        if len(evidence):
            remaining = [i for i, (nodes, _) in enumerate(evidence) if int(nodes[-1]) not in having]
            return state.with_(evidence=evidence.take(remaining, [1.0] * len(remaining)))
        if not relations or positive_anchors(reading):
            return state
        domain = _domain(graph, reading, relations)
        nodes = [node for node in domain.tolist() if node not in having]
        return state.with_(evidence=Evidence.of_nodes(nodes, [1.0] * len(nodes)))


def _having(graph: Graph, reading: Reading, relations: Sequence[int], seeds: Sequence[Ints]) -> set[int]:
    """Return the nodes with an edge of these relations (any, if there are none) to these nodes (any, likewise)."""
    c = graph.columns
    if seeds:
        targets = np.unique(np.concatenate(seeds))
        edges = np.concatenate((c.into.rows(targets), c.out.rows(targets)))
        if relations:
            edges = edges[np.isin(c.relation[edges], relations)]
        return set(graph.ends(edges).tolist()) - set(targets.tolist())
    edges = reading.relations.edges.rows(relations)
    return set(graph.ends(edges).tolist())


def _domain(graph: Graph, reading: Reading, relations: Sequence[int]) -> Ints:
    """Return the nodes of the kind that the heads of a relation are: those with a relation that most of them have."""
    c = graph.columns
    heads = np.unique(reading.relations.ends_of(relations[0])[0]).astype(np.int64)
    owners, edges = c.out.expand(heads)
    pairs = np.unique(np.stack((owners, c.relation[edges])), axis=1)
    counts = np.bincount(pairs[1], minlength=len(reading.relations.phrases))
    counts[list(relations)] = 0
    if not counts.any() or counts.max() < 0.5 * len(heads):
        return heads
    return np.unique(reading.relations.ends_of(int(counts.argmax()))[0]).astype(np.int64)


class _Attribute(NamedTuple):
    """A relation whose tails are compared, and its score."""

    relation: int
    score: float


@dataclass(frozen=True, repr=False)
class Extremes(Operator):
    """Compare the ends of the evidence by a literal: the largest, the latest, those above a limit.

    The literal is a number or a date, of the relation that the superlative or comparative means ("longest": length)
    and the other words ask for. An item is extended by the edge to the literal, so that it shows what was compared.
    The things compared are the ends of the evidence; the alternatives in "A or B"; without either, all heads of the
    relation. "Most" before a noun counts edges. A question without a comparison leaves the state unchanged.

    >>> from graphwright.models.fake import HashEncoder
    >>> from graphwright.operators.state import start
    >>> graph = Graph.from_triples([("Mur", "length", "453 km"), ("Enns", "length", "254 km")])
    >>> Extremes(HashEncoder())(start("Which is the longest?", graph, anchors=[])).evidence.texts(graph)
    ['Mur → [length] → 453 km']
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    needs = ("evidence|anchors",)
    gives = ("evidence",)

    def apply(self, state: State, run: Run) -> State:
        """Compare, and keep the best."""
        reading = read_state(state, run, self.encoder)
        measure = reading.form.measure
        items = list(_candidates(state, reading))
        limit = None if measure is None or offers_choice(reading) else limit_of(state.graph, reading, measure)
        if (
            measure is None
            or reading.form.asks == "truth"
            or (measure.limit and limit is None and not offers_choice(reading))
        ):
            return state
        graph = state.graph
        valued = [
            (piece, value) for piece in items if (value := value_of(graph.names[int(piece[0][-1])])) and len(piece[1])
        ]
        valued = valued or list(self._by_attribute(state, run, reading, measure, items))
        sign = measure.sign * (-1 if measure.of_age and valued and valued[0][1].kind == "number" else 1)
        best = _best(valued, sign) if limit is None else _beyond(valued, sign, limit)
        return state.with_(evidence=Evidence.of_pieces(best, [1.0] * len(best), render=walk_text))

    def _by_attribute(
        self, state: State, run: Run, reading: Reading, measure: Measure, items: Sequence[Piece]
    ) -> Iterator[tuple[Piece, Value]]:
        """Yield the items extended by the literal that is compared."""
        attribute = self._attribute(state, run, reading, measure, items)
        if attribute is None:
            return
        items = items or [(np.array([head]), _NO_EDGES) for head in np.unique(reading.relations.ends_of(attribute)[0])]
        for piece in items:
            yield from _valued(state.graph, piece, attribute)

    def _attribute(
        self, state: State, run: Run, reading: Reading, measure: Measure, items: Sequence[Piece]
    ) -> int | None:
        """Return the relation to compare by, None if none fits."""
        ends = np.unique([int(nodes[-1]) for nodes, _ in items]).astype(np.int64)
        c = state.graph.columns
        present = np.unique(c.relation[c.out.rows(ends)]) if len(ends) else np.arange(len(reading.relations.phrases))
        valued = [r for r in present.tolist() if _share_of_values(state.graph, reading, r) >= _NUMBER]
        nouns = DIMENSIONS[measure.adjective][0].split()
        scores = [self._fit(state.graph, run, reading, relation, nouns) for relation in valued]
        return valued[int(np.argmax(scores))] if scores and max(scores) >= BY_WORD else None

    def _fit(self, graph: Graph, run: Run, reading: Reading, relation: int, nouns: Sequence[str]) -> float:
        """Return how well a relation is what a comparison measures."""
        words = reading.relations.words[relation]
        lexical = max((1.0 for a in nouns for b in words if inflections_match(a, b)), default=0.0)
        vectors = normalised(run.encode(self.encoder, [reading.relations.phrases[relation], *nouns]))
        meaning = float((vectors[1:] @ vectors[0]).max()) if len(nouns) else 0.0
        asked = max((reading.strength(at, relation) for at in reading.asked.get(relation, ())), default=0.0)
        tails = reading.relations.ends_of(relation)[1][:_SAMPLE]
        dated = "date" in nouns and any(
            (v := value_of(graph.names[tail])) and v.kind == "date" for tail in tails.tolist()
        )
        sentence = float(reading.sentence[relation])
        return max(lexical, meaning, float(dated), float(sentence >= BY_LITERAL)) + asked + 0.5 * sentence


_NO_EDGES = np.empty(0, np.int64)


def limit_of(graph: Graph, reading: Reading, measure: Measure) -> Value | None:
    """Return the number or date after a comparative, None where there is none."""
    after = range(measure.words[-1] + 1, len(reading.words))
    return next((value for at in after if (value := value_of(reading.words[at])) is not None), None)


def _candidates(state: State, reading: Reading) -> Iterator[Piece]:
    if offers_choice(reading):
        for anchor in reading.anchors:
            yield anchor.seeds(state.graph)[:1], _NO_EDGES
        return
    yield from state.items


def _share_of_values(graph: Graph, reading: Reading, relation: int) -> float:
    tails = np.unique(reading.relations.ends_of(relation)[1])[:_SAMPLE]
    return float(np.mean([value_of(graph.names[tail]) is not None for tail in tails.tolist()])) if len(tails) else 0.0


def _valued(graph: Graph, piece: Piece, relation: int) -> Iterator[tuple[Piece, Value]]:
    """Yield an item extended by each of its end's values of a relation."""
    c, (nodes, edges) = graph.columns, piece
    own = c.out.row(int(nodes[-1]))
    for edge in own[c.relation[own] == relation].tolist():
        value = value_of(graph.names[int(c.tails[edge])])
        if value is not None:
            yield (np.append(nodes, c.tails[edge]).astype(np.int64), np.append(edges, edge).astype(np.int64)), value


def _best(valued: Sequence[tuple[Piece, Value]], sign: int) -> list[Piece]:
    amounts = [sign * value.amount for _, value in valued]
    return [piece for (piece, _), amount in zip(valued, amounts, strict=True) if amount == max(amounts)]


def _beyond(valued: Sequence[tuple[Piece, Value]], sign: int, limit: Value) -> list[Piece]:
    return [piece for piece, value in valued if sign * (value.amount - limit.amount) > 0]
