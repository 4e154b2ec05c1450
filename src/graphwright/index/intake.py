"""What is given to an index: documents in any form, made records, and what came of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from graphwright.data.base import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.errors import DataError, OptionError
from graphwright.index.contribution import Extractor
from graphwright.index.store import content_hash

__all__ = ["Added", "Source", "documents_of", "is_new", "unfit", "unreadable"]

Source = Document | Mapping[str, Any] | Path
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_SAMPLE = 300  # characters that tell how a document is written


@dataclass
class Added:
    """What came of changing an index: ids of documents by what happened to them, and what could not be read.

    `kept`: documents that are not in the folder any more but stay, since some of it could not be read. `unfit` counts
    documents that the extractor can make little of, by the reason why. `deepened`: chunks that a language model read;
    `waiting`: those that still wait for it, by the reason why. `seconds` are those of each part of the build, `texts`
    how many texts have a vector.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unfit: Counter[str] = field(default_factory=Counter)
    deepened: int = 0
    waiting: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)


def unfit(extractor: Extractor, documents: Sequence[Document]) -> Iterator[str]:
    """Yield for each document that the extractor can make little of the reason why."""
    fits = getattr(extractor, "fits", None)
    if fits is not None:
        yield from filter(None, (fits([document.text[:_SAMPLE]]) for document in documents))


def unreadable(skipped: Iterable[Skipped]) -> bool:
    """Whether something is there that could not be read, so that nobody knows what it holds."""
    return any(one.unread for one in skipped)


def documents_of(sources: Iterable[Source], made: Added, left_out: Path) -> Iterator[Document]:
    """Read what was given; paths that follow each other are read as one, so that repeats among them are seen."""
    for are_paths, some in groupby(sources, lambda source: isinstance(source, Path)):
        if are_paths:
            paths = [source for source in some if isinstance(source, Path)]
            yield from map(_storable, read_documents(paths, made.skipped.append, exclude=[left_out]))
        else:
            yield from (_document(source) for source in some)


def _document(source: Any) -> Document:
    if isinstance(source, Document):
        return _storable(source)
    if not isinstance(source, Mapping):
        raise OptionError(
            f"{source!r} is not a document. Give Document(id, text), a mapping with 'id' and 'text', or "
            f"pathlib.Path(...) for a file or a folder."
        )
    missing = [name for name in ("id", "text") if not (isinstance(source.get(name), str) and source[name])]
    if missing:
        raise OptionError(f"the document {dict(source)!r} has no {missing[0]!r} that is a string and not empty.")
    more = {k: str(v) for k, v in source.items() if k not in ("id", "text", "title")}
    return _storable(Document(source["id"], source["text"], str(source.get("title") or ""), more))


def _storable(document: Document) -> Document:
    """Return the document with what cannot be kept (NUL, half surrogate pairs) made U+FFFD; spans stay as they are."""
    parts = document.id, document.text, document.title
    if not any(_UNSTORABLE.search(part) for part in parts):
        return document
    known, text, title = (_UNSTORABLE.sub("\ufffd", part) for part in parts)
    return Document(known, text, title, document.metadata, document.whole)


def is_new(document: Document, known: dict[str, bytes], seen: dict[str, bytes], made: Added) -> bool:
    """Return whether a document has to be stored, and note what becomes of it; `seen` grows by it.

    Raises DataError where two documents of one id differ.
    """
    digest = content_hash(document)
    if document.id in seen:
        if seen[document.id] != digest:
            raise DataError(f"two documents have the id {document.id!r} and different content; ids must be distinct.")
        made.skipped.append(Skipped(document.id, "the same document was given twice"))
        return False
    seen[document.id] = digest
    if known.get(document.id) == digest:
        made.unchanged.append(document.id)
        return False
    (made.replaced if document.id in known else made.added).append(document.id)
    return True
