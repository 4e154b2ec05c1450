"""Documents of files and folders, read one at a time."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from urllib.parse import unquote

from graphwright.data.decoding import SAMPLE, clean, decode, is_binary, lines, open_bytes, suffix_of
from graphwright.data.document import Document, Skipped
from graphwright.data.markup import declared_encoding, html_text, markdown_text
from graphwright.data.records import ROW_SUFFIXES, read_rows
from graphwright.errors import DataError

__all__ = ["CORPUS", "Document", "Skipped", "has_rows", "links_file", "read_documents", "resolved"]

CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
"""Names of the file of documents in our own format and in BEIR's."""
_LINKS = ("links.tsv", "links.tsv.gz")
_MARKDOWN = (".md", ".markdown")
_HTML = (".html", ".htm", ".xhtml")
_INDEX = frozenset(("index.sqlite", "CURRENT"))  # a folder with these files is an index
_MAGIC = (
    (b"%PDF", "a PDF; turn it into text first, for example with pdftotext"),
    (b"PK\x03\x04", "a zip archive or an Office document; unpack it or save it as text or HTML first"),
    (b"\xd0\xcf\x11\xe0", "an old Office document; save it as text or HTML first"),
    (b"{\\rtf", "rich text (RTF); save it as text or HTML first"),
)
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]")  # an address with a scheme, or relative to the root of a site


def has_rows(path: Path) -> bool:
    """Return whether a file is one of rows, whose documents have ids of their own."""
    return suffix_of(path) in ROW_SUFFIXES


_Rows = Iterator[tuple[int, Document | Skipped]]
_Place = tuple[bytes, Path, int]  # digest of a document's content, file, and line, 0 for a whole file


def read_documents(
    paths: Iterable[Path | str],
    skip: Callable[[Skipped], None],
    *,
    exclude: Iterable[Path | str] = (),
) -> Iterator[Document]:
    """Return an iterator over the documents of files and folders, in a fixed order.

    Folders are read recursively, sorted by name, without hidden files and without the folders in `exclude`. A file is
    text (with or without a known suffix), Markdown, HTML, or rows: JSON lines, a JSON array, CSV or TSV; each may be
    packed with gzip. The id of a file's document is its path in the folder given; a row has its own id, else
    `file#line`.

    `Document.links` are read from a row's field `links`, from the pairs of ids in a `links.tsv` beside a
    `corpus.jsonl`, and from hyperlinks of Markdown and HTML to files of the same folder.

    Binary files, empty files, broken rows and repeated documents are not read; `skip` (such as the `append` of a
    list) is called with each of them during reading. Raises DataError at once for a path that does not exist, and
    during reading if nothing can be read, if two different documents have the same id, or if too many rows of a file
    are broken.
    """
    roots = [Path(path) for path in paths]
    if not roots:
        raise DataError("no documents: no path was given. Name a file or a folder.")
    if missing := [str(path) for path in roots if not path.exists()]:
        raise DataError(f"no such file or folder: {', '.join(missing)}. Paths start from {Path.cwd()}.")
    excluded = frozenset(Path(path).resolve() for path in exclude)
    return _read(roots, skip, excluded)


def _read(roots: Sequence[Path], skip: Callable[[Skipped], None], excluded: frozenset[Path]) -> Iterator[Document]:
    places: dict[str, _Place] = {}
    skipped: list[Skipped] = []
    files = 0
    for path, name in _files(roots, skip, excluded):
        files += 1
        for line, item in _file(path, name):
            if isinstance(item, Document):
                place = (_digest(item), path, line)
                first = places.setdefault(item.id, place)
                if first is place:
                    yield item
                    continue
                item = _repeat(item.id, first, place)
            skip(item)
            if not places:  # needed only for the error if no document is read
                skipped.append(item)
    if not places:
        reasons = "; ".join(f"{item.path}: {item.reason}" for item in skipped[:5])
        reason = f"{files:,} files, none with text. {reasons}" if files else "no files that are not hidden"
        raise DataError(f"nothing to read in {', '.join(map(str, roots))}: {reason}.")


