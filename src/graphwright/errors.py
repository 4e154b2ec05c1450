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

import errno
import os
import shutil
from collections.abc import Iterable
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
    """A language model replied, but not as requested, also after one repair; `text` is its last reply."""

    text: str = ""


class ReplyCutError(ModelError):
    """A language model's reply did not arrive whole: a timeout, or a broken connection; `text` is its beginning."""

    text: str = ""


class BudgetError(ModelError):
    """The budget of tokens or money is spent; results obtained before are kept."""


def meant(name: object, known: Iterable[str]) -> str:
    """Return the question to put into an error about a name: which known one was meant, if one is near, else nothing.

    >>> meant("BubleRAG", ["bubblerag", "ppr"]), meant("GRAZ", ["Graz"]), meant("x", ["ppr"])
    (" Did you mean 'bubblerag'?", " Did you mean 'Graz'?", '')
    """
    import difflib  # only where something went wrong

    names = {each.lower(): each for each in known}
    near = difflib.get_close_matches(str(name).lower(), names, 1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, singular or plural.

    >>> counted(1, "document"), counted(1200, "chunk")
    ('1 document', '1,200 chunks')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def cut(text: str, most: int = 240) -> str:
    """Return the first `most` characters of a text, the last an ellipsis where it is too long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


_ROOM = 65_536  # bytes, more than SQLite's index of a log
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
# Result codes of SQLite, by the number of the same cause; an extended code comes before the one that it extends.
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
    """Return the errno of the cause for which the system refused a file, 0 if it did not refuse.

    Errors of OSError, MemoryError and sqlite3 are told apart. A file that is missing, and contents that cannot be read,
    are no refusal.

    >>> errno.errorcode[cause_of(OSError(errno.ENOSPC, ""))], cause_of(FileNotFoundError(errno.ENOENT, ""))
    ('ENOSPC', 0)
    """
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    if code := getattr(error, "sqlite_errorname", None):
        if code.startswith("SQLITE_CANTOPEN"):
            return _refused_descriptor()
        return next((number for name, number in _SQLITE.items() if code.startswith(name)), 0)
    number = error.errno if isinstance(error, OSError) else None
    return number if number in _CAUSES else 0


def _refused_descriptor() -> int:
    """Return EMFILE or ENFILE if no further file can be opened now, else 0: SQLite does not say why it could not."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno or 0
    return 0


def _is_full(file: Path) -> bool:
    """Return whether a file may be written, but its disk has no room."""
    try:
        return os.access(file, os.W_OK) and shutil.disk_usage(file.parent).free < _ROOM
    except OSError:
        return False


def explained(error: BaseException, otherwise: str, place: Path | None = None) -> str:
    """Return the reason of a failed access to a file, and what to do; `otherwise`: if the system did not refuse it.

    `place`: the SQLite file; SQLite calls one read-only where the disk is too full for the files that it needs beside.

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
