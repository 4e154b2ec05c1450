"""What is given to an index: documents in any form, made records, and what came of each."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from graphwright.data.decoding import clean
from graphwright.data.document import Document, Skipped, metadata_text
from graphwright.data.documents import has_rows, read_documents
from graphwright.data.links import links_of
from graphwright.errors import DataError, OptionError
from graphwright.index.extraction import Extractor
from graphwright.index.store import content_hash

__all__ = ["Changes", "Source", "documents_of", "is_new", "uncertain", "unfit"]

Source = Document | Mapping[str, Any] | Path
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_LINE = re.compile(r":\d+$")
_SAMPLE = 300  # characters that tell how a document is written


@dataclass
class Changes:
    """What came of changing an index: ids of documents by what happened to them, and what could not be read.

    `kept`: documents that are not in the folder any more but stay, since what could not be read, `unread`, may hold
    them. `resumed`: an interrupted run had stored documents that can be searched only now. `unfit` counts documents
    that the extractor can make little of, by the reason why. `deepened`: chunks that a language model read; `waiting`:
    those that still wait for it, each a document, a chunk's place in it and the reason why. `seconds` are those of each
    part of the build, `texts` how many texts have a vector.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    resumed: bool = False
    unfit: Counter[str] = field(default_factory=Counter)
    deepened: int = 0
    waiting: list[tuple[str, int, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)


def unfit(extractor: Extractor, documents: Sequence[Document]) -> Iterator[str]:
    """Yield for each document that the extractor can make little of the reason why."""
    fits = getattr(extractor, "fits", None)
    if fits is not None:
        yield from filter(None, (fits([document.text[:_SAMPLE]]) for document in documents))


def uncertain(
    gone: Iterable[str], files: Collection[str], skipped: Iterable[Skipped], folder: Path
) -> tuple[list[str], list[str]]:
    """Return those of these documents that may still be in a folder, ascending, and what could not be read there.

    A file that cannot be read may hold the document of its name. One of rows may hold any document but those that were
    a file of their own (`files`), and a folder those too whose names lie in it; so may what cannot be looked at, as it
    lies in a folder without permission to enter.
    """
    known = set(gone)
    rows, kept, unread = known.difference(files), set[str](), list[str]()
    for one in skipped:
        if one.unread:
            there = os.path.lexists(one.path)
            held = set[str]()
            # A row is named by its file and line, but a file's own name may end like that, too.
            for path in {Path(one.path)} if there else {Path(one.path), Path(_LINE.sub("", one.path))}:
                if path == folder or not path.is_relative_to(folder):
                    return sorted(known), [one.path]
                name = clean(path.relative_to(folder).as_posix())  # as ids are: a name need not be UTF-8
                # Not Path.is_dir, which raises where there is no permission to know.
                if os.path.isdir(path) or not there or has_rows(path):
                    held |= rows
                held |= {i for i in known if i == name or i.startswith(f"{name}/")}
            kept |= held
            unread += [one.path] * bool(held)
    return sorted(kept), unread


def documents_of(sources: Iterable[Source], made: Changes, left_out: Path) -> Iterator[Document]:
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
    missing = [name for name in ("id", "text") if name not in source]
    if missing:
        raise OptionError(f"the document {dict(source)!r} has no {missing[0]!r}; it has to be a string, not empty.")
    links = links_of(source.get("links"))
    used = ("id", "text", "title", *(["links"] if links else []))
    more = {key: value for key, value in source.items() if key not in used}
    return _storable(Document(source["id"], source["text"], str(source.get("title") or ""), more, links=links))


def _storable(document: Document) -> Document:
    """Return the document with what cannot be kept (NUL, half surrogate pairs) made U+FFFD; spans stay as they are.

    Links are put in order, each once, those to itself left out. Raises OptionError where id, text, title or a link is
    no string, or the id or the text is empty.
    """
    parts = {"id": document.id, "text": document.text, "title": document.title}
    for name, part in parts.items():
        if not isinstance(part, str) or (name != "title" and not part):
            raise OptionError(
                f"the {name} of the document {document.id!r} is {part!r}; it has to be a string, not empty."
            )
    if isinstance(document.links, str) or not all(isinstance(link, str) for link in document.links):
        raise OptionError(f"the links of the document {document.id!r} are {document.links!r}; give a tuple of ids.")
    metadata = {_kept(str(name)): _kept(metadata_text(value)) for name, value in document.metadata.items()}
    name, text, title = map(_kept, parts.values())
    links = tuple(sorted(set(map(_kept, document.links)) - {name, ""}))
    return Document(name, text, title, metadata, document.whole, links, document.file)


def _kept(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def is_new(document: Document, known: dict[str, bytes], seen: dict[str, bytes], made: Changes) -> bool:
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
