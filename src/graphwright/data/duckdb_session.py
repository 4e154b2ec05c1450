"""Connections to DuckDB that stop at Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
