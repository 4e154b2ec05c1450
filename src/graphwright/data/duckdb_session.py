"""Connections to DuckDB that stop at Ctrl-C, and their limits of memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_INTERRUPTED = "Query interrupted"  # message of the RuntimeError that DuckDB raises for a signal


@contextmanager
def duckdb_session(
    database: Path | None = None, config: Mapping[str, Any] | None = None
) -> Iterator[DuckDBPyConnection]:
    """Yield a connection to a database, by default in memory.

    DuckDB consumes the signal of Ctrl-C while it works, and raises a RuntimeError, or an InterruptException between two
    queries; both become a KeyboardInterrupt here.
    """
    import duckdb

    try:
        with duckdb.connect(":memory:" if database is None else str(database), config=dict(config or {})) as db:
            yield db
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


def spilling_to(folder: Path) -> dict[str, str]:
    """Return the settings of a database that uses up to half of the memory, and then a folder."""
    memory = 4 * 2**30
    with suppress(AttributeError, OSError, ValueError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return {"memory_limit": f"{max(memory // 2**20, 256)}MB", "temp_directory": str(folder)}
