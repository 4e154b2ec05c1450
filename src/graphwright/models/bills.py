"""Who pays for what is remembered: work that was done for one pipeline, and whose result another one uses.

Where methods are compared, each has to bear the cost of its own steps, though a vector or a whole step that several of
them need is made once. So each has a bill, which knows what the pipeline's own memory would hold, were it alone. Inside
`billed` whatever that would not hold is reported to meters with all that making it took, the seconds as `Usage.saved`,
though it was there; and what was made again, though that would still hold it, is given back. Outside of it nothing is
reported but what is done.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

from graphwright.models.base import spend
from graphwright.models.protocols import Usage

__all__ = ["Bill", "Item", "Items", "added", "bill", "billed", "itemised", "shares"]


class Item(NamedTuple):
    """Something remembered: in which memory, of which size in all, by which key, and of what size it is itself.

    `took`: what making it took, all of its seconds in `saved`.
    """

    memory: Hashable
    most: int
    key: Hashable
    took: Usage
    size: int = 1


Items = dict[Hashable, tuple[Item, bool]]
"""What a piece of work used, and whether it was paid for there."""


@dataclass
class _Memory:
    """What a memory holds, the last used last."""

    known: OrderedDict[Hashable, int] = field(default_factory=OrderedDict)
    held: int = 0

    def lacks(self, item: Item) -> bool:
        """Whether something is not there; from now on it is, and what was used least lately may not be."""
        if item.key in self.known:
            self.known.move_to_end(item.key)
            return False
        self.known[item.key] = item.size
        self.held += item.size
        while self.held > item.most:
            self.held -= self.known.popitem(last=False)[1]
        return True


class Bill:
    """What one pipeline pays for: all that its own memory would not hold. Threads may share it."""

    def __init__(self) -> None:
        self._own: dict[Hashable, _Memory] = {}
        self._lock = Lock()

    def made(self, item: Item) -> None:
        """Note what was made just now; where its own memory would have held it, what that took is given back."""
        if not self._owes(item):
            spend(**vars(added(Usage(), item.took, -1)))

    def used(self, item: Item) -> None:
        """Pay for something remembered, unless its own memory would hold it."""
        if self._owes(item):
            spend(**vars(item.took))

    def taken(self, items: Items) -> Usage:
        """Return what work that used these takes this pipeline, beyond what it took the one that did it; and note it.

        It is less where that one paid for something, and this one has it.
        """
        beyond = Usage()
        for item, paid in items.values():
            owed = self._owes(item)
            if owed != paid:
                beyond = added(beyond, item.took, 1 if owed else -1)
        return beyond

    def _owes(self, item: Item) -> bool:
        with self._lock:
            owed = self._own.setdefault(item.memory, _Memory()).lacks(item)
        for items in _lists.get():
            before = items.get((item.memory, item.key))
            items[item.memory, item.key] = item, owed or (before is not None and before[1])
        return owed


_bill: ContextVar[Bill | None] = ContextVar("graphwright_bill", default=None)
_lists: ContextVar[tuple[Items, ...]] = ContextVar("graphwright_items", default=())


def bill() -> Bill | None:
    """Return the bill of the pipeline that runs, None where nobody is billed."""
    return _bill.get()


@contextmanager
def billed(on: Bill | None = None) -> Iterator[Bill]:
    """Have all that is used inside the block paid for by one pipeline: on its bill, or a new one.

    >>> from graphwright.models.base import metered
    >>> from graphwright.models.cache import CachedEncoder
    >>> from graphwright.models.fake import HashEncoder
    >>> encoder = CachedEncoder(HashEncoder())
    >>> for _ in range(2):
    ...     with billed(), metered() as usage:
    ...         _ = encoder.encode(["fox"]), encoder.encode(["fox"])
    ...     print(usage.texts, usage.saved > 0)
    1 False
    1 True
    """
    token = _bill.set(made := Bill() if on is None else on)
    try:
        yield made
    finally:
        _bill.reset(token)


@contextmanager
def itemised() -> Iterator[Items]:
    """List what is used inside the block where somebody is billed, in this thread or task. Lists nest."""
    items: Items = {}
    token = _lists.set((*_lists.get(), items))
    try:
        yield items
    finally:
        _lists.reset(token)


def added(one: Usage, other: Usage, times: int = 1) -> Usage:
    """Return the sum of two, the other so many times.

    >>> added(Usage(calls=1, texts=5), Usage(texts=2), -1)
    Usage(calls=1, texts=3, tokens=0, seconds=0.0, prompt_tokens=0, completion_tokens=0, cost=0.0, saved=0.0)
    """
    return Usage(**{name: value + times * getattr(other, name) for name, value in vars(one).items()})


def shares(usage: Usage, seconds: float, sizes: Sequence[int]) -> list[Usage]:
    """Return what each of some things took that took this and so many seconds together; the parts add up.

    Calls and texts are shared out evenly, all else by their sizes, as the lengths of texts. Of what is left of a whole
    number the first have more: in most batches that is the question.

    >>> [(one.texts, one.tokens, one.saved) for one in shares(Usage(texts=2, tokens=9), 1.0, [1, 3])]
    [(1, 3, 0.25), (1, 6, 0.75)]
    """
    taken = vars(usage) | {"saved": seconds}
    ends, places = list(accumulate(sizes, initial=0)), range(len(sizes) + 1)

    def part(name: str, at: int) -> float:
        marks = places if name in ("calls", "texts") else ends
        value, total = taken[name], max(marks[-1], 1)
        if isinstance(value, int):
            return -value * marks[at] // total - -value * marks[at + 1] // total
        return float(value * (marks[at + 1] - marks[at]) / total)

    return [Usage(**{name: part(name, at) for name in taken}) for at in range(len(sizes))]  # type: ignore[arg-type]
