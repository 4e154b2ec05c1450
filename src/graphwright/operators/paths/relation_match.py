"""Match the words of a question with the relations of a graph: by word forms, by spelling, and by meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.search.relation_index import RelationIndex, relation_index_of
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.vector_index import normalised
from graphwright.text.languages import are_cognates
from graphwright.text.names import normal_form
from graphwright.text.question_form import (
    DIMENSIONS,
    QuestionForm,
    Token,
    content,
    inflections_match,
    question_form,
    tokens,
    translated,
)

BY_WORD, MARGIN, BY_SENTENCE = 0.5, 0.22, 0.42
"""Least cosine of a word with a relation that it asks for, its least margin over the mean of all relations, and least
cosine of the question without its entities."""
BY_NOUN = 0.7
"""Least cosine of the noun that says what is asked for: it mostly names the things, not a relation."""
BY_PRESENCE = 0.45
"""Least cosine with its nearest relation of a word that must be one: a property ("the heir of X"), or what leads to a
person or a time from where the other words lead."""
_TIED = 0.1  # distance from the best cosine of a word
_IMPLIED = {"time": "date year day time", "place": "place location located", "count": "number count"}
_MAX_ENCODED = 5_000  # relations that are compared by meaning


@dataclass(frozen=True, eq=False)
class Reading:
    """A question over a graph: its words, its form, where it names each anchor, and how it matches relations.

    `spans`: the positions of the words of each anchor. `lexical`: for a word's position and a relation, which of the
    relation's words it matches. `nearness`: the cosine of each content word (row by position) with each relation;
    `cosines`: the same, 0 where the word does not ask for the relation. `sentence`: the cosine of the question without
    its entities with each relation.
    """

    tokens: tuple[Token, ...]
    form: QuestionForm
    anchors: tuple[Anchor, ...]
    spans: tuple[tuple[int, ...], ...]
    relations: RelationIndex
    lexical: dict[int, dict[int, set[int]]]
    cosines: NDArray[np.float64]
    nearness: NDArray[np.float64]
    sentence: NDArray[np.float64]

    @property
    def words(self) -> list[str]:
        """The words of the question."""
        return [token.word for token in self.tokens]

    @cached_property
    def mentioned(self) -> frozenset[int]:
        """Positions of all words that name anchors."""
        return frozenset(at for span in self.spans for at in span)

    @cached_property
    def content(self) -> list[int]:
        """Positions of the content words outside mentions."""
        return content(self.words, self.form, self.mentioned)

    @cached_property
    def pseudo(self) -> int:
        """The position of the interrogative, which implies words such as "date"; -1 if it implies none."""
        return next((at for at in self.lexical if at not in self.content), -1)

    @cached_property
    def positive(self) -> Reading:
        """The reading without the words after a negation."""
        end = self.form.negated
        if end < 0:
            return self
        lexical = {at: matches for at, matches in self.lexical.items() if at < end}
        cosines = np.where(np.arange(len(self.tokens))[:, None] < end, self.cosines, 0.0)
        return replace(self, lexical=lexical, cosines=cosines)

    @cached_property
    def unmatched(self) -> list[int]:
        """Positions of the content words that ask for no relation."""
        matched = {at for own in self.asked.values() for at in own}
        return [at for at in self.content if at not in matched]

    def strength(self, position: int, relation: int) -> float:
        """Return how well a word matches a relation, from 0 to 1; 0 for a match that does not suffice."""
        if relation in self.lexical.get(position, ()):
            return 1.0
        return float(self.cosines[position, relation] or self.nearness[position, relation])

    @cached_property
    def asked(self) -> dict[int, list[int]]:
        """The relations that some word asks for, with the positions of these words."""
        found: dict[int, list[int]] = {}
        for position in [*self.content, *([self.pseudo] if self.pseudo >= 0 else [])]:
            for relation in self.lexical.get(position, ()) or self._by_meaning(position):
                found.setdefault(relation, []).append(position)
        for position in self._properties({at for own in found.values() for at in own}):
            nearest = int(self.nearness[position].argmax())
            if self.nearness[position, nearest] >= BY_PRESENCE:
                found.setdefault(nearest, []).append(position)
        return {r: positions for r, positions in found.items() if self._suffices(r, positions)}

    def _properties(self, matched: set[int]) -> list[int]:
        """Return the positions of words for a property of something, before "of" or after a possessive."""
        words = self.words
        return [
            at
            for at in self.content
            if at not in matched
            and at not in self.form.noun
            and (words[at + 1 : at + 2] == ["of"] or words[at - 1 : at] == ["'s"])
        ]

    @cached_property
    def properties(self) -> list[int]:
        """Positions of the words for a property of something, before "of" or after a possessive."""
        return self._properties(set())

    @cached_property
    def lacking(self) -> list[int]:
        """Positions of words for a property that no relation is near to."""
        return self._properties({at for own in self.asked.values() for at in own})

    def _by_meaning(self, position: int) -> list[int]:
        """Return the relations that a word is nearest to in meaning; the noun that is asked for must be very near."""
        cosines = self.cosines[position]
        least = max(BY_NOUN if position in self.form.noun else BY_WORD, float(cosines.max(initial=0.0)) - _TIED)
        return np.flatnonzero(cosines >= least).tolist()

    def _suffices(self, relation: int, positions: Sequence[int]) -> bool:
        """Return whether more than the interrogative asks for a relation, or the interrogative names all of it."""
        if set(positions) != {self.pseudo}:
            return True
        return len(self.lexical[self.pseudo][relation]) == len(self.relations.words[relation])


def read_state(state: State, run: Run, encoder: Encoder) -> Reading:
    """Return the reading of a state's question; computed once a run."""
    key = "reading", state.graph.place, state.question.text, state.anchors
    return run.once(key, lambda: _read(state, run, encoder))


