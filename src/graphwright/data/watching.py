"""Watching of folders: when files in one have changed, and no more change for a while."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

from graphwright.errors import DataError, check_installed

_QUIET = 1_000  # milliseconds without a change, after which those before are told
_LONGEST = 30_000  # milliseconds after which they are told though others follow
_TICK = 500  # milliseconds between two times that nothing is told


def watched(folder: Path, index: Path, stop: Event | None = None) -> Iterator[bool]:
    """Yield whether files of a folder have changed: True at first and after each change, else False twice a second.

    Changes are told when no other follows for a second, but after half a minute at the latest; those during the work
    of the caller are told next. Hidden files and those of `index` do not count. Ends when `stop` is set. Raises
    OptionError without watchfiles, and DataError if the folder is gone.
    """
    check_installed("watchfiles", "watch", "Watching a folder")
    from watchfiles import Change, watch

    root, inside = folder.resolve(), index.resolve()

    def counts(_: Change, path: str) -> bool:
        place = Path(path)
        names = place.relative_to(root).parts if place.is_relative_to(root) else ()
        hidden = any(name.startswith(".") for name in names[:-1]) or place.name.startswith(".")
        return not place.is_relative_to(inside) and (not hidden or place.name == ".gitignore")

    first = True
    times: dict[str, Any] = {"step": _QUIET, "debounce": _LONGEST, "rust_timeout": _TICK, "yield_on_timeout": True}
    try:
        for changes in watch(root, watch_filter=counts, stop_event=stop, **times):
            if not root.is_dir():
                raise DataError(f"{folder} is gone, so it is not watched any more.")
            yield first or bool(changes)
            first = False
    except OSError as error:
        raise DataError(f"{folder} cannot be watched ({error}).") from error
