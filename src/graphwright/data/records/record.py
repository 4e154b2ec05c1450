"""Records of documents: rows of tables, objects, mails, turns of a chat, clauses, each with named fields."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

DOCUMENT, MAIL, MESSAGE, CLAUSE = "document", "mail", "message", "clause"
"""Types of the records of whole documents, mails, turns of a chat or of subtitles, and numbered clauses."""


class Field(NamedTuple):
    """A field of a record: its name, and where its text stands in the document.

    `name`: the column or key; of a nested value its path ("address.city"). `text`: the value in a form that does not
    depend on the file's format (a date as 2024-05-01, a share as 12.5%), as it is typed and compared. `start`, `end`:
    the code points of the document's text that say it; equal where the text does not say it.
    """

    name: str
    text: str
    start: int = 0
    end: int = 0


class Record(NamedTuple):
    """A thing that a document describes by fields.

    `type`: what its kind is called: the sheet, the heading or the name of the file that the table stands in, the key of
    a list of objects, "mail", "message", "clause", "document". `start`, `end`: its code points in the document's text;
    records are in the order of the text. `is_copy`: it repeats another record (a quoted mail, a repeated header, a
    total), and is not counted.
    """

    type: str
    fields: tuple[Field, ...]
    start: int
    end: int
    is_copy: bool = False

    def moved(self, by: int) -> Record:
        """Return the record in a text in which it stands a number of characters later."""
        fields = tuple(field._replace(start=field.start + by, end=field.end + by) for field in self.fields)
        return self._replace(fields=fields, start=self.start + by, end=self.end + by)


def file_type(name: str) -> str:
    """Return the type of the records of a file whose tables or objects have no title: its name without its suffix.

    >>> file_type("data/rivers.csv.gz")
    'rivers'
    """
    return PurePosixPath(name.removesuffix(".gz")).stem
