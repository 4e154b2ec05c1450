"""Where each passage lies: its document and its character span there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn

__all__ = ["Passage", "Passages"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage: the chunk's name, its document's id and title, and its span of characters there."""

    id: str
    document: str
    title: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Passages:
    """The chunks of a snapshot, one row each.

    `nodes: int64[p]` are their nodes, ascending; `document: int32[p]` numbers into `documents` (ids) and
    `titles`; `start` and `end: int64[p]` are characters in the document.
    """

    nodes: NDArray[np.int64]
    document: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    names: TextColumn
    documents: TextColumn
    titles: TextColumn

    def __len__(self) -> int:
        return len(self.nodes)

    def row(self, node: int) -> int:
        """Return the row of a chunk node, -1 for any other node."""
        at = int(np.searchsorted(self.nodes, node))
        return at if at < len(self.nodes) and self.nodes[at] == node else -1

    def of(self, node: int) -> Passage | None:
        """Return the passage of a chunk node, None for any other node."""
        row = self.row(node)
        if row < 0:
            return None
        document = int(self.document[row])
        return Passage(
            self.names[row],
            self.documents[document],
            self.titles[document],
            int(self.start[row]),
            int(self.end[row]),
        )

    def title_of(self, node: int) -> str:
        """Return the title of a chunk node's document, "" for any other node."""
        row = self.row(node)
        return self.titles[int(self.document[row])] if row >= 0 else ""

    @cached_property
    def rows_of_document(self) -> dict[str, list[int]]:
        """Rows by document id."""
        rows: dict[str, list[int]] = {}
        for row, document in enumerate(self.document.tolist()):
            rows.setdefault(self.documents[document], []).append(row)
        return rows
