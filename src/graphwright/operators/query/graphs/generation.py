"""Candidate queries over a graph: paths, likeliest first, what is made of sets of things by them, and their forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, pairwise

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Floats
from graphwright.operators.query import query as q
from graphwright.operators.query.graphs.likeness import Vocabulary
from graphwright.operators.query.graphs.matching import Literal, Mention
from graphwright.operators.query.graphs.steps import StepIndex
from graphwright.operators.query.query import Except, Follow, Named, Things
from graphwright.search.facts import Facts

_BEAM = (60, 30, 24)  # paths of each length that are extended
_KEPT = 320  # maximum paths


@dataclass(frozen=True, eq=False)
class PathCandidate:
    """A path from a mention: `keys` of steps, a sample of `ends`, how many; a step back leads not to the start."""

    mention: Mention
    keys: tuple[int, ...]
    ends: Ints
    size: int
    score: float

    @cached_property
    def relations(self) -> tuple[int, ...]:
        """The relation of each step."""
        return tuple(key >> 1 for key in self.keys)

    def query(self, steps: StepIndex) -> Things:
        """Return the path as a query."""
        things: Things = Named(self.mention.name)
        for at, key in enumerate(self.keys):
            things = Follow(things, steps.step(key))
            if at == 1 and key == self.keys[0] ^ 1:
                things = Except(things, Named(self.mention.name))
        return things


def paths_of(
    mentions: Sequence[Mention], steps: StepIndex, strengths: Sequence[Floats], length: int
) -> list[PathCandidate]:
    """Return paths of at most `length` steps from mentions, by mean strength; `strengths`: of each mention."""
    level = [PathCandidate(mention, (), mention.things, len(mention.things), 0.0) for mention in mentions]
    strength_of = {id(mention): strength for mention, strength in zip(mentions, strengths, strict=True)}
    found: list[PathCandidate] = []
    for beam in _BEAM[:length]:
        level = [longer for path in level for longer in _extensions(path, steps, strength_of[id(path.mention)])]
        found += level
        level = sorted(level, key=lambda path: -path.score)[:beam]
    return sorted(found, key=lambda path: -path.score)[:_KEPT]


def _extensions(path: PathCandidate, steps: StepIndex, strength: Floats) -> list[PathCandidate]:
    longer = []
    for key, ends, size in steps.expand(path.ends):
        if len(path.keys) == 1 and key == path.keys[0] ^ 1:
            rest = np.setdiff1d(ends, path.mention.things)
            ends, size = rest, size - len(ends) + len(rest)
        if len(ends):
            count = len(path.keys)
            score = (path.score * count + float(strength[key >> 1])) / (count + 1)
            longer.append(PathCandidate(path.mention, (*path.keys, key), ends, size, score))
    return longer


FORMS = (
    "things", "count", "exists", "largest", "smallest", "negated", "above", "below", "equal", "sum", "mean", "most",
    "least", "difference",
)  # fmt: skip
THINGS, COUNT, EXISTS, LARGEST, SMALLEST, NEGATED, ABOVE, BELOW, EQUAL, SUM, MEAN, MOST, LEAST, DIFFERENCE = range(
    len(FORMS)
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A query that a question may ask, and what it is made of.

    `form`: a row of FORMS. `names`: the relations and types in it as rows of the vocabulary, in the order of the path;
    `keys`: its steps; `mentions`, `literals`: what it uses. `ends`: a sample of its things, `size`: how many there are.
    `strength`: of its path; `last`: the step that led to its things, -1 for none.
    """

    query: q.Query
    form: int
    names: tuple[int, ...]
    keys: tuple[int, ...]
    mentions: tuple[Mention, ...]
    ends: Ints
    size: int
    strength: float
    literals: tuple[Literal, ...] = ()
    last: int = -1
    types: int = 0
    parts: int = 1

    @property
    def things(self) -> q.Things:
        """The query of a set of things."""
        assert not isinstance(self.query, (q.Count, q.Exists, q.Aggregate, q.Difference))
        return self.query

    def overlaps(self, other: Candidate) -> bool:
        """Return whether two candidates use the same words."""
        return any(one.words & two.words for one in self.mentions for two in other.mentions)

    def along(self, query: q.Query, form: int, row: int) -> Candidate:
        """Return the candidate that a further relation makes of this one."""
        return replace(self, query=query, form=form, names=(*self.names, row), keys=(*self.keys, 2 * row))

    def joined(self, other: Candidate, query: q.Query, form: int, ends: Ints) -> Candidate:
        """Return the candidate that two sets make."""
        a, b = self, other
        return Candidate(
            query, form, (*a.names, *b.names), (*a.keys, *b.keys), (*a.mentions, *b.mentions), ends, len(ends),
            (a.strength + b.strength) / 2, last=a.last, types=a.types + b.types, parts=a.parts + b.parts,
        )  # fmt: skip


