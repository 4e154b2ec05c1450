"""Queries as a language model writes them: the steps of a reply, for scripted models."""

from __future__ import annotations

import json
from typing import Any

from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import (
    ANY,
    Aggregate,
    Both,
    Count,
    Counted,
    Difference,
    Either,
    Everything,
    Exists,
    Extreme,
    Fields,
    Follow,
    Frequent,
    Has,
    Named,
    Neighbour,
    OfType,
    Or,
    Path,
    Query,
    Single,
    Where,
)


def query_reply(query: str | Query, reasoning: str = "") -> str:
    """Return the reply that means a query, which may be given in its notation."""
    steps: list[dict[str, Any]] = []
    _add(parse_notation(query) if isinstance(query, str) else query, steps)
    return json.dumps({"reasoning": reasoning, "computable": True, "steps": steps})


NOT_COMPUTABLE = json.dumps({"reasoning": "", "computable": False, "steps": []})


def _path(path: Path) -> list[str]:
    return [("~" if step.inverse else "") + step.relation for step in path]


def _add(query: Query, steps: list[dict[str, Any]]) -> int:
    """Add the steps of a query, and return the number of the last."""
    steps.append(_step(query, steps))
    return len(steps)


def _step(query: Query, steps: list[dict[str, Any]]) -> dict[str, Any]:
    match query:
        case Named() | OfType():
            return {"do": "named" if isinstance(query, Named) else "type", **vars(query)}
        case Everything():
            return {"do": "everything"}
        case Where(things, Or(one, two)):
            return _step(Either(Where(things, one), Where(things, two)), steps)
        case Where(things, condition):
            return {"of": _add(things, steps), "path": _path(condition.path), **_condition(condition, steps)}
        case Frequent(things, step, largest):
            do = "most frequent" if largest else "least frequent"
            return {"do": do, "of": _add(things, steps), "relation": _path((step,))[0]}
        case Follow(things) | Extreme(things) | Neighbour(things) | Count(things) | Exists(things):
            return {"of": _add(things, steps), **_of_things(query)}
        case Aggregate(function, things, path):
            return {"do": function, "of": _add(things, steps), "path": _path(path)}
    first, other = _add(query.first, steps), _add(query.second, steps)
    names = {Both: "both", Either: "either", Difference: "difference"}
    return {"do": names.get(type(query), "except"), "of": first, "other": other}


def _of_things(query: Query) -> dict[str, Any]:
    match query:
        case Follow(_, step):
            return {"do": "follow", "path": _path((step,)), "repeated": step.times == ANY, "at": step.at}
        case Extreme(_, path, largest, count):
            own = {"count": count, "is_rank": query.is_rank, "by_number": query.by_number}
            return {"do": "largest" if largest else "smallest", "path": _path(path), **own}
        case Neighbour(_, offset):
            return {"do": "next row" if offset == 1 else "previous row"}
    return {"do": "count" if isinstance(query, Count) else "none" if query.negated else "exists"}


def _condition(condition: Single, steps: list[dict[str, Any]]) -> dict[str, Any]:
    match condition:
        case Fields(_, comparison, other):
            return {"do": "where both", "compares": comparison, "with_path": _path(other)}
        case Has(_, negated):
            return {"do": "has", "negated": negated}
        case Counted(_, comparison, number):
            return {"do": "where count", "compares": comparison, "number": number}
    value = condition.value
    if isinstance(value, str):
        return {"do": "where", "compares": condition.comparison, "value": value}
    return {"do": "where in", "compares": condition.comparison, "other": _add(value, steps)}
