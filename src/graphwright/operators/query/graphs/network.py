"""A network reads the question beside each candidate in words, both without the names of things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from graphwright.models.protocols import CrossEncoder, Floats
from graphwright.operators.query.checks import parts
from graphwright.operators.query.graphs.forms import Candidate
from graphwright.operators.query.graphs.matching import Words
from graphwright.operators.query.graphs.steps import step_index_of
from graphwright.operators.query.query import Named, Query
from graphwright.operators.query.words import words
from graphwright.search.facts import Facts
from graphwright.search.relation_names import relation_phrase

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
    """Return a question and a candidate in words, "it" in place of each name that the candidate uses.

    The name of a type stays, and so does a number or a date. An example or two of what the candidate gives follow it,
    and one of the numbers or dates that it compares.
    """
    named = [mention for mention in candidate.mentions if mention.name not in facts.types]
    text = words(_unnamed(candidate.query, {mention.name for mention in named}))
    shown = [name[:_LETTERS] for name in facts.texts(candidate.ends[:_SHOWN].tolist())]
    shown += islice(_compared(candidate.query, facts), 1)
    return question.without(named), f"{text} ({'; '.join(shown)})" if shown else text


def _compared(query: Query, facts: Facts) -> Iterator[str]:
    """Yield each relation whose numbers or dates a query compares, with one of them: "height 12 m"."""
    steps = step_index_of(facts)
    for relation in (step.relation for part in parts(query) for step in getattr(part, "path", ())):
        key = 2 * steps.relations.index(relation)
        if steps.kinds(key, facts)[0] < _TEXTS:
            yield f"{relation_phrase(relation)} {facts.text(int(steps.ends(key, facts)[0][0]))[:_LETTERS]}"


def _unnamed(query: Any, names: set[str]) -> Any:
    """Return a query, or a part of one, with "it" in place of each of some names."""
    if isinstance(query, Named):
        return Named("it") if query.name in names else query
    parts = {field.name: getattr(query, field.name) for field in fields(query)}
    return replace(query, **{name: _unnamed(part, names) for name, part in parts.items() if is_dataclass(part)})
