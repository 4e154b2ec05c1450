"""Verification of an index folder: its store, the files of its snapshot, and both against each other."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from graphwright.build.build import build_from_chunks
from graphwright.errors import StoreError
from graphwright.extract.llm import Derived
from graphwright.graph.columns import Passages
from graphwright.graph.records import RecordColumns
from graphwright.kernels.blocks import MappedArray
from graphwright.models.protocols import NamedEncoder
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.snapshot_format import damaged_files, open_snapshot, refused
from graphwright.store.layout import IndexLayout, Problem
from graphwright.store.store import Store

_RESTORE = "Restore index.sqlite from a copy, or index the documents again into a new folder."
_IMPORT = "Import the graph again, into a new folder."
_REBUILD = "Rebuild the snapshot from the stored documents: graphwright verify --index {} --repair"


def problems_of(layout: IndexLayout, store: Store, encoder: NamedEncoder) -> list[Problem]:
    """Return the problems of the index folder, none if it is sound.

    Checks that the store's file and chunks can be read; that no file of the snapshot has changed since it was written;
    and that the snapshot has the store's revision, and equals, array by array, a snapshot that is built anew from the
    store. Of an imported graph without documents and edits only the files are checked.
    """
    while True:
        current = _current(layout)
        problems = _problems_of(layout, store, encoder)
        if not problems or _current(layout) == current:  # else a writer has replaced the checked snapshot
            return problems


def _current(layout: IndexLayout) -> str | None:
    with suppress(StoreError):
        return layout.current()
    return None


def _problems_of(layout: IndexLayout, store: Store, encoder: NamedEncoder) -> list[Problem]:
    """Return the problems of an index folder to which no process is writing."""
    if problems := store.problems():
        return [Problem(f"{store.path}: {problem}.", _RESTORE) for problem in problems]
    base = layout.imported
    imported = store.setting("graph") is not None and not base.is_dir()  # then the snapshot cannot be rebuilt
    if base.is_dir() and (files := damaged_files(base)):
        return [Problem(f"{base / files[0]}: missing or damaged.", _IMPORT)]
    remedy = _IMPORT if imported else _REBUILD.format(layout.path)
    try:
        current = layout.path / layout.current()
        if files := damaged_files(current):
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            return [Problem(f"{current / files[0]}{more}: missing or damaged.", remedy, not imported)]
        snapshot = open_snapshot(current, encoder)
    except StoreError as error:
        if refused(error):
            raise
        return [Problem(str(error), remedy, not imported)]
    if imported:
        return []
    if snapshot.about.get("revision") != store.revision:
        remedy = f"Run the interrupted command again, or: graphwright verify --index {layout.path} --repair"
        return [Problem(f"{layout.path}: the snapshot is older than the stored documents.", remedy, True)]
    try:
        # Vectors are taken from the snapshot, whose files have not changed; only merged names are encoded.
        derived = Derived(store.derived(), layout.prompts)
        settings = store.build_settings
        graph = open_snapshot(base, encoder) if base.is_dir() else None
        made_from: dict[str, Any] = {"derived": derived, "imported": graph}
        made_from |= {"schema": store.schema, "edits": store.edits()}
        known = replace(snapshot, words=WordIndex.of([], np.empty(0, np.int64)))  # words are indexed anew
        rebuilt = build_from_chunks(store.columns(), settings, encoder, known=known, **made_from)
    except (StoreError, ValueError, IndexError, sqlite3.Error) as error:
        return [Problem(f"{store.path}: the stored chunks cannot be merged ({error}).", _RESTORE)]
    columns, expected = snapshot.graph.columns, rebuilt.graph.columns
    fields = [name for name in vars(columns) if name != "checksum"]
    parts = [name for name in fields if not _equal(getattr(columns, name), getattr(expected, name))]
    parts += ["words"] * (snapshot.words != rebuilt.words)
    parts += ["vectors"] * (snapshot.about["texts"] != rebuilt.about["texts"])
    problem = "{}: {} of the snapshot and of the stored chunks differ."
    return [Problem(problem.format(current, part), _REBUILD.format(layout.path), True) for part in parts]


def _equal(left: object, right: object) -> bool:
    if isinstance(left, np.ndarray | MappedArray) and isinstance(right, np.ndarray | MappedArray):
        return np.array_equal(np.asarray(left), np.asarray(right))
    if left is None or right is None:
        return left is right
    if isinstance(left, Passages | RecordColumns) and type(left) is type(right):
        return all(map(_equal, vars(left).values(), vars(right).values()))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
