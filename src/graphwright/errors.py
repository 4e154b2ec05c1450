"""Exceptions of graphwright.

    GraphwrightError
    ├── NeedsError     a pipeline is wired wrongly: no earlier step gives the field that a step needs
    ├── OptionError    an argument's value or name is not usable (also a ValueError)
    ├── DataError      a file or a record cannot be read, or a file not be written
    ├── StoreError     an index folder is missing, damaged, locked, or of another version or encoder
    └── ModelError     a model could not be loaded, or did not answer
        ├── LLMResponseError  a language model replied, but not as requested
        ├── ReplyCutError     a language model's reply did not arrive whole: a timeout, or a broken connection
        └── BudgetError       the budget of tokens or money is spent

Every message names the requested value, the finding, and the remedy.
"""

from collections.abc import Iterable
from typing import Any

__all__ = [
    "BudgetError",
    "DataError",
    "GraphwrightError",
    "ModelError",
    "NeedsError",
    "OptionError",
    "LLMResponseError",
    "ReplyCutError",
    "StoreError",
    "meant",
]


class GraphwrightError(Exception):
    """Base of all exceptions of graphwright."""


class NeedsError(GraphwrightError):
    """A step of a pipeline needs a field of the state that no earlier step gives."""


class OptionError(GraphwrightError, ValueError):
    """An argument, an option or a name has a value that cannot be used."""


class DataError(GraphwrightError):
    """A file or a record cannot be read in its format, or a file cannot be written."""


class StoreError(GraphwrightError):
    """An index folder is missing, damaged, locked, or was written by another version or encoder."""


class ModelError(GraphwrightError):
    """A model could not be loaded or did not answer; `usage`: the usage of the failed call, where it is known."""

    usage: Any = None  # a graphwright.models.protocols.Usage


class LLMResponseError(ModelError):
    """A language model replied, but not as requested, also after one repair; `text` is its last reply."""

    text: str = ""


class ReplyCutError(ModelError):
    """A language model's reply did not arrive whole: a timeout, or a broken connection; `text` is its beginning."""

    text: str = ""


class BudgetError(ModelError):
    """The budget of tokens or money is spent; results obtained before are kept."""


def meant(name: object, known: Iterable[str]) -> str:
    """Return the question to put into an error about a name: which known one was meant, if one is near, else nothing.

    >>> meant("BubleRAG", ["bubblerag", "ppr"]), meant("x", ["ppr"])
    (" Did you mean 'bubblerag'?", '')
    """
    import difflib  # only where something went wrong

    names = list(known)
    near = difflib.get_close_matches(str(name), names, 1)
    near = near or difflib.get_close_matches(str(name).lower(), names, 1)
    return f" Did you mean {near[0]!r}?" if near else ""
