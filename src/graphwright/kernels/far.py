"""Readings of columns that are kept elsewhere, such as by other processes: several are made with one request of each.

A reading is a generator that yields what it asks for, is sent the replies, and returns what is read. It yields nothing
where the column is here, or has kept what is read.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

Value = TypeVar("Value")


class Holders(Protocol):
    """Those that keep the parts of columns, by number."""

    def several(self, asked: Sequence[Asked]) -> list[dict[int, Any]]:
        """Make requests as one of each holder, all at once; return for each request the replies of holders."""


class Asked(NamedTuple):
    """A request: a method of some holders, by number, with the values of each."""

    holders: Holders
    method: str
    values: Mapping[int, Sequence[Any]]


Reading: TypeAlias = Generator[Asked, dict[int, Any], Value]


def together(*readings: Reading[Any]) -> list[Any]:
    """Return what readings give, of which all that ask, ask the same holders, together.

    >>> def here(): return 1; yield
    >>> together(here())
    [1]
    """
    results: list[Any] = [None] * len(readings)
    replies: dict[int, Any] = dict.fromkeys(range(len(readings)))
    while replies:
        asked = dict[int, Asked]()
        for number, reply in replies.items():
            try:
                asked[number] = readings[number].send(reply)
            except StopIteration as end:
                results[number] = end.value
        requests = list(asked.values())
        replies = dict(zip(asked, requests[0].holders.several(requests), strict=True)) if requests else {}
    return results
