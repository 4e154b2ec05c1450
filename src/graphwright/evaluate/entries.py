"""Methods to compare: names with options, functions, and grids of options."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from graphwright.errors import GraphwrightError, OptionError, cut
from graphwright.methods.method import Builder, Method
from graphwright.methods.registry import METHODS, make_method, method_named, method_of
from graphwright.models import LLM
from graphwright.operators import Operator
from graphwright.search import Snapshot

_WITH_LLM, OFFLINE = "llm", "offline"
_MODEL = re.compile(rf"(.*?)\s*@\s*({_WITH_LLM}|{OFFLINE})", re.DOTALL)
_CALL = re.compile(r"([\w-]+)\s*\((.*)\)", re.DOTALL)
_LABELLED = re.compile(r"([\w][\w .+-]*?)\s*=(?!=)\s*(.+)", re.DOTALL)
_SPACES = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\s+""", re.DOTALL)  # outside of quotes
_MAX_SHOWN = 2_000  # characters of options in an error
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class ComparedMethod:
    """One method of a comparison, under its name.

    `method`: a name of the registry, or a function from a snapshot to an operator or a Method; `options`: those of a
    registered method; `of`: the entry before a grid varied it; `swept`: the options of the grid; `model`: use of the
    run's language model: "llm" requires it, "offline" ignores it, "" uses it if there is one.
    """

    name: str
    method: str | Builder
    options: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    swept: tuple[str, ...] = ()
    model: str = ""

    @property
    def source(self) -> str:
        """The expression of this entry; empty for functions, and for options that are objects."""
        if not isinstance(self.method, str) or not all(map(plain, self.options.values())):
            return ""
        return self.call(self.options)

    def call(self, options: Mapping[str, Any]) -> str:
        """Return the expression of this entry with these options."""
        return _call(str(self.method), options) + (f"@{self.model}" if self.model else "")

    @property
    def takes(self) -> Sequence[str] | None:
        """Names of the options of a method of the registry, None for others."""
        return tuple(METHODS[self.method].options) if isinstance(self.method, str) else None

    @property
    def is_offline(self) -> bool:
        """Whether the method ignores the run's language model."""
        return self.model == OFFLINE

    def check_model(self, llm: object) -> None:
        """Raise OptionError where the method requires a language model, and there is none."""
        if self.model == _WITH_LLM and llm is None:
            raise OptionError(
                f"{self.name} needs a language model; give llm=..., or --llm MODEL, or leave out @{_WITH_LLM}."
            )

    def built(self, snapshot: Snapshot, llm: LLM | None = None) -> Method:
        """Return the method over a snapshot. `llm`: for methods with this option, unless the entry sets it.

        Raises OptionError for options that do not fit.
        """
        self.check_model(llm)
        llm = None if self.is_offline else llm
        if not isinstance(self.method, str):
            return method_of(self.method, snapshot, llm)
        defaults = {"llm": llm} if llm is not None and "llm" in METHODS[self.method].options else {}
        try:
            return make_method(self.method, snapshot, **{**defaults, **self.options})
        except GraphwrightError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            call = self.call(self.options)
            raise OptionError(f"{call} cannot be built: {error}. Check the values of its options.") from error


