"""Columns of the records of an index's documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphwright.graph.columns import TextColumn
from graphwright.text.names import normal_form

Ids32 = NDArray[np.int32]
STATEMENT = "statement"  # type of statements of an imported graph: subject, relation, object, given fields


@dataclass(frozen=True, eq=False)
class RecordColumns:
    """The records of all documents, r records with f fields, in the order of their documents' ids and texts.

    `type: int32[r]` indexes `types`; `chunk: int32[r]`: the passage that holds the beginning of each record; `span:
    int64[r, 2]`: its code points in the document; `is_copy: bool[r]`: it repeats another record.
    `record: int32[f]`: the record of each field, ascending; `name: int32[f]` indexes `names`; `text: int32[f]` indexes
    `texts`, which are distinct; `field_span: int64[f, 2]`: its code points in the document; `node: int32[f]`: the
    entity that the text names, -1 for none.
    `forms`: the normal forms of `texts`, sorted; `form_text: int32[t]`: the text of each.
    """

    types: TextColumn
    type: Ids32
    chunk: Ids32
    span: NDArray[np.int64]
    is_copy: NDArray[np.bool_]
    names: TextColumn
    texts: TextColumn
    record: Ids32
    name: Ids32
    text: Ids32
    field_span: NDArray[np.int64]
    node: Ids32
    forms: TextColumn
    form_text: Ids32

    def __len__(self) -> int:
        return len(self.type)

    @classmethod
    def of_cells(cls, type: str, chunks: Sequence[int], cells: Iterable[tuple[int, str, str, int]]) -> RecordColumns:
        """Return records of one type, without spans; a cell is a record, name, text and the entity it names, or -1."""
        names, texts = dict[str, int](), dict[str, int]()
        rows = [
            (record, names.setdefault(name, len(names)), texts.setdefault(text, len(texts)), node)
            for record, name, text, node in cells
        ]
        record, name_of, text_of, node_of = map(np.ascontiguousarray, np.array(rows, np.int32).reshape(-1, 4).T)
        count, fields = len(chunks), len(rows)
        return cls(
            TextColumn.of([type]), np.zeros(count, np.int32), np.array(chunks, np.int32),
            np.zeros((count, 2), np.int64), np.zeros(count, bool), TextColumn.of(names), TextColumn.of(texts), record,
            name_of, text_of, np.zeros((fields, 2), np.int64), node_of,
            *sorted_forms(TextColumn.of(map(normal_form, texts))),
        )  # fmt: skip

    def chosen(self, mask: NDArray[np.bool_]) -> RecordColumns:
        """Return the records that a mask chooses; their texts keep their numbers."""
        fields = mask[self.record]
        number = np.cumsum(mask, dtype=np.int32) - np.int32(1)
        of_records = {name: getattr(self, name)[mask] for name in ("type", "chunk", "span", "is_copy")}
        of_fields = {name: getattr(self, name)[fields] for name in ("name", "text", "field_span", "node")}
        return replace(self, **of_records, **of_fields, record=number[self.record[fields]])

    def fields_of(self, chunks: NDArray[np.int64]) -> Iterator[tuple[str, str, int, int]]:
        """Yield type, name and span in the document of each field of the records that begin in passages."""
        for record in np.flatnonzero(np.isin(self.chunk, chunks)).tolist():
            first, last = np.searchsorted(self.record, (record, record + 1)).tolist()
            for field in range(first, last):
                start, end = self.field_span[field].tolist()
                yield self.types[int(self.type[record])], self.names[int(self.name[field])], start, end

    def unsaid(self, chunks: NDArray[np.int64]) -> Iterator[tuple[str, str, str]]:
        """Yield type, name and text of each field of the records that begin in passages, if no characters say it."""
        for record in np.flatnonzero(np.isin(self.chunk, chunks)).tolist():
            for field in range(*np.searchsorted(self.record, (record, record + 1)).tolist()):
                if self.field_span[field, 0] == self.field_span[field, 1]:
                    kind, name = self.types[int(self.type[record])], self.names[int(self.name[field])]
                    yield kind, name, self.texts[int(self.text[field])]

    def fields_at(self, type: str, chunks: NDArray[np.int64], at: int) -> dict[str, list[str]]:
        """Return the texts of the fields, by name, of the innermost record of a type at a character of a document.

        `chunks`: the passages of the document. There are no fields where no such record is.
        """
        around = (self.span[:, 0] <= at) & (at < self.span[:, 1]) & np.isin(self.chunk, chunks)
        fields: dict[str, list[str]] = {}
        for record in reversed(np.flatnonzero(around).tolist()):
            if self.types[int(self.type[record])] == type:
                for field in range(*np.searchsorted(self.record, (record, record + 1)).tolist()):
                    fields.setdefault(self.names[int(self.name[field])], []).append(self.texts[int(self.text[field])])
                break
        return fields

    def arrays(self) -> list[NDArray[Any]]:
        """Return all arrays, those of strings included."""
        columns = vars(self).values()
        parts = [(c.data, c.offsets) if isinstance(c, TextColumn) else (c,) for c in columns]
        return [array for arrays in parts for array in arrays]


def sorted_forms(forms: TextColumn) -> tuple[TextColumn, Ids32]:
    """Return the normal forms of texts sorted, equal ones by text, and the text of each."""
    order = forms.order()
    return forms.gather(order), order.astype(np.int32)
