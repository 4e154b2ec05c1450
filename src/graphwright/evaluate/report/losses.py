"""Recall after each step of each method, to locate the step that loses gold documents or answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphwright.evaluate.report.figures import answer_metric, operator_name, ranked

__all__ = ["Stage", "inputs_of_steps", "losses"]

Summary = Mapping[str, Any]
Ends = tuple[int, ...] | None
"""Steps whose results a part of an expression gives; None for the step before, whichever it is."""

_CHANGE = 0.0005  # smallest change of a share that is shown
_OPEN, _CLOSE, _QUOTES = "([{", ")]}", "'\""
_CALL = re.compile(r"[^\W\d]\w*(?=\()")
_KEYWORD = re.compile(r"[^\W\d]\w*=(?!=)")


@dataclass(frozen=True)
class Stage:
    """A step with its recall, the change against the step before, and whether it is the largest loss."""

    name: str
    tip: str
    share: float | None
    change: float | None = None
    worst: bool = False
    is_answer: bool = False


def losses(summary: Summary) -> dict[str, list[Stage]]:
    """Return the stages of each method whose shares are known; the last may be the metric of its answers."""
    metric = answer_metric(summary)
    methods = {name: summary["methods"][name] for name in ranked(summary)}
    known = {name: of for name, of in methods.items() if any(step.get("held") is not None for step in of["steps"])}
    return {name: _stages(of, metric) for name, of in known.items()}


def _stages(method: Mapping[str, Any], metric: str | None) -> list[Stage]:
    steps = method["steps"]
    inputs = inputs_of_steps(method.get("expression") or "", [step["operator"] for step in steps])
    changes = _changes([step.get("held") for step in steps], inputs)
    worst = min((change for change in changes if change is not None), default=0.0)
    stages = [
        Stage(
            operator_name(step["operator"]),
            step["operator"][:300],
            step.get("held"),
            change if change is not None and abs(change) >= _CHANGE else None,
            change == worst and worst < -_CHANGE,
        )
        for step, change in zip(steps, changes, strict=True)
    ]
    return [*stages, _answer(method, metric, inputs)] if metric in method["metrics"] else stages


def _answer(method: Mapping[str, Any], metric: str | None, inputs: Sequence[tuple[int, ...]]) -> Stage:
    """Return the metric of the answers, compared with the steps whose results no other step uses."""
    mean = method["metrics"][metric]["mean"]
    used = {step for before in inputs for step in before}
    ends = [step.get("held") for at, step in enumerate(method["steps"]) if at not in used]
    change = mean - max((share for share in ends if share is not None), default=mean)
    tip = f"{metric} of the answers"
    return Stage(f"answer: {metric}", tip, mean, change if change <= -_CHANGE else None, is_answer=True)


def _changes(shares: Sequence[float | None], inputs: Sequence[tuple[int, ...]]) -> list[float | None]:
    """Return the change of each step against the largest share among its inputs; None where there is none."""

    def before(at: int, seen: frozenset[int]) -> float | None:
        """Return the largest share among the inputs of a step, looking further back where one has no share."""
        known = [
            shares[step] if shares[step] is not None else before(step, seen | {step})
            for step in inputs[at]
            if step not in seen
        ]
        return max((share for share in known if share is not None), default=None)

    largest = [before(at, frozenset({at})) for at in range(len(shares))]
    return [
        None if share is None or most is None else share - most for share, most in zip(shares, largest, strict=True)
    ]


def inputs_of_steps(expression: str, operators: Sequence[str]) -> list[tuple[int, ...]]:
    """Return for each step the numbers of the steps whose results it takes: several where branches meet.

    The branches of `|`, and operators given to another one as those of a fusion, begin and end together. A step that
    the expression does not show by itself, such as one inside a loop, takes the result of the step before it.

    >>> inputs_of_steps("A() >> (B() >> C() | Keep()) % 9 >> D()", ["A()", "B()", "C()", "Keep()", "D()"])
    [(), (0,), (1,), (0,), (2, 3)]
    >>> inputs_of_steps("Sum(A() >> B(), C()) % 9 >> D()", ["A()", "B()", "C()", "Sum(A() >> B(), C()) % 9", "D()"])
    [(), (0,), (), (1, 2), (3,)]
    """
    place: dict[str, int] = {}
    for at, operator in enumerate(operators):
        place.setdefault(operator, at)
    inputs: dict[int, tuple[int, ...]] = {}

    def walk(text: str, before: Ends) -> Ends:
        """Record the inputs of the steps in a part of the expression; return the steps that it ends with."""
        branches = list(_split(text, " | "))
        if len(branches) > 1:
            ends = [walk(branch, before) for branch in branches]
            return None if None in ends else _merged(ends)
        steps = list(_split(text, " >> "))
        if len(steps) > 1:
            for step in steps:
                before = walk(step, before)
            return before
        inner = _inside_brackets(text)
        if inner is not None:
            return walk(inner, before)
        parts = [end for part in _arguments(text) if (end := walk(part, before)) is not None]
        at = place.get(text)
        if at is None:  # with several parts, one of them was run; a single part may be followed by others
            return _merged(parts) if len(parts) > 1 else None
        taken = _merged(parts) if parts else before
        if taken is not None:
            inputs.setdefault(at, taken)
        return (at,)

    walk(expression.strip(), ())
    return [inputs.get(at, (at - 1,) if at else ()) for at in range(len(operators))]


def _merged(ends: Sequence[Ends]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(at for end in ends for at in end or ()))


def _arguments(text: str) -> Iterator[str]:
    """Yield the arguments of a call, without their names; none for other text."""
    call = _CALL.match(text)
    inner = None if call is None else _inside_brackets(text[call.end() :])
    for part in _split(inner, ", ") if inner else ():
        yield _KEYWORD.sub("", part, count=1) if _KEYWORD.match(part) else part


def _split(text: str, symbol: str) -> Iterator[str]:
    """Yield the parts of an expression between a symbol, where it is outside of brackets and quotes."""
    begin = 0
    for at in _outside(text):
        if text.startswith(symbol, at):
            yield text[begin:at].strip()
            begin = at + len(symbol)
    yield text[begin:].strip()


def _outside(text: str) -> Iterator[int]:
    """Yield the positions outside of brackets and quotes, brackets at the top level included."""
    depth, quote, skip = 0, "", False
    for at, letter in enumerate(text):
        if skip or quote:
            quote = "" if letter == quote and not skip else quote
            skip = letter == "\\" and not skip
            continue
        if letter in _QUOTES:
            quote = letter
        elif letter in _CLOSE:
            depth -= 1
        if depth == 0 and not quote:
            yield at
        depth += letter in _OPEN


def _inside_brackets(text: str) -> str | None:
    """Return the expression inside a pair of brackets, which a cut may follow; None where there is no such pair."""
    if not text.startswith("("):
        return None
    end = next((at for at in _outside(text) if at), None)
    cut = "" if end is None else text[end + 1 :].strip()
    return text[1:end] if end is not None and (not cut or cut.startswith("%")) else None
