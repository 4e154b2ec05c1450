"""Methods to compare: names with options, and functions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
    registered method; `model`: use of the run's language model: "llm" requires it, "offline" ignores it, "" uses it if
    there is one.
    """

    name: str
    method: str | Builder
    options: Mapping[str, Any] = field(default_factory=dict)
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
        """Return the method over a snapshot; `llm`: unless the entry sets it. Raises OptionError for wrong options."""
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


def entries(methods: Sequence[str | Builder | ComparedMethod]) -> tuple[ComparedMethod, ...]:
    """Return the methods to compare, each under its own name.

    `methods`: entries, functions under their own name, and names of the registry, with options and a label if need be,
    and `ppr@llm` or `ppr@offline` to require or ignore the run's language model. Raises OptionError for anything else,
    and for a name used twice.

    >>> [entry.name for entry in entries(["vector", "wide = ppr(top_k=40)", "ppr( restart = 0.5 )"])]
    ['vector', 'wide', 'ppr(restart=0.5)']
    """
    if isinstance(methods, str):
        raise OptionError(f"methods is {methods!r}; give a list of methods, as [{methods!r}].")
    listed = tuple(map(entry_of, methods))
    if not listed:
        raise OptionError("There are no methods to compare; give one or more, such as vector and ppr.")
    names = [entry.name for entry in listed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(f"Two methods have the name {twice[0]!r}; put a name before one of them: mine = ppr(...).")
    return listed


def split_list(text: str) -> tuple[str, ...]:
    """Return the parts of a text between commas outside of brackets and quotes."""
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


def options_in(arguments: str) -> dict[str, Any]:
    """Parse the options between the brackets of a method. Raises OptionError for any other text."""
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


def plain(value: object) -> bool:
    """Return whether a value can be stored as JSON: a finite number, a text, None, or a collection of these."""
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


def _call(name: str, options: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})" if options else name
