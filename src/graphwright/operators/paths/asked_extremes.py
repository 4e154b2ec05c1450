"""Superlatives and comparisons over numbers and dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from graphwright.constraints import Has
from graphwright.graph.evidence import Evidence, Piece
from graphwright.graph.graph import Graph
from graphwright.graph.walks import walk_text
from graphwright.models.protocols import Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.asked_paths import offers_choice
from graphwright.operators.paths.relation_match import BY_WORD, Reading, read_state
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.vector_index import normalised
from graphwright.text.question_form import DIMENSIONS, Measure, inflections_match
from graphwright.text.values import Value, value_of

BY_LITERAL = 0.3
"""Least cosine of a comparison with a relation to literals: there are few, so less than for any relation will do."""
_NUMBER = 0.5  # least share of values among the tails of a relation that is compared
_SAMPLE = 50


@dataclass(frozen=True, repr=False)
class Extremes(Operator):
    """Compare the ends of the evidence by a literal: the largest, the latest, those above a limit.

    The literal is a number or a date, of the relation that the superlative or comparative means ("longest": length)
    and the other words ask for. An item is extended by the edge to the literal, so that it shows what was compared.
    The things compared are the ends of the evidence; the alternatives in "A or B"; without either, all heads of the
    relation. "Most" before a noun counts edges. A question without a comparison leaves the state unchanged.

    >>> from graphwright import start; from graphwright.models import HashEncoder
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
        valued = valued or list(self.by_attribute(state, run, reading, measure, items))
        sign = sign_of(measure, valued)
        best = _best(valued, sign) if limit is None else _beyond(valued, sign, limit)
        return state.with_(evidence=Evidence.of_paths(graph, best, [1.0] * len(best), render=walk_text))

    def by_attribute(
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


def sign_of(measure: Measure, valued: Sequence[tuple[Piece, Value]]) -> int:
    """Return +1 if a larger value of what is compared has more of what the adjective says, else -1."""
    return measure.sign * (-1 if measure.of_age and valued and valued[0][1].kind == "number" else 1)


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
