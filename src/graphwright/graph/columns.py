"""Columns of a snapshot: strings in one block of UTF-8, memory-mapped, and the documents and spans of its chunks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import DataError
from graphwright.kernels import strings as kernels
from graphwright.kernels.far import Reading
from graphwright.text.places import Places, decoded_places, stored_cuts

_BLOCK = 4096  # strings that iteration copies at once
_MANY = 64  # more strings than this are gathered before they are decoded


def terminate(strings: Iterable[str]) -> bytes:
    """Return strings as UTF-8, each ended by a NUL (see `TextColumn.terminated`). Raises DataError for a NUL inside."""
    listed = list(strings)
    block = _joined(listed)
    if block.count(b"\0") != len(listed):
        at, text = next((i, s) for i, s in enumerate(listed) if "\0" in s)
        raise DataError(f"String {at} holds a NUL character, which ends strings here: {text[:80]!r}. Remove it.")
    return block


def _joined(strings: list[str]) -> bytes:
    return "\0".join([*strings, ""]).encode("utf-8", "surrogatepass")


class TextColumn(Sequence[str]):
    """Strings by position, decoded when read: `data: uint8[bytes]`, end to end; `offsets: int64[n + 1]`, their borders.

    >>> column = TextColumn.of(["Graz", "", "Łódź"])
    >>> len(column), column[2], column[-3], list(column)
    (3, 'Łódź', 'Graz', ['Graz', '', 'Łódź'])
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data, self.offsets = data, offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> TextColumn:
        """Make a column of any strings; lone surrogates are kept."""
        listed = list(strings)
        column = cls.terminated(_joined(listed))  # one string is encoded much faster than many
        if len(column) == len(listed):
            return column
        return cls.of_bytes([s.encode("utf-8", "surrogatepass") for s in listed])  # a string contains a NUL

    @classmethod
    def of_bytes(cls, encoded: Sequence[bytes]) -> TextColumn:
        """Make a column of any bytes; those that are not UTF-8 can only be read by `raw`."""
        offsets = np.cumsum(np.fromiter(chain((0,), map(len, encoded)), np.int64, len(encoded) + 1))
        data = np.frombuffer(b"".join(encoded), np.uint8)
        offsets.flags.writeable = False
        return cls(data, offsets)

    @classmethod
    def terminated(cls, blob: bytes) -> TextColumn:
        """Make a column of what `terminate` writes. Raises DataError when bytes follow the last NUL."""
        joined = np.frombuffer(blob, np.uint8)
        ends = np.flatnonzero(joined == 0)
        if joined.size and joined[-1]:
            raise DataError(f"{blob[-80:]!r} does not end in a NUL byte, as each string must. Is it cut short?")
        offsets = np.zeros(ends.size + 1, np.int64)
        offsets[1:] = ends - np.arange(ends.size)
        data = joined[joined != 0]
        data.flags.writeable = offsets.flags.writeable = False
        return cls(data, offsets)

    @classmethod
    def joined(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """Put columns end to end."""
        sizes = [np.diff(column.offsets) for column in columns]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes)) if sizes else []))
        data = [column.data[column.offsets[0] : column.offsets[-1]] for column in columns]
        return cls(np.concatenate(data) if data else np.empty(0, np.uint8), offsets.astype(np.int64))

    @classmethod
    def paired(cls, first: TextColumn, second: TextColumn) -> TextColumn:
        """Put each string of one column before the string of the other at the same position.

        >>> list(TextColumn.paired(TextColumn.of(["a", "b"]), TextColumn.of(["x", ""])))
        ['ax', 'b']
        """
        n = len(first)
        alternating = np.stack((np.arange(n), np.arange(n, n + len(second))), axis=1).ravel()
        both = cls.joined((first, second)).gather(alternating)
        return cls(both.data, np.ascontiguousarray(both.offsets[::2]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return self._decoded(*at.indices(len(self)))
        count = self.offsets.size - 1
        if not -count <= at < count:
            raise IndexError(f"position {at} in a column of {count}")
        return self.raw(int(at) % count).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _BLOCK):
            yield from self._decoded(first, min(first + _BLOCK, len(self)), 1)

    def _decoded(self, first: int, last: int, step: int) -> list[str]:
        if step != 1 or first >= last:
            return [self[i] for i in range(first, last, step)]
        borders = self.offsets[first : last + 1]
        block, ends = self.data[borders[0] : borders[-1]].tobytes(), (borders - borders[0]).tolist()
        return [block[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]

    def raw(self, at: int) -> bytes:
        """Return the bytes of one string."""
        return self.data[self.offsets[at] : self.offsets[at + 1]].tobytes()

    def take(self, ids: Iterable[int]) -> list[str]:
        """Return the strings at `ids`, in that order."""
        listed = [int(i) for i in ids]
        return list(self.gather(listed)) if len(listed) > _MANY else [self[i] for i in listed]

    def reading(self, ids: ArrayLike) -> Reading[Any]:
        """Read the strings at `ids` together, before they are read one by one, where they are kept elsewhere."""
        yield from ()

    def gather(self, ids: ArrayLike) -> TextColumn:
        """Return the strings at `ids: int64[k]` as a column. Raises ValueError for an id that is no position."""
        return TextColumn(*kernels.gather(self.data, self.offsets, ids))

    def numbered(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Number equal strings alike, by first appearance; return the numbers, and the first string of each number."""
        number, first = kernels.distinct(self.data, self.offsets)
        return number, np.asarray(first, np.int64)

    def ranked(self) -> tuple[TextColumn, NDArray[np.int32]]:
        """Return the distinct strings in order (of their UTF-8 bytes), and the position of each string among them."""
        number, first = self.numbered()
        distinct = self.gather(first)
        order = distinct.order()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return distinct.gather(order), rank[number]

    def positions(self, texts: TextColumn) -> NDArray[np.int64]:
        """Return the position of the first string that equals each text, -1 for none."""
        if not len(texts):
            return np.empty(0, np.int64)
        number, first = TextColumn.joined((self, texts)).numbered()
        at = first[number[len(self) :]]
        return np.where(at < len(self), at, -1)

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of characters of each string: int64[n]."""
        begins = np.zeros(len(self.data) + 1, np.int64)
        np.cumsum((np.asarray(self.data) & 0xC0) != 0x80, out=begins[1:])  # bytes that begin a character
        return np.diff(begins[self.offsets])

    def order(self) -> NDArray[np.int64]:
        """Return positions sorted by string (by its UTF-8 bytes), equal strings by position: int64[n]."""
        return kernels.ranking(self.data, self.offsets)

    def ends(self, text: str, order: NDArray[np.int64] | None = None, *, prefix: bool = False) -> tuple[int, int]:
        """Return the part of `order` (first, last + 1) that equals `text`, or begins with it.

        Without an order, the column must be sorted. Costs a few dozen string comparisons at any size.

        >>> column = TextColumn.of(["b", "a", "b", "bc"])
        >>> order = column.order()
        >>> first, last = column.ends("b", order, prefix=True); order[first:last].tolist()
        [0, 2, 3]
        """
        key = text.encode("utf-8", "surrogatepass")
        first = self._bisect(order, key, 0)
        # No byte of UTF-8 is 0xff, so the prefix with it sorts after all strings that begin with the prefix.
        return first, self._bisect(order, key + (b"\xff" if prefix else b"\0"), first)

    def first(self, text: str, order: NDArray[np.int64] | None = None, low: int = 0) -> int:
        """Return the position in `order`, from `low` on, of `text` or where it would be inserted."""
        return self._bisect(order, text.encode("utf-8", "surrogatepass"), low)

    def _bisect(self, order: NDArray[np.int64] | None, key: bytes, low: int) -> int:
        return kernels.position(self.data, self.offsets, key, order, low)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextColumn):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        return f"TextColumn({shown}{', …' if len(self) > 3 else ''}; {len(self)} strings)"


class Listed(NamedTuple):
    """A document of an index: the length of its text and the number of its chunks."""

    id: str
    title: str
    characters: int
    chunks: int


def natural(id: str) -> list[str | int]:
    """Return the key that sorts texts by the numbers in them."""
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"([0-9]{1,18})", id))]


