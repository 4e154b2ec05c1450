"""A document with records, as the readers of tables make them."""

from __future__ import annotations

from graphwright import Document
from graphwright.data.records.record import Field, Record


def tickets_table(count: int) -> Document:
    """Return a table of tickets as text, with its rows as records."""
    lines, records, at = ["id | status | owner"], list[Record](), 20
    for number in range(count):
        values = (f"T{number}", "open" if number % 3 else "closed", "Ida" if number % 2 else "Udo")
        line = " | ".join(values)
        starts = [at, at + len(values[0]) + 3, at + len(values[0]) + len(values[1]) + 6]
        fields = zip(("id", "status", "owner"), values, starts, strict=True)
        records.append(Record("tickets", tuple(Field(n, v, s, s + len(v)) for n, v, s in fields), at, at + len(line)))
        lines.append(line)
        at += len(line) + 1
    return Document("tickets.csv", "\n".join(lines), records=tuple(records))
