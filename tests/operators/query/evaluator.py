"""An evaluator of queries in plain Python over triples and rows, to compare the execution with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphwright.graph.columns import TextColumn
from graphwright.graph.graph import Graph
from graphwright.operators.query import query as q
from graphwright.search.facts import Facts

Thing = tuple[str, Any]
"""("node", name), ("record", number) or ("value", text)."""
CLASS = "is a"


@dataclass(frozen=True)
class World:
    """Triples of names; and records: type, fields, whether it is a copy."""

    triples: tuple[tuple[str, str, str], ...]
    records: tuple[tuple[str, tuple[tuple[str, str], ...], bool], ...]

    def facts(self) -> Facts:
        """Return the facts of this world: a cell that is the name of a node means the node."""
        columns = Graph.from_triples(self.triples).columns
        rows = Facts.of_rows([dict(fields) for _, fields, _ in self.records]).columns.records
        assert rows is not None
        types = sorted({type for type, _, _ in self.records}) or ["none"]
        nodes = {name: node for node, name in enumerate(columns.names)}
        records = replace(
            rows,
            types=TextColumn.of(types),
            type=np.array([types.index(type) for type, _, _ in self.records], np.int32),
            is_copy=np.array([copy for _, _, copy in self.records], bool),
            node=np.array([nodes.get(rows.texts[text], -1) for text in rows.text.tolist()], np.int32),
        )
        return Facts.of(Graph(replace(columns, records=records)))

    @cached_property
    def nodes(self) -> set[str]:
        return {name for head, _, tail in self.triples for name in (head, tail)}

    @cached_property
    def known(self) -> list[tuple[Thing, str, Thing]]:
        """All facts, each once."""
        known: list[tuple[Thing, str, Thing]] = [(("node", h), r, ("node", t)) for h, r, t in self.triples]
        for number, (_, fields, is_copy) in enumerate(self.records):
            for name, text in dict(fields).items():
                if not is_copy and text.strip():
                    known.append((("record", number), name, self._named(text)))
        return list(dict.fromkeys(known))

    def _named(self, text: str) -> Thing:
        return ("node", text) if text in self.nodes else ("value", text)

    def result(self, query: q.Query) -> Any:
        """Return a set of things, a number, or yes or no."""
        match query:
            case q.Count(things):
                return len(self.things(things))
            case q.Exists(things, negated):
                return bool(self.things(things)) != negated
            case q.Aggregate(function, things, path):
                return self._aggregate(function, things, path)
            case q.Difference(first, second):
                amounts = [self._amount(first), self._amount(second)]
                return None if None in amounts else abs(amounts[0] - amounts[1])  # type: ignore[operator]
        return self.things(query)

    def _amount(self, query: q.Query) -> float | None:
        result = self.result(query)
        if isinstance(result, set):
            values = [_typed(self.text(thing)) for thing in result]
            return values[0][1] if len(values) == 1 and values[0] is not None else None
        return None if result is None else float(result)

    def things(self, query: q.Things) -> set[Thing]:
        """Return a set of things."""
        match query:
            case q.Named(name):
                return self._find(name)
            case q.OfType(type):
                of_class = {s for s, r, o in self.known if r == CLASS and self.text(o).lower() == type.lower()}
                rows = {i for i, (kind, _, is_copy) in enumerate(self.records) if kind == type and not is_copy}
                return of_class | {("record", number) for number in rows}
            case q.Everything():
                return {end for subject, _, object in self.known for end in (subject, object)}
            case q.Follow(things, step):
                return {end for thing in self.things(things) for _, end in self.ends(thing, (step,))}
            case q.Where(things, condition):
                return {thing for thing in self.things(things) if self._holds(thing, condition)}
            case q.Both() | q.Either() | q.Except():
                return self._combined(query)
            case q.Extreme():
                return self._extreme(query)
            case q.Frequent():
                return self._frequent(query)
            case q.Neighbour(things, offset):
                return set(self._neighbours(self.things(things), offset))
        raise TypeError(query)

    def _combined(self, query: q.Both | q.Either | q.Except) -> set[Thing]:
        first, second = self.things(query.first), self.things(query.second)
        if isinstance(query, q.Both):
            return first & second
        return first | second if isinstance(query, q.Either) else first - second

    def _frequent(self, query: q.Frequent) -> set[Thing]:
        starts = self.things(query.things)
        of_start = [{end for _, end in self.ends(thing, (query.step,))} for thing in starts]
        counts = {end: sum(end in ends for ends in of_start) for end in set().union(*of_start)}
        best = (max if query.largest else min)(counts.values(), default=0)
        return {end for end, count in counts.items() if count == best}

    def _find(self, name: str) -> set[Thing]:
        texts = {text for _, fields, _ in self.records for _, text in fields}
        things = {("node", node) for node in self.nodes} | {("value", text) for text in texts - self.nodes}
        return {thing for thing in things if thing[1].lower() == name.lower()}

    def text(self, thing: Thing) -> str:
        """Return the name of a thing: of a record its first field."""
        if thing[0] != "record":
            return str(thing[1])
        return next((text for _, text in self.records[thing[1]][1] if text.strip()), "")

    def ends(self, thing: Thing, path: q.Path) -> set[tuple[Thing, Thing]]:
        """Return the last two things of the walks along a path, a step that is taken several times as one."""
        walks = {(thing, thing)}
        for step in path:
            walks = {(end, far) for _, end in walks for far in self._far(end, step)}
        return walks

    def _far(self, thing: Thing, step: q.Step) -> set[Thing]:
        facts = [(o, s) if step.inverse else (s, o) for s, r, o in self.known if r == step.relation]
        found: set[Thing] = set()
        level = {thing}
        for _ in range(step.times or len(facts)):
            level = {far for near, far in facts if near in level}
            found |= level
        return found

    def _holds(self, thing: Thing, condition: q.Condition) -> bool:
        if isinstance(condition, q.Or):
            return self._holds(thing, condition.first) or self._holds(thing, condition.second)
        ends = {end for _, end in self.ends(thing, condition.path)}
        match condition:
            case q.Has(_, negated):
                return bool(ends) != negated
            case q.Counted(_, comparison, number):
                return bool(_compare(comparison, len(ends), number))
            case q.Fields(_, comparison, other):
                others = [end for _, end in self.ends(thing, other)]
                pairs = [self._compared(a, "=" if comparison == "!=" else comparison, b) for a in ends for b in others]
                return any(pairs) != (comparison == "!=")
            case q.Compare(_, "!=", value):
                return not any(self._equal(end, value) for end in ends)
            case q.Compare(_, "=", value):
                return any(self._equal(end, value) for end in ends)
            case q.Compare():
                return any(self._lies(end, condition) for end in ends)
        raise TypeError(condition)

    def _compared(self, first: Thing, comparison: str, second: Thing) -> bool:
        if comparison == "=" and "record" not in (first[0], second[0]) and first[1].lower() == second[1].lower():
            return True
        return (comparison == "=" and first == second) or _lies(self.text(first), comparison, self.text(second))

    def _lies(self, end: Thing, condition: q.Compare) -> bool:
        comparison, value = condition.comparison, condition.value
        if isinstance(value, str):
            return _lies(self.text(end), comparison, value)
        things = self.things(value)
        rows = [thing[1] for thing in things if thing[0] == "record"]
        if comparison == "contains":
            return any(_lies(self.text(end), comparison, self.text(thing)) for thing in things)
        if comparison in "<>" and rows and not condition.path:
            return end[0] == "record" and (end[1] > max(rows) if comparison == ">" else end[1] < min(rows))
        return bool(things) and all(_lies(self.text(end), comparison, self.text(thing)) for thing in things)

    def _equal(self, thing: Thing, value: str | q.Things) -> bool:
        if not isinstance(value, str):
            return thing in self.things(value)
        return (thing[0] != "record" and thing in self._find(value)) or _lies(self.text(thing), "=", value)

    def _extreme(self, query: q.Extreme) -> set[Thing]:
        things = self.things(query.things)
        if not query.path and not query.by_number:
            records = sorted((thing for thing in things if thing[0] == "record"), reverse=query.largest)
            return set(records[: query.count] if not query.is_rank else records[query.count - 1 : query.count])
        values = [(thing, value) for thing, value in self._amounts(things, query.path)]
        if query.by_number:
            values = [(thing, float(len({end for _, end in self.ends(thing, query.path)}))) for thing in things]
        sign = 1 if query.largest else -1
        best: dict[Thing, float] = {}
        for thing, value in values:
            best[thing] = max(best.get(thing, -np.inf), sign * value)
        if query.is_rank:
            ranks = sorted(set(best.values()), reverse=True)[query.count - 1 : query.count]
            return {thing for thing, value in best.items() if value in ranks}
        last = sorted(best.values(), reverse=True)[: query.count]
        return {thing for thing, value in best.items() if value >= last[-1]}

    def _amounts(self, things: set[Thing], path: q.Path) -> Iterator[tuple[Thing, float]]:
        """Yield values at the ends of walks: numbers, or dates where they are more."""
        typed = [
            (thing, value)
            for thing in things
            for _, end in self.ends(thing, path)
            if (value := _typed(self.text(end))) is not None
        ]
        kinds = [value[0] for _, value in typed]
        main = "number" if kinds.count("number") >= kinds.count("date") else "date"
        yield from ((thing, value[1]) for thing, value in typed if value[0] == main)

    def _aggregate(self, function: str, things: q.Things, path: q.Path) -> float | None:
        values = [value for _, value in self._amounts(self.things(things), path)]
        if not values:
            return None
        return {"sum": sum, "min": min, "max": max, "mean": lambda v: sum(v) / len(v)}[function](values)  # type: ignore[operator,no-any-return]

    def _neighbours(self, things: set[Thing], offset: int) -> Iterator[Thing]:
        for type in {type for type, _, _ in self.records}:
            rows = [i for i, (kind, _, is_copy) in enumerate(self.records) if kind == type and not is_copy]
            for at, row in enumerate(rows):
                if ("record", row) in things and 0 <= at + offset < len(rows):
                    yield "record", rows[at + offset]


def _typed(text: str) -> tuple[str, float] | None:
    return ("number", float(text)) if re.fullmatch(r"\d{1,3}", text) else None


def _lies(text: str, comparison: str, other: str) -> bool:
    if comparison == "contains":
        return other.lower() in text.lower()
    first, second = _typed(text), _typed(other)
    return first is not None and second is not None and bool(_compare(comparison, first[1], second[1]))


def _compare(comparison: str, first: float, second: float) -> bool:
    return {
        "=": first == second,
        "!=": first != second,
        ">": first > second,
        ">=": first >= second,
        "<": first < second,
        "<=": first <= second,
    }[comparison]
