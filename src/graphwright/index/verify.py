"""Verification of an index folder: the store is sound, and the snapshot is complete and made of the stored chunks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphwright.errors import StoreError
from graphwright.graph.passages import Passages
from graphwright.index.build import build_from_chunks
from graphwright.index.layout import IndexLayout
from graphwright.index.snapshot import Snapshot, damaged_files, open_snapshot
from graphwright.index.store import Store
from graphwright.models.protocols import NamedEncoder

__all__ = ["Problem", "verify_index"]


@dataclass(frozen=True)
class Problem:
    """A problem of an index folder and its remedy; `repairable` if only the snapshot has to be rebuilt."""

    problem: str
    remedy: str
    repairable: bool = False

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"


_RESTORE = "Restore index.sqlite from a copy, or index the documents again into a new folder."
_IMPORT = "Import the graph again, into a new folder."
_REBUILD = "Rebuild the snapshot from the stored documents: graphwright verify --repair."


def verify_index(layout: IndexLayout, store: Store, encoder: NamedEncoder) -> list[Problem]:
    """Return the problems of an index folder, none if it is sound.

    Checks that the store's file and chunks can be read; that the snapshot can be opened, has the store's revision, and
    equals, array by array, one that is built anew from the store; and that its vectors have not changed since they
    were written. Of an imported graph only the files are checked.
    """
    problems = [Problem(f"{store.path}: {problem}.", _RESTORE) for problem in store.problems()]
    if problems:
        return problems
    imported = store.setting("graph") is not None  # then the snapshot cannot be rebuilt
    remedy, repairable = (_IMPORT, False) if imported else (_REBUILD, True)
    try:
        current = layout.path / layout.current()
        if files := damaged_files(current):
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            return [Problem(f"{current / files[0]}{more}: missing or damaged.", remedy, repairable)]
        snapshot = open_snapshot(current, encoder)
    except StoreError as error:
        return [Problem(str(error), remedy, repairable)]
    if imported:
        return []
    if snapshot.about.get("revision") != store.revision:
        remedy = "Run the interrupted command again, or graphwright verify --repair."
        return [Problem(f"{layout.path}: the snapshot is older than the stored documents.", remedy, True)]
    try:
        # Vectors are taken from the snapshot, so nothing is encoded; they are checked by their checksums.
        rebuilt = build_from_chunks(store.columns(), store.build_settings, encoder, known=snapshot)
    except (StoreError, ValueError, IndexError, sqlite3.Error) as error:
        return [Problem(f"{store.path}: the stored chunks cannot be merged ({error}).", _RESTORE)]
    return [Problem(f"{current}: {difference}.", _REBUILD, True) for difference in _differences(snapshot, rebuilt)]


def _differences(snapshot: Snapshot, rebuilt: Snapshot) -> Iterator[str]:
    for name, value in vars(snapshot.graph.columns).items():
        if name != "checksum" and not _equal(value, getattr(rebuilt.graph.columns, name)):
            yield f"{name} of the graph differs from the stored chunks"
    if snapshot.words != rebuilt.words:
        yield "the word index differs from the stored chunks"
    if snapshot.about["texts"] != rebuilt.about["texts"]:
        yield "the number of vectors differs from that of the texts"


def _equal(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray):
        return np.array_equal(left, np.asarray(right))
    if isinstance(left, Passages):
        return all(map(_equal, vars(left).values(), vars(right).values()))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
