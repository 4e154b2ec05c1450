"""The options --method and --method-file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.evaluate import ComparedMethod
    from graphwright.methods.method import Builder

_COMMON_OPTIONS = ("filter", "deadline", "llm")  # options of `Index.ask` for every method


def read_method(text: str | None) -> ComparedMethod | None:
    """Return the method of --method; None if it is not given. Raises OptionError as `entry_of`."""
    from graphwright.evaluate.entries import entry_of

    return None if text is None else entry_of(text)


def to_ask(text: str | None, file: Path | None, options: dict[str, Any]) -> tuple[str | Builder | None, dict[str, Any]]:
    """Return a method and its options for `Index.ask`, given --method, --method-file and the other options.

    Raises OptionError for an option that is given twice, or is not for the method of a file.
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
    if entry.is_offline:
        options = {name: value for name, value in options.items() if name != "llm"}
    return entry.method, {**entry.options, **options}


def _of_file(text: str | None, file: Path, options: dict[str, Any]) -> tuple[Builder, dict[str, Any]]:
    from graphwright.methods.method import read_method_file

    if text is not None:
        raise OptionError(f"--method {text} and --method-file {file} are both given; leave one of them out.")
    if flags := [f"--{name.replace('_', '-')}" for name in options if name not in _COMMON_OPTIONS]:
        raise OptionError(
            f"{', '.join(flags)}: is for a method with a name; write it into {file}, as % 10 for 10 items."
        )
    return read_method_file(file), options
