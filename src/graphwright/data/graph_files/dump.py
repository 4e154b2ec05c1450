"""The protocol of files of triples, whose rows DuckDB reads, so that a file may be larger than memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from graphwright.data.decoding import open_bytes
from graphwright.data.records.read import without_wildcards

TRIPLE, LABEL, BAD, SKIPPED, PART, LINK, LEFT_OUT = range(7)
"""Roles of a row: a triple; a name (`tail`) of the node `head`; malformed; a comment or blank; part of a statement with
fields, a list or an expression; a relation (`tail`) that has the names of `head`; not read."""

NO_RELATION = "linked to"
"""Relation of an edge in a file without relations."""

MAX_LINE = 16 * 2**20
"""Bytes of a line."""


def sql_text(text: str) -> str:
    """Return a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_path(path: Path) -> str:
    """Return a path as a string literal, in which no character is a wildcard."""
    return sql_text(without_wildcards(path))


@dataclass(frozen=True)
class Dump(ABC):
    """A file of triples; each format is a subclass.

    DuckDB lists rows that cannot be split into columns in its table `reject_errors`.
    """

    path: Path

    @abstractmethod
    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows; DuckDB lists at most `rejects` rejected rows, 0 for all."""

    @property
    def skipped(self) -> int:
        """Number of lines before the first row."""
        return 0

    def row_text(self, row: int) -> str:
        """Return the place and the text of a row; rows are counted from 0, rejected ones included."""
        row += self.skipped
        with open_bytes(self.path) as file:
            line = next(islice(file, row, row + 1), b"")
        return f"line {row + 1}: {line.decode('utf-8', 'replace').rstrip()!r}"

    def _lines(self, rejects: int) -> str:
        """Return the table of the file's lines."""
        return (
            f"read_csv({sql_path(self.path)}, auto_detect=false, delim=e'\\x01', header=false, quote='', escape='', "
            f"columns={{'line': 'VARCHAR'}}, skip={self.skipped}, store_rejects=true, rejects_limit={rejects}, "
            f"max_line_size={MAX_LINE})"
        )
