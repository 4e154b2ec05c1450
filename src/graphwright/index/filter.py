"""A part of an index that is searched alone: some documents, a folder of them, or those with some metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphwright.data.document import metadata_text
from graphwright.errors import OptionError

__all__ = ["Filter"]


@dataclass(frozen=True)
class Filter:
    """Which documents are seen: those for which all that is given here holds.

    `documents`: ids. `folder`: documents whose id lies in it, as files read from a folder are named. `metadata`: what
    a document's metadata must say, compared as text.

    >>> Filter(folder="reports/2024").holds("reports/2024/may.md", {})
    True
    >>> Filter(documents=["a", "b"], metadata={"year": 2024}).holds("a", {"year": "2023"})
    False
    """

    documents: tuple[str, ...] | None = None
    folder: str | None = None
    metadata: tuple[tuple[str, str], ...] = field(default=())

    def __init__(
        self,
        documents: Any = None,
        folder: str | None = None,
        metadata: Mapping[str, Any] | tuple[tuple[str, str], ...] | None = None,
    ) -> None:
        """Take ids, a folder, and metadata by name; at least one of them."""
        if documents is None and folder is None and not metadata:
            raise OptionError("Filter() hides nothing; give documents, a folder or metadata.")
        if folder is not None and not folder.strip("/"):
            raise OptionError(f"Filter(folder={folder!r}) is no folder in the index, and would hide nothing; name one.")
        ids = (documents,) if isinstance(documents, str) else documents
        pairs = sorted((str(k), metadata_text(v)) for k, v in dict(metadata or {}).items())
        object.__setattr__(self, "documents", None if ids is None else tuple(sorted(set(map(str, ids)))))
        object.__setattr__(self, "folder", None if folder is None else folder.strip("/"))
        object.__setattr__(self, "metadata", tuple(pairs))

    def __str__(self) -> str:
        parts = [] if self.documents is None else [f"among {', '.join(map(repr, self.documents[:5]))}"]
        parts += [] if self.folder is None else [f"in the folder {self.folder!r}"]
        return " ".join([*parts, *(f"with {name}={value}" for name, value in self.metadata)])

    def holds(self, document: str, metadata: Mapping[str, str]) -> bool:
        """Return whether a document is seen."""
        return (
            (self.documents is None or document in self.documents)
            and (self.folder is None or document.startswith(f"{self.folder}/"))
            and all(metadata.get(name) == value for name, value in self.metadata)
        )
