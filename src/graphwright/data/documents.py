"""Documents of files and folders, read one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from graphwright.data.decoding import SAMPLE, is_binary, open_bytes
from graphwright.data.document import Document, Skipped
from graphwright.data.file_documents import OFFICE, Allowance, FileReader
from graphwright.data.folders import ReadOptions, files
from graphwright.data.formats.format import MAX_BYTES, NO_MAILS, File, KnownMails
from graphwright.data.formats.mail import MAIL_SUFFIXES, MAILDIR, known_mails
from graphwright.data.links import CORPUS, LINKS, links_file, read_links
from graphwright.data.records.read import PARQUET
from graphwright.data.records.rows import has_rows, read_rows
from graphwright.errors import DataError, counted
from graphwright.text.characters import file_name

_BESIDE = ("queries.jsonl", "questions.jsonl", "openie.jsonl")  # files of a corpus that are no documents

_Rows = Iterator[tuple[int, Document | Skipped]]
_Place = tuple[bytes, Path, int]  # digest of a document's content, file, and line, 0 for a whole file


def read_documents(
    paths: Iterable[Path | str],
    skip: Callable[[Skipped], None],
    *,
    exclude: Iterable[Path | str] = (),
    options: ReadOptions | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Document]:
    """Return an iterator over the documents of files and folders, in a fixed order.

    Folders are read recursively, sorted by name, without hidden files, the folders in `exclude`, and what `options`
    leave out. docs/data.md has the formats, and the ids of files, rows and files in files. Links are those of a row's
    field `links`, of a `links.tsv` beside a `corpus.jsonl`, and hyperlinks to files of the same folder.

    `skip` is called with each damaged, binary or empty file, broken row and repeated document, and `report` with the
    bytes of the files read so far, and of all. Raises DataError at once for a path that does not exist, and during
    reading if nothing can be read, if two different documents have the same id (of two files of a folder whose names
    are written alike, the second is skipped), or for a damaged file of rows among `paths`; one in a folder is read up
    to the damage.
    """
    roots = [Path(path) for path in paths]
    if not roots:
        raise DataError("no documents: no path was given. Name a file or a folder.")
    if missing := [str(path) for path in roots if not path.exists()]:
        raise DataError(f"no such file or folder: {', '.join(missing)}. Paths start from {Path.cwd()}.")
    excluded = frozenset(Path(path).resolve() for path in exclude)
    return _read(roots, skip, excluded, options or ReadOptions(), report)


def read_file(
    path: Path, name: str, skip: Callable[[Skipped], None], options: ReadOptions | None = None
) -> Iterator[Document]:
    """Yield the documents of one file; `name` is the id of its document and the prefix of the ids of its rows."""
    for _, item in _file(path, name, options or ReadOptions()):
        if isinstance(item, Document):
            yield item
        else:
            skip(item)


def _read(
    roots: Sequence[Path],
    skip: Callable[[Skipped], None],
    excluded: frozenset[Path],
    options: ReadOptions,
    report: Callable[[int, int], None],
) -> Iterator[Document]:
    places: dict[str, _Place] = {}
    skipped: list[Skipped] = []

    def note(item: Skipped) -> None:
        skip(item)
        if not places:  # needed only for the error if no document is read
            skipped.append(item)

    chosen = list(files(roots, note, excluded, options))
    of_mails = (path for path, _ in chosen if path.suffix.lower() in MAIL_SUFFIXES or path.parent.name in MAILDIR)
    mails = known_mails(File(path.name, path) for path in of_mails)
    sizes = [_size(path) for path, _ in chosen]
    before, total = 0, sum(sizes)
    for (path, name), size in zip(chosen, sizes, strict=True):
        folder = str(path.parents[name.count("/")].resolve())
        read = 0  # bytes of this file, of which a document tells at least as many as it has characters
        for line, item in _items(path, name, options, path in roots, mails):
            if isinstance(item, Skipped):
                note(item)
                continue
            read = min(read + len(item.text), size)
            report(before + read, total)
            document, place = replace(item, folder=folder), (_digest(item), path, line)
            if line and (other := places.get(item.id)) and other[1] != path and other[0] != place[0]:
                document = replace(item, id=f"{file_name(name)}#{item.id}")  # the id of a row in another file
            first = places.setdefault(document.id, place)
            if first is place:
                yield document
            else:
                note(_repeat(document.id, first, place, roots))
        before += size
        report(before, total)
    if not places:
        reasons = "; ".join(f"{item.path}: {item.reason}" for item in skipped[:5])
        reason = f"{counted(len(chosen), 'file')}, none with text. {reasons}" if chosen else _no_file(options, reasons)
        raise DataError(f"nothing to read in {', '.join(map(str, roots))}: {reason}.")


def _size(path: Path) -> int:
    """Return the bytes of a file, 0 for one that cannot be examined."""
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _no_file(options: ReadOptions, reasons: str) -> str:
    if options.include:
        return f"no file matches {', '.join(options.include)}"
    return f"all files are left out. {reasons}" if reasons else "no files that are not hidden"


def _digest(document: Document) -> bytes:
    content = blake2b(document.text.encode(), digest_size=16)
    content.update(f"\0{document.title}\0{sorted(document.metadata.items())}\0{sorted(document.links)}".encode())
    return content.digest()


def _repeat(identity: str, first: _Place, place: _Place, roots: Sequence[Path]) -> Skipped:
    """Return a repeated document, or a file named alike, as `Skipped`. Raises DataError for another with this id."""
    first_position, position = (f"{path}:{line}" if line else str(path) for _, path, line in (first, place))
    if first[0] == place[0]:
        return Skipped(position, f"the same as {first_position}, id {identity!r}")
    if not (first[2] or place[2]) and any(root in first[1].parents and root in place[1].parents for root in roots):
        own, other = (ascii(path.name) for path in (place[1], first[1]))
        reason = f"not added: its name {own} is written like {other}, so that both have the id {identity!r}. Rename one"
        return Skipped(position, reason, True)
    rows = next((path for _, path, line in (place, first) if line), None)
    remedy = (
        f"Give each row of {rows} an id of its own, or name another column of ids"
        if rows
        else "Give the folder above both"
    )
    raise DataError(
        f"two different documents have the id {identity!r}: {first_position} and {position}. "
        f"{remedy}, or read them into separate indexes."
    )


def _items(path: Path, name: str, options: ReadOptions, named: bool, mails: KnownMails) -> _Rows:
    """Read one file. A damaged file raises DataError if it was `named` itself; in a folder it becomes `Skipped`."""
    try:
        yield from _file(path, name, options, mails)
    except DataError as error:
        if named:
            raise
        yield 0, Skipped(str(path), str(error).removeprefix(str(path)).lstrip(": ").removesuffix("."), True)


def _file(path: Path, name: str, options: ReadOptions, mails: KnownMails = NO_MAILS) -> _Rows:
    """Read one file; without permission it becomes `Skipped`. Raises DataError for a damaged file."""
    name = file_name(name)
    try:
        if not path.is_file():
            reason = "not a regular file" if path.exists() else "a broken link"
            yield 0, Skipped(str(path), reason, True)
            return
        if reason := _part_of_corpus(path):
            yield 0, Skipped(str(path), reason)
            return
        source = File(path.stem if path.suffix.lower() == ".gz" else path.name, path, mails=mails)
        if has_rows(path) and not source.head(4).startswith(OFFICE):
            reason = _not_rows(path)
            yield from ((0, Skipped(str(path), reason, True)),) if reason else _rows(path, name, options)
        else:
            yield from ((0, item) for item in FileReader(str(path), Allowance(), options).read(source, name))
    except PermissionError as error:  # of the file, or of the links beside it
        yield 0, Skipped(str(error.filename or path), "no permission to read it", True)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error}). Replace it, or leave it out.") from error


def _not_rows(path: Path) -> str:
    """Return the reason why a file cannot hold rows, by its first bytes and its size; "" if it can."""
    with open_bytes(path) as file:
        head = file.read(SAMPLE)
    if path.suffix.lower() == ".parquet":
        return "" if head.startswith(PARQUET) else "damaged: its content is not of the format Parquet"
    if is_binary(head):
        return "binary, not rows of text"
    if path.suffix.lower() == ".json" and path.stat().st_size > MAX_BYTES:  # which is read as a whole
        return f"larger than {MAX_BYTES >> 20} MB; save it as JSON lines"
    return ""


def _part_of_corpus(path: Path) -> str:
    """Return the role of a file that belongs to a corpus beside it and is not a document; else an empty string."""
    folder = path.parent.parent if path.parent.name == "qrels" else path.parent
    if not any((folder / name).exists() for name in CORPUS):
        return ""
    if path.name in LINKS:
        return "the links of the corpus beside it, read with it"
    if folder != path.parent or path.name == "qrels.tsv":
        return "the judgements of the corpus beside it"
    kind = path.name.removesuffix(".gz")
    return f"the {Path(kind).stem} of the corpus beside it" if kind in _BESIDE else ""


def _rows(path: Path, name: str, options: ReadOptions) -> _Rows:
    """Read a file of rows, and their links from the file beside it."""
    beside = links_file(path)
    links, broken = ({}, []) if beside is None else read_links(beside)
    yield from ((0, skipped) for skipped in broken)
    for line, row in read_rows(path, name, options):
        if isinstance(row, Document) and row.id in links:
            row = replace(row, links=tuple(dict.fromkeys((*row.links, *links[row.id]))))
        yield line, row
