"""Documents out of files and folders, one at a time."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from graphwright.data.base import Document, Skipped
from graphwright.data.decoding import SAMPLE, clean, decode, looks_binary, open_bytes, suffix_of
from graphwright.data.html import declared_encoding, html_text
from graphwright.data.links import file_beside, read_links, resolved
from graphwright.data.markdown import markdown_links, markdown_text
from graphwright.data.rows import read_rows
from graphwright.errors import DataError

__all__ = ["Document", "Skipped", "holds_rows", "read_documents"]

_ROWS = frozenset((".jsonl", ".ndjson", ".json", ".csv", ".tsv"))
_MARKDOWN = frozenset((".md", ".markdown"))
_HTML = frozenset((".html", ".htm", ".xhtml"))
_INDEX = frozenset(("index.sqlite", "CURRENT"))  # files that make a folder an index, which is no documents
_MAGIC = (
    (b"%PDF", "a PDF; turn it into text first, for example with pdftotext"),
    (b"PK\x03\x04", "a zip archive or an Office document; unpack it or save it as text or HTML first"),
    (b"\xd0\xcf\x11\xe0", "an old Office document; save it as text or HTML first"),
    (b"{\\rtf", "rich text (RTF); save it as text or HTML first"),
)


def holds_rows(path: Path) -> bool:
    """Whether a file is one of rows, whose documents have ids of their own."""
    return suffix_of(path) in _ROWS


_Found = Iterator[tuple[int, Document | Skipped]]


def read_documents(
    paths: Iterable[Path | str],
    skip: Callable[[Skipped], None],
    *,
    exclude: Iterable[Path | str] = (),
) -> Iterator[Document]:
    """Return an iterator over the documents of files and folders, in a fixed order.

    Folders are read recursively and sorted; hidden files, and folders in `exclude`, are passed over.
    Read are text (with or without a known suffix), Markdown, HTML, and rows: JSON lines, JSON arrays, CSV and
    TSV, each also packed with gzip. A file's document is named by its path under the given folder; a row by
    its own id, else `file#line`.

    What a document refers to is read too (`Document.links`): a row's field `links`, the pairs of ids in a
    `links.tsv` beside a `corpus.jsonl`, and hyperlinks of Markdown and HTML to files of the same folder.

    What is not read (binary files, empty ones, broken rows, repeated documents) is handed to `skip`, such as
    the `append` of a list, as reading goes. Raises DataError at once where a path does not exist, and while
    reading where nothing at all can be read, two different documents share an id, or too many rows of a file
    are broken.
    """
    given = [Path(path) for path in paths]
    if not given:
        raise DataError("no documents: no path was given. Name a file or a folder.")
    if missing := [str(path) for path in given if not path.exists()]:
        raise DataError(f"no such file or folder: {', '.join(missing)}. Paths start from {Path.cwd()}.")
    left_out = frozenset(Path(path).resolve() for path in exclude)
    return _read(given, skip, left_out)


def _read(given: Sequence[Path], skip: Callable[[Skipped], None], left_out: frozenset[Path]) -> Iterator[Document]:
    seen = _Seen()
    skipped: list[Skipped] = []
    for path, name in _files(given, skip, left_out):
        seen.files.append(path)
        for line, found in _file(path, name):
            if isinstance(found, Document):
                repeated = seen.repeats(found, line)
                if not repeated:
                    yield found
                    continue
                found = repeated
            skip(found)
            if not seen.places:  # kept only for the error that tells why nothing was read
                skipped.append(found)
    if not seen.places:
        raise _nothing(given, len(seen.files), skipped)


def _files(
    given: Sequence[Path], skip: Callable[[Skipped], None], left_out: frozenset[Path]
) -> Iterator[tuple[Path, str]]:
    """Yield each file with the name that its document gets."""

    def closed(error: OSError) -> None:
        skip(Skipped(str(error.filename), f"a folder that cannot be read: {error.strerror}", True))

    for path in given:
        if not path.is_dir():
            yield path, path.name
            continue
        for folder, folders, names in os.walk(path, onerror=closed):
            here = Path(folder)
            if set(names) >= _INDEX:
                folders.clear()
                skip(Skipped(folder, "an index, not documents"))
                continue
            for name in (name for name in folders if name[0] != "." and os.path.islink(here / name)):
                skip(Skipped(str(here / name), "a link to a folder; only links to files are followed"))
            folders[:] = sorted(name for name in folders if name[0] != "." and (here / name).resolve() not in left_out)
            for name in sorted(name for name in names if name[0] != "."):
                if twin := _read_elsewhere(here / name, path, left_out):
                    skip(Skipped(str(here / name), f"a link to {twin}, which is read itself"))
                else:
                    yield here / name, (here / name).relative_to(path).as_posix()


def _read_elsewhere(link: Path, folder: Path, left_out: frozenset[Path]) -> str:
    """Return what a link leads to, where that is a file which reading the folder comes to by itself; else nothing."""
    if not os.path.islink(link) or not os.path.isfile(link):  # these say no, too, where there is no permission to know
        return ""
    target, root = link.resolve(), folder.resolve()
    if not target.is_relative_to(root) or not left_out.isdisjoint(target.parents):
        return ""
    inside = target.relative_to(root)
    # What lies in an index is passed over with it, so that this link is the only way to it.
    if any(all(os.path.lexists(root / above / name) for name in _INDEX) for above in inside.parents):
        return ""
    return "" if any(part[0] == "." for part in inside.parts) else inside.as_posix()


def _file(path: Path, name: str) -> _Found:
    """Read one file, mapping what the system or a packed file's damage raises."""
    name = clean(name)  # a name that is not UTF-8 holds half surrogates, which no store takes
    try:
        if not path.is_file():
            reason = "not a regular file" if path.exists() else "a link that leads nowhere"
            yield 0, Skipped(str(path), reason, True)
        elif reason := _of_a_corpus(path):
            yield 0, Skipped(str(path), reason)
        elif holds_rows(path):
            yield from _rows(path, name)
        else:
            yield 0, _text_file(path, name)
    except PermissionError as error:  # perhaps of the links beside it, without which it would be another
        yield 0, Skipped(str(error.filename or path), "no permission to read it", True)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read to its end: {error}. Replace it, or leave it out.") from error


