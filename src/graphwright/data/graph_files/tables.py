"""Tables of triples: TSV, CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from graphwright.data.decoding import lines
from graphwright.data.graph_files.dump import BAD, MAX_LINE, NO_RELATION, SKIPPED, TRIPLE, Dump, sql_path, sql_text
from graphwright.data.records.delimited import Dialect, table_rows

_COLUMNS = ("head", "relation", "tail")


@dataclass(frozen=True)
class Delimited(Dump):
    """Lines of parts between delimiters, such as tabs, without quoting.

    `places` are those of head, relation and tail among the `width` parts, from 0; a missing relation is at -1.
    `may_have_header`: whether the first row may be a header. `unread`: the names of the other columns.
    """

    delimiter: str = "\t"
    width: int = 3
    places: tuple[int, int, int] = (0, 1, 2)
    header: bool = False
    may_have_header: bool = False
    unread: tuple[str, ...] = ()

    def parts(self) -> Iterator[list[str]]:
        """Yield the head, relation and tail of each row that has all columns, of the first too."""
        for cells in self._cells():
            if len(cells) == self.width:
                yield [cells[place].strip() for place in self.places]

    def _cells(self) -> Iterator[list[str]]:
        return (line.rstrip("\r\n").split(self.delimiter) for line in lines(self.path))

    @property
    def skipped(self) -> int:
        """Number of lines before the first row."""
        return int(self.header)

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        # Trimming takes more time than all other work; parts between tabs are not trimmed.
        trim = "" if self.delimiter == "\t" else "trim"
        head, relation, tail = (f"{trim}(part[{place + 1}])" for place in self.places)
        relation = sql_text(NO_RELATION) if self.places[1] < 0 else relation
        # Lists of edges without relations have comments of any number of words.
        comment = "starts_with(line, '#')"
        if self.places[1] >= 0:
            comment = f"({comment} AND width <> {self.width})"
        split = f"SELECT line, string_split(line, {sql_text(self.delimiter)}) AS part FROM {self._lines(rejects)}"
        return (
            f"SELECT head, relation, tail, CASE WHEN {comment} THEN {SKIPPED} WHEN width = {self.width} AND "
            f"head <> '' AND relation <> '' AND tail <> '' THEN {TRIPLE} WHEN line IS NULL OR trim(line) = '' "
            f"THEN {SKIPPED} ELSE {BAD} END AS role FROM (SELECT line, len(part) AS width, "
            f"{head} AS head, {relation} AS relation, {tail} AS tail FROM ({split}))"
        )


@dataclass(frozen=True)
class Quoted(Delimited):
    """CSV, whose parts may be in quotation marks; a row may have several lines."""

    delimiter: str = ","

    def _cells(self) -> Iterator[list[str]]:
        return (cells for _, cells in table_rows(lines(self.path), Dialect(self.delimiter), f"{self.path}, "))

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(self.width))
        table = (
            f"read_csv({sql_path(self.path)}, auto_detect=false, delim={sql_text(self.delimiter)}, quote='\"', "
            f"escape='\"', header={str(self.header).lower()}, columns={{{columns}}}, store_rejects=true, "
            f"rejects_limit={rejects}, max_line_size={MAX_LINE})"
        )
        return _with_roles(table, *(f"c{place}" if place >= 0 else sql_text(NO_RELATION) for place in self.places))

    def row_text(self, row: int) -> str:
        """Return the number of the record, and the record."""
        row += self.skipped
        cells: list[str] = next(islice(self._cells(), row, row + 1), [])
        return f"record {row + 1}: {self.delimiter.join(cells)!r}"


@dataclass(frozen=True)
class Parquet(Dump):
    """A Parquet table with a column each for head, relation and tail."""

    columns: tuple[str, str, str] = ("head", "relation", "tail")

    def rows(self, rejects: int = 0) -> str:
        """Return the query of all rows."""
        parts = ('CAST("{}" AS VARCHAR)'.format(name.replace('"', '""')) for name in self.columns)
        return _with_roles(f"read_parquet({sql_path(self.path)})", *parts)

    def row_text(self, row: int) -> str:
        """Return the number of the row."""
        return f"row {row + 1}"


def _with_roles(table: str, *parts: str) -> str:
    columns = zip((f"trim(coalesce({part}, ''), e' \\t\\r\\n')" for part in parts), _COLUMNS, strict=True)
    return (
        f"SELECT *, CASE WHEN head = '' OR relation = '' OR tail = '' THEN {BAD} ELSE {TRIPLE} END AS role "
        f"FROM (SELECT {', '.join(f'{part} AS {name}' for part, name in columns)} FROM {table})"
    )
