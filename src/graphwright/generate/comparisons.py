"""Operator that answers comparisons of two things from the values that passages give for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Between
from graphwright.generate.citations import numbered, passage_text
from graphwright.generate.comparison_heads import (
    DIFFERENCE,
    OTHER,
    SAME,
    TRUE,
    WHICH,
    ComparisonHeads,
    Tagged,
    asked_of,
    comparison_heads,
)
from graphwright.generate.comparison_values import (
    Pair,
    about,
    names_of_sides,
    pair_rows,
    pairs_of,
    passages_naming,
    values_of_sides,
    words_asked,
)
from graphwright.generate.readers import MayAnswer, answered
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.protocols import PassageText
from graphwright.operators.operator import Confident
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State
from graphwright.search.bm25_postings import WordIndex

_OF_SIDE = 4  # passages that a search for a side's name adds


class Comparison(NamedTuple):
    """Values of two sides, named as the passages name them, and what follows from them."""

    names: tuple[str, str]
    pair: Pair
    short: str  # the side, yes, no or the difference, "" for none
    probability: float  # that it is right
    pair_probability: float  # that the values are those that the question asks for


@dataclass(frozen=True, repr=False)
class Compare(MayAnswer, Confident):
    """Compare what passages say of the two things that a question compares; leave other questions unchanged.

    Trained heads give the probability that a question compares values, its two sides, and whether the larger value is
    asked for. The values are numbers and dates with units that compare, in passages that name a side: the best
    `passages` and those found by each name in `words`. Which pair is asked for is decided by the words around them and
    by the embedded reader, asked about one side at a time.

    The short answer is a side, yes or no, or a difference, if its probability is at least `threshold`. If only the pair
    of values is that probable, both are shown without a short answer.
    """

    words: WordIndex | None = None
    threshold: Annotated[float, Between(0, 1)] = 0.75
    passages: Annotated[int, AtLeast(1)] = 20

    def apply(self, state: State, run: Run) -> State:
        heads, question = comparison_heads(), state.question.text
        tagged = heads.tagged(question)
        if tagged is None:
            return state
        kind, probability = heads.kind(asked_of(question, tagged))
        if kind == OTHER or probability < self.threshold:
            return state
        nodes = self._nodes(state, tagged)
        texts = [passage_text(state.graph, node) for node in nodes]
        compared = compare(heads, question, tagged, texts, run)
        if compared is None:
            run.note("the question compares two things of which no passages give values that compare")
            return state
        run.note(f"values compared with a probability of {compared.probability:.2f}")
        if max(compared.probability, compared.pair_probability) < self.threshold:
            return state
        return answered(state, run, self._answer(state, nodes, compared))

    def _nodes(self, state: State, tagged: Tagged) -> list[int]:
        nodes = state.passage_nodes(self.passages).tolist()
        for side in tagged.sides if self.words is not None else ():
            scores = self.words.scores(state.question.text[side.start : side.end])  # type: ignore[union-attr]
            best = np.argsort(-scores, kind="stable")[:_OF_SIDE]
            found = self.words.nodes[best[scores[best] > 0]]  # type: ignore[union-attr]
            nodes += found[state.graph.holds(found)].tolist()
        return list(dict.fromkeys(nodes))

    def _answer(self, state: State, nodes: Sequence[int], compared: Comparison) -> Answer:
        values = compared.pair[:2]
        citations, numbers = numbered(state, [(nodes[v.passage], v.start, v.end) for v in values])
        shown = (
            f"{name}: {' '.join(v.written.split())} [{number}]"
            for name, v, number in zip(compared.names, values, numbers, strict=True)
        )
        short = (compared.short,) if compared.short and compared.probability >= self.threshold else ()
        return Answer("\n".join((*short, "; ".join(shown))), short, citations, headline="".join(short))


def compare(
    heads: ComparisonHeads, question: str, tagged: Tagged, passages: Sequence[PassageText], run: Run
) -> Comparison | None:
    """Return the most probable comparison that passages allow; None without values of both sides that compare."""
    names = names_of_sides(question, tagged, passages)
    if names is None:
        return None
    naming = passages_naming(names, passages)
    read = [passages[number] for number in naming]
    pairs = pairs_of(values_of_sides(names, read, words_asked(question, tagged)))
    if not pairs:
        return None
    reader = MiniLMReader(paired=0)
    readings = [run.readings(reader, about(question, tagged, side), read) for side in (0, 1)]
    shares = heads.pair_shares(pair_rows(question, tagged, pairs, read, readings, run))
    best = pairs[int(shares.argmax())]
    asked = asked_of(question, tagged)
    kind, probability = heads.kind(asked)
    forms = [heads.form(pair.first.found.value, run) for pair in pairs]
    larger = {form: heads.larger(asked, form) for form in set(forms)}
    shorts = [_short(kind, names, pair, larger[form]) for pair, form in zip(pairs, forms, strict=True)]
    short, certainty = shorts[int(shares.argmax())]
    first, second = (value._replace(passage=naming[value.passage]) for value in best[:2])
    agrees = np.array([other == short for other, _ in shorts])
    agreement = float(shares[agrees].sum() if kind in (WHICH, TRUE) else shares.max())
    return Comparison(
        names,
        Pair(first, second, best.apart),
        short,
        probability * agreement * certainty,
        probability * float(shares.max()),
    )


def _short(kind: int, names: tuple[str, str], pair: Pair, larger: float) -> tuple[str, float]:
    """Return the short answer, and its probability given the values; `larger`: that the larger value is asked for."""
    if kind == SAME:
        return ("no" if pair.apart else "yes"), 1.0
    if kind == DIFFERENCE:
        value = pair.first.found.value
        return (f"{round(abs(pair.apart), 6):.10g} {value.unit}".strip() if value.kind == "number" else ""), 1.0
    certainty = max(larger, 1 - larger)
    if kind == TRUE:
        return ("yes" if (pair.apart > 0) == (larger > 0.5) and pair.apart else "no"), certainty
    return (names[int((pair.apart < 0) == (larger > 0.5))] if pair.apart else ""), certainty