def _of_a_corpus(path: Path) -> str:
    """Say what a file is to the corpus beside it, in BEIR's form, where it is no documents though it may look so."""
    if not any((path.parent / f"corpus.jsonl{packed}").exists() for packed in ("", ".gz")):
        return ""
    if path.name.startswith("queries.jsonl"):
        return "the queries of the corpus beside it"
    return "the links of the corpus beside it, read with it" if path.name in ("links.tsv", "links.tsv.gz") else ""


def _rows(path: Path, name: str) -> _Found:
    """Read a file of rows, and what they refer to in the file beside it."""
    beside = file_beside(path)
    links, broken = ({}, []) if beside is None else read_links(beside)
    yield from ((0, skipped) for skipped in broken)
    for line, found in read_rows(path, name):
        if isinstance(found, Document) and found.id in links:
            found = replace(found, links=tuple(dict.fromkeys((*found.links, *links[found.id]))))
        yield line, found


def _text_file(path: Path, name: str) -> Document | Skipped:
    with open_bytes(path) as file:
        head = file.read(SAMPLE)
        if reason := _not_text(head):
            return Skipped(str(path), reason, True)
        data = head + file.read()
    kind = suffix_of(path)
    source = decode(data, declared_encoding(head) if kind in _HTML else "")
    if source is None:
        return Skipped(str(path), "neither UTF-8 nor UTF-16 nor any other encoding tried; save it as UTF-8", True)
    source = clean(source)
    title, text = "", source
    settings: dict[str, str] = {}
    targets: list[str] = []
    if kind in _HTML:
        title, text, targets = html_text(source)
        title, text = clean(title), clean(text)  # an entity can stand for a control character
    elif kind in _MARKDOWN:
        title, text, settings = markdown_text(source)
        targets = markdown_links(source)
    if not text or text.isspace():
        return Skipped(str(path), "empty" if not data.strip() else "no text in it")
    title = title or Path(name.removesuffix(".gz")).stem
    return Document(name, text, title, settings, links=resolved(name, targets), file=True)


def _not_text(head: bytes) -> str:
    for magic, reason in _MAGIC:
        if head.startswith(magic):
            return reason
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it first"
    return "binary, not text" if looks_binary(head) else ""


class _Seen:
    """Where each id was first read, and what it named there."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.places: dict[str, tuple[bytes, int, int]] = {}

    def repeats(self, document: Document, line: int) -> Skipped | None:
        """Note a document; say so if it was read before, and refuse another one under its id."""
        content = blake2b(document.text.encode(), digest_size=16)
        content.update(f"\0{document.title}\0{sorted(document.metadata.items())}\0{sorted(document.links)}".encode())
        mark = (content.digest(), len(self.files) - 1, line)
        first = self.places.setdefault(document.id, mark)
        if first is mark:
            return None
        here, there = self._place(mark), self._place(first)
        if first[0] == mark[0]:
            return Skipped(here, f"the same as {there}, id {document.id!r}")
        row = here if line else there if first[2] else ""
        remedy = (
            "Give each its own id, as ids have to differ in all that is read together; or rename the field of ids in "
            f"{row.rpartition(':')[0]}, to 'number' say: its rows then go by their file and line"
            if row
            else "Give the folder above both"
        )
        raise DataError(
            f"two different documents have the id {document.id!r}: {there} and {here}. "
            f"{remedy}, or read them into separate indexes."
        )

    def _place(self, mark: tuple[bytes, int, int]) -> str:
        _, file, line = mark
        return f"{self.files[file]}:{line}" if line else str(self.files[file])


def _nothing(given: Sequence[Path], files: int, skipped: Sequence[Skipped]) -> DataError:
    asked = ", ".join(map(str, given))
    if not files:
        return DataError(f"nothing to read in {asked}: no files that are not hidden.")
    reasons = "; ".join(f"{item.path}: {item.reason}" for item in skipped[:5])
    more = f"; and {len(skipped) - 5:,} more" if len(skipped) > 5 else ""
    return DataError(f"nothing to read in {asked}: {files:,} files, none with text. {reasons}{more}.")
