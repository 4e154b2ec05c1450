"""Protocol of file formats: a reader takes a file, and yields texts with headings and places, and files inside it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from graphwright.data.decoding import decode, open_bytes
from graphwright.data.document import Heading, Skipped
from graphwright.data.formats.parsing.pictures import Pixels
from graphwright.data.records.captions import TableTypes
from graphwright.data.records.record import Record
from graphwright.data.records.table import Note, Row, Table
from graphwright.text.characters import clean
from graphwright.text.places import Box, Places

MAX_BYTES = 256 * 2**20  # maximum bytes of a file that is read as a whole, unpacked
MAX_TEXT = 128 * 2**20  # maximum characters of one document
_MAX_HEADING = 200  # characters of a heading in a title


class UnreadableError(Exception):
    """Error for a file that cannot be read: the reason and the remedy; the file is skipped and reported."""


class KnownMails(NamedTuple):
    """The mails that are read together, so that their copies in other mails are known.

    `ids`: their Message-IDs, with the subjects. `subjects`: those of mails that answer none. `openings`: the first
    letters and digits of their texts, with the number of characters besides blanks. `quoted`: the openings of the mails
    that they quote, each with the first mail that quotes it, by its file and number.
    """

    ids: Mapping[str, str] = MappingProxyType({})
    subjects: frozenset[str] = frozenset()
    openings: Mapping[str, int] = MappingProxyType({})
    quoted: Mapping[str, str] = MappingProxyType({})


NO_MAILS = KnownMails()


@dataclass(frozen=True)
class File:
    """A file to be read: one on disk, or the content of a part of another file.

    `name` has the suffix that identifies the format, without `.gz`. `mails`: read with it. `users`: `users.json` of a
    Slack export. `recognised`: see `ReadOptions`. `pictures`: whether the pictures in it are wanted.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    mails: KnownMails = NO_MAILS
    users: bytes = b""
    recognised: Path | None = None
    pictures: bool = False

    def open(self) -> BinaryIO:
        """Open the file for reading and seeking; a gzip file is unpacked into memory."""
        if self.path is None or self.path.suffix.lower() == ".gz":
            return io.BytesIO(self.data())
        return self.path.open("rb")

    def data(self) -> bytes:
        """Return all bytes. Raises UnreadableError for more than MAX_BYTES."""
        content = self.content
        if content is None:
            assert self.path is not None
            if self.path.suffix.lower() != ".gz":
                _check_size(self.path.stat().st_size)  # before memory is filled
            with open_bytes(self.path) as file:
                content = file.read(MAX_BYTES + 1)
        _check_size(len(content))
        return content

    def text(self, declared: str = "") -> str:
        """Return the content as text, by default in the encoding `declared`. Raises UnreadableError if none fits."""
        text = decode(self.data(), declared)
        if text is None:
            raise UnreadableError("neither UTF-8 nor UTF-16 nor any other encoding tried; save it as UTF-8")
        return clean(text)

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        if self.content is not None:
            return self.content[:size]
        assert self.path is not None
        with open_bytes(self.path) as file:
            return file.read(size)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise UnreadableError(f"larger than {MAX_BYTES >> 20} MB; split it")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file, or of one part of it that is a document of its own.

    `name`: "" for the file itself, else the suffix of the file's name in the id, such as `#3`. `headings`, `places`: by
    characters of `text`. `links`: targets of hyperlinks, as written. `gaps`: what could not be read, such as scanned
    pages. `records`: the rows of its tables and other records; those of a type "" are named after the file.
    """

    text: str
    title: str = ""
    name: str = ""
    headings: tuple[Heading, ...] = ()
    places: Places | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    links: Sequence[str] = ()
    gaps: str = ""
    records: tuple[Record, ...] = ()


class Picture(NamedTuple):
    """A picture in a file: the suffix of its id, such as `#picture-2`; where it is, such as page 3; and its pixels."""

    name: str
    place: str
    pixels: Pixels


Part = Extracted | File | Picture | Skipped
"""An item that a format yields. A File is read by its own format; its name, and the path of a part that cannot be read,
follow the name of the outer file: `/report.pdf`."""


@dataclass(frozen=True)
class Format:
    """A file format: its name in messages, the suffixes of its files in lower case, and its reader.

    The reader raises UnreadableError with a reason; any other exception counts as damage of the file. `binary`: its
    files are not text. `by_content`: a function of the first bytes and the suffix that recognises the format under any
    suffix. `by_members`: the same for the members of a zip archive.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[File], Iterable[Part]]
    binary: bool = False
    by_content: Callable[[bytes, str], bool] | None = None
    by_members: Callable[[zipfile.ZipFile], bool] | None = None