def _read(state: State, run: Run, encoder: Encoder) -> Reading:
    words = tuple(tokens(state.question.text))
    anchors = tuple(anchor for anchor in state.anchors or () if len(anchor.seeds(state.graph)))
    spans = list(_spans([token.word for token in words], anchors))
    relations = relation_index_of(state.graph.columns)
    spans = [
        _with_type(words, span, anchor.seeds(state.graph), relations)
        for anchor, span in zip(anchors, spans, strict=True)
    ]
    mentioned = frozenset(at for span in spans for at in span)
    english = translated(state.question.text, words, mentioned)
    words = words if english is None else tuple(english)
    form = question_form([token.word for token in words], mentioned)
    named = {at for at, token in enumerate(words) if at and state.question.text[token.start].isupper()}
    if form.measure is not None and named.intersection(form.measure.words):
        form = replace(form, measure=None)  # a word of a name
    if form.measure is not None and len(anchors) == 1 and _is_named(words, form, relations):
        form = replace(form, measure=None, grammar=form.grammar - {*form.measure.words})
    positions = content([token.word for token in words], form, mentioned)
    lexical = dict(_lexical(words, form, positions, relations, english is not None))
    cosines, nearness, sentence = _by_meaning(state, run, encoder, words, positions, mentioned, relations)
    if english is not None:  # the encoder is not asked for the meaning of words of other languages
        cosines, nearness, sentence = np.zeros_like(cosines), np.zeros_like(nearness), np.zeros_like(sentence)
    return Reading(words, form, anchors, tuple(spans), relations, lexical, cosines, nearness, sentence)


def _is_named(words: Sequence[Token], form: QuestionForm, relations: RelationIndex) -> bool:
    """Return whether a relation has the words of the superlative in its name, as "first appeared" has."""
    own = {words[at].word for at in form.measure.words} if form.measure else set()
    return any(own <= set(phrase.split()) for phrase in relations.phrases)


def _spans(words: Sequence[str], anchors: Sequence[Anchor]) -> Iterator[tuple[int, ...]]:
    """Yield the positions of each anchor's words in the question, () where it does not have them."""
    used: set[int] = set()
    for anchor in anchors:
        name = [token.word for token in tokens(anchor.text.replace("_", " "))] or normal_form(anchor.text).split()
        name = name[:-1] if name[-1:] == ["'s"] else name
        starts = (at for at in range(len(words) - len(name) + 1) if list(words[at : at + len(name)]) == name)
        start = next((at for at in starts if at not in used), -1)
        span = tuple(range(start, start + len(name))) if start >= 0 and name else ()
        used.update(span)
        yield span


