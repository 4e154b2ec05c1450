"""The method that a question is asked by, as the command line names it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.evaluate.entries import Entry
    from graphwright.methods.registry import Builder

_KEPT = ("filter", "deadline")  # arguments of `Index.ask` that are no options of a method


def read_method(text: str | None) -> Entry | None:
    """Return what --method says: a name, a name with options, or an expression; None if it is not given.

    Raises OptionError as `graphwright.evaluate.entries.entry_of`, which reads those of `graphwright evaluate`.
    """
    from graphwright.evaluate.entries import entry_of

    return None if text is None else entry_of(text)


def to_ask(text: str | None, options: dict[str, Any]) -> tuple[str | Builder | None, dict[str, Any]]:
    """Return a method and its options as `Index.ask` takes them; `options`: what other options of the command say.

    Raises OptionError for an option that is given twice, or that an expression does not take.
    """
    entry = read_method(text)
    if entry is None or (entry.takes is not None and not entry.options and not entry.model):
        return None if entry is None else str(entry.method), options
    kept = {name: options.pop(name) for name in _KEPT if name in options}
    llm = options.pop("llm", None)
    if entry.takes is None and options:
        given = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise OptionError(
            f"{given}: is for a method with a name, and --method is an expression; write it there, as % 10 for 10 items"
        )
    twice = sorted(options.keys() & entry.options.keys())
    if twice:
        option = twice[0].replace("_", "-")
        raise OptionError(f"{twice[0]} is given in --method {text} and by --{option}; leave one of them out.")
    whole = replace(entry, options={**entry.options, **options})
    return lambda snapshot: whole.answering(snapshot, llm), kept
