"""Exceptions of graphwright.

    GraphwrightError
    ├── NeedsError     a step of a pipeline needs a field that no earlier step gives
    ├── OptionError    an argument's value or name is not usable (also a ValueError)
    ├── DataError      a file or a record cannot be read, or a file cannot be written
    ├── StoreError     an index folder is missing, damaged, locked, or of another version or encoder
    └── ModelError     a model could not be loaded, or did not answer
        ├── LLMResponseError  a language model replied, but not as requested
        ├── ReplyCutError     a language model's reply did not arrive whole: a timeout, or a broken connection
        └── BudgetError       the budget of tokens or money is spent

Every message names the requested value, the finding, and the remedy.
"""

import errno
import os
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any


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
    """A language model's reply is not as requested, even after one repair; `text` is its last reply."""

    text: str = ""


class ReplyCutError(ModelError):
    """A language model's reply did not arrive whole: a timeout, or a broken connection; `text` is its beginning."""

    text: str = ""


class BudgetError(ModelError):
    """The budget of tokens or money is spent; results obtained before are kept."""


def meant(name: object, known: Iterable[str]) -> str:
    """Return the suggestion for an error about an unknown name: the closest known name, or "" if none is close.

    >>> meant("BubleRAG", ["bubblerag", "ppr"]), meant("GRAZ", ["Graz"]), meant("x", ["ppr"])
    (" Did you mean 'bubblerag'?", " Did you mean 'Graz'?", '')
    """
    import difflib  # imported only when an error is raised

    names = {each.lower(): each for each in known}
    near = difflib.get_close_matches(str(name).lower(), names, 1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""


def check_installed(module: str, extra: str, user: object) -> None:
    """Raise OptionError for a user of a module that is missing; `extra` installs it."""
    if find_spec(module) is None:
        raise OptionError(f'{user} needs {module}. Install it: pip install "graphwright[{extra}]"')


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, singular or plural."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def cut(text: str, most: int = 240) -> str:
    """Return a text, shortened to `most` characters with an ellipsis at the end if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


_MIN_FREE = 65_536  # bytes of a disk; the index of SQLite's log needs less
_SPACE = "Free some space, then run the same command again."
_CAUSES: dict[int, tuple[str, str]] = {
    errno.EMFILE: (
        "this process has too many files open",
        "Close indexes that are not used, or raise the limit (ulimit -n), then try again.",
    ),
    errno.ENFILE: ("the system has too many files open", "Close other programs, then try again."),
    errno.ENOSPC: ("the disk is full", _SPACE),
    errno.EDQUOT: ("the disk quota is used up", _SPACE),
    errno.EFBIG: ("the file is larger than the file system or a limit allows", "Use another disk, or raise the limit."),
    errno.EIO: ("reading or writing failed", "Check the disk, its free space, and limits on the size of files."),
    errno.EACCES: ("the permission is missing", "Correct the permissions, or choose a folder that can be written."),
    errno.EPERM: ("the permission is missing", "Correct the permissions, or choose a folder that can be written."),
    errno.EROFS: ("it is read-only", "Correct the permissions, or choose a folder that can be written."),
    errno.ENOMEM: ("the memory is used up", "Close other programs, or raise the limit of memory, then try again."),
    errno.ESTALE: ("the network file system has lost the file", "Mount it again, then try again."),
    errno.EBUSY: ("another process is indexing into it", "Wait for the other to finish, then try again."),
}
# Result codes of SQLite, each with the errno of the same cause. An extended code comes before its basic code.
_SQLITE = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_IOERR_NOMEM": errno.ENOMEM,
    "SQLITE_IOERR": errno.EIO,
    "SQLITE_NOMEM": errno.ENOMEM,
    "SQLITE_BUSY": errno.EBUSY,
    "SQLITE_LOCKED": errno.EBUSY,
    "SQLITE_READONLY": errno.EROFS,
    "SQLITE_PERM": errno.EACCES,
}


def cause_of(error: BaseException) -> int:
    """Return the errno with which the system refused access to a file, 0 for none: of OSError, MemoryError, sqlite3."""
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    if code := getattr(error, "sqlite_errorname", None):
        if code.startswith("SQLITE_CANTOPEN"):
            return _refused_descriptor()
        return next((number for name, number in _SQLITE.items() if code.startswith(name)), 0)
    number = error.errno if isinstance(error, OSError) else None
    return number if number in _CAUSES else 0


def _refused_descriptor() -> int:
    """Return EMFILE or ENFILE if no further file can be opened now, else 0. SQLite does not report this cause."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno or 0
    return 0


def _is_full(file: Path) -> bool:
    """Return whether a file is writable but its disk is full."""
    try:
        return os.access(file, os.W_OK) and shutil.disk_usage(file.parent).free < _MIN_FREE
    except OSError:
        return False


def explained(error: BaseException, otherwise: str, place: Path | None = None) -> str:
    """Return the cause of a failed access to a file, and the remedy: `otherwise`, unless the system refused access.

    `place`: the SQLite file. SQLite reports it as read-only if the disk is too full for SQLite's further files.

    >>> explained(OSError(errno.ENOSPC, "No space left on device"), "Build the index again.")
    'the disk is full ([Errno 28] No space left on device). Free some space, then run the same command again.'
    >>> explained(ValueError("no header"), "Build the index again.")
    'no header. Build the index again.'
    """
    if number := cause_of(error):
        if number == errno.EROFS and place is not None and _is_full(place):
            number = errno.ENOSPC
        reason, remedy = _CAUSES[number]
        return f"{reason} ({error}). {remedy}"
    return f"{error}. {otherwise}"