def _with_type(words: Sequence[Token], span: tuple[int, ...], seeds: Ints, relations: RelationIndex) -> tuple[int, ...]:
    """Return the words of an anchor, and the next word if it names the anchor's type, as in "Graz station"."""
    at = span[-1] + 1 if span else -1
    if not 0 < at < len(words):
        return span
    for relation in relations.by_word.get(words[at].word, ()):
        is_last = relations.phrases[relation].endswith(f" {words[at].word}")
        if is_last and np.isin(seeds, np.concatenate(relations.ends_of(relation))).any():
            return (*span, at)
    return span


def _lexical(
    words: Sequence[Token], form: QuestionForm, positions: Sequence[int], relations: RelationIndex, foreign: bool
) -> Iterator[tuple[int, dict[int, set[int]]]]:
    """Yield for each position the relations that it matches by word forms or spelling, with their words."""
    alternatives = {at: [words[at].word, *DIMENSIONS.get(words[at].word, ("",))[0].split()] for at in positions}
    if form.asks in _IMPLIED:
        interrogative = next((at for at in sorted(form.grammar) if words[at].word in ("when", "where", "how")), -1)
        interrogative = interrogative if interrogative >= 0 else min(form.grammar, default=-1)
        if interrogative >= 0:
            alternatives[interrogative] = _IMPLIED[form.asks].split()
    for at, own in alternatives.items():
        matches: dict[int, set[int]] = {}
        for word in _matching(own, relations, foreign):
            for relation in relations.by_word[word]:
                matches.setdefault(relation, set()).add(relations.words[relation].index(word))
        if matches:
            yield at, matches


def _matching(alternatives: Sequence[str], relations: RelationIndex, foreign: bool) -> list[str]:
    """Return the words of relations that are forms of some word; else those that are spelled alike.

    `foreign`: whether the words are of another language; then those of the same origin count too.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    known = list(relations.by_word)
    forms = [word for word in known if any(inflections_match(word, own) for own in alternatives)]
    if forms or len(alternatives[0]) < 5:
        return forms
    slips = 1 if len(alternatives[0]) < 8 else 2
    near = process.extract(alternatives[0], known, scorer=OSA.distance, score_cutoff=slips, limit=2)
    alike = [word for word, _, _ in near if word[0] == alternatives[0][0]]
    return alike or ([word for word in known if are_cognates(alternatives[0], word)] if foreign else [])


_vectors: SnapshotCache[Floats] = SnapshotCache()


def _by_meaning(
    state: State,
    run: Run,
    encoder: Encoder,
    words: Sequence[Token],
    positions: Sequence[int],
    mentioned: frozenset[int],
    relations: RelationIndex,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines with relations of content words, where they suffice and all, and of the masked question."""
    count = len(relations.phrases)
    cosines = np.zeros((len(words), count))
    if not count or count > _MAX_ENCODED:
        return cosines, cosines, np.zeros(count)
    phrases = list(relations.phrases)
    matrix = _vectors.get(
        state.graph.columns,
        ("relations", getattr(encoder, "id", repr(encoder))),
        lambda: normalised(run.encode(encoder, phrases)),
    )
    pairs = [pair for pair in pairwise(positions) if pair[1] - pair[0] == 1]
    texts = [words[at].word for at in positions] + [f"{words[a].word} {words[b].word}" for a, b in pairs]
    vectors = normalised(run.encode(encoder, [_masked(words, mentioned), *texts]))
    products = (vectors @ matrix.T).astype(np.float64)
    for row, at in enumerate(positions, 1):
        cosines[at] = products[row]
    nearness = cosines
    cosines = np.where(_distinct(cosines), cosines, 0.0)
    for row, pair in enumerate(pairs, 1 + len(positions)):
        if not cosines[list(pair)].any():  # neither word alone asks for a relation
            cosines[list(pair)] = np.where(_distinct(products[row : row + 1]), products[row], 0.0)
    return cosines, nearness, products[0]


def _distinct(cosines: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which cosines are high, and much higher than those of the word with the relations on average.

    A word that is near to many relations, such as "film" in a graph of films, asks for none of them.
    """
    margin: NDArray[np.bool_] = cosines - cosines.mean(axis=1, keepdims=True) >= MARGIN
    return (cosines >= BY_WORD) & margin


def _masked(words: Sequence[Token], mentioned: frozenset[int]) -> str:
    """Return the question with "it" in place of each mention."""
    masked = [
        "it" if at in mentioned else token.word
        for at, token in enumerate(words)
        if at not in mentioned or at - 1 not in mentioned
    ]
    return " ".join(masked).replace(" 's", "'s")
