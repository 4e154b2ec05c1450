"""A network reads the question beside each candidate in words, both without the names of things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from graphwright.models.protocols import CrossEncoder, Floats
from graphwright.operators.query.checks import parts
from graphwright.operators.query.graphs.forms import EXISTS, Candidate
from graphwright.operators.query.graphs.matching import Words
from graphwright.operators.query.graphs.steps import step_index_of
from graphwright.operators.query.query import Named, Query
from graphwright.operators.query.words import words
from graphwright.search.facts import Facts
from graphwright.search.relation_names import relation_phrase

_STAND_INS = ("it", "x", "y")
_SHOWN = 2  # names of what a candidate gives
_LETTERS = 40  # of each
_TEXTS = 0.5  # share of a relation's objects that are neither numbers nor dates, below which it is shown with one


def read_candidates(network: CrossEncoder, question: Words, candidates: Sequence[Candidate], facts: Facts) -> Floats:
    """Return how well each candidate says what the question asks, as the network reads them: float32[c]."""
    return read_pairs(network, [pair_of(question, candidate, facts) for candidate in candidates])


def read_pairs(network: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return the score of each pair of a question and a candidate in words: float32[n]."""
    scores = np.zeros(len(pairs), np.float32)
    for asked in dict.fromkeys(pair[0] for pair in pairs):
        rows = [row for row, pair in enumerate(pairs) if pair[0] == asked]
        scores[rows] = network.head(network.latents(asked, [pairs[row][1] for row in rows]))
    return scores


def pair_of(question: Words, candidate: Candidate, facts: Facts) -> tuple[str, str]:
    """Return a question and a candidate in words, with stand-ins for the names that the candidate uses.

    They are "it", "x" and "y" in the order of the question. The name of a type stays, and so does a number or a date.
    An example or two of what the candidate gives follow it, and one of the numbers or dates that it compares; for one
    that asks whether something is so, examples of what its last step leads to from all things, so as not to tell.
    """
    named = sorted((m for m in candidate.mentions if m.name not in facts.types), key=lambda m: m.first)
    stand_ins = {m.name: _STAND_INS[min(at, len(_STAND_INS) - 1)] for at, m in reversed(list(enumerate(named)))}
    text = words(_unnamed(candidate.query, stand_ins))
    ends = candidate.ends
    if candidate.form == EXISTS:
        ends = step_index_of(facts).ends(candidate.last, facts)[0] if candidate.last >= 0 else ends[:0]
    shown = [name[:_LETTERS] for name in facts.texts(ends[:_SHOWN].tolist())]
    shown += islice(_compared(candidate.query, facts), 1)
    return question.without(named, _STAND_INS), f"{text} ({'; '.join(shown)})" if shown else text


def _compared(query: Query, facts: Facts) -> Iterator[str]:
    """Yield each relation whose numbers or dates a query compares, with one of them: "height 12 m"."""
    steps = step_index_of(facts)
    for relation in (step.relation for part in parts(query) for step in getattr(part, "path", ())):
        key = 2 * steps.relations.index(relation)
        if steps.kinds(key, facts)[0] < _TEXTS:
            yield f"{relation_phrase(relation)} {facts.text(int(steps.ends(key, facts)[0][0]))[:_LETTERS]}"


def _unnamed(query: Any, stand_ins: Mapping[str, str]) -> Any:
    """Return a query, or a part of one, with its stand-in in place of each of some names."""
    if isinstance(query, Named):
        return Named(stand_ins.get(query.name, query.name))
    parts = {field.name: getattr(query, field.name) for field in fields(query)}
    return replace(query, **{name: _unnamed(part, stand_ins) for name, part in parts.items() if is_dataclass(part)})
