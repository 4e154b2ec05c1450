"""Constraints on the fields of dataclasses, declared in `Annotated[...]` and checked by one function.

    @dataclass(frozen=True)
    class Search(Checked):
        top_k: Annotated[int, AtLeast(1)] = 10
        restart: Annotated[float, Between(0, 1)] = 0.15
        order: Annotated[str, OneOf("score", "hops")] = "score"

The dataclasses stay standard ones: values are checked, never converted.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from graphwright.errors import OptionError

__all__ = ["AtLeast", "Between", "Checked", "Constraint", "Has", "MoreThan", "OneOf", "check"]


class Constraint(ABC):
    """A condition on one value; `expected` completes the sentence "It must be …"."""

    expected: str

    @abstractmethod
    def holds(self, value: Any) -> bool:
        """Return whether the value meets the condition. Called with numbers that are finite."""


class AtLeast(Constraint):
    """A number that is `low` or more."""

    def __init__(self, low: float) -> None:
        """Set the lowest value allowed."""
        self.low, self.expected = low, f"at least {low}"

    def holds(self, value: Any) -> bool:
        """Return whether the value is `low` or more."""
        return bool(value >= self.low)


class MoreThan(Constraint):
    """A number above `low`."""

    def __init__(self, low: float) -> None:
        """Set the highest value that is not allowed."""
        self.low, self.expected = low, f"more than {low}"

    def holds(self, value: Any) -> bool:
        """Return whether the value is above `low`."""
        return bool(value > self.low)


class Between(Constraint):
    """A number from `low` to `high`, the ends included unless `open_low` or `open_high`."""

    def __init__(self, low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> None:
        """Set the range."""
        self.low, self.high, self.open_low, self.open_high = low, high, open_low, open_high
        above, below = "more than" if open_low else "at least", "less than" if open_high else "at most"
        self.expected = f"{above} {low} and {below} {high}"

    def holds(self, value: Any) -> bool:
        """Return whether the value lies in the range."""
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return bool(above and below)


class OneOf(Constraint):
    """One of a few values."""

    def __init__(self, *values: Any) -> None:
        """Set the values allowed."""
        self.values, self.expected = values, "one of " + ", ".join(map(repr, values))

    def holds(self, value: Any) -> bool:
        """Return whether the value is one of them."""
        return value in self.values


class Has(Constraint):
    """An object with these methods or attributes; `expected`: a description for the error."""

    def __init__(self, expected: str, *names: str) -> None:
        """Set the names that the object must have."""
        self.expected, self.names = expected, names

    def holds(self, value: Any) -> bool:
        """Return whether the object has all of them."""
        return all(hasattr(value, name) for name in self.names)


class Checked:
    """A base for dataclasses whose declared constraints are checked when an instance is made."""

    def __post_init__(self) -> None:
        """Check the fields; a subclass that adds checks of its own calls this first."""
        check(self)


def check(instance: object) -> None:
    """Check the declared constraints of a dataclass instance. Raises OptionError at the first that does not hold.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Search(Checked):
    ...     top_k: Annotated[int, AtLeast(1)] = 10
    >>> Search(top_k=0)
    Traceback (most recent call last):
    ...
    graphwright.errors.OptionError: Search: top_k is 0; it must be a whole number, at least 1.
    """
    for name, kinds, constraints in _declared(type(instance)):  # type: ignore[arg-type]
        value = getattr(instance, name)
        problem = _problem(value, kinds, constraints)
        if problem:
            raise OptionError(f"{type(instance).__name__}: {name} is {value!r}; it must be {problem}.")


def _problem(value: Any, kinds: tuple[Any, ...], constraints: tuple[Constraint, ...]) -> str:
    """Return a description of the valid values, or an empty string if the value is valid."""
    if value is None and NoneType in kinds:
        return ""
    number = "a whole number" if int in kinds and float not in kinds else "a number" if float in kinds else ""
    valid = not number or _is_number(value, whole=number == "a whole number")
    if valid and all(constraint.holds(value) for constraint in constraints):
        return ""
    return ", ".join([*([number] if number else []), *(constraint.expected for constraint in constraints)])


def _is_number(value: Any, *, whole: bool) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, Integral) if whole else isinstance(value, Real) and bool(-math.inf < value < math.inf)  # type: ignore[operator]


@cache
def _declared(kind: Any) -> tuple[tuple[str, tuple[Any, ...], tuple[Constraint, ...]], ...]:
    """Return the name, types and constraints of each field that declares constraints."""
    declared = []
    for field in fields(kind):
        hint = _resolved(kind, field.name)
        if get_origin(hint) is Annotated:
            base, *metadata = get_args(hint)
            kinds = get_args(base) if get_origin(base) in (Union, UnionType) else (base,)
            constraints = tuple(item for item in metadata if isinstance(item, Constraint))
            declared.append((field.name, kinds, constraints))
    return tuple(declared)


def _resolved(kind: type, name: str) -> Any:
    """Return a field's annotation; one written as text is evaluated only where it declares constraints."""
    owner = next(base for base in kind.__mro__ if name in vars(base).get("__annotations__", {}))
    hint = owner.__annotations__[name]
    if isinstance(hint, str) and hint.startswith("Annotated["):
        return eval(hint, vars(sys.modules[owner.__module__]))
    return hint
