"""What is compared: methods by name, with options, as expressions or functions, and grids of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from graphwright.errors import GraphwrightError, OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.methods.expression import literals, read_expression
from graphwright.methods.registry import METHODS, method_named, pipeline
from graphwright.models.base import LLM
from graphwright.operators.operator import Operator

__all__ = ["Builder", "Entry", "entries", "entry_of", "parted", "plain", "swept", "values"]

Builder = Callable[[Snapshot], Operator]

_CALLED = re.compile(r"([\w-]+)\s*\((.*)\)", re.DOTALL)
_LABELLED = re.compile(r"([\w][\w .+-]*?)\s*=(?!=)\s*(.+)", re.DOTALL)
_SPACES = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\s+""", re.DOTALL)  # those in quotes stay
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class Entry:
    """One method of a comparison, under its name.

    `method`: a name of the registry, an expression, or a function from a snapshot to an operator; `options`: the
    arguments of a named one; `of`: what it is a variant of, in a grid; `swept`: those options that the grid varies.
    """

    name: str
    method: str | Builder
    options: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    swept: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The text that says what it is; empty for a function, and for options that are objects."""
        if not isinstance(self.method, str) or not all(map(plain, self.options.values())):
            return ""
        return _written(self.method, self.options)

    @property
    def registered(self) -> bool:
        """Whether it is a method of the registry."""
        return isinstance(self.method, str) and self.method in METHODS

    def built(self, snapshot: Snapshot, llm: LLM | None = None) -> Operator:
        """Return its pipeline over a snapshot; `llm` for those that take one, and were not given another.

        Raises OptionError for options of which none can be built.
        """
        if not isinstance(self.method, str):
            return self.method(snapshot)
        if not self.registered:
            return read_expression(self.method, snapshot, **({} if llm is None else {"llm": llm}))
        takes = llm is not None and "llm" in METHODS[self.method].options
        try:
            return pipeline(self.method, snapshot, **{**({"llm": llm} if takes else {}), **self.options})
        except GraphwrightError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            said = f"{_written(self.method, self.options)} cannot be built: {error}"
            raise OptionError(f"{said}. Its options have other values than it takes.") from error


def entries(
    methods: Sequence[str | Builder | Entry], sweep: Mapping[str, Sequence[Any]] | None = None
) -> tuple[Entry, ...]:
    """Return what is compared, each under a name of its own.

    `methods`: names of the registry, `ppr`, with options, `ppr(restart=0.5)`, expressions (see `read_expression`), each
    with a label before it if wanted, `wide = ppr(passages=40)`; functions, known by their own name; entries. `sweep`:
    for an option, or a method and an option as `ppr.restart`, the values of a grid: each method that has the option,
    and was not given it, is there once for every combination.

    Raises OptionError for what is none of these, for two of one name, and for an option that no method has.

    >>> [entry.name for entry in entries(["vector", "ppr"], {"restart": (0.15, 0.5)})]
    ['vector', 'ppr(restart=0.15)', 'ppr(restart=0.5)']
    """
    if isinstance(methods, str):
        raise OptionError(f"methods are {methods!r}; give a list of them, as [{methods!r}].")
    given = [entry_of(method) for method in methods]
    if not given:
        raise OptionError("there are no methods to compare; give one or more, such as vector and ppr.")
    grid = swept(sweep or {})
    for option in grid:
        if not any(option in _taken(entry, grid).values() for entry in given):
            have = "; ".join(f"{e.name}: {', '.join(METHODS[str(e.method)].options)}" for e in given if e.registered)
            raise OptionError(f"sweep of {option!r}: no method here has it to vary ({have or 'none has options'}).")
    found = [variant for entry in given for variant in _varied(entry, grid)]
    names = [entry.name for entry in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(f"two methods go by the name {twice[0]!r}; write a name before one of them: mine = ppr(...).")
    return tuple(found)


def parted(text: str) -> tuple[str, ...]:
    """Return what is between the commas of a text, those in brackets or quotes left alone.

    >>> parted("vector, ppr(restart=0.5, passages=40), Link(ix.names) >> KHop(1)")
    ('vector', 'ppr(restart=0.5, passages=40)', 'Link(ix.names) >> KHop(1)')
    """
    parts, depth, quote = [""], 0, ""
    for mark in text:
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark in _OPEN + _CLOSE:
            depth += 1 if mark in _OPEN else -1
        if mark == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += mark
    return tuple(part.strip() for part in parts if part.strip())


def values(text: str) -> tuple[Any, ...]:
    """Return the values of a sweep as a command line gives them: numbers, True, False, None, and else texts.

    >>> values("0.15,0.5,None,fast")
    (0.15, 0.5, None, 'fast')
    """
    found = []
    for part in parted(text):
        try:
            found.append(literals(part, f"value={part}")["value"])
        except OptionError:
            found.append(part)
    return tuple(found)


def swept(sweep: Mapping[str, Collection[Any]]) -> dict[str, list[Any]]:
    """Return the values of a grid as lists, numpy's numbers as Python's. Raises OptionError for what holds none."""
    for option, some in sweep.items():
        if isinstance(some, str) or not isinstance(some, Collection) or not len(some):
            raise OptionError(f"sweep of {option}: {some!r}; give the values that it takes, one or more.")
    return {
        option: [one.item() if isinstance(one, np.generic) else one for one in some] for option, some in sweep.items()
    }


def plain(value: object) -> bool:
    """Whether a value can be written down and read again as the same: a number, a text, None, or lists of these.

    >>> plain([1, "a", None]), plain(float("inf")), plain(len)
    (True, False, False)
    """
    match value:
        case float():
            return math.isfinite(value)
        case None | bool() | int() | str():
            return True
        case list() | tuple():
            return all(map(plain, value))
        case Mapping():
            return all(isinstance(key, str) and plain(one) for key, one in value.items())
    return False


def entry_of(method: str | Builder | Entry, name: str = "") -> Entry:
    """Return one method as an entry, under this name or the one that it brings. All else as in `entries`."""
    if isinstance(method, Entry):
        return _checked(method)
    if not isinstance(method, str):
        own = name or getattr(method, "__name__", None)
        if not callable(method) or isinstance(method, Operator) or own is None:
            raise OptionError(
                f"{method!r} is no method here: give a name, an expression as text, or a function from a snapshot to "
                f"an operator, which a run builds over an index that it opens."
            )
        return Entry(str(own), method)
    text = _SPACES.sub(lambda found: found[1] or " ", method).strip()
    label, said = (name, text) if name else _label(text)
    called = _CALLED.fullmatch(said)
    if called and called[1] in METHODS:
        options = literals(said, called[2])
        return _checked(Entry(label or _written(called[1], options), called[1], options))
    return _checked(Entry(label or said, said))


def _label(text: str) -> tuple[str, str]:
    """Part a text into its label, if it has one, and what it labels."""
    found = _LABELLED.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def _checked(entry: Entry) -> Entry:
    """Return the entry. Raises OptionError for a name or an option that the registry does not know."""
    said = entry.method
    if not isinstance(said, str):
        return entry
    if entry.registered:
        unknown = sorted(set(entry.options) - set(METHODS[said].options))
        if unknown:
            takes = ", ".join(METHODS[said].options)
            raise OptionError(f"{said} has no option {unknown[0]!r}; it takes {takes or 'none'}.")
    elif re.fullmatch(r"[\w-]+", said) or ((called := _CALLED.fullmatch(said)) and "-" in called[1]):
        method_named(said.partition("(")[0].strip())
    return entry


def _takes(entry: Entry, option: str) -> bool:
    """Whether a grid of the option varies the entry."""
    method, _, name = option.rpartition(".")
    if not entry.registered or (method and method not in (entry.name, entry.method)):
        return False
    return name in METHODS[str(entry.method)].options and name not in entry.options


def _taken(entry: Entry, grid: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the part of a grid that varies the entry, by option: what is said of it alone goes before the rest."""
    found: dict[str, str] = {}

    def near(option: str) -> tuple[bool, bool]:
        method = option.rpartition(".")[0]
        return bool(method), method == entry.name

    for option in grid:
        name = option.rpartition(".")[2]
        if _takes(entry, option) and (name not in found or near(option) > near(found[name])):
            found[name] = option
    return found


def _varied(entry: Entry, grid: Mapping[str, Sequence[Any]]) -> Iterator[Entry]:
    taken = {name: grid[option] for name, option in _taken(entry, grid).items()}
    if not taken:
        yield entry
        return
    for chosen in product(*taken.values()):
        varied = dict(zip(taken, chosen, strict=True))
        options = {**entry.options, **varied}
        known = entry.name == _written(str(entry.method), entry.options)
        name = _written(str(entry.method), options) if known else _written(entry.name, varied)
        yield replace(entry, name=name, options=options, of=entry.name, swept=tuple(taken))


def _written(name: str, options: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})" if options else name
