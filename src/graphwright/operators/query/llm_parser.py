"""Parser of questions with a language model, which sees types, relations and values, and writes steps of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from graphwright.constraints import Between, Has
from graphwright.errors import cut
from graphwright.graph.evidence import Ints
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator
from graphwright.operators.query import query as q
from graphwright.operators.query.checks import check
from graphwright.operators.query.result import CERTAIN, SURE, AskedQuery
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.prompts.templates import data_line
from graphwright.search.facts import Facts
from graphwright.search.versions import years_of

if TYPE_CHECKING:
    from graphwright.prompts.query_reply import QueryReply

_LISTED = 200  # types, and relations


def schema(facts: Facts) -> dict[str, Any]:
    """Return the types and relations of facts as JSON values, the most frequent first, 200 of each at most.

    A type has the number and the relations of its things; a relation the number of its facts and one object.

    >>> listed = schema(Facts.of_rows([{"city": "Graz", "river": "Mur"}, {"city": "Linz"}], "cities"))
    >>> listed["types"], listed["relations"][0]
    ([{'name': 'cities', 'count': 2, 'relations': ['city', 'river']}], {'name': 'city', 'count': 2, 'example': 'Graz'})
    """
    things = np.arange(len(facts))
    if facts.records is not None:
        things = np.delete(things, facts.first_record + np.flatnonzero(facts.records.is_copy))
    counts = {name: count for name, count in facts.types_of(things).items() if name in facts.types}
    types = [
        {"name": name, "count": count, "relations": list(facts.columns_of(name))}
        for name, count in list(counts.items())[:_LISTED]
    ]
    sizes = sorted(((len(facts.relation(name)), name) for name in facts.relations), key=lambda item: -item[0])
    relations = [
        {"name": name, "count": size, "example": facts.texts(facts.relation(name).object(np.arange(1)))[0]}
        for size, name in sizes[:_LISTED]
        if size
    ]
    return {"types": types, "relations": relations}


_RELATIONS = 60  # relations and columns that are shown
_VALUES = 40  # names of things that are shown
_SAMPLES = 3  # values of a column
_READ = 1_000  # things of a type whose values are read
_LONGEST = 80  # characters of a name that is shown


def shown_facts(question: str, facts: Facts) -> dict[str, str]:
    """Return what a prompt shows of the facts for a question: its `types`, `relations` and `values`, a line each.

    First come those that the question's words are like, then those of the things that it names, then all others.
    """
    near = facts.near(question, 4 * _VALUES)
    things = list(dict.fromkeys(like.thing for like in near if like.thing >= 0))[:_VALUES]
    beside = _beside(facts, np.array(sorted(things), np.int64))
    likest = {kind: [like.name for like in near if like.kind == kind] for kind in ("type", "relation")}
    columns: dict[str, tuple[str, ...]] = {}
    left = _RELATIONS
    for name in dict.fromkeys((*likest["type"], *facts.types_of(beside), *facts.types)):
        if left > 0 and (own := facts.columns_of(name)[:left]):
            columns[name] = own
            left -= len(own)
    others = dict.fromkeys((*likest["relation"], *facts.relations_of(beside), *facts.relations))
    shown = {name for own in columns.values() for name in own}
    relations = [name for name in others if name not in shown][: max(left, 0)]
    return {
        "types": _lines(_type_line(facts, name, own) for name, own in columns.items()),
        "relations": _lines(line for name in relations for line in _relation_line(facts, name)),
        "values": _lines({"value": cut(name, _LONGEST)} for name in dict.fromkeys(facts.texts(things))),
    }


def _beside(facts: Facts, things: Ints) -> Ints:
    """Return some things and the records that have one of them as a value, ascending."""
    records = facts.records
    if records is None:
        return things
    is_named = np.isin(records.node, things[things < facts.first_record])
    is_named |= np.isin(records.text, things[things >= facts.first_value] - facts.first_value)
    return np.union1d(things, facts.first_record + records.record[is_named].astype(np.int64))


def _type_line(facts: Facts, type: str, columns: Iterable[str]) -> dict[str, Any]:
    """Return a type with the number of its things, and some values of each column."""
    things = facts.of_type(type)
    values = {}
    for name in columns:
        relation = facts.relation(name)
        objects = relation.object(relation.matching(things[:_READ]))
        distinct, first = np.unique(objects, return_index=True)
        samples = facts.texts(distinct[np.argsort(first)][:_SAMPLES])
        values[name] = [cut(text, _LONGEST) for text in samples]
    return {"type": type, "things": len(things), "columns": values}


def _relation_line(facts: Facts, name: str) -> Iterator[dict[str, Any]]:
    """Yield a relation with its first fact, nothing where it has none."""
    relation = facts.relation(name)
    if len(relation):
        first = np.zeros(1, np.int64)
        ends = facts.texts(np.append(relation.subject(first), relation.object(first)))
        yield {"relation": name, "example": [cut(text, _LONGEST) for text in ends]}


def _lines(values: Iterable[object]) -> str:
    return "\n".join(map(data_line, values)) or "(none)"


_CLOSE = 80  # per cent of likeness of a name that was meant
_SHOWN = 5  # near names in an error


class StepError(ValueError):
    """A step that is no part of a query: it names something unknown, or refers to a step that gives no things."""


def query_of(reply: QueryReply, facts: Facts) -> q.Query:
    """Return the query of a reply's steps in the facts' names, or almost. Raises StepError for any other name."""
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
        return _meant("thing", text, [like.name for like in self.facts.near(text, 4 * _SHOWN) if like.thing >= 0])

    def follow(self, step: Any) -> q.Things:
        things = self.things(step.of)
        for relation in self.path(step.path):
            times = q.ANY if step.repeated else 1
            things = q.Follow(things, relation._replace(times=times, at=_date(step.at)))
        return things

    def where(self, step: Any, condition: Callable[..., q.Condition], *parts: Any) -> q.Things:
        return q.Where(self.things(step.of), condition(self.path(step.path), *parts))

    def extreme(self, step: Any) -> q.Things:
        path, is_largest = self.path(step.path), step.do == "largest"
        return q.Extreme(self.things(step.of), path, is_largest, step.count, step.is_rank, step.by_number)


def _date(text: str) -> str:
    if text and text != q.NOW and isnan(years_of(text)[0]):
        raise StepError(f"{text!r} is no date; write 2019, 2019-06, 2019-06-01 or {q.NOW}")
    return text


def _meant(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the known name that a name is written almost as. Raises StepError, with near names, if there is none."""
    from rapidfuzz import fuzz, process, utils

    near = process.extract(name, list(known), scorer=fuzz.ratio, processor=utils.default_process, limit=_SHOWN)
    if near and near[0][1] >= _CLOSE:
        return str(near[0][0])
    names = ", ".join(repr(other) for other, *_ in near)
    raise StepError(f"there is no {kind} {name!r}" + (f"; near it are {names}" if names else ""))


