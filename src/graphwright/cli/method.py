"""The method that a question is asked by, as the command line names it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.evaluate.entries import Entry
    from graphwright.methods.method import Builder

_OF_ANY = ("filter", "deadline", "llm")  # options of `Index.ask` for a method of any kind


def read_method(text: str | None) -> Entry | None:
    """Return what --method says: a name, or a name with options; None if it is not given.

    Raises OptionError as `graphwright.evaluate.entries.entry_of`, which reads those of `graphwright evaluate`.
    """
    from graphwright.evaluate.entries import entry_of

    return None if text is None else entry_of(text)


def to_ask(text: str | None, file: Path | None, options: dict[str, Any]) -> tuple[str | Builder | None, dict[str, Any]]:
    """Return a method and its options as `Index.ask` takes them, given --method and --method-file.

    `options`: what other options of the command say. Raises OptionError for an option that is given twice, or that is
    not for a method of a file.
    """
    if file is not None:
        return _of_file(text, file, options)
    entry = read_method(text)
    if entry is None:
        return None, options
    twice = sorted(options.keys() & entry.options.keys())
    if twice:
        option = twice[0].replace("_", "-")
        raise OptionError(f"{twice[0]} is given in --method {text} and by --{option}; leave one of them out.")
    entry.check_model(options.get("llm"))
    kept = {name: value for name, value in options.items() if name != "llm" or not entry.is_offline}
    return entry.method, {**entry.options, **kept}


def _of_file(text: str | None, file: Path, options: dict[str, Any]) -> tuple[Builder, dict[str, Any]]:
    from graphwright.methods.method_file import read_method_file

    if text is not None:
        raise OptionError(f"--method {text} and --method-file {file} are both given; leave one of them out.")
    if own := [name for name in options if name not in _OF_ANY]:
        given = ", ".join(f"--{name.replace('_', '-')}" for name in own)
        raise OptionError(f"{given}: is for a method with a name; write it into {file}, as % 10 for 10 items.")
    return read_method_file(file), options