def _digest(document: Document) -> bytes:
    content = blake2b(document.text.encode(), digest_size=16)
    content.update(f"\0{document.title}\0{sorted(document.metadata.items())}\0{sorted(document.links)}".encode())
    return content.digest()


def _repeat(identity: str, first: _Place, place: _Place) -> Skipped:
    """Return a document with a repeated id as `Skipped`. Raises DataError if it is not the same document."""
    first_position, position = (f"{path}:{line}" if line else str(path) for _, path, line in (first, place))
    if first[0] == place[0]:
        return Skipped(position, f"the same as {first_position}, id {identity!r}")
    rows = next((path for _, path, line in (place, first) if line), None)
    remedy = (
        f"Give each document its own id; or rename the field of ids in {rows}, for example to 'number': the ids of its "
        "rows are then their file and line"
        if rows
        else "Give the folder above both"
    )
    raise DataError(
        f"two different documents have the id {identity!r}: {first_position} and {position}. "
        f"{remedy}, or read them into separate indexes."
    )


def _files(
    roots: Sequence[Path], skip: Callable[[Skipped], None], excluded: frozenset[Path]
) -> Iterator[tuple[Path, str]]:
    """Yield each file with the id of its document."""

    def closed(error: OSError) -> None:
        skip(Skipped(str(error.filename), f"a folder that cannot be read: {error.strerror}", True))

    for path in roots:
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
            folders[:] = sorted(name for name in folders if name[0] != "." and (here / name).resolve() not in excluded)
            for name in sorted(name for name in names if name[0] != "."):
                if target := _linked_file(here / name, path, excluded):
                    skip(Skipped(str(here / name), f"a link to {target}, which is read itself"))
                else:
                    yield here / name, (here / name).relative_to(path).as_posix()


def _linked_file(link: Path, folder: Path, excluded: frozenset[Path]) -> str:
    """Return the target of a link to a file that is read with the folder anyway; else an empty string."""
    if not os.path.islink(link) or not os.path.isfile(link):  # both are false without permission
        return ""
    target, root = link.resolve(), folder.resolve()
    if not target.is_relative_to(root) or not excluded.isdisjoint(target.parents):
        return ""
    inside = target.relative_to(root)
    # An index is skipped with all its files, so a link is the only way to read one of them.
    if any(all(os.path.lexists(root / above / name) for name in _INDEX) for above in inside.parents):
        return ""
    return "" if any(part[0] == "." for part in inside.parts) else inside.as_posix()


def _file(path: Path, name: str) -> _Rows:
    """Read one file; without permission it becomes `Skipped`. Raises DataError for a damaged file."""
    name = clean(name)  # a name that is not UTF-8 has lone surrogates, which cannot be stored
    try:
        if not path.is_file():
            reason = "not a regular file" if path.exists() else "a link that leads nowhere"
            yield 0, Skipped(str(path), reason, True)
        elif reason := _part_of_corpus(path):
            yield 0, Skipped(str(path), reason)
        elif has_rows(path):
            yield from _rows(path, name)
        else:
            yield 0, _text_file(path, name)
    except PermissionError as error:  # of the file, or of the links beside it
        yield 0, Skipped(str(error.filename or path), "no permission to read it", True)
    except OSError as error:
        raise DataError(f"{path} cannot be opened ({error}). Replace it, or leave it out.") from error


def _part_of_corpus(path: Path) -> str:
    """Return the role of a file that belongs to a BEIR corpus beside it and is not a document; else an empty string."""
    if not any((path.parent / name).exists() for name in CORPUS):
        return ""
    if path.name.startswith("queries.jsonl"):
        return "the queries of the corpus beside it"
    return "the links of the corpus beside it, read with it" if path.name in _LINKS else ""


