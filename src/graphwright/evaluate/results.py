"""The file that keeps what came of asking a question by a method, as soon as it is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from graphwright.errors import DataError
from graphwright.files import growing, whole_lines

__all__ = ["Results", "Row", "lasting"]

Row = dict[str, Any]
_PARTS = ("metrics", "seconds", "steps")


class Results:
    """The rows of a run, in a file of JSON lines that grows by one line for each.

    A line that was being written when the process died is dropped when the file is opened again, so that
    its question is asked again; every line before it holds. A row that says `error` is asked again too, and the row
    that comes of that takes its place.
    """

    def __init__(self, path: Path, methods: Sequence[str], questions: Sequence[str]) -> None:
        """Read the rows there are. Raises DataError for a line that is no row of this run."""
        self.path = path
        self._order = {pair: at for at, pair in enumerate(product(methods, questions))}
        self._rows: dict[tuple[str, str], Row] = {}
        for number, line in enumerate(whole_lines(path), 1):
            self._take(line, number)

    def _take(self, line: bytes, number: int) -> None:
        try:
            found = json.loads(line)
            key = found["method"], found["question"]
            complete = key in self._order and all(name in found for name in _PARTS)
        except (ValueError, KeyError, TypeError):
            complete = False
        if not complete or key in self:
            what = "repeats a result" if complete else "is no result of this run"
            raise DataError(
                f"{self.path}:{number} {what}: {line[:60]!r}. Remove that line; its question is asked again."
            )
        self._rows[key] = found

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._rows and "error" not in self._rows[pair]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows by method, then in the order of the questions."""
        return (self._rows[key] for key in sorted(self._rows, key=self._order.__getitem__))

    def of(self, method: str) -> list[Row]:
        """Return a method's rows in the order of the questions."""
        rows = [key for key in self._rows if key[0] == method]
        return [self._rows[key] for key in sorted(rows, key=self._order.__getitem__)]

    @contextmanager
    def writing(self) -> Iterator[Callable[[Row], None]]:
        """Open the file; each row added is a line of it before `add` returns."""
        with growing(self.path) as write:

            def add(found: Row) -> None:
                write(found)
                self._rows[found["method"], found["question"]] = found

            yield add


def lasting(shown: str) -> str:
    """Return how something is shown without where it was in memory, which is another place in the next process.

    >>> lasting("Answer(<mine.Model object at 0x7f0e5c1d2a90>)")
    'Answer(<mine.Model object>)'
    """
    return re.sub(r" at 0x[0-9a-fA-F]+(?=>)", "", shown) if " at 0x" in shown else shown
