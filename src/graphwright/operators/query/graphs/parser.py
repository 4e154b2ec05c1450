"""Parser of questions over graphs: candidates along the relations that exist, ranked by a fitted scorer."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from graphwright.constraints import AtLeast, Between, Checked
from graphwright.graph.evidence import Ints, Scores
from graphwright.models.protocols import AmountReader, CrossEncoder, Encoder, Floats
from graphwright.operators.query.amounts import Event, agreement, asks_now, time_of, times_by_events
from graphwright.operators.query.checks import parts
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.features import NAMES, explained, strengths
from graphwright.operators.query.graphs.generation import (
    COUNT,
    DIFFERENCE,
    FORMS,
    MEAN,
    SUM,
    THINGS,
    Candidate,
    Forms,
    paths_of,
    shape_of,
)
from graphwright.operators.query.graphs.likeness import LearnedLikeness, Likeness, Vocabulary, vocabulary_of
from graphwright.operators.query.graphs.matching import Literal, Mention, Words, literals_of, mentions_of
from graphwright.operators.query.graphs.scorer import (
    WEIGHTS,
    Heads,
    english_probability,
    read_candidates,
    read_scorer,
    with_read,
)
from graphwright.operators.query.graphs.steps import end_vectors, rarest_types, step_index_of
from graphwright.operators.query.parser import Results, ScoredQuery, apportioned
from graphwright.operators.query.query import NOW, Query, dated
from graphwright.search.facts import Facts
from graphwright.search.filter import is_date
from graphwright.search.statement_times import dated_relations, statement_times_of
from graphwright.text.values import value_of
from graphwright.text.words import STOP_WORDS

_ATOMS = 6
READ_CANDIDATES = 32  # how many candidates, at most, the network reads
_OF_KINDS = 12  # of these, at most, the best of each kind
KINDS = ("thing", "date", "number")
FEATURES = (
    *NAMES,
    "certainty", "words of mentions", "capitals", "letters of mentions", "mentions", "unused mentions",
    "share of mentions",
    "unused capitals", "rank of mention", "size", "returns", "first backwards", "last backwards", "backwards",
    "turns back", "strength", "values", "distinct steps", "literals", "unused literals", "types", "parts", "kind",
    "kind gap", "form", "form gap", *FORMS,
    "asked steps", "asked steps gap", "asked turns", "asked first", "asked last", "asked named", "shape",
    "ends of question", "ends of words", "ends of first",
    "given types", "types not given", "given spelling", "given spelling gap", "given meaning", "given meaning gap",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class GraphQueryParser(Checked):
    """Parse questions over graphs: enumerate queries from what a question names, and rank them by a fitted scorer.

    Candidates are paths of at most `length` relations from the named things, what several have in common, conditions,
    negation, order, counts and whether a fact holds. `encoder`: the embedded one, for which the weights were fitted;
    `network`: reads the likeliest candidates beside the question; `amounts`: MiniLMAmounts().
    `weights`: file of the fitted scorer. `limit`: maximum number of queries that are returned.
    All are less probable the less probable it is that the question is in English.

    >>> from graphwright import Graph
    >>> from graphwright.models import MiniLM, MiniLMAmounts, MiniLMCrossEncoder
    >>> films = [("Alien", "directed by", "Ridley Scott"), ("Alien", "release year", "1979")]
    >>> facts = Facts(Graph.from_triples(films).columns)
    >>> parser = GraphQueryParser(MiniLM(), MiniLMCrossEncoder("minilm-query"), MiniLMAmounts())
    >>> parser.parse("Who directed Alien?", facts)[0].query
    Follow(things=Named(name='Alien'), step=Step(relation='directed by', inverse=False, times=1, at=''))
    """

    encoder: Encoder
    network: CrossEncoder
    amounts: AmountReader
    weights: Path = WEIGHTS
    length: Annotated[int, Between(1, 4)] = 3
    limit: Annotated[int, AtLeast(1)] = 20

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return what a question may ask, best first; over dated statements, what it asks at its date or now."""
        found = self._parsed(question, facts)
        if relations := dated_relations(facts.columns):
            words, mentions = Words.of(question), mentions_of(Words.of(question), facts)
            masked = words.without([own for own in mentions if own.certainty == 1])
            named = [own for own in mentions if own.last > own.first and value_of(own.name) is None]
            dates = [own.text for own in literals_of(Words.of(words.without(named))) if own.value.kind == "date"]
            if not dates and asks_now(self.encoder.encode([masked])[0]):
                found = [own._replace(query=dated(own.query, NOW, relations)) for own in found]
            held = list[ScoredQuery]()
            times = [time_of(question, date, self.amounts) for date in dates]
            times += times_by_events(question, _events(words, mentions, facts, relations), self.amounts)
            for at, rest in times:
                of_rest = ((own, dated(own.query, at, relations)) for own in self._parsed(rest, facts))
                held += [own._replace(query=then) for own, then in of_rest if then != own.query]
            result = Execution(facts).result
            if held and np.asarray(result(held[0].query)).size:  # so the date is no number that nothing has
                found = [own for own in found if np.asarray(result(own.query)).size]
            found += held
        return apportioned(found)[: self.limit]

    def _parsed(self, question: str, facts: Facts) -> list[ScoredQuery]:
        scorer = read_scorer(self.weights, FEATURES)
        reading = Reading.of(question, facts, self.encoder, scorer.likeness, scorer.heads)
        candidates = reading.candidates(self.length) if len(reading.words) else []
        if not candidates:
            return []
        features = reading.features(candidates)
        agreed = agreement(question, [candidate.query for candidate in candidates], self.amounts)
        scores = scorer(features) + agreed
        chosen = likeliest(candidates, scores)
        candidates = [candidates[row] for row in chosen.tolist()]
        read = read_candidates(self.network, reading.words, candidates, facts)
        features = with_read(features[chosen], scores[chosen], read)
        keys = result_keys(facts, [candidate.query for candidate in candidates])
        results = Results.of(scorer.last(features) + agreed[chosen], keys)
        first = scorer.probability(features, results) * reading.english
        found = zip(results.best, results.scores.tolist(), (results.shares / results.shares[0]).tolist(), strict=True)
        return apportioned([ScoredQuery(candidates[row].query, score, first * share) for row, score, share in found])


