"""Passages: the document and the character span of each chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn

__all__ = ["Listed", "Location", "Passage", "Passages"]


class Listed(NamedTuple):
    """A document of an index: the length of its text and the number of its chunks."""

    id: str
    title: str
    characters: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Location:
    """Place of a chunk: its name, its document's id and title, and its span of characters there."""

    id: str
    document: str
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved passage: its text, its document, its characters there, and its score.

    In a graph without documents a passage is a node: `document` and `id` are its name.
    """

    document: str
    title: str
    text: str
    score: float
    start: int
    end: int
    id: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        names = ("id", "document", "title", "text", "start", "end")
        return {**{name: getattr(self, name) for name in names}, "score": round(self.score, 6)}


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

    def of(self, node: int) -> Location | None:
        """Return the location of a chunk node, None for any other node."""
        row = self.row(node)
        if row < 0:
            return None
        document = int(self.document[row])
        return Location(
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

    def listed(self) -> list[Listed]:
        """Return all documents, by id."""
        ends = np.zeros(len(self.documents), np.int64)
        np.maximum.at(ends, self.document, self.end)
        chunks = np.bincount(self.document, minlength=len(self.documents))
        every = zip(self.documents, self.titles, ends.tolist(), chunks.tolist(), strict=True)
        return sorted(Listed(*row) for row in every if row[-1])

    def text(self, document: str, texts: Sequence[str]) -> str:
        """Return the text of a document, given the texts of its chunks by row.

        Characters keep their offsets: chunks leave out only white space, which is filled with line ends.
        """
        rows, whole = self.rows_of_document[document], ""
        for start, text in sorted(zip(self.start[rows].tolist(), texts, strict=True)):
            whole = whole.ljust(start, "\n") + text[max(len(whole) - start, 0) :]
        return whole

    @cached_property
    def rows_of_document(self) -> dict[str, list[int]]:
        """Rows by document id."""
        rows: dict[str, list[int]] = {}
        for row, document in enumerate(self.document.tolist()):
            rows.setdefault(self.documents[document], []).append(row)
        return rows
