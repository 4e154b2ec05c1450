"""The command that keeps an index in step with a folder: watch."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from graphwright import data
from graphwright.cli.indexing import check_paths, synced
from graphwright.cli.options import Into, ReadingOptions
from graphwright.cli.terminal import flush_output, note
from graphwright.errors import GraphwrightError, OptionError

_RETRY_SECONDS = 10.0  # after a sync that failed


def watch(
    folder: Annotated[Path, typer.Argument(help="Folder of documents.")],
    into: Into,
    options: ReadingOptions,
) -> None:
    """Sync an index with a folder whenever its files change.

    The first sync is at once, others begin when no file has changed for a second. One that fails is reported and tried
    again. Ends by Ctrl-C.
    """
    check_paths([folder])
    if folder.is_file():
        raise OptionError(f"watch takes a folder; {folder} is a file.")
    failure, retry = "", math.inf
    with suppress(KeyboardInterrupt):
        for changed in data.watched(folder, into):
            if not changed and time.monotonic() < retry:
                continue
            try:
                synced(folder, into, options)
                failure, retry = "", math.inf
            except OptionError:
                raise
            except GraphwrightError as error:
                if str(error) != failure:
                    note(f"graphwright: {error}\nnote: it is tried again every {_RETRY_SECONDS:.0f} s.")
                failure, retry = str(error), time.monotonic() + _RETRY_SECONDS
            flush_output()
    note("stopped watching")
