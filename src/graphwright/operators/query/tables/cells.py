"""The cells of a table by row and column, for what many candidate queries give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphwright.graph.evidence import Ints
from graphwright.kernels.ranking import sorted_distinct
from graphwright.operators.query.query import OfType
from graphwright.operators.query.reached import reached
from graphwright.operators.query.tables.columns import Table
from graphwright.search.facts import Facts


@dataclass(frozen=True, eq=False)
class Cells:
    """The cell of each of some ascending rows in each column, -1 for none; None for a column with several in a row."""

    rows: Ints
    columns: tuple[Ints | None, ...]

    @classmethod
    def of(cls, facts: Facts, table: Table, rows: Ints) -> Cells:
        """Return the cells of a table, made once for a snapshot; `rows`: those of the table."""
        return facts.kept(("cells", OfType(table.type)), lambda: cls._read(facts, table, rows))

    @classmethod
    def _read(cls, facts: Facts, table: Table, rows: Ints) -> Cells:
        columns: list[Ints | None] = []
        for column in table.columns:
            pairs = reached(facts, rows, column.path)
            cells = np.full(len(rows), -1, np.int64)
            cells[np.searchsorted(rows, pairs.starts)] = pairs.ends
            columns.append(cells if len(pairs.starts) == len(np.unique(pairs.starts)) else None)
        return cls(rows, tuple(columns))

    def distinct(self, rows: Ints, column: int) -> Ints | None:
        """Return the ascending distinct cells of some rows in a column; None if they are not known here."""
        cells = self.columns[column]
        at = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
        if cells is None or not np.array_equal(self.rows[at], rows):
            return None
        found = cells[at]
        return sorted_distinct(found[found >= 0])
