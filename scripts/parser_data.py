"""Questions with answers or programs for the query parser, and which candidates are right."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from parser_worlds import World, domains, questions
from parser_written import read_graphs

from graphwright import Graph
from graphwright.graph.evidence import Ints
from graphwright.models.protocols import Encoder, Floats
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.generation import (
    ABOVE,
    BELOW,
    COUNT,
    DIFFERENCE,
    EQUAL,
    EXISTS,
    LARGEST,
    LEAST,
    MEAN,
    MOST,
    NEGATED,
    SMALLEST,
    SUM,
    THINGS,
    Candidate,
)  # fmt: skip
from graphwright.operators.query.graphs.likeness import LearnedLikeness
from graphwright.operators.query.graphs.parser import Reading
from graphwright.operators.query.graphs.scorer import Heads
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import (
    Aggregate,
    Both,
    Compare,
    Condition,
    Count,
    Difference,
    Either,
    Except,
    Exists,
    Extreme,
    Follow,
    Frequent,
    Has,
    Named,
    Query,
    Step,
    Things,
    Where,
)  # fmt: skip
from graphwright.search.facts import Facts
from graphwright.search.facts import form_of as form_of_name
from graphwright.text.names import normal_form

KGQA = {
    **{f"metaqa-{hops}": ("metaqa", f"{hops}hop_train.jsonl", f"{hops}hop_dev.jsonl") for hops in (1, 2, 3)},
    "pq-2h": ("pq-2h", "questions.jsonl", ""),
    "pql-2h": ("pql-2h", "questions.jsonl", ""),
}
"""Folder, file of training questions and of those that are measured ("": others of the same file) of each set."""
FOLDER = Path(__file__).parent / "parser"
WORLDS = 18
QUESTIONS = 10
_COMPARISONS = {"=": EQUAL, ">": ABOVE, ">=": ABOVE, "<": BELOW, "<=": BELOW, "!=": NEGATED, "contains": EQUAL}


class Asked(NamedTuple):
    """A question and its answers, or its query; None where the graph does not say."""

    text: str
    gold: list[str] | Query | None


class Example(NamedTuple):
    """The features of a question's candidates, and which are right."""

    features: Floats
    right: Floats


class Group(NamedTuple):
    """A question: pairs that the network reads, which candidates are right, and their features."""

    text: str
    pairs: list[tuple[str, str]]
    right: Floats
    gives: Floats  # 1 for those that give the answer
    features: Floats = np.zeros((0, 0), np.float32)
    scores: Floats = np.zeros(0, np.float32)
    keys: Sequence[Hashable] = ()  # equal for those that give the same


def written_names(part: int) -> list[str]:
    """Return the names of the written graphs of one third (0, 1 or 2)."""
    names = sorted(file.stem for file in (FOLDER / "graphs").glob("*.txt"))
    return [name for name in names if crc32(name.encode()) % 3 == part]


def written(part: int, names: Sequence[str] | None = None) -> Iterator[tuple[str, Facts, list[Asked]]]:
    """Yield the written graphs of one third, or those of some names, with their questions."""
    return asked_of("graphs", written_names(part) if names is None else names)


def asked_of(folder: str, names: Sequence[str] | None = None) -> Iterator[tuple[str, Facts, list[Asked]]]:
    """Yield the graphs of a folder of `parser`, or those of some names, with their questions."""
    for name, facts, asked in read_graphs(FOLDER / folder, names):
        execution = Execution(facts)
        yield (
            name,
            facts,
            [Asked(text, _of_others(parse_notation(query), execution) if query else None) for text, query in asked],
        )


def _of_others(query: Query, execution: Execution) -> Query:
    """Return a query that leaves something out without the thing that this starts from, as candidates do."""
    if isinstance(query, Count):
        return replace(query, things=_of_others(query.things, execution))  # type: ignore[arg-type]
    if isinstance(query, Except) and not isinstance(query.second, Named):
        for name in dict.fromkeys(_names(query.second)):
            if np.isin(execution.facts.find(form_of_name(name)), execution.things(query)).any():
                query = Except(query, Named(name))
    return query


def facts_of(file: Path) -> Facts:
    """Read triples, a line each, separated by tabs."""
    rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
    return Facts(Graph.from_triples([(row[0], row[1], row[2]) for row in rows if len(row) == 3]).columns)