def shape_of(candidate: Candidate) -> tuple[int, int, int, int, int]:
    """Return the shape of a candidate: steps up to 4, turns, first and last step backwards, named things up to 2."""
    keys = candidate.keys or (0,)
    turns = any(a == b ^ 1 for a, b in pairwise(keys))
    return min(len(candidate.keys), 4), int(turns), keys[0] & 1, keys[-1] & 1, min(len(candidate.mentions), 2)


_SETS, _TYPES, _WHOLE_TYPES, _PAIRS, _ORDERS, _LACKING = 12, 3, 2, 8, 3, 5
_FEW = 8  # different values of a relation, at most, that a condition may name though the question does not
_WHOLE, _VALUED, _ONWARD, _COUNTED, _LOOKED_AT = 5, 9, 24, 12, 60
_VALUES_NEEDED = 0.5  # share of a relation's objects that are numbers or dates
_COMPARISONS: tuple[tuple[q.Comparison, int], ...] = (
    ("=", EQUAL), (">", ABOVE), (">=", ABOVE), ("<", BELOW), ("<=", BELOW),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Forms:
    """The candidates of a question: `strength: float32[v]`: how much it asks for each name outside of mentions.

    `whole_strength: float32[v]`: the same of all its words, for a type that is also a thing's name.
    """

    facts: Facts
    steps: StepIndex
    vocabulary: Vocabulary
    strength: Floats
    whole_strength: Floats
    literals: Sequence[Literal]

    def candidates(self, paths: Sequence[PathCandidate]) -> list[Candidate]:
        """Return the paths as candidates, and the candidates that are made of the strongest sets."""
        single = [self.of_path(path) for path in paths]
        short = [candidate for candidate in single if len(candidate.keys) <= 2]
        pairs, types, whole = list(self.pairs(short)), list(self.types()), list(self.whole())
        both = [*pairs, *self.of_both_types(short[:_PAIRS], types)]
        sets = [*types, *short[:_SETS], *both[:_SETS]]
        made = [*whole, *both, *self.truths(short, pairs), *self.comparisons(short)]
        made += self.without([*sets, *(c for c in whole if c.form == THINGS)], short)
        derived: list[Candidate] = []
        for candidate in [self.everything, *sets]:
            own = [*self.extremes(candidate), *self.conditions(candidate)]
            derived += map(self._of_subjects, own) if isinstance(candidate.query, q.Everything) else own
            made += self.amounts(candidate)
        for candidate in [*whole, *sets]:
            made += self.lacking(candidate)
        made += self.unlike()
        conditions = [c for c in derived if c.literals][:_COUNTED]
        made += [replace(c, query=q.Count(c.things), form=COUNT) for c in [*whole, *sets, *conditions]]
        return [*single, *types, *made, *derived, *self.onward(derived), *self.onward(pairs[:_SETS])]

    @property
    def everything(self) -> Candidate:
        """All things."""
        return Candidate(q.Everything(), THINGS, (), (), (), np.empty(0, np.int64), len(self.facts), 0.0)

    def strongest(self, valued: bool) -> list[int]:
        """Return the relations that the question asks for most."""
        relations = np.argsort(-self.strength[: len(self.vocabulary.relations)], kind="stable")[:_LOOKED_AT].tolist()
        suitable = (row for row in relations if not valued or self.has_values(row))
        return list(islice(suitable, _VALUED if valued else _WHOLE))

    def whole(self) -> Iterator[Candidate]:
        """Yield what has a relation, and all that a relation leads to, the most and the least often."""
        for row in self.strongest(False):
            step, ahead, back = q.Step(self.steps.relations[row]), 2 * row, 2 * row + 1
            kinds: list[tuple[q.Things, int, int]] = [
                (q.Where(q.Everything(), q.Has((step,))), THINGS, back),
                (q.Follow(q.Everything(), step), THINGS, ahead),
                (q.Frequent(q.Everything(), step), MOST, ahead),
                (q.Frequent(q.Everything(), step, False), LEAST, ahead),
            ]
            for query, form, key in kinds:
                ends, size = self.steps.ends(key, self.facts)
                yield Candidate(query, form, (row,), (key,), (), ends, size, float(self.strength[row]), last=key)

    def amounts(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the sum and the mean of a value of the things of a set."""
        for row in self.ahead(candidate, True) if candidate.size > 1 else ():
            path = (q.Step(self.steps.relations[row]),)
            yield candidate.along(q.Aggregate("sum", candidate.things, path), SUM, row)
            yield candidate.along(q.Aggregate("mean", candidate.things, path), MEAN, row)

    def onward(self, derived: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield what the things of a set with a condition, or the largest of one, lead to."""
        for candidate in sorted(derived, key=lambda c: -self._strength(c))[:_ONWARD]:
            used = set(candidate.names)
            steps = [step for step in self.steps.expand(candidate.ends) if step[0] >> 1 not in used]
            for key, ends, size in sorted(steps, key=lambda s: -self.strength[s[0] >> 1])[:_LACKING]:
                query = q.Follow(candidate.things, self.steps.step(key))
                names, keys = (*candidate.names, key >> 1), (*candidate.keys, key)
                yield replace(candidate, query=query, names=names, keys=keys, ends=ends, size=size, last=key)

    def _of_subjects(self, candidate: Candidate) -> Candidate:
        """Return a candidate out of all things with those of its relation in place of its ends."""
        ends, size = self.steps.ends(candidate.keys[0] ^ 1, self.facts)
        return replace(candidate, ends=ends, size=size)

    def _strength(self, candidate: Candidate) -> float:
        return float(np.mean([self.strength[row] for row in candidate.names])) if candidate.names else -1.0

    def of_path(self, path: PathCandidate) -> Candidate:
        """Return a path as a candidate."""
        return Candidate(
            path.query(self.steps), THINGS, path.relations, path.keys, (path.mention,), path.ends, path.size,
            path.score, last=path.keys[-1],
        )  # fmt: skip

    def types(self) -> Iterator[Candidate]:
        """Yield the types that the question asks for most."""
        first = len(self.vocabulary.relations)
        own, all_words = (
            np.argsort(-strength[first:], kind="stable") for strength in (self.strength, self.whole_strength)
        )
        for row in dict.fromkeys((first + np.append(own[:_TYPES], all_words[:_WHOLE_TYPES])).tolist()):
            name = self.vocabulary.types[row - first]
            things = self.facts.of_type(name)
            sample = things[:: -(-len(things) // 60)] if len(things) else things
            strength = float(self.strength[row])
            yield Candidate(q.OfType(name), THINGS, (row,), (), (), sample, len(things), strength, types=1)

    def pairs(self, short: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield what paths from two mentions have in common, and what the same path from either leads to."""
        for one, two in combinations(_by_mention(short), 2):
            for a in one:
                for b in two:
                    common = np.intersect1d(a.ends, b.ends)
                    if a.keys == b.keys and not a.overlaps(b):
                        yield a.joined(b, q.Either(a.things, b.things), THINGS, np.union1d(a.ends, b.ends))
                    if len(common) and not a.overlaps(b):
                        yield a.joined(b, q.Both(a.things, b.things), THINGS, common)

    def of_both_types(self, sets: Sequence[Candidate], types: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield the things of a path that are of a type, where others are not."""
        for a in sets:
            for b in types:
                common = a.ends[np.isin(a.ends, self.facts.of_type(str(getattr(b.query, "type", ""))))]
                if 0 < len(common) < len(a.ends):
                    yield a.joined(b, q.Both(a.things, b.things), THINGS, common)

    def truths(self, short: Sequence[Candidate], pairs: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield whether a path leads to something, to another mention, and whether two paths meet."""
        for candidate in short[:_SETS]:
            yield replace(candidate, query=q.Exists(self._held(candidate)), form=EXISTS)
        mentions = _first_mentions(short)
        for mention in mentions:
            own = {key for key, _, _ in self.steps.expand(mention.things)}
            for row in self.strongest(False):  # what the thing may lack that others like it have
                alike = self.steps.expand(self.steps.ends(2 * row + 1, self.facts)[0])
                if not own.isdisjoint(key for key, _, _ in alike) and not any(
                    c.mentions[0] is mention and c.keys == (2 * row,) for c in short[:_SETS]
                ):
                    query = q.Exists(q.Follow(q.Named(mention.name), q.Step(self.steps.relations[row])))
                    yield Candidate(query, EXISTS, (row,), (2 * row,), (mention,), np.empty(0, np.int64), 0, -1.0)
        for pair in pairs[:_PAIRS]:
            yield replace(pair, query=q.Exists(pair.things), form=EXISTS)
        for candidate in short[: 4 * _SETS]:
            for other in mentions:
                if not candidate.mentions[0].words & other.words:
                    query = q.Exists(q.Both(candidate.things, q.Named(other.name)))
                    inside = other.things[np.isin(other.things, candidate.ends)]
                    yield replace(
                        candidate, query=query, form=EXISTS, mentions=(*candidate.mentions, other), ends=inside,
                        size=len(inside),
                    )  # fmt: skip

    def _held(self, candidate: Candidate) -> q.Things:
        """Return what a path leads to; if that is true or false, the things of which it is true."""
        values = set(map(str.casefold, () if candidate.last & 1 else self.few_values(candidate.last >> 1)))
        if isinstance(candidate.query, q.Follow) and values and values <= {"true", "false"}:
            return q.Where(candidate.query.things, q.Compare((candidate.query.step,), "=", "true"))
        return candidate.things

    def ahead(self, candidate: Candidate, valued: bool) -> list[int]:
        """Return the relations of a set's things, those that the question asks for most first."""
        if isinstance(candidate.query, q.Everything):
            return self.strongest(valued)
        keys = [key for key, _, _ in self.steps.expand(candidate.ends) if not key & 1]
        rows = [key >> 1 for key in keys if not valued or self.has_values(key >> 1)]
        return sorted(rows, key=lambda row: -float(self.strength[row]))[: _ORDERS if valued else _LACKING]

    def has_values(self, relation: int) -> bool:
        """Return whether the objects of a relation are numbers or dates."""
        return float(self.steps.kinds(2 * relation, self.facts)[0]) <= 1 - _VALUES_NEEDED

    def extremes(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the things of a set with the largest and the smallest values."""
        if candidate.size > 1:
            for row in self.ahead(candidate, True):
                path = (q.Step(self.steps.relations[row]),)
                for largest in (True, False):
                    query = q.Extreme(candidate.things, path, largest)
                    yield candidate.along(query, LARGEST if largest else SMALLEST, row)

    def comparisons(self, short: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield which of two mentions has the larger, and the smaller, value."""
        for a, b in combinations(_first_mentions(short), 2):
            if not a.words & b.words:
                things, query = np.union1d(a.things, b.things), q.Either(q.Named(a.name), q.Named(b.name))
                both = Candidate(query, THINGS, (), (), (a, b), things, 2, 0.0)
                yield from self.extremes(both)
                for row in self.ahead(both, True):
                    step = q.Step(self.steps.relations[row])
                    difference = q.Difference(q.Follow(q.Named(a.name), step), q.Follow(q.Named(b.name), step))
                    yield both.along(difference, DIFFERENCE, row)

    def lacking(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the things of a set that lack a relation, in either direction."""
        if candidate.size > 1:
            keys = {key for key, _, _ in self.steps.expand(candidate.ends)} - {key ^ 1 for key in candidate.keys[-1:]}
            for key in sorted(keys, key=lambda key: (-self.strength[key >> 1], key))[:_LACKING]:
                query = q.Where(candidate.things, q.Has((self.steps.step(key),), True))
                yield candidate.along(query, NEGATED, key >> 1)

    def unlike(self) -> Iterator[Candidate]:
        """Yield what lacks a relation that others have which are like it: others with a further relation of its own."""
        for key in (2 * row + side for row in self.strongest(False) for side in (1, 0)):
            ends, _ = self.steps.ends(key, self.facts)
            others = [other for other, _, _ in self.steps.expand(ends) if other != key ^ 1]
            for other in sorted(others, key=lambda other: (-self.strength[other >> 1], other))[:_LACKING]:
                having = q.Where(q.Everything(), q.Has((self.steps.step(other),)))
                query = q.Where(having, q.Has((self.steps.step(key ^ 1),), True))
                names, strength = (other >> 1, key >> 1), float(self.strength[key >> 1])
                yield Candidate(
                    query, NEGATED, names, (other, key ^ 1), (), *self.steps.ends(other ^ 1, self.facts), strength
                )

    def without(self, sets: Sequence[Candidate], short: Sequence[Candidate]) -> Iterator[Candidate]:
        """Yield the things of a set, or of all with a relation, that a path from another mention does not lead to."""
        others = [candidate for own in _by_mention(short) for candidate in own]
        for a in sets:
            for b in others:
                if not a.overlaps(b) and a.size > 1 and np.isin(b.ends, a.ends).any():
                    yield self._other_than(a, b)
        for b in others:
            if len(b.keys) == 1 and b.keys[0] & 1:
                whole = q.Where(q.Everything(), q.Has((q.Step(self.steps.relations[b.keys[0] >> 1]),)))
                yield replace(b, query=q.Except(whole, b.things), form=NEGATED)

    def _other_than(self, a: Candidate, b: Candidate) -> Candidate:
        """Return what is in a set and not in another; a thing that the other starts from does not ask for itself."""
        query, ends = q.Except(a.things, b.things), np.setdiff1d(a.ends, b.ends)
        for mention in b.mentions:
            if np.isin(mention.things, ends).any():
                query, ends = q.Except(query, q.Named(mention.name)), np.setdiff1d(ends, mention.things)
        return a.joined(b, query, NEGATED, ends)

    def conditions(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield the things of a set whose value compares so with literals of the question, or is one of a few."""
        literals = [x for x in self.literals if not any(x.first in mention.words for mention in candidate.mentions)]
        if candidate.size <= 1:
            return
        for row in self.ahead(candidate, True) if literals else ():
            path = (q.Step(self.steps.relations[row]),)
            for literal in literals:
                for comparison, form in _COMPARISONS:
                    query = q.Where(candidate.things, q.Compare(path, comparison, literal.text))
                    yield replace(candidate.along(query, form, row), literals=(literal,))
            for low, high in combinations(literals, 2):
                unit = "" if low.value.unit else high.value.unit  # "between 2 and 3 km"
                above = q.Where(candidate.things, q.Compare(path, ">=", f"{low.text} {unit}".strip()))
                query = q.Where(above, q.Compare(path, "<=", high.text))
                yield replace(candidate.along(query, BELOW, row), literals=(low, high))
        for row in self.ahead(candidate, False):
            for value in self.few_values(row):
                query = q.Where(candidate.things, q.Compare((q.Step(self.steps.relations[row]),), "=", value))
                yield candidate.along(query, EQUAL, row)

    def few_values(self, row: int) -> list[str]:
        """Return the values of a relation where they are few and lead nowhere, as a status does."""
        objects, size = self.steps.ends(2 * row, self.facts)
        ahead = self.steps.key[self.steps.start[objects[0]] : self.steps.start[objects[0] + 1]]
        return [] if size > _FEW or (ahead % 2 == 0).any() else list(self.facts.texts(objects.tolist()))


def _first_mentions(candidates: Sequence[Candidate]) -> list[Mention]:
    """Return the mentions that candidates begin with, each once."""
    return list({id(c.mentions[0]): c.mentions[0] for c in candidates}.values())


def _by_mention(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the first candidates of each mention that they begin with."""
    return [[c for c in candidates if c.mentions[0] is m][:_PAIRS] for m in _first_mentions(candidates)]
