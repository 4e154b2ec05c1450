"""Malformed rows of files of triples: their number, their limits, and the first of them."""

from __future__ import annotations

from typing import Any

from graphwright.data.graph_files.dump import BAD, SKIPPED, Dump
from graphwright.errors import DataError

_MAX_EXAMPLES = 5  # malformed rows that are shown
_MAX_MALFORMED, _MAX_SHARE = 100, 0.1  # default limits: malformed rows, and their share of a file


class MalformedRows:
    """The malformed rows among those that were read into the table `codes`, which has the role of each row.

    `limit`: how many may be left out in all files; by default 100, and one in ten of a file.
    """

    def __init__(self, db: Any, limit: int | None) -> None:
        self.db = db
        self.limit = _MAX_MALFORMED if limit is None else limit
        self.max_share = _MAX_SHARE if limit is None else 1.0
        self.count = 0
        self._examples: list[str] = []

    @property
    def examples(self) -> list[str]:
        """The first malformed rows, with their files and line numbers."""
        return self._examples[:_MAX_EXAMPLES]

    def check(self, file: Dump, first: int) -> None:
        """Count the malformed rows of a file, which begin at row `first` of `codes`.

        Raises DataError if there are too many in all files, or in this one for its size.
        """
        rejects, bad = list[tuple[int, str]](), 0  # lines that could not be split into columns
        if self.db.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchone()[0]:
            rows = self.db.execute(
                "SELECT line, any_value(error_type), any_value(csv_line), count(DISTINCT byte_position) "
                "FROM reject_errors GROUP BY line ORDER BY line"
            ).fetchall()
            rejects = [(line, f"line {line}: {text!r} ({error.lower()})") for line, error, text, _ in rows]
            bad = sum(row[-1] for row in rows)
        counts = dict(
            self.db.execute(f"SELECT role, count(*) FROM codes WHERE rowid >= {first} GROUP BY role").fetchall()
        )
        bad += counts.pop(BAD, 0)
        self.count += bad
        examples = self._found(file, first, rejects) if bad else []
        self._examples += examples
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
