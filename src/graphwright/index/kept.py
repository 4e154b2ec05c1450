"""Values that are made once for each snapshot, and go with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from graphwright.graph.graph import Columns

__all__ = ["Kept"]

Value = TypeVar("Value")


@dataclass
class _Place:
    lock: Lock = field(default_factory=Lock)
    made: list[Any] = field(default_factory=list)


class Kept(Generic[Value]):
    """What was made from a snapshot, by key. Threads that ask for the same value wait while one of them makes it.

    A value must not hold its own snapshot's columns, or neither would ever go.

    >>> from graphwright.graph.graph import Graph
    >>> lengths, graph = Kept(), Graph.from_triples([("a", "r", "b")])
    >>> lengths.get(graph.columns, "nodes", lambda: len(graph)), lengths.get(graph.columns, "nodes", lambda: 1 / 0)
    (2, 2)
    """

    def __init__(self) -> None:
        self._places: WeakKeyDictionary[Columns, dict[Hashable, _Place]] = WeakKeyDictionary()
        self._lock = Lock()

    def get(self, columns: Columns, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a snapshot and a key, made if it is not there yet."""
        with self._lock:
            place = self._places.setdefault(columns, {}).setdefault(key, _Place())
        with place.lock:
            if not place.made:
                place.made.append(make())
            value: Value = place.made[0]
            return value
