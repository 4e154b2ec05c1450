"""Queries from the steps that a language model writes, with the names of the facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from graphwright.operators.query import query as q
from graphwright.search.facts import Facts
from graphwright.search.versions import years_of

if TYPE_CHECKING:
    from graphwright.prompts.query_reply import QueryReply

_CLOSE = 80  # per cent of likeness of a name that was meant
_SHOWN = 5  # near names in an error


class StepError(ValueError):
    """A step that is no part of a query: it names something unknown, or refers to a step that gives no things."""


def query_of(reply: QueryReply, facts: Facts) -> q.Query:
    """Return the query of a reply's steps, with relations, types and names of the facts.

    A name that the facts lack stands for one that is written almost as it. Raises StepError for any other.
    """
    if not reply.steps:
        raise StepError("there are no steps")
    queries = _Queries(facts, [])
    for number, step in enumerate(reply.steps, 1):
        try:
            queries.made.append(_QUERIES[step.do](queries, step))
        except StepError as error:
            raise StepError(f"step {number}: {error}") from error
    return queries.made[-1]


class _Queries(NamedTuple):
    """The queries of the steps so far, and the facts whose names they have."""

    facts: Facts
    made: list[q.Query]

    def result(self, number: int) -> q.Query:
        if not 1 <= number <= len(self.made):
            raise StepError(f"it refers to step {number}, and there are {len(self.made)} before it")
        return self.made[number - 1]

    def things(self, number: int) -> q.Things:
        query = self.result(number)
        if isinstance(query, q.Count | q.Aggregate | q.Difference | q.Exists):
            raise StepError(f"it refers to the things of step {number}, which gives a value")
        return query

    def relation(self, name: str) -> q.Step:
        if name in self.facts.relations:
            return q.Step(name)
        return q.Step(_meant("relation or column", name.removeprefix("~"), self.facts.relations), name.startswith("~"))

    def path(self, names: Iterable[str]) -> q.Path:
        return tuple(map(self.relation, names))

    def type(self, name: str) -> str:
        return name if name in self.facts.types else _meant("type", name, self.facts.types)

    def name(self, text: str) -> str:
        if len(self.facts.find(text)):
            return text
        return _meant("thing", text, _things_near(self.facts, text))

    def follow(self, step: Any) -> q.Things:
        things = self.things(step.of)
        for relation in self.path(step.path):
            times = q.ANY if step.repeated else 1
            things = q.Follow(things, relation._replace(times=times, at=_date(step.at)))
        return things

    def fields(self, step: Any) -> q.Things:
        condition = q.Fields(self.path(step.path), step.compares, self.path(step.with_path))
        return q.Where(self.things(step.of), condition)

    def compare(self, step: Any, value: str | q.Things) -> q.Things:
        return q.Where(self.things(step.of), q.Compare(self.path(step.path), step.compares, value))

    def counted(self, step: Any) -> q.Things:
        return q.Where(self.things(step.of), q.Counted(self.path(step.path), step.compares, step.number))

    def pair(self, step: Any) -> q.Things:
        first, second = self.things(step.of), self.things(step.other)
        if step.do == "except":
            return q.Except(first, second)
        return q.Both(first, second) if step.do == "both" else q.Either(first, second)

    def extreme(self, step: Any) -> q.Things:
        path, is_largest = self.path(step.path), step.do == "largest"
        return q.Extreme(self.things(step.of), path, is_largest, step.count, step.is_rank, step.by_number)

    def aggregate(self, step: Any) -> q.Query:
        return q.Aggregate(step.do, self.things(step.of), self.path(step.path))

    def frequent(self, step: Any) -> q.Things:
        return q.Frequent(self.things(step.of), self.relation(step.relation), step.do == "most frequent")


def _date(text: str) -> str:
    if text and text != q.NOW and isnan(years_of(text)[0]):
        raise StepError(f"{text!r} is no date; write 2019, 2019-06, 2019-06-01 or {q.NOW}")
    return text


def _things_near(facts: Facts, text: str) -> list[str]:
    return [like.name for like in facts.near(text, 4 * _SHOWN) if like.thing >= 0]


def _meant(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the known name that a name is written almost as. Raises StepError, with near names, if there is none."""
    from rapidfuzz import fuzz, process, utils

    near = process.extract(name, list(known), scorer=fuzz.ratio, processor=utils.default_process, limit=_SHOWN)
    if near and near[0][1] >= _CLOSE:
        return str(near[0][0])
    names = ", ".join(repr(other) for other, *_ in near)
    raise StepError(f"there is no {kind} {name!r}" + (f"; near it are {names}" if names else ""))


_QUERIES: dict[str, Callable[[_Queries, Any], q.Query]] = {
    "named": lambda of, step: q.Named(of.name(step.name)),
    "type": lambda of, step: q.OfType(of.type(step.type)),
    "everything": lambda of, step: q.Everything(),
    "follow": _Queries.follow,
    "where": lambda of, step: of.compare(step, step.value),
    "where in": lambda of, step: of.compare(step, of.things(step.other)),
    "where both": _Queries.fields,
    "has": lambda of, step: q.Where(of.things(step.of), q.Has(of.path(step.path), step.negated)),
    "where count": _Queries.counted,
    "both": _Queries.pair,
    "either": _Queries.pair,
    "except": _Queries.pair,
    "largest": _Queries.extreme,
    "smallest": _Queries.extreme,
    "most frequent": _Queries.frequent,
    "least frequent": _Queries.frequent,
    "next row": lambda of, step: q.Neighbour(of.things(step.of), 1),
    "previous row": lambda of, step: q.Neighbour(of.things(step.of), -1),
    "count": lambda of, step: q.Count(of.things(step.of)),
    "exists": lambda of, step: q.Exists(of.things(step.of)),
    **dict.fromkeys(("sum", "mean", "min", "max"), _Queries.aggregate),
    "difference": lambda of, step: q.Difference(of.result(step.of), of.result(step.other)),
}
"""The query of each kind of step."""