def read_kgqa(data: Path, name: str, count: int, measured: bool = False, seed: int = 0) -> list[Asked]:
    """Return a sample of the questions of a set, for training or to be measured."""
    folder, training, other = KGQA[name]
    file = data / folder / (other if measured and other else training)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    random.Random(seed).shuffle(rows)
    rows = rows[len(rows) // 2 :] if measured and not other else rows[: len(rows) if other else len(rows) // 2]
    return [Asked(row["question"], row["answers"]) for row in rows[:count]]


def worlds(domain: str, seed: int = 0, count: int = WORLDS) -> Iterator[tuple[Facts, list[Asked]]]:
    """Yield made worlds of a domain with their questions."""
    at, found = next((i, d) for i, d in enumerate(domains()) if d.name == domain)
    for number in range(count):
        world = World(found, seed + at * 1000 + number)
        yield world.facts, [Asked(*question) for question in questions(world, QUESTIONS)]


def form_of(query: Query) -> int:
    """Return the form of a query as a row of FORMS."""
    if isinstance(query, (Count, Exists)):
        return COUNT if isinstance(query, Count) else EXISTS
    if isinstance(query, Difference):
        return DIFFERENCE
    if isinstance(query, Aggregate):
        return {"sum": SUM, "mean": MEAN, "max": LARGEST, "min": SMALLEST}[query.function]
    if isinstance(query, (Extreme, Frequent)):
        return ((SMALLEST, LARGEST), (LEAST, MOST))[isinstance(query, Frequent)][query.largest]
    if isinstance(query, Follow):
        return form_of(query.things)
    if isinstance(query, Except):
        return form_of(query.first) if isinstance(query.second, Named) else NEGATED
    if isinstance(query, (Both, Either)):
        return max(form_of(query.first), form_of(query.second))
    if isinstance(query, Where):
        return max(_form_of_condition(query.condition), form_of(query.things))
    return THINGS


def _form_of_condition(condition: Condition) -> int:
    if isinstance(condition, Compare) and condition.path:
        return _COMPARISONS[condition.comparison]
    return NEGATED if isinstance(condition, Has) and condition.negated else THINGS


def shape_of_query(query: Query) -> tuple[int, int, int, int, int]:
    """Return the shape of a query as `forms.shape_of` does that of a candidate."""
    steps, names = list(steps_of(query)), set(_names(query))
    sides = [step.inverse for step in steps] or [False]
    turns = any(a.relation == b.relation and a.inverse != b.inverse for a, b in itertools.pairwise(steps))
    return min(len(steps), 4), int(turns), int(sides[0]), int(sides[-1]), min(len(names), 2)


def steps_of(query: Any) -> Iterator[Step]:
    """Yield the steps of a query in the order in which they are taken; none without a query."""
    if isinstance(query, Except) and isinstance(query.second, Named):
        yield from steps_of(query.first)
        return
    for name in ("first", "second", "things", "condition"):
        if hasattr(query, name):
            yield from steps_of(getattr(query, name))
    yield from getattr(query, "path", None) or ()
    if isinstance(query, Compare) and not isinstance(query.value, str):
        yield from steps_of(query.value)
    if isinstance(query, (Follow, Frequent)):
        yield query.step


def _names(query: Any) -> Iterator[str]:
    """Yield the names in a query."""
    if isinstance(query, Named):
        yield query.name
    if isinstance(query, Compare) and isinstance(query.value, str):
        yield query.value
    elif isinstance(query, Compare):
        yield from _names(query.value)
    for name in ("first", "second", "things", "condition"):
        if hasattr(query, name):
            yield from _names(getattr(query, name))


def right_by_answers(execution: Execution, candidates: Sequence[Candidate], answers: Sequence[str]) -> Floats:
    """Return 1 for each candidate that gives the answers; what the question names may be among what it gives."""
    facts, gold = execution.facts, {normal_form(text) or text for text in answers}

    def forms(things: Ints) -> set[str]:
        return {normal_form(text) or text for text in facts.texts(things.tolist())}

    right = np.zeros(len(candidates), np.float32)
    for row, candidate in enumerate(candidates):
        plausible = candidate.form == THINGS and not candidate.types and candidate.size <= 3 * len(gold) + 8
        if plausible and len(forms(candidate.ends) - gold) <= 1:
            given = forms(execution.things(_things(candidate.query)))
            right[row] = given == gold or given - {normal_form(m.name) for m in candidate.mentions} == gold
    return right


def right_by_query(execution: Execution, candidates: Sequence[Candidate], gold: Query) -> Floats:
    """Return 1 for each candidate that means the same as a query.

    It has the same form, the same result and, where there is such a candidate, the same names and steps; one that
    leaves something out, the same names and steps of that: which relation all the others have is often all one.
    """
    form, result, right = form_of(gold), _result(execution, gold), np.zeros(len(candidates), np.float32)
    for row, candidate in enumerate(candidates):
        if candidate.form == form or (form >= ABOVE and candidate.form >= ABOVE):
            right[row] = result is not None and _is_same(result, _result(execution, candidate.query))
    of_left_out = form == NEGATED and bool(list(_left_out(gold)))

    def compared(query: Query) -> tuple[Any, ...]:
        return _parts(*_left_out(query)) if of_left_out else _parts(query)

    wanted = compared(gold)
    same = np.array(
        [is_right > 0 and compared(c.query) == wanted for c, is_right in zip(candidates, right, strict=True)]
    )
    return right if not same.any() and form != EXISTS else same.astype(np.float32)


def _left_out(query: Any) -> Iterator[Any]:
    """Yield the sets and conditions that parts of a query leave out, as what they would keep."""
    if isinstance(query, Except):
        yield query.second
    if isinstance(query, Has) and query.negated:
        yield Has(query.path)
    if isinstance(query, Compare) and query.comparison == "!=" and query.path:
        value = Named(query.value) if isinstance(query.value, str) else query.value
        for step in reversed(query.path):
            value = Follow(value, step._replace(inverse=not step.inverse))
        yield value
    for name in ("first", "second", "things", "condition"):
        if hasattr(query, name):
            yield from _left_out(getattr(query, name))


def gives_same(execution: Execution, candidates: Sequence[Candidate], gold: Query) -> Floats:
    """Return 1 for each candidate that gives what a query gives."""
    result = _result(execution, gold)
    given = [result is not None and _is_same(result, _result(execution, c.query)) for c in candidates]
    return np.array(given, np.float32)


def _result(execution: Execution, query: Query) -> Any:
    result = execution.result(query)
    return None if isinstance(result, np.ndarray) and not len(result) else result


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)


