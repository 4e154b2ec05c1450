"""Packs of chunks: equal to the rows after any history, and made again only where something changed."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Chunk, Document
from graphwright.extract.extraction import Extraction, Mention, Relation
from graphwright.store import packs
from graphwright.store.chunk_columns import ChunkColumns
from graphwright.store.packs import _arrays
from graphwright.store.store import ExtractedChunk, Store

MADE = Extraction((Mention("Graz", 0, 4, "city", "on the Mur"),), (Relation("Graz", "on", "Mur", "Graz lies on it"),))
OTHER = Extraction((Mention("Linz"), Mention("Steyr")))
ids = st.sampled_from([f"{at:02d}" for at in range(30)] + ["Łódź", "a", ""])
chunks = st.lists(st.sampled_from(["Graz lies on it.", "", "Linz\nand Steyr"]), max_size=4)
steps = st.one_of(
    st.tuples(st.just("put"), ids, chunks, st.sampled_from(["", "Title"])),
    st.tuples(st.just("remove"), ids),
    st.tuples(st.just("extract"), ids),
)


def put(store: Store, name: str, texts: list[str], title: str = "") -> None:
    links = ("a",) if len(texts) > 1 else ()
    store.put(
        Document(name, " ".join(texts), title, links=links),
        [ExtractedChunk(Chunk(name, at, 0, len(text), text, "Use" * at), MADE, "x") for at, text in enumerate(texts)],
    )


def filled(folder: Path) -> Store:
    store = Store.create(folder / "index.sqlite", {})
    with store.writing():
        for at in range(40):
            put(store, f"{at:02d}", ["Graz lies on it."])
    return store


def stored(store: Store) -> list[tuple[str, bytes]]:
    with closing(sqlite3.connect(store.path)) as db:
        return db.execute("SELECT first, data FROM packs ORDER BY first").fetchall()


def assert_equal(columns: ChunkColumns, expected: ChunkColumns) -> None:
    pairs = zip(_arrays(columns), _arrays(expected), strict=True)
    assert all(np.array_equal(left, right) for left, right in pairs)


@given(st.lists(st.lists(steps, max_size=6), max_size=6))
def test_packs_equal_rows_after_any_history(history: list[list[tuple[object, ...]]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(packs, "_SIZE", 3)
        store = Store.create(Path(folder) / "index.sqlite", {})
        for transaction in history:
            with store.writing():
                for action, name, *more in transaction:
                    if action == "put":
                        put(store, str(name), *more)  # type: ignore[arg-type]
                    elif action == "remove":
                        store.remove([str(name)])
                    else:
                        for chunk in store.chunks(ids=[str(name)]):
                            store.set_extraction(chunk, OTHER, "y")
            columns = store._packs.columns()
            assert columns is not None
            assert_equal(columns, store.columns())
        store.close()


def test_change_rewrites_one_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "_SIZE", 4)
    store = filled(tmp_path)
    before = stored(store)
    assert len(before) == 10
    with store.writing():
        put(store, "17a", ["Graz"])
    assert [a == b for a, b in zip(before, stored(store), strict=True)] == [at != 4 for at in range(10)]
    with store.writing():
        store.remove(["04", "05", "06", "07"])
    assert len(stored(store)) == 9
    with store.writing():
        store.discard_packs()
    assert len(stored(store)) == 10


def test_damaged_pack_is_ignored(tmp_path: Path) -> None:
    store = filled(tmp_path)
    damage = ("data = CAST(substr(data, 2) || x'00' AS BLOB)", "data = 'text'", "sizes = x'00'", "sizes = NULL")
    for change in (*damage, "sizes = substr(sizes, 9)", "sizes = zeroblob(length(sizes))"):
        with closing(sqlite3.connect(store.path)) as db, db:
            db.execute(f"UPDATE packs SET {change}")
        assert store._packs.columns() is None
        assert_equal(store.packed_columns(), store.columns())
        with store.writing():
            store.discard_packs()
        assert store._packs.columns() is not None
