"""The protocol of files of triples, whose rows DuckDB reads, so that a file may exceed memory; malformed rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from graphwright.data.decoding import open_bytes
from graphwright.data.records.read import without_wildcards
from graphwright.errors import DataError

TRIPLE, LABEL, BAD, SKIPPED, PART, LINK, LEFT_OUT = range(7)
"""Roles of a row: a triple; a name (`tail`) of the node `head`; malformed; a comment or blank; part of a statement with
fields, a list or an expression; a relation (`tail`) that has the names of `head`; not read."""

NO_RELATION = "linked to"  # relation of an edge in a file without relations

MAX_LINE = 16 * 2**20  # bytes of a line


def sql_text(text: str) -> str:
    """Return a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_path(path: Path) -> str:
    """Return a path as a string literal, in which no character is a wildcard."""
    return sql_text(without_wildcards(path))


@dataclass(frozen=True)
class Dump(ABC):
    """A file of triples, by format; DuckDB lists rows it cannot split into columns in its table `reject_errors`."""

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


_MAX_EXAMPLES = 5  # malformed rows that are shown
_MAX_MALFORMED, _MAX_SHARE = 100, 0.1  # default limits: malformed rows, and their share of a file


class MalformedRows:
    """The malformed rows among those that were read into the table `codes`, which has the role of each row.

    `limit`: how many may be left out in all files; by default 100, and one in ten of a file.
    """

    def __init__(self, db: Any, limit: int | None) -> None:
        self.db = db
        self.limit = _MAX_MALFORMED if limit is None else limit
        self.rejects = 64 * (self.limit + 1)  # errors that DuckDB lists; each column too many of a row is one
        self.max_share = _MAX_SHARE if limit is None else 1.0
        self.count = 0
        self.examples: list[str] = []  # the first malformed rows, with their files and line numbers

    def check(self, file: Dump, first: int) -> None:
        """Count malformed rows of a file, from row `first` of `codes` on. Raises DataError for too many."""
        rejects, bad = list[tuple[int, str]](), 0  # lines that could not be split into columns
        if self.db.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchone()[0]:
            rows = self.db.execute(
                "SELECT line, any_value(error_type), any_value(csv_line), count(DISTINCT line_byte_position), count(*) "
                "FROM reject_errors GROUP BY line ORDER BY line"
            ).fetchall()
            rejects = [(line, f"line {line}: {text!r} ({error.lower()})") for line, error, text, *_ in rows]
            bad = max(sum(row[-2] for row in rows), (sum(row[-1] for row in rows) >= self.rejects) * (self.limit + 1))
        roles = f"SELECT role, count(*) FROM codes WHERE rowid >= {first} GROUP BY role"
        counts = dict(self.db.execute(roles).fetchall())
        bad += counts.pop(BAD, 0)
        self.count += bad
        examples = self._found(file, first, rejects) if bad else []
        self.examples = [*self.examples, *examples][:_MAX_EXAMPLES]
        rows_read = bad + sum(count for role, count in counts.items() if role != SKIPPED)
        problem = ""
        if self.count > self.limit:
            problem = f"{self.count:,} rows or more are malformed, and {self.limit:,} are allowed"
        elif bad > max(self.max_share * rows_read, 1):  # a single line may be a footer
            problem = f"{bad:,} of {rows_read:,} rows are malformed, more than one in ten"
        if problem:
            raise DataError(
                f"{file.path}: {problem}; nothing was imported. {'; '.join(examples)}. Each row must have a head, a "
                f"relation and a tail. Correct them, or allow more: --max-malformed."
            )

    def _found(self, file: Dump, first: int, rejects: list[tuple[int, str]]) -> list[str]:
        """Return the first malformed rows of a file."""
        examples = rejects[:_MAX_EXAMPLES]
        rows = self.db.execute(
            f"SELECT rowid - {first} FROM codes WHERE rowid >= {first} AND role = {BAD} ORDER BY rowid "
            f"LIMIT {_MAX_EXAMPLES}"
        ).fetchall()
        for (row,) in rows:
            for line, _ in rejects:  # rejected lines before it have no row number
                row += line - 1 - file.skipped <= row
            examples.append((row + 1 + file.skipped, file.row_text(row)))
        return [f"{file.path.name}, {text}" for _, text in sorted(examples)[:_MAX_EXAMPLES]]