@dataclass(frozen=True, slots=True)
class Location:
    """Place of a chunk: its name (`id`), its document's id and title, and its span of characters there."""

    id: str
    document: str
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved passage: text, document, characters, score. Without documents it is a node: the ids are its name."""

    document: str
    title: str
    text: str
    score: float
    start: int
    end: int
    id: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        names = ("id", "document", "title", "text", "start", "end")
        return {**{name: getattr(self, name) for name in names}, "score": round(self.score, 6)}


@dataclass(frozen=True, eq=False)
class Passages:
    """The chunks of a snapshot, one row each.

    `nodes: int64[p]` are their nodes, ascending; `document: int32[p]` indexes `documents` (ids) and `places` (see
    `decoded_places`); `title: int32[p]` indexes `titles`: those of the documents, in their order, then those of
    sections; `start` and `end: int64[p]` are characters in the document. `copy_keys: int32[p, 2]`: copies of a
    passage share one of them (see `graphwright.text.copies`).
    """

    nodes: NDArray[np.int64]
    document: NDArray[np.int32]
    title: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    names: TextColumn
    documents: TextColumn
    titles: TextColumn
    places: TextColumn
    copy_keys: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.nodes)

    def row(self, node: int) -> int:
        """Return the row of a chunk node, -1 for any other node."""
        at = int(np.searchsorted(self.nodes, node))
        return at if at < len(self.nodes) and self.nodes[at] == node else -1

    def of(self, node: int) -> Location | None:
        """Return the location of a chunk node, None for any other node."""
        row = self.row(node)
        if row < 0:
            return None
        document = int(self.document[row])
        return Location(
            self.names[row],
            self.documents[document],
            self.titles[int(self.title[row])],
            int(self.start[row]),
            int(self.end[row]),
        )

    def title_of(self, node: int) -> str:
        """Return the title of a chunk node: its document's with the headings above it; "" for any other node."""
        row = self.row(node)
        return self.titles[int(self.title[row])] if row >= 0 else ""

    def places_of(self, row: int) -> Places | None:
        """Return the pages or cells of a row's document, None if it has none."""
        return decoded_places(self.places.raw(int(self.document[row])))

    def cuts_of(self, row: int) -> tuple[int, ...]:
        """Return the positions in the text of a row that no sentence crosses (see Places.cuts)."""
        start = int(self.start[row])
        cuts = stored_cuts(self.places.raw(int(self.document[row])), start, int(self.end[row]))
        return tuple(cut - start for cut in cuts)

    def listed(self) -> list[Listed]:
        """Return all documents, by id; `#2` is before `#10`."""
        ends = np.zeros(len(self.documents), np.int64)
        np.maximum.at(ends, self.document, self.end)
        chunks = np.bincount(self.document, minlength=len(self.documents))
        titles = self.titles[: len(self.documents)]
        every = zip(self.documents, titles, ends.tolist(), chunks.tolist(), strict=True)
        return sorted((Listed(*row) for row in every if row[-1]), key=lambda listed: natural(listed.id))

    def text(self, document: str, texts: Sequence[str]) -> str:
        """Return the text of a document from those of its chunks by row; line ends fill the space between them."""
        rows, whole = self.rows_of_document[document], ""
        for start, text in sorted(zip(self.start[rows].tolist(), texts, strict=True)):
            whole = whole.ljust(start, "\n") + text[max(len(whole) - start, 0) :]
        return whole

    @cached_property
    def rows_of_document(self) -> dict[str, list[int]]:
        """Rows by document id."""
        rows: dict[str, list[int]] = {}
        for row, document in enumerate(self.document.tolist()):
            rows.setdefault(self.documents[document], []).append(row)
        return rows
