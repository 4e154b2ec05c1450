"""Documents in any form: texts, mappings, files and folders are read, checked, and compared with the stored ones."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from graphwright.data.document import RECOGNISED, Document, Skipped, label_spans, metadata_text
from graphwright.data.documents import read_documents
from graphwright.data.folders import ReadOptions
from graphwright.data.records.read import links_of
from graphwright.data.records.record import Field, Record
from graphwright.data.records.rows import has_rows
from graphwright.errors import DataError, OptionError
from graphwright.store.changes import Changes
from graphwright.store.chunk_record import content_hash
from graphwright.text.characters import composed, file_name

Source = Document | Mapping[str, Any] | Path | str
Transform = Callable[[Iterable[Document]], Iterable[Document]]  # from all documents that were read to those stored
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_LINE_NUMBER = re.compile(r":\d+$")
_MAX_PATH = 1_000  # maximum characters of a text that may be a mistaken path


def possibly_present(
    missing: Iterable[str], files: Collection[str], skipped: Iterable[Skipped], folder: Path
) -> tuple[list[str], list[str]]:
    """Return those of the missing documents that unreadable files of a folder may contain, and these files.

    An unreadable file may contain the document of its name, and its parts. A file of rows may contain any document that
    is not a whole file (`files`); so may a folder, and documents whose ids lie in it. The same holds for paths that
    cannot be examined because their folder cannot be entered.
    """
    documents = set(missing)
    rows, present, unreadable = documents.difference(files), set[str](), list[str]()
    for skip in skipped:
        if skip.unread:
            exists = os.path.lexists(skip.path)
            candidates = set[str]()
            # A skipped row is named by its file and line, but a file's own name may end like that, too.
            for path in {Path(skip.path)} if exists else {Path(skip.path), Path(_LINE_NUMBER.sub("", skip.path))}:
                if path == folder or not path.is_relative_to(folder):
                    return sorted(documents), [skip.path]
                name = file_name(path.relative_to(folder).as_posix())  # as in ids
                # Path.is_dir would raise for a folder that cannot be entered.
                inside = any(map(os.path.isfile, path.parents))  # a part of a file, such as a file in an archive
                if os.path.isdir(path) or not (exists or inside) or has_rows(path):
                    candidates |= rows
                candidates |= {i for i in documents if i == name or i.startswith((f"{name}/", f"{name}#"))}
            present |= candidates
            unreadable += [skip.path] * bool(candidates)
    return sorted(present), unreadable


def read_sources(
    sources: Iterable[Source] | Source,
    changes: Changes,
    excluded: Path,
    options: ReadOptions | None = None,
    report: Callable[[str, int, int], None] = lambda work, done, total: None,
) -> Iterator[Document]:
    """Read one document or several in any form; consecutive paths are read together, so that repetitions are noticed.

    `excluded`: a folder that is not read. `report`: called before each document with the name of the work, the amount
    that has been read, and in all: kB of files, or documents, of which an iterator does not tell the number.
    """
    is_single = isinstance(sources, Document | Mapping | Path | str) or not isinstance(sources, Iterable)
    listed: Iterable[Any] = [sources] if is_single else sources  # type: ignore[assignment]
    before, given = 0, len(listed) if isinstance(listed, Sized) else 0

    def report_bytes(done: int, total: int) -> None:
        report("read files (kB)", -(-done // 1000), -(-total // 1000))

    for are_paths, group in groupby(listed, lambda source: isinstance(source, Path)):
        if are_paths:
            paths = [source for source in group if isinstance(source, Path)]
            reading = read_documents(
                paths, changes.skipped.append, exclude=[excluded], options=options, report=report_bytes
            )
            yield from map(storable, reading)
        else:
            for number, source in enumerate(group, before + 1):
                before = number
                report("read documents", number, max(given, number))
                yield _document(source)


def _document(source: Any) -> Document:
    if isinstance(source, Document):
        return storable(source)
    if isinstance(source, str):
        if len(source) <= _MAX_PATH and "\0" not in source and os.path.exists(source):
            raise OptionError(
                f"{source!r} is text, but a file or folder has this name. Give pathlib.Path({source!r}) to read it, or "
                f"{{'text': {source!r}}} to add the text."
            )
        source = {"text": source}
    if not isinstance(source, Mapping):
        raise OptionError(
            f"{source!r} is not a document. Give a text, a mapping with 'text' and perhaps 'id', Document(id, text), "
            f"or pathlib.Path(…) for a file or a folder."
        )
    if "text" not in source:
        raise OptionError(f"the document {dict(source)!r} has no 'text'; give it as a string.")
    links = links_of(source.get("links"))
    fields = ("id", "text", "title", *(["links"] if links else []))
    metadata = {name: value for name, value in source.items() if name not in fields}
    if isinstance(nested := metadata.get("metadata"), Mapping):
        metadata = {**nested, **metadata}
        del metadata["metadata"]
    title, text = str(source.get("title") or ""), source["text"]
    return storable(Document(_id_of(source.get("id"), title, text), text, title, metadata, links=links))


def _id_of(value: Any, title: str, text: Any) -> Any:
    """Return the id of a document; one without an id is named by its content."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None:
        return value
    content = f"{title}\0{text}".encode("utf-8", "surrogatepass")
    return f"text-{hashlib.blake2b(content, digest_size=8).hexdigest()}"