def _events(words: Words, mentions: Sequence[Mention], facts: Facts, relations: Collection[str]) -> Iterator[Event]:
    """Yield what a question names that has one date, or that one statement of dated relations is about."""
    times, steps, stated = statement_times_of(facts.columns), step_index_of(facts), list(map(facts.relation, relations))
    for mention in mentions:
        text, things = words.text(mention.first, mention.last), mention.things
        edges = np.concatenate([own.fact(own.matching(things, inverse)) for own in stated for inverse in (False, True)])
        found = (ends for key, ends, _ in steps.expand(things) if not key & 1 and not len(edges))
        dates = {date for ends in found for date in facts.texts(ends) if is_date(date)}
        statements = times.statement[np.isin(times.edge, edges)]
        beside = times.beside(statements) if len(statements) == 1 else {}
        if len(dates) == 1 or beside:
            yield Event(text, next(iter([*dates, *beside.values()])), beside)


def likeliest(candidates: Sequence[Candidate], scores: Scores) -> Ints:
    """Return the candidates that the network reads, by descending score: the best, and the best of each kind.

    A kind is a form with so many mentions, types and sets: the first trees compare within kinds better.
    """
    order = np.argsort(-scores, kind="stable").tolist()
    kinds: dict[Hashable, int] = {}
    for row in order:
        own = candidates[row]
        kinds.setdefault((own.form, len(own.mentions), own.types, own.parts), row)
    chosen = set(list(kinds.values())[:_OF_KINDS])
    rest = (row for row in order if row not in chosen)
    chosen |= set(itertools.islice(rest, READ_CANDIDATES - len(chosen)))
    return np.array([row for row in order if row in chosen], np.int64)


def result_keys(facts: Facts, queries: Sequence[Query], execution: Execution | None = None) -> list[Hashable]:
    """Return a key for each query, equal for those that give the same.

    A query that gives nothing is like no other, and one that gives "no" only like those with the same relations and
    names: many facts that do not hold say nothing about one of them.
    """
    execution, keys = execution or Execution(facts), list[Hashable]()
    for number, query in enumerate(queries):
        result = execution.result(query)
        if isinstance(result, np.ndarray):
            keys.append(result.tobytes() if len(result) else number)
        elif result is False:
            keys.append((False, frozenset(getattr(p, "relation", getattr(p, "name", None)) for p in parts(query))))
        else:
            keys.append(number if result is None else (type(result), result))
    return keys


