"""Documents of one file: its text, the parts of it that are documents, and the files in it."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from graphwright.data.decoding import SAMPLE
from graphwright.data.document import DESCRIBED, Document, Skipped, dated_starts, passage_title
from graphwright.data.folders import ReadOptions
from graphwright.data.formats.archives import MAX_UNPACKED
from graphwright.data.formats.chat import message_records, times_of
from graphwright.data.formats.format import Extracted, File, Part, Picture, UnreadableError
from graphwright.data.formats.parsing.pictures import png
from graphwright.data.formats.picture import pictures_of
from graphwright.data.formats.registry import format_of
from graphwright.data.links import resolved
from graphwright.data.records.clauses import clause_records
from graphwright.data.records.record import DOCUMENT, MAIL, MESSAGE, Record, file_type
from graphwright.data.records.rows import has_rows, read_rows
from graphwright.data.records.versions import dated_lines, document_record
from graphwright.errors import DataError, ModelError
from graphwright.text.characters import clean, composed
from graphwright.text.names import is_file_title
from graphwright.text.places import Places

OFFICE = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # first bytes of workbooks, also under the name of a table
NEEDS = "it needs the package "  # beginning of the reason for a file that could be read with more installed
_MAX_DEPTH = 4  # of archives in archives
_PICTURES = 8  # described at a time
_LONG_RUN = 16_384  # characters
_RUNS, _KINDS = re.compile("[A-Za-z0-9+/=_-]+"), [re.compile(kind) for kind in ("[a-z]", "[A-Z]", "[0-9]")]


@dataclass
class Allowance:
    """Remaining bytes that the files nested in one outermost file may unpack to."""

    unpacked: int = MAX_UNPACKED


@dataclass(frozen=True)
class FileReader:
    """Reader of one file and the files in it; `where` is its path in messages, `depth` the number of outer files."""

    where: str
    allowance: Allowance
    options: ReadOptions
    depth: int = 0

    def read(self, file: File, name: str) -> Iterator[Document | Skipped]:
        """Yield the documents of a file whose id is `name`; unreadable parts become `Skipped`."""
        try:
            yield from self._parts(file, name)
        except UnreadableError as error:
            yield Skipped(self.where, str(error), True)
        except ModuleNotFoundError as error:
            extra = "ocr" if error.name == "PIL" else "documents"
            yield Skipped(self.where, f"{NEEDS}{error.name}: pip install 'graphwright[{extra}]'", True)
        except (PermissionError, DataError):
            raise
        except Exception as error:  # any error of the format's library: one file must not stop the others
            # A library that follows a damaged offset gets EINVAL; any other number is a disk error.
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL) and not self.depth:
                raise
            yield Skipped(self.where, f"damaged ({type(error).__name__}: {str(error)[:100]})", True)

    def read_content(self, file: File, name: str) -> Iterator[Document | Skipped]:
        """Yield the documents of a file that is not on disk, which may be rows."""
        if has_rows(Path(file.name)) and not file.head(4).startswith(OFFICE):
            yield from _inner_rows(file, name, self.where, self.options)
        else:
            yield from self.read(file, name)

    def _parts(self, file: File, name: str) -> Iterator[Document | Skipped]:
        head = file.head(SAMPLE)
        if len(head) < SAMPLE and not head.strip():
            yield Skipped(self.where, "empty")
            return
        names, describe = set[str](), self.options.describe
        file = replace(file, recognised=self.options.recognised, pictures=describe is not None)
        format = format_of(file)
        is_package = describe is not None and format.by_members is not None
        for part in self._with_descriptions(chain(format.read(file), pictures_of(file) if is_package else ()), name):
            if isinstance(part, Document):
                yield part
            elif isinstance(part, Extracted):
                yield from self._document(name, part)
            elif isinstance(part, Skipped):
                yield Skipped(f"{self.where}{part.path}", part.reason, True)
            elif part.name in names:
                yield Skipped(f"{self.where}{part.name}", "another file of the same name", True)
            else:
                names.add(part.name)
                yield from self._inner(part, name)

    def _document(self, name: str, part: Extracted) -> Iterator[Document | Skipped]:
        text = part.text
        if not text or text.isspace():
            yield Skipped(self.where, "no text in it")
            return
        if is_encoded(text):
            yield Skipped(self.where, "encoded data, as base64, and no text")
            return
        document = Document(
            name + part.name,
            text,
            part.title if part.name else _title_of(name, part.title),
            {clean(key): clean(value) for key, value in part.metadata.items()},
            links=resolved(name, part.links),
            file=not part.name,
            headings=part.headings,
            places=part.places,
            records=tuple(record if record.type else record._replace(type=file_type(name)) for record in part.records),
        )
        yield with_records(document)
        if part.gaps:
            yield Skipped(self.where, part.gaps, True)

    def _with_descriptions(self, parts: Iterable[Part], name: str) -> Iterator[Document | Extracted | File | Skipped]:
        """Yield the parts of a file, with documents in place of pictures; several at a time are described."""
        for of_pictures, group in groupby(parts, lambda part: isinstance(part, Picture)):
            if not of_pictures:
                yield from group  # type: ignore[misc]
                continue
            with ThreadPoolExecutor(_PICTURES) as pool:
                while batch := list(islice(group, _PICTURES)):
                    yield from pool.map(lambda picture: self._described(picture, name), batch)

    def _described(self, picture: Picture, name: str) -> Document | Skipped:
        """Return the description of a picture by a model as a document, whose title says so."""
        describe = self.options.describe
        assert describe is not None
        try:
            text = clean(describe(png(picture.pixels), name)).strip()
        except ModelError as error:
            return Skipped("", f"a picture was not described: {error}", True)
        place = f" on {picture.place}" if picture.place else ""
        title = f"{_title_of(name, '')} › picture{place}, described by {describe.model}"
        places = Places("", (0,), (picture.place,)) if place else None
        return Document(name + picture.name, text, title, {DESCRIBED: describe.model}, places=places)

    def _inner(self, file: File, name: str) -> Iterator[Document | Skipped]:
        where, name = f"{self.where}{file.name}", name + file.name
        self.allowance.unpacked -= len(file.content or b"")
        if self.depth >= _MAX_DEPTH or self.allowance.unpacked < 0:
            limit = f"{_MAX_DEPTH} archives" if self.depth >= _MAX_DEPTH else f"{MAX_UNPACKED >> 20:,} MB"
            yield Skipped(where, f"in an archive of more than {limit}; unpack it first", True)
        else:
            yield from FileReader(where, self.allowance, self.options, self.depth + 1).read_content(file, name)


def named_in(file: File, rest: str) -> File:
    """Return the file in a file, or in one in it, of the document whose id ends in `rest`; without one the file."""
    with suppress(UnreadableError):  # such as rows, whose ids are their own
        for part in format_of(file).read(file) if "/" in rest else ():
            if isinstance(part, File) and re.match(f"{re.escape(name := composed(part.name))}([/#]|$)", rest):
                return named_in(part, rest[len(name) :])
    return file


def with_records(document: Document) -> Document:
    """Return the document of a file, or of a part of one, with records of its clauses and of the document itself.

    Source code, mails and chats have no clauses; turns of a chat in a document are messages. A mail and a part of a
    file are no documents of their own.
    """
    records, headings = document.records, document.headings
    given = [record for record in records if record.type == DOCUMENT]
    others = tuple(record for record in records if record.type != DOCUMENT)
    types = {record.type for record in others}
    if not types & {MAIL, MESSAGE} and (document.places is None or document.places.kind != "line"):
        numbered: Sequence[Record] = message_records(document.text, document.id, others)
        if not numbered:
            numbered, headings = clause_records(document.text, headings)
        elif document.places is None:
            document = replace(document, places=times_of(numbered))
        headings = headings or (() if others or numbered else dated_lines(document.text))
        others = tuple(sorted((*others, *numbered), key=lambda record: record.start))
    if document.file and MAIL not in types:
        fields = given[0].fields if given else ()
        rows = (*records, *(Record("", (), start, start + 1) for start in dated_starts(headings)))
        whole = document_record(document.id, document.title, document.metadata, document.text, fields, rows)
        others = (whole, *others)
    return replace(document, records=others, headings=headings)


def _inner_rows(file: File, name: str, where: str, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Read rows of a file in an archive, or of a source."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows" / f"rows{Path(file.name).suffix}"
        path.parent.mkdir()
        path.write_bytes(file.data())
        if file.users:
            (Path(folder) / "users.json").write_bytes(file.users)
        try:
            for _, row in read_rows(path, name, options):
                yield replace(row, path=row.path.replace(str(path), where)) if isinstance(row, Skipped) else row
        except DataError as error:
            yield Skipped(where, str(error).replace(str(path), where), True)


def _title_of(name: str, title: str) -> str:
    """Return the title of a file, else its name. A title of many files follows the name of the folder.

    >>> _title_of("guide/rivers.txt", ""), _title_of("zlib/changelog.gz", ""), _title_of("zlib/a.md", "README")
    ('rivers', 'zlib › changelog', 'zlib › README')
    >>> _title_of("MPL-2.0", "")  # a number is no suffix
    'MPL-2.0'
    """
    path = PurePosixPath(name.removesuffix(".gz"))
    title = title or (path.name if path.suffix[1:].isdecimal() else path.stem)
    return passage_title(path.parent.name, title) if is_file_title(title) else title


def is_encoded(text: str) -> bool:
    """Return whether a text is encoded data, as base64: nine tenths are runs of thousands of letters and digits.

    A run has small letters, capitals and digits. Minified code has signs in between; a page with an image, text.

    >>> is_encoded("TWu1" * 5000), is_encoded("var A=1;" * 5000), is_encoded("河" * 20000), is_encoded("1" * 20000)
    (True, False, False, False)
    """
    words = [word for word in text.split() if len(word) >= _LONG_RUN] if len(text) >= _LONG_RUN else []
    runs = [run for word in words for run in _RUNS.findall(word) if len(run) >= _LONG_RUN]
    return sum(len(run) for run in runs if all(kind.search(run) for kind in _KINDS)) > 0.9 * len(text)
