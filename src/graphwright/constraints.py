"""Constraints on the fields of dataclasses, declared in `Annotated[...]` and checked by one function.

    @dataclass(frozen=True)
    class Search(Checked):
        top_k: Annotated[int, AtLeast(1)] = 10
        restart: Annotated[float, Between(0, 1)] = 0.15
        order: Annotated[str, OneOf("score", "hops")] = "score"

Fields of type `str`, `bool` and `tuple[str, ...]` need no declaration. Values are never converted.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from graphwright.errors import OptionError, cut

_MAX_SHOWN = 200  # characters of a value in an error
_MAX_NESTED = 100  # levels of a JSON value


@dataclass(frozen=True)
class Constraint:
    """A condition on one value: `expected` completes "It must be …"; `holds` is called with finite numbers only."""

    expected: str
    holds: Callable[[Any], bool]


def AtLeast(low: float) -> Constraint:
    """Require a number of at least `low`."""
    return Constraint(f"at least {low}", lambda value: value >= low)


def MoreThan(low: float) -> Constraint:
    """Require a number above `low`."""
    return Constraint(f"more than {low}", lambda value: value > low)


def Between(low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> Constraint:
    """Require a number from `low` to `high`, the ends included unless `open_low` or `open_high`."""
    above = MoreThan(low) if open_low else AtLeast(low)
    below = f"less than {high}" if open_high else f"at most {high}"

    def holds(value: Any) -> bool:
        return above.holds(value) and (value < high if open_high else value <= high)

    return Constraint(f"{above.expected} and {below}", holds)


def OneOf(*values: Any) -> Constraint:
    """Require one of `values`."""
    return Constraint("one of " + ", ".join(map(repr, values)), values.__contains__)


def Has(expected: str, *names: str) -> Constraint:
    """Require an object with these methods or attributes; `expected`: a description for the error."""
    return Constraint(expected, lambda value: all(hasattr(value, name) for name in names))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_json(value: Any, levels: int = _MAX_NESTED) -> bool:
    """Return whether a value can be sent as JSON: standard numbers, no lone surrogates, and bounded nesting."""
    if isinstance(value, Mapping):
        return levels > 0 and all(_is_text(name) and _is_json(part, levels - 1) for name, part in value.items())
    if isinstance(value, list | tuple):
        return levels > 0 and all(_is_json(part, levels - 1) for part in value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    return value is None or _is_text(value)


TEXT = Constraint("text that can be encoded as UTF-8", _is_text)  # requires a text without lone surrogates
JSON_OBJECT = Constraint(  # requires a value that can be sent as a JSON object
    f"a JSON object of texts, finite numbers of at most 64 bits, true, false, null, lists and objects, nested at most "
    f"{_MAX_NESTED} levels deep",
    lambda value: isinstance(value, Mapping) and _is_json(value),
)

_PLAIN = {
    "str": Constraint("text", lambda value: isinstance(value, str)),
    "bool": Constraint("true or false", lambda value: isinstance(value, bool)),
    "tuple[str, ...]": Constraint(
        "a list of texts",
        lambda value: isinstance(value, list | tuple) and all(isinstance(part, str) for part in value),
    ),
}
_PLAIN |= {f"{name} | None": constraint for name, constraint in _PLAIN.items()}


class Checked:
    """Base of dataclasses whose fields are checked when an instance is created.

    >>> @dataclass(frozen=True)
    ... class Search(Checked):
    ...     top_k: Annotated[int, AtLeast(1)] = 10
    >>> Search(top_k=0)
    Traceback (most recent call last):
    ...
    graphwright.errors.OptionError: Search: top_k is 0; it must be a whole number, at least 1.
    """

    def __post_init__(self) -> None:
        """Raise OptionError at the first invalid field; a subclass with further checks calls this first."""
        for name, kinds, constraints in _declared(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if problem := _problem(value, kinds, constraints):
                raise OptionError(f"{type(self).__name__}: {name} is {_shown(value)}; it must be {problem}.")

    def __repr__(self) -> str:
        """Return the expression that makes this instance, arguments at their default left out."""
        arguments = []
        for field in (field for field in fields(self) if field.repr):  # type: ignore[arg-type]
            argument = getattr(self, field.name)
            if field.default is MISSING and field.default_factory is MISSING:
                arguments.append(f"{field.name}={argument!r}" if field.kw_only else repr(argument))
            elif not _is_default(field, argument):
                arguments.append(f"{field.name}={argument!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"


def _is_default(field: Any, value: object) -> bool:
    default = field.default if field.default is not MISSING else field.default_factory()
    try:
        return bool(value == default)
    except ValueError:  # arrays have no single truth value
        return False


def _shown(value: Any) -> str:
    """Return the repr of a value, shortened if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or nested too deeply
        text = f"a value of type {type(value).__name__} that is too large to show"
    return cut(text, _MAX_SHOWN)


def _problem(value: Any, kinds: tuple[Any, ...], constraints: tuple[Constraint, ...]) -> str:
    """Return a description of the valid values, or an empty string if the value is valid."""
    if value is None and NoneType in kinds:
        return ""
    number = "a number" if float in kinds else "a whole number" if int in kinds else ""
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
    """Return the name, types and constraints of each field that is checked."""
    declared: list[tuple[str, tuple[Any, ...], tuple[Constraint, ...]]] = []
    for field in fields(kind):
        hint = _resolved(kind, field.name)
        if hint in _PLAIN:
            declared.append((field.name, (NoneType,) if hint.endswith("| None") else (), (_PLAIN[hint],)))
        elif get_origin(hint) is Annotated:
            base, *metadata = get_args(hint)
            kinds = get_args(base) if get_origin(base) in (Union, UnionType) else (base,)
            constraints = tuple(item for item in metadata if isinstance(item, Constraint))
            declared.append((field.name, kinds, constraints))
    return tuple(declared)


def _resolved(kind: type, name: str) -> Any:
    """Return a field's annotation. An annotation in quotes is evaluated only if it declares constraints."""
    owner = next(base for base in kind.__mro__ if name in vars(base).get("__annotations__", {}))
    hint = owner.__annotations__[name]
    if isinstance(hint, str) and hint.startswith("Annotated["):
        return eval(hint, vars(sys.modules[owner.__module__]))
    return hint