class TextBuilder:
    """Builder of a text from blocks and lines, with headings and places.

    Characters are cleaned before they are added, so that spans count in the final text.

    >>> builder = TextBuilder("page")
    >>> builder.place(); builder.heading("Rivers", 1); builder.place(); _ = builder.line("Drava.")
    >>> builder.text, builder.places().of(0, 6), builder.places().of(8, 14)
    ('Rivers\\n\\nDrava.', 'page 1', 'page 2')
    """

    def __init__(self, kind: str = "") -> None:
        """Begin an empty text whose places are of a kind."""
        self.kind = kind
        self.headings: list[Heading] = []
        self.boxes: list[Box] = []
        self.links: list[str] = []
        self.records: list[Record] = []
        self.types = TableTypes()
        self._parts: list[str] = []
        self.size = 0  # characters so far
        self._starts: list[int] = []
        self._labels: list[str] = []
        self._due = 0  # line ends before the next text

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    @property
    def is_below_blank(self) -> bool:
        """Whether the next text begins the text, or stands below an empty line."""
        return not self.size or self._due > 1

    def line(self, text: str) -> int:
        """Add a line, unless it is blank; return where it begins."""
        return self._add(text, 1, 1)

    def block(self, text: str) -> int:
        """Add a paragraph, with an empty line on both sides, unless it is blank; return where it begins."""
        return self._add(text, 2, 2)

    def table(self, table: Table) -> None:
        """Add the rows of a table as sentences and records."""
        self.begin_table()
        for item in table.items():
            self.row(item)
        self.blank()

    def begin_table(self) -> None:
        """Begin a table, whose rows follow."""
        self.types.begin()
        self.blank()

    def row(self, item: Row | Note, title: str = "") -> int:
        """Add a row or a note of a table as a line; return where it begins. `title`: instead of the table's own."""
        if isinstance(item, Note):
            return self.line(item.text)
        text, record = item.sentence()
        start = self.line(text)
        heading = self.headings[-1].title if self.headings else ""
        self.types.add(len(self.records), item.head, title or item.head.title, heading)
        self.records.append(record.moved(start))
        return start

    def caption(self, text: str) -> None:
        """Add a paragraph that the file declares as the caption of what stands before or after it."""
        start = self.block(text)
        self.types.declared[start] = self.size, clean(text).strip()

    def blank(self) -> None:
        """Leave an empty line before the next text."""
        self._due = 2

    def continue_line(self) -> None:
        """Let the next line follow directly, without an empty line before it."""
        self._due = 0

    def append(self, text: str, cut: int = 0) -> int:
        """Add text directly after the last, of which `cut` characters are removed; return where it begins."""
        if cut:
            self._parts[-1] = self._parts[-1][:-cut]
            self.size -= cut
            if self.boxes:
                self.boxes[-1] = self.boxes[-1]._replace(end=min(self.boxes[-1].end, self.size))
        self._due = 0
        return self._add(text, 0, 0)

    def heading(self, text: str, level: int) -> None:
        """Add a heading on a line of its own, unless it is blank."""
        text = " ".join(clean(text).split())
        if text:
            self.mark(text, level, self.block(text))

    def include(self, part: Extracted) -> None:
        """Add a text with its headings, links and records as a paragraph."""
        start = self.block(part.text)
        for heading in part.headings:
            self.mark(heading.title, heading.level, start + heading.start)
        self.links += part.links
        self.records += [record.moved(start) for record in part.records]

    def mark(self, title: str, level: int, start: int) -> None:
        """Record a section that begins at a character of the text."""
        if not self.headings or start > self.headings[-1].start:
            self.headings.append(Heading(start, max(level, 1), title[:_MAX_HEADING]))

    def place(self, label: str = "") -> None:
        """Begin a new place; its first character is that of the next text."""
        self._starts.append(-1)
        self._labels.append(clean(label))

    def box(self, start: int, rectangle: tuple[int, int, int, int]) -> None:
        """Record the rectangle of the text from `start` on, in 1/10,000 of the page."""
        if self.size > start:
            self.boxes.append(Box(start, self.size, *rectangle))

    def places(self, checksum: str = "") -> Places | None:
        """Return the places, None if there are none."""
        if not self._starts:
            return None
        starts = tuple(self.size if start < 0 else start for start in self._starts)
        labels = tuple(self._labels) if any(self._labels) else ()
        return Places(self.kind, starts, labels, tuple(self.boxes), checksum)

    def extracted(self, title: str = "", **more: object) -> Extracted:
        """Return the text with its headings, places and links; `more` are further fields."""
        text = self.text
        records = self.types.typed(text, self.records)
        fields = {"headings": tuple(self.headings), "places": self.places(), "links": self.links, "records": records}
        return Extracted(text, " ".join(clean(title).split()), **fields | more)  # type: ignore[arg-type]

    def _add(self, text: str, before: int, after: int) -> int:
        text = clean(text).rstrip().lstrip("\n")
        if not text.strip():
            return self.size
        if self.size:
            self._append("\n" * max(before, self._due))
        start = self.size
        for number in range(len(self._starts) - 1, -1, -1):
            if self._starts[number] >= 0:
                break
            self._starts[number] = start
        self._append(text)
        self._due = after
        if self.size > MAX_TEXT:
            raise UnreadableError(f"its text is longer than {MAX_TEXT >> 20} million characters; split it")
        return start

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self.size += len(text)
