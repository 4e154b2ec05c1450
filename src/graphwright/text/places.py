"""Places of a text in the file that it was extracted from: pages, slides, cells, or lines and definitions."""

from __future__ import annotations

import json
import zlib
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, takewhile
from operator import itemgetter
from typing import NamedTuple

_FLOWING = ("page", "line")  # kinds of places that a sentence may cross
_PAGES = b'["page"'  # begins the stored form of places that are pages


class Box(NamedTuple):
    """Rectangle of characters `start` to `end` on their page, in 1/10,000 of its width and height from the top left."""

    start: int
    end: int
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class Places:
    """Places of a text in its original file; `starts` are the characters, ascending, at which each begins.

    `kind`: page, slide, cell, part, line or time; "" where the labels are complete. `labels`: one for each start;
    without any, places are numbered from 1. `boxes`: one for each line of text, ascending; only of PDF. `checksum`: of
    that file, 32 hexadecimal digits. `sections`: characters, ascending, at which definitions of source code begin or
    end, each with the names of the definitions around the text that follows: Parser.read.

    >>> places = Places("page", (0, 100, 250))
    >>> places.of(10, 20), places.of(90, 110), Places("", (0, 9), ("Rivers!A2:B2", "Rivers!A3:B3")).of(0, 20)
    ('page 1', 'pages 1-2', 'Rivers!A2:B2 to Rivers!A3:B3')
    >>> Places("line", (0, 9, 20), sections=((0, "Parser"), (9, "Parser.read"))).of(9, 30)
    'lines 2-3 of Parser.read'
    """

    kind: str
    starts: tuple[int, ...]
    labels: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    checksum: str = ""
    sections: tuple[tuple[int, str], ...] = ()

    def label(self, number: int) -> str:
        """Return the label of place `number`, counted from 0."""
        return self.labels[number] if self.labels else str(number + 1)

    def name(self, number: int) -> str:
        """Return the kind and the label of place `number`, counted from 0: page 3."""
        return f"{self.kind} {self.label(number)}".strip()

    def of(self, start: int, end: int) -> str:
        """Return the place or places of characters `start` to `end`, in code with its definition; "" before any."""
        place, section = self._range(start, end), self.section(start, end)
        return f"{place} of {section}" if place and section else place

    def section(self, start: int, end: int) -> str:
        """Return the innermost definition that characters `start` to `end` lie in, "" for none."""
        first = bisect_right(self.sections, start, key=itemgetter(0)) - 1
        last = bisect_left(self.sections, end, key=itemgetter(0))
        names = [self.sections[at][1] if at >= 0 else "" for at in range(first, max(last, first + 1))]
        steps = zip(*(name.split(".") for name in names), strict=False)
        return ".".join(own[0] for own in takewhile(lambda own: len(set(own)) == 1, steps))

    def cuts(self, start: int, end: int) -> tuple[int, ...]:
        """Return the characters from `start` to `end` that no sentence crosses, ascending: no ends of pages."""
        begins = {*(() if self.kind in _FLOWING else self.starts), *(at for at, _ in self.sections)}
        return tuple(sorted(at for at in begins if start < at < end))

    def _range(self, start: int, end: int) -> str:
        first, last = self._number(start), self._number(max(start, end - 1))
        if last < 0:
            return ""
        first = max(first, 0)
        if self.label(first) == self.label(last):
            return self.name(first)
        if not self.kind:
            return f"{self.label(first)} to {self.label(last)}"
        return f"{self.kind}s {self.label(first)}-{self.label(last)}"

    def _number(self, character: int) -> int:
        return bisect_right(self.starts, character) - 1

    def encoded(self) -> bytes:
        """Return the places as they are stored; `decoded_places` reads them back."""
        sections = (self.sections,) if self.sections else ()
        header = json.dumps([self.kind, self.labels, self.checksum, len(self.starts), *sections]).encode()
        columns = [self.starts, *zip(*self.boxes, strict=True)]
        # Differences are small numbers, which pack well.
        numbers = array("i", [b - a for column in columns for a, b in pairwise((0, *column))]).tobytes()
        return zlib.compress(header + b"\n" + numbers)


def stored_cuts(stored: bytes, start: int, end: int) -> tuple[int, ...]:
    """Return the `cuts` of places as they are stored; those of pages, which may be many, are not decoded."""
    if not stored or zlib.decompressobj().decompress(stored, len(_PAGES)) == _PAGES:
        return ()
    places = decoded_places(stored)
    return () if places is None else places.cuts(start, end)


@lru_cache(maxsize=64)
def decoded_places(stored: bytes) -> Places | None:
    """Return places as `Places.encoded` wrote them; None for no bytes."""
    if not stored:
        return None
    header, _, numbers = zlib.decompress(stored).partition(b"\n")
    kind, labels, checksum, count, *sections = json.loads(header)
    values = array("i", numbers)
    starts, rest = tuple(accumulate(values[:count])), values[count:]
    length = len(rest) // len(Box._fields)
    columns = [accumulate(rest[at : at + length]) for at in range(0, len(rest), length)] if length else []
    boxes = tuple(map(Box._make, zip(*columns, strict=True)))
    named = tuple((at, name) for at, name in (sections[0] if sections else ()))
    return Places(kind, starts, tuple(labels), boxes, checksum, named)