def entries(
    methods: Sequence[str | Builder | ComparedMethod], sweep: Mapping[str, Sequence[Any]] | None = None
) -> tuple[ComparedMethod, ...]:
    """Return the methods to compare, each under its own name.

    `methods`: entries, functions under their own name, and names of the registry: `ppr`, `ppr(restart=0.5)` with
    options, `wide = ppr(top_k=40)` with a label, and `ppr@llm` or `ppr@offline` to require or ignore the run's language
    model. `sweep`: values of options, named alone or with their method, `ppr.restart`: a method with such options
    becomes one entry for every combination of values.

    Raises OptionError for anything else, for a name used twice, and for an option that no method has.

    >>> [entry.name for entry in entries(["vector", "ppr"], {"restart": (0.15, 0.5)})]
    ['vector', 'ppr(restart=0.15)', 'ppr(restart=0.5)']
    """
    if isinstance(methods, str):
        raise OptionError(f"methods is {methods!r}; give a list of methods, as [{methods!r}].")
    listed = [entry_of(method) for method in methods]
    if not listed:
        raise OptionError("There are no methods to compare; give one or more, such as vector and ppr.")
    grid = checked_grid(sweep or {})
    for option in grid:
        if not any(option in _swept(entry, grid).values() for entry in listed):
            known = "; ".join(f"{entry.name}: {', '.join(entry.takes)}" for entry in listed if entry.takes is not None)
            raise OptionError(f"sweep of {option!r}: no method here has this option ({known or 'none has options'}).")
    variants = [variant for entry in listed for variant in _variants(entry, grid)]
    names = [entry.name for entry in variants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(f"Two methods have the name {twice[0]!r}; put a name before one of them: mine = ppr(...).")
    return tuple(variants)


def split_list(text: str) -> tuple[str, ...]:
    """Return the parts of a text between commas outside of brackets and quotes.

    >>> split_list("vector, ppr(restart=0.5, top_k=40)")
    ('vector', 'ppr(restart=0.5, top_k=40)')
    """
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _OPEN + _CLOSE:
            depth += 1 if letter in _OPEN else -1
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(part.strip() for part in parts if part.strip())


def values(text: str) -> tuple[Any, ...]:
    """Return the values of a sweep on the command line: numbers, True, False, None, tuples, and texts.

    >>> values("0.15,0.5,None,fast")
    (0.15, 0.5, None, 'fast')
    """
    return tuple(value_of(part) for part in split_list(text))


def value_of(text: str) -> Any:
    """Return the Python literal in a text, or the text itself if it is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def options_in(arguments: str) -> dict[str, Any]:
    """Parse the options between the brackets of a method. Raises OptionError for any other text.

    >>> options_in("restart=0.5, relations=('refers to',)")
    {'restart': 0.5, 'relations': ('refers to',)}
    """
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise SyntaxError
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
        if len(options) < len(call.keywords):
            raise SyntaxError
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise OptionError(
            f"{cut(arguments, _MAX_SHOWN)!r}: options are written as name=value, each name once, values as numbers, "
            f"quoted texts, True, False, None or tuples: ppr(restart=0.5, top_k=40). Give other values in Python."
        ) from None
    return options


def checked_grid(sweep: Mapping[str, Collection[Any]]) -> dict[str, list[Any]]:
    """Return the values of a grid as lists, NumPy numbers as Python numbers. Raises OptionError for an empty one."""
    for option, grid_values in sweep.items():
        if isinstance(grid_values, str) or not isinstance(grid_values, Collection) or not len(grid_values):
            raise OptionError(f"sweep of {option} is {grid_values!r}; give the values to try, one or more.")
    return {
        option: [value.item() if isinstance(value, np.generic) else value for value in grid_values]
        for option, grid_values in sweep.items()
    }


def plain(value: object) -> bool:
    """Return whether a value can be stored as JSON: a finite number, a text, None, or a collection of these.

    >>> plain([1, "a", None]), plain(float("inf")), plain(len)
    (True, False, False)
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def entry_of(method: str | Builder | ComparedMethod, name: str = "") -> ComparedMethod:
    """Return one method as an entry, under `name` or its own name. Arguments and errors as in `entries`."""
    if isinstance(method, ComparedMethod):
        return _checked(method)
    if not isinstance(method, str):
        function_name = name or getattr(method, "__name__", None)
        if not callable(method) or isinstance(method, Operator) or function_name is None:
            raise OptionError(
                f"{method!r} is not a method: give a name, or a function from a snapshot to an operator, which a run "
                f"calls with the index that it opens."
            )
        return ComparedMethod(str(function_name), method)
    text = _SPACES.sub(lambda match: match[1] or " ", method).strip()
    labelled = None if name else _LABELLED.fullmatch(text)
    label, source = (labelled[1], labelled[2]) if labelled else (name, text)
    suffixed = _MODEL.fullmatch(source)
    source, model = (suffixed[1], suffixed[2]) if suffixed else (source, "")
    call, options = _CALL.fullmatch(source), dict[str, Any]()
    if call and method_named(call[1]):
        source, options = call[1], options_in(call[2])
    entry = ComparedMethod(label, source, options, model=model)
    return _checked(replace(entry, name=label or entry.call(options)))


def _checked(entry: ComparedMethod) -> ComparedMethod:
    """Return the entry. Raises OptionError for a name or an option that is not in the registry."""
    method = entry.method
    if isinstance(method, str):
        known = method_named(method).options
        unknown = sorted(set(entry.options) - set(known))
        if unknown:
            raise OptionError(f"{method} has no option {unknown[0]!r}; it takes {', '.join(known) or 'none'}.")
    return entry


def _takes(entry: ComparedMethod, option: str) -> bool:
    """Return whether a grid of the option varies the entry."""
    method, _, name = option.rpartition(".")
    if method and method not in (entry.name, entry.method):
        return False
    return name in (entry.takes or ()) and name not in entry.options


def _swept(entry: ComparedMethod, grid: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the keys of a grid that vary the entry, by option; a key with its name precedes one for all methods."""
    keys: dict[str, list[str]] = {}
    for key in grid:
        if _takes(entry, key):
            keys.setdefault(key.rpartition(".")[2], []).append(key)

    def specificity(key: str) -> tuple[bool, bool]:
        method = key.rpartition(".")[0]
        return bool(method), method == entry.name

    return {name: max(candidates, key=specificity) for name, candidates in keys.items()}


def _variants(entry: ComparedMethod, grid: Mapping[str, Sequence[Any]]) -> Iterator[ComparedMethod]:
    """Yield one entry for every combination of the values that vary it; without such values the entry itself."""
    swept = {name: grid[key] for name, key in _swept(entry, grid).items()}
    if not swept:
        yield entry
        return
    for combination in product(*swept.values()):
        varied = dict(zip(swept, combination, strict=True))
        options = {**entry.options, **varied}
        unlabelled = entry.name == entry.call(entry.options)
        name = entry.call(options) if unlabelled else _call(entry.name, varied)
        yield replace(entry, name=name, options=options, of=entry.name, swept=tuple(swept))


def _call(name: str, options: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})" if options else name