def storable(document: Document) -> Document:
    """Return the document with NUL and half surrogate pairs replaced by U+FFFD, so that spans stay valid.

    Its id, title, metadata and links get composed letters (NFC). Links are sorted, each once, without those to itself.
    Raises OptionError if id, text, title or a link is not a string, or the id or the text is empty.
    """
    parts = {"id": document.id, "text": document.text, "title": document.title}
    for name, part in parts.items():
        if not isinstance(part, str) or (name != "title" and not part):
            rule = "a string" if name == "title" else "a string that is not empty"
            raise OptionError(f"the {name} of the document {document.id!r} is {part!r}; it must be {rule}.")
    if isinstance(document.links, str) or not all(isinstance(link, str) for link in document.links):
        raise OptionError(f"the links of the document {document.id!r} are {document.links!r}; give a tuple of ids.")
    if wrong := next((record for record in document.records if not _is_record(record, len(document.text))), None):
        raise OptionError(
            f"a record of the document {document.id!r} is {str(wrong)[:200]}; give Record(type, fields, start, end) "
            f"with texts in its fields and spans inside the text."
        )
    metadata = {_name(str(name)): _name(metadata_text(value)) for name, value in document.metadata.items()}
    name, text, title = _name(document.id), _valid(document.text), _name(document.title)
    links = tuple(sorted(set(map(_name, document.links)) - {name, ""}))
    records = tuple(document.records)
    stored = replace(document, id=name, text=text, title=title, metadata=metadata, links=links, records=records)
    return replace(stored, labels=label_spans(stored))


def _is_record(record: object, length: int) -> bool:
    if not isinstance(record, Record) or not isinstance(record.type, str):
        return False
    return 0 <= record.start <= record.end <= length and all(
        isinstance(field, Field)
        and isinstance(field.name, str)
        and isinstance(field.text, str)
        and 0 <= field.start <= field.end <= length
        for field in record.fields
    )


def _name(text: str) -> str:
    return composed(_valid(text))


def _valid(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def is_new(document: Document, known: Mapping[str, bytes], seen: dict[str, bytes], changes: Changes) -> bool:
    """Return whether a document is to be stored; add it to `seen`. Raises DataError for two of one id that differ."""
    digest = content_hash(document)
    if document.id in seen:
        if seen[document.id] != digest:
            raise DataError(f"two documents have the id {document.id!r} and different content; ids must be unique.")
        changes.skipped.append(Skipped(document.id, "the same document was given twice"))
        return False
    seen[document.id] = digest
    if known.get(document.id) == digest:
        changes.unchanged.append(document.id)
        return False
    (changes.replaced if document.id in known else changes.added).append(document.id)
    if pages := document.metadata.get(RECOGNISED):
        changes.recognised.append((document.id, pages))
    return True