@dataclass(frozen=True, eq=False)
class Reading:
    """A question over facts: its words, what they may name, and how they are like relations and types."""

    facts: Facts
    encoder: Encoder
    words: Words
    mentions: Sequence[Mention]
    literals: Sequence[Literal]
    vocabulary: Vocabulary
    likeness: Likeness
    heads: Heads
    _masked: dict[tuple[int, ...], tuple[Floats, Heads]] = field(default_factory=dict)

    @classmethod
    def of(cls, question: str, facts: Facts, encoder: Encoder, learned: LearnedLikeness, heads: Heads) -> Reading:
        """Read a question."""
        words, vocabulary = Words.of(question), vocabulary_of(facts, encoder)
        words = vocabulary.respelt(words, mentions := mentions_of(words, facts))
        if words.question != question:
            mentions = mentions_of(words, facts)
        likeness, literals = Likeness.of(words, vocabulary, encoder, learned), literals_of(words)
        return cls(facts, encoder, words, mentions, literals, vocabulary, likeness, heads)

    @cached_property
    def english(self) -> float:
        """The probability that the question is in English."""
        return english_probability(self.encoder.encode([self.words.question])[0])

    @cached_property
    def content(self) -> Floats:
        """1 for each content word, 0 for a stop word."""
        return np.array([word not in STOP_WORDS for word in self.words.folded], np.float32)

    def free(self, mentions: Sequence[Mention], literals: Sequence[Literal] = ()) -> Floats:
        """Return 1 for each word outside these mentions and literals."""
        free = np.ones(len(self.words), np.float32)
        parts: list[Mention | Literal] = [*mentions, *literals]
        for part in parts:
            free[part.first : part.last + 1] = 0
        return free

    def _mask(self, uses: Sequence[Sequence[Mention]]) -> None:
        """Compute the vector of the question without each set of mentions, and its forms and kinds."""
        sets = {_places(mentions): mentions for mentions in uses}
        vectors = self.encoder.encode([self.words.without(mentions) for mentions in sets.values()])
        for key, vector in zip(sets, vectors, strict=True):
            self._masked[key] = (vector, self.heads(vector))

    def candidates(self, length: int = 3) -> list[Candidate]:
        """Return the candidates for what the question asks."""
        steps = step_index_of(self.facts)
        each = [strengths(self.likeness, self.vocabulary, self.free([mention])) for mention in self.mentions]
        paths = paths_of(self.mentions, steps, each, length)
        inner, whole = (strengths(self.likeness, self.vocabulary, self.free(own)) for own in (self.mentions, ()))
        made = Forms(self.facts, steps, self.vocabulary, inner, whole, self.literals).candidates(paths)
        return [candidate for candidate in made if not self._says(candidate)]

    def _says(self, candidate: Candidate) -> bool:
        """Return whether the question itself names all that a path leads to, once, and so does not ask for it."""
        if candidate.form != THINGS or not candidate.mentions or candidate.types:
            return False
        used = frozenset[int]().union(*(own.words for own in candidate.mentions))
        others = [mention for mention in self.mentions if mention.certainty == 1 and not mention.words & used]
        inside = [m for m in others if candidate.size <= len(m.things) and np.isin(candidate.ends, m.things).all()]
        return len(inside) == 1 and len(others) == 1

    def features(self, candidates: Sequence[Candidate]) -> Floats:
        """Return the features of candidates: float32[c, len(FEATURES)]."""
        table = np.zeros((len(candidates), len(FEATURES)), np.float32)
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, candidate in enumerate(candidates):
            key = tuple(id(part) for part in (*candidate.mentions, *candidate.literals))
            groups.setdefault(key, []).append(row)
        self._mask([candidates[rows[0]].mentions for rows in groups.values()])
        ends = end_vectors((c.last for c in candidates if c.last >= 0), self.facts, self.encoder)
        for rows in groups.values():
            table[rows] = self._group([candidates[row] for row in rows], ends)
        return table

    def _group(self, candidates: Sequence[Candidate], ends: dict[int, Floats]) -> Floats:
        """Return the features of candidates with the same mentions and literals."""
        mentions, literals = candidates[0].mentions, candidates[0].literals
        vector, asked = self._masked[_places(mentions)]
        atoms = np.full((len(candidates), _ATOMS), -1)
        for row, candidate in enumerate(candidates):
            names = candidate.names[:_ATOMS]
            atoms[row, : len(names)] = names
        anchor = (mentions[0].first + mentions[0].last) / 2 if mentions else 0.0
        free = self.free(mentions, literals)
        by_names = explained(atoms, free, self.content, anchor, self.likeness, self.vocabulary, vector)
        shared = self._of_mentions(mentions, literals)
        words = self.likeness.vectors[(free * self.content) > 0]
        led = {key: _of_ends(own, vector, words) for key, own in ends.items()}
        own = [
            [
                *shared, *self._own(candidate), *self._form(candidate, asked),
                *led.get(candidate.last, (0.0, 0.0, 0.0)), *self._given(candidate),
            ]
            for candidate in candidates
        ]  # fmt: skip
        return np.concatenate((by_names, np.array(own, np.float32)), axis=1)

    def _of_mentions(self, mentions: Sequence[Mention], literals: Sequence[Literal]) -> list[float]:
        """Return the features of the words that name what a candidate uses."""
        used = set(np.flatnonzero(self.free(mentions, literals) == 0).tolist())
        texts = [text for m in mentions for text in self.words.texts[m.first : m.last + 1]]
        unused = [text for at, text in enumerate(self.words.texts) if at and at not in used and not text.islower()]
        others = [m for m in self.mentions if not m.words & used]
        return [
            min((m.certainty for m in mentions), default=1.0), len(texts),
            float(np.mean([not text.islower() for text in texts])) if texts else 0.0,
            sum(len(m.name) for m in mentions), len(mentions), len(others),
            sum(float(self.content[at]) for at in used) / max(1.0, float(self.content.sum())), len(unused),
            max((i for i, m in enumerate(self.mentions) if m in mentions), default=-1),
        ]  # fmt: skip

    def _own(self, candidate: Candidate) -> list[float]:
        """Return the features of a candidate's steps and ends."""
        keys, unused = candidate.keys, len(self.literals) - len(candidate.literals)
        start = candidate.mentions[0].things if candidate.mentions else np.empty(0, np.int64)
        sides = [key & 1 for key in keys] or [0]
        returns = float(len(start) > 0 and bool((candidate.ends == start[0]).any()))
        turns = sum(a == b ^ 1 for a, b in itertools.pairwise(keys))
        return [
            float(np.log1p(candidate.size)), returns, sides[0], sides[-1],
            float(np.mean(sides)), turns, candidate.strength, float(self.kinds_of(candidate)[1:].sum()), len(set(keys)),
            len(candidate.literals), unused, candidate.types, candidate.parts,
        ]  # fmt: skip

    @cached_property
    def _asked_types(self) -> tuple[list[Mention], Floats]:
        """The mentions that name types; how like each type is to the nearest content word, by spelling and meaning."""
        first, content = len(self.vocabulary.relations), self.content > 0
        both = np.stack([own[content, first:] for own in (self.likeness.spelling, self.likeness.meaning)])
        return [m for m in self.mentions if m.name in self.facts.types], both.max(axis=1, initial=0.0)

    def _given(self, candidate: Candidate) -> list[float]:
        """Return how what a candidate gives is of the types that the question asks for."""
        mentions, likeness = self._asked_types
        used = frozenset[int]().union(*(mention.words for mention in candidate.mentions))
        unused = [own for own in mentions if not own.words & used]
        given = sum(_are_among(candidate.ends, self.facts.of_type(own.name)) for own in unused)
        row = int(rarest_types(self.facts)[candidate.ends[0]]) if len(candidate.ends) else -1
        if not 0 <= row < likeness.shape[1]:
            return [given, len(unused) - given, 0.0, 0.0, 0.0, 0.0]
        gaps = likeness[:, row] - likeness.max(axis=1)
        (spelling, meaning), (spelling_gap, meaning_gap) = likeness[:, row].tolist(), gaps.tolist()
        return [given, len(unused) - given, spelling, spelling_gap, meaning, meaning_gap]

    def kinds_of(self, candidate: Candidate) -> Floats:
        """Return the shares of what a candidate gives that are things, dates and numbers."""
        if candidate.form in (COUNT, SUM, MEAN, DIFFERENCE):
            return np.array([0.0, 0.0, 1.0], np.float32)
        if candidate.last < 0:
            return np.array([1.0, 0.0, 0.0], np.float32)
        return step_index_of(self.facts).kinds(candidate.last, self.facts)

    def _form(self, candidate: Candidate, asked: Heads) -> list[float]:
        """Return how likely the form of a candidate, the kind of its ends and its shape are, and its form."""
        kind = float(self.kinds_of(candidate) @ asked.kinds)
        one_hot = [float(candidate.form == form) for form in range(len(FORMS))]
        form, (steps, *others) = float(asked.forms[candidate.form]), shape_of(candidate)
        shape = [float(own[value]) for own, value in zip(asked[3:], others, strict=True)]
        return [
            kind, kind - float(asked.kinds.max()), form, form - float(asked.forms.max()), *one_hot,
            float(asked.steps[steps]), float(asked.steps[steps] - asked.steps.max()), *shape,
            sum(shape) + float(asked.steps[steps]),
        ]  # fmt: skip


def _are_among(things: Ints, others: Ints) -> bool:
    """Return whether all things are among others, which ascend."""
    places = np.minimum(np.searchsorted(others, things), len(others) - 1)
    return not len(things) or (len(others) > 0 and bool((others[places] == things).all()))


def _of_ends(ends: Floats, question: Floats, words: Floats) -> tuple[float, float, float]:
    """Return the cosine of what a step leads to with the question, with the nearest of its words and with the first."""
    cosines = words @ ends
    return float(question @ ends), float(cosines.max(initial=-1.0)), float(cosines[0]) if len(cosines) else 0.0


def _places(mentions: Sequence[Mention]) -> tuple[int, ...]:
    """Return what tells sets of mentions apart: their first words."""
    return tuple(sorted({mention.first for mention in mentions}))
