"""Places of a text in the file that it was extracted from: pages, slides, cells or lines."""

from __future__ import annotations

import json
import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

__all__ = ["Box", "Places", "decoded_places"]


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

    `kind`: page, slide, cell, part or line; "" where the labels are complete. `labels`: one for each start; without
    any, places are numbered from 1. `boxes`: one for each line of text, ascending; only of PDF. `checksum`: of the
    file that the boxes were measured in, 32 hexadecimal digits.

    >>> places = Places("page", (0, 100, 250))
    >>> places.of(10, 20), places.of(90, 110), Places("", (0, 9), ("Rivers!A2:B2", "Rivers!A3:B3")).of(0, 20)
    ('page 1', 'pages 1-2', 'Rivers!A2:B2 to Rivers!A3:B3')
    """

    kind: str
    starts: tuple[int, ...]
    labels: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    checksum: str = ""

    def label(self, number: int) -> str:
        """Return the label of place `number`, counted from 0."""
        return self.labels[number] if self.labels else str(number + 1)

    def name(self, number: int) -> str:
        """Return the kind and the label of place `number`, counted from 0: page 3."""
        return f"{self.kind} {self.label(number)}".strip()

    def of(self, start: int, end: int) -> str:
        """Return the place or the range of places of characters `start` to `end`; "" before the first."""
        first, last = self._number(start), self._number(max(start, end - 1))
        if last < 0:
            return ""
        first = max(first, 0)
        if self.label(first) == self.label(last):
            return self.name(first)
        if not self.kind:
            return f"{self.label(first)} to {self.label(last)}"
        return f"{self.kind}s {self.label(first)}-{self.label(last)}"

    def boxes_of(self, start: int, end: int) -> list[tuple[str, Box]]:
        """Return the rectangles of characters `start` to `end`, each with the label of its page.

        A line that is cited in part is cut at the share of its characters.
        """
        found = []
        for box in self.boxes[max(bisect_right(self.boxes, start, key=lambda box: box.start) - 1, 0) :]:
            if box.start >= end:
                break
            if box.end > start:
                found.append((self.label(max(self._number(box.start), 0)), _cut(box, start, end)))
        return found

    def _number(self, character: int) -> int:
        return bisect_right(self.starts, character) - 1

    def encoded(self) -> bytes:
        """Return the places as they are stored; `decoded_places` reads them back."""
        header = json.dumps([self.kind, self.labels, self.checksum, len(self.starts)]).encode()
        columns = [self.starts, *zip(*self.boxes, strict=True)]
        # Differences are small numbers, which pack well.
        numbers = array("i", [b - a for column in columns for a, b in pairwise((0, *column))]).tobytes()
        return zlib.compress(header + b"\n" + numbers)


def _cut(box: Box, start: int, end: int) -> Box:
    scale = (box.right - box.left) / max(box.end - box.start, 1)
    first, last = max(start, box.start), min(end, box.end)
    left = box.left + round(scale * (first - box.start))
    return box._replace(start=first, end=last, left=left, right=box.right - round(scale * (box.end - last)))


@lru_cache(maxsize=64)
def decoded_places(stored: bytes) -> Places | None:
    """Return places as `Places.encoded` wrote them; None for no bytes."""
    if not stored:
        return None
    header, _, numbers = zlib.decompress(stored).partition(b"\n")
    kind, labels, checksum, count = json.loads(header)
    values = array("i", numbers)
    starts, rest = tuple(accumulate(values[:count])), values[count:]
    length = len(rest) // len(Box._fields)
    columns = [accumulate(rest[at : at + length]) for at in range(0, len(rest), length)] if length else []
    return Places(kind, starts, tuple(labels), tuple(map(Box._make, zip(*columns, strict=True))), checksum)