_QUERIES: dict[str, Callable[[_Queries, Any], q.Query]] = {  # the query of each kind of step
    "named": lambda of, step: q.Named(of.name(step.name)),
    "type": lambda of, step: q.OfType(of.type(step.type)),
    "everything": lambda of, step: q.Everything(),
    "follow": _Queries.follow,
    "where": lambda of, step: of.where(step, q.Compare, step.compares, step.value),
    "where in": lambda of, step: of.where(step, q.Compare, step.compares, of.things(step.other)),
    "where both": lambda of, step: of.where(step, q.Fields, step.compares, of.path(step.with_path)),
    "has": lambda of, step: of.where(step, q.Has, step.negated),
    "where count": lambda of, step: of.where(step, q.Counted, step.compares, step.number),
    "both": lambda of, step: q.Both(of.things(step.of), of.things(step.other)),
    "either": lambda of, step: q.Either(of.things(step.of), of.things(step.other)),
    "except": lambda of, step: q.Except(of.things(step.of), of.things(step.other)),
    "largest": _Queries.extreme,
    "smallest": _Queries.extreme,
    "most frequent": lambda of, step: q.Frequent(of.things(step.of), of.relation(step.relation)),
    "least frequent": lambda of, step: q.Frequent(of.things(step.of), of.relation(step.relation), largest=False),
    "next row": lambda of, step: q.Neighbour(of.things(step.of), 1),
    "previous row": lambda of, step: q.Neighbour(of.things(step.of), -1),
    "count": lambda of, step: q.Count(of.things(step.of)),
    "exists": lambda of, step: q.Exists(of.things(step.of)),
    "none": lambda of, step: q.Exists(of.things(step.of), negated=True),
    **dict.fromkeys(
        ("sum", "mean", "min", "max"),
        lambda of, step: q.Aggregate(step.do, of.things(step.of), of.path(step.path)),
    ),
    "difference": lambda of, step: q.Difference(of.result(step.of), of.result(step.other)),
}


@dataclass(frozen=True, repr=False)
class LLMQueryParser(Operator):
    """Have a language model write the query that a question asks, or say that it asks none.

    The model sees the types, relations and values of the facts that are near the question. A name that the facts lack
    is replaced by one that is written almost as it; else the model is asked once more, with what is wrong. If its reply
    is unusable then, the next operator of a Fallback parses the question. `probability`: of its queries to be right; of
    one that still compares with a text that no value has, at most SURE.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> steps = '[{"do": "named", "name": "Graz"}, {"do": "follow", "of": 1, "path": ["lies on"]}]'
    >>> model = ScriptedLLM([f'{{"computable": true, "steps": {steps}}}'])
    >>> state = start("Which river runs through Graz?", Graph.from_triples([("Graz", "lies on", "Mur")]))
    >>> LLMQueryParser(model)(state).query.query
    Follow(things=Named(name='Graz'), step=Step(relation='lies on', inverse=False, times=1, at=''))
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    probability: Annotated[float, Between(0, 1)] = CERTAIN
    gives = ("query",)

    def apply(self, state: State, run: Run) -> State:
        """Set the query, or leave the state unchanged."""
        facts, question = Facts.of(state.graph), state.question.text
        shown = shown_facts(question, facts)
        problem = ""
        for _ in range(2):
            reply = run.reply(self.model, "query", question=data_line({"question": question}), problem=problem, **shown)
            if reply is None:
                break
            if not reply.computable:
                run.note("the model finds nothing to compute")
                return state
            try:
                query = query_of(reply, facts)
                unknown = check(query, facts)
            except StepError as error:
                query, unknown = None, (str(error),)
            if query is not None and (problem or not unknown):
                return state.with_(
                    query=AskedQuery(query, min(self.probability, SURE) if unknown else self.probability)
                )
            run.note(f"the model's query does not fit: {' '.join(unknown)}")
            problem = f"Your earlier query did not fit. What is wrong with it:\n{data_line(' '.join(unknown))}"
        run.fail()
        return state
