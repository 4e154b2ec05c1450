"""Filters of documents by id, folder and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphwright.data.document import metadata_text
from graphwright.errors import OptionError

__all__ = ["Filter"]


@dataclass(frozen=True, init=False)
class Filter:
    """A filter that passes the documents for which all given conditions hold.

    `documents`: ids. `folder`: documents whose id lies in it, as ids of files read from a folder do. `metadata`: values
    by name, compared as text.

    >>> Filter(folder="reports/2024").passes("reports/2024/may.md", {})
    True
    >>> Filter(documents=["a", "b"], metadata={"year": 2024}).passes("a", {"year": "2023"})
    False
    """

    documents: tuple[str, ...] | None
    folder: str | None
    metadata: tuple[tuple[str, str], ...]

    def __init__(
        self,
        documents: Any = None,
        folder: str | None = None,
        metadata: Mapping[str, Any] | tuple[tuple[str, str], ...] | None = None,
    ) -> None:
        """Take ids, a folder, and metadata by name; at least one of them."""
        if documents is None and folder is None and not metadata:
            raise OptionError("Filter() passes all documents. Give documents, a folder or metadata.")
        if folder is not None and not folder.strip("/"):
            raise OptionError(f"Filter(folder={folder!r}) passes all documents. Give the name of a folder.")
        ids = (documents,) if isinstance(documents, str) else documents
        pairs = sorted((str(name), metadata_text(value)) for name, value in dict(metadata or {}).items())
        object.__setattr__(self, "documents", None if ids is None else tuple(sorted(set(map(str, ids)))))
        object.__setattr__(self, "folder", None if folder is None else folder.strip("/"))
        object.__setattr__(self, "metadata", tuple(pairs))

    @classmethod
    def of(cls, value: Filter | Mapping[str, Any]) -> Filter:
        """Return a filter, or the one that a mapping with the same names describes. Raises OptionError for others.

        >>> Filter.of({"folder": "reports", "metadata": {"year": 2024}})
        Filter(documents=None, folder='reports', metadata=(('year', '2024'),))
        """
        if isinstance(value, Filter):
            return value
        names = set(cls.__dataclass_fields__)
        if not isinstance(value, Mapping) or not value.keys() <= names:
            raise OptionError(f"filter is {value!r}; give Filter(…), or a mapping with {', '.join(sorted(names))}.")
        return cls(**value)

    def __str__(self) -> str:
        parts = [] if self.documents is None else [f"among {', '.join(map(repr, self.documents[:5]))}"]
        parts += [] if self.folder is None else [f"in the folder {self.folder!r}"]
        return " ".join([*parts, *(f"with {name}={value}" for name, value in self.metadata)])

    def passes(self, document: str, metadata: Mapping[str, str]) -> bool:
        """Return whether a document with this id and metadata passes."""
        return (
            (self.documents is None or document in self.documents)
            and (self.folder is None or document.startswith(f"{self.folder}/"))
            and all(metadata.get(name) == value for name, value in self.metadata)
        )