def _parts(*queries: Any) -> tuple[Any, ...]:
    """Return the steps, names and texts of queries in an order of their own; a fact from either end has the same."""
    steps = [repr(step) for query in queries for step in steps_of(query)]
    if isinstance(queries[0], Exists):
        steps = [*{step.relation for step in steps_of(queries[0])}, *_orders(queries[0])]
    return tuple(sorted(steps)), tuple(sorted({normal_form(name) for query in queries for name in _names(query)}))


def _orders(query: Any) -> Iterator[str]:
    """Yield "<" or ">" for each comparison of more and less in a query."""
    if isinstance(query, Compare) and query.comparison[0] in "<>":
        yield query.comparison[0]
    for name in ("first", "second", "things", "condition"):
        if hasattr(query, name):
            yield from _orders(getattr(query, name))


def _things(query: Query) -> Things:
    return query.things if isinstance(query, (Count, Exists)) else query  # type: ignore[return-value]


def right_of(execution: Execution, candidates: Sequence[Candidate], gold: list[str] | Query | None) -> Floats:
    """Return 1 for each candidate that is right, for training."""
    if gold is None:
        return np.zeros(len(candidates), np.float32)
    if isinstance(gold, list):
        return right_by_answers(execution, candidates, gold)
    return right_by_query(execution, candidates, gold)


def examples(
    facts: Facts, asked: Sequence[Asked], encoder: Encoder, learned: LearnedLikeness, heads: Heads
) -> Iterator[Example | None]:
    """Yield the candidates of each question; None where there are none."""
    execution = Execution(facts)
    for text, gold in asked:
        reading = Reading.of(text, facts, encoder, learned, heads)
        if not (candidates := reading.candidates()):
            yield None
            continue
        yield Example(reading.features(candidates), right_of(execution, candidates, gold))
        if len(execution.known) > 5_000:
            execution = Execution(facts)
