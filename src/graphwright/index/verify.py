"""Whether an index folder is what it should be: the store sound, the snapshot whole and made of what is stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphwright.errors import StoreError
from graphwright.graph.graph import Graph
from graphwright.index.build import Built, build
from graphwright.index.layout import IndexLayout
from graphwright.index.snapshot import Snapshot, damaged, open_snapshot
from graphwright.index.store import Store
from graphwright.index.vector_index import VectorIndex
from graphwright.index.writer import revision_of, settings_of
from graphwright.models.protocols import NamedEncoder

__all__ = ["Problem", "verify"]


@dataclass(frozen=True)
class Problem:
    """Something wrong with an index folder, and what to do; `mendable` where the snapshot only has to be made again."""

    what: str
    remedy: str
    mendable: bool = False

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"


_LOST = "Restore index.sqlite from a copy, or index the documents again into a new folder."
_IMPORT = "Import the graph again, into a new folder."
_AGAIN = "Make the snapshot again from what is stored: graphwright verify --repair."


def verify(place: IndexLayout, store: Store, encoder: NamedEncoder) -> list[Problem]:
    """Return what is wrong, empty if nothing.

    Checks the store's file; that the stored chunks can be read; that the snapshot can be opened, is of the store's
    revision, and equals, array by array, one that is built anew from the store; and that its vectors are those that
    they were when they were written. Of an imported graph only the files are checked.
    """
    found = [Problem(f"{store.path}: {problem}.", _LOST) for problem in store.problems()]
    if found:
        return found
    given = store.setting("graph") is not None  # then the snapshot is all there is
    instead, mendable = (_IMPORT, False) if given else (_AGAIN, True)
    try:
        current = place.path / place.current()
        if files := damaged(current):
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            return [Problem(f"{current / files[0]}{more}: missing, or not what was written.", instead, mendable)]
        snapshot = open_snapshot(current, encoder)
    except StoreError as error:
        return [Problem(str(error), instead, mendable)]
    if given:
        return []
    if snapshot.about.get("revision") != revision_of(store):
        remedy = "Run the command that was interrupted again, or graphwright verify --repair."
        return [Problem(f"{place.path}: the snapshot is older than what is stored.", remedy, True)]
    try:
        # Vectors are taken as they stand, so nothing is encoded; they are checked by themselves.
        anew = build(store.ledger(), settings_of(store), encoder, known=snapshot)
    except (StoreError, ValueError, IndexError, sqlite3.Error) as error:
        return [Problem(f"{store.path}: what is stored cannot be merged ({error}).", _LOST)]
    return [Problem(f"{place.path / place.current()}: {what}.", _AGAIN, True) for what in _differences(snapshot, anew)]


def _differences(snapshot: Snapshot, anew: Built) -> Iterator[str]:
    for name in ("passages", "names", "triples"):
        index: VectorIndex | None = getattr(snapshot, name)
        if index is not None and index.checksum != VectorIndex(index.vectors, index.row_of).checksum:
            yield f"the vectors of {name} are not those that were written"
    yield from (f"{name} of the graph is not what the store gives" for name in _unequal(snapshot.graph, anew.graph))
    if snapshot.words != anew.words:
        yield "the word index is not what the store gives"
    if json.dumps(snapshot.about["texts"]) != json.dumps(anew.about["texts"]):
        yield "the number of vectors is not that of the texts"


def _unequal(one: Graph, other: Graph) -> Iterator[str]:
    mine, theirs = vars(one.columns), vars(other.columns)
    for name in mine.keys() - {"checksum"}:
        if not _same(mine[name], getattr(other.columns, name, theirs.get(name))):
            yield name


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "__dataclass_fields__") and hasattr(other, "__dataclass_fields__"):
        return all(_same(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    return bool(one == other)