def _rows(path: Path, name: str) -> _Rows:
    """Read a file of rows, and their links from the file beside it."""
    beside = links_file(path)
    links, broken = ({}, []) if beside is None else _read_links(beside)
    yield from ((0, skipped) for skipped in broken)
    for line, row in read_rows(path, name):
        if isinstance(row, Document) and row.id in links:
            row = replace(row, links=tuple(dict.fromkeys((*row.links, *links[row.id]))))
        yield line, row


def links_file(corpus: Path) -> Path | None:
    """Return the `links.tsv` (or `.gz`) beside a `corpus.jsonl`; None for another file, or if there is none."""
    candidates = map(corpus.with_name, _LINKS if corpus.name in CORPUS else ())
    return next((path for path in candidates if path.is_file()), None)


def _read_links(path: Path) -> tuple[dict[str, list[str]], list[Skipped]]:
    """Return the link targets of each document in a `links.tsv`, and the lines that are not a pair of ids.

    A line holds the id of a document, a tab, and the id of a document that it links to; further columns are
    ignored, as are empty lines and lines that begin with `#`. A file without any pair gives one `Skipped`.
    """
    targets: dict[str, list[str]] = {}
    broken: list[Skipped] = []
    for number, line in enumerate(lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, target = (clean(cell).strip().lstrip("\ufeff") for cell in f"{line}\t".split("\t")[:2])
        if source and target:
            targets.setdefault(source, []).append(target)
        else:
            broken.append(Skipped(f"{path}:{number}", f"not two document ids separated by a tab: {line[:40]!r}"))
    if broken and not targets:
        broken = [Skipped(str(path), f"no links: {broken[0].reason}")]
    return targets, broken


def resolved(name: str, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the files that the hyperlinks of a file lead to, each once.

    `name` is the path of the file itself in the folder that is read. Links to other sites, within the same file and
    out of the folder are left out.

    >>> resolved("docs/a.md", ["b%20c.md#top", "../index.html?x", "#top", "a.md", "https://d.org", "../../e.md"])
    ('docs/b c.md', 'index.html')
    """
    folder, names = posixpath.dirname(name), dict[str, None]()
    for target in map(str.strip, targets):
        path = unquote(re.split("[?#]", target, maxsplit=1)[0])
        if path and not _EXTERNAL.match(target):
            linked = clean(posixpath.normpath(posixpath.join(folder, path)))
            if linked not in (name, ".", "..") and not linked.startswith("../"):
                names[linked] = None
    return tuple(names)


def _text_file(path: Path, name: str) -> Document | Skipped:
    with open_bytes(path) as file:
        head = file.read(SAMPLE)
        if reason := _not_text(head):
            return Skipped(str(path), reason, True)
        data = head + file.read()
    suffix = suffix_of(path)
    source = decode(data, declared_encoding(head) if suffix in _HTML else "")
    if source is None:
        return Skipped(str(path), "neither UTF-8 nor UTF-16 nor any other encoding tried; save it as UTF-8", True)
    source = clean(source)
    title, text = "", source
    metadata: dict[str, str] = {}
    targets: list[str] = []
    if suffix in _HTML:
        title, text, targets = html_text(source)
        title, text = clean(title), clean(text)  # an HTML entity can encode a control character
    elif suffix in _MARKDOWN:
        title, text, metadata, targets = markdown_text(source)
    if not text or text.isspace():
        return Skipped(str(path), "no text in it" if data.strip() else "empty")
    title = title or Path(name.removesuffix(".gz")).stem
    return Document(name, text, title, metadata, links=resolved(name, targets), file=True)


def _not_text(head: bytes) -> str:
    """Return the kind of a file that is not text, and the remedy; an empty string for text."""
    for magic, reason in _MAGIC:
        if head.startswith(magic):
            return reason
    if head[257:262] == b"ustar":
        return "a tar archive; unpack it first"
    return "binary, not text" if is_binary(head) else ""
