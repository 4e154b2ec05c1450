"""The store: what goes in comes out in order, all of it or nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from graphwright import Document, StoreError
from graphwright.data.base import Chunk
from graphwright.index.contribution import Contribution, Mention, Relation
from graphwright.index.store import Store, StoredChunk, StoredDocument, content_hash

MADE = Contribution(
    (Mention("Graz", 0, 4), Mention("Łódź")),
    (Relation("Graz", "r", "Łódź", 'A "text".'), Relation("Łódź", "s", "Graz", 'A "text".')),
)


def put(store: Store, name: str, *texts: str, title: str = "") -> None:
    chunks = [(Chunk(name, i, 10 * i, 10 * i + len(t), t), MADE) for i, t in enumerate(texts)]
    with store.writing():
        store.put(Document(name, " ".join(texts), title=title), chunks, "test:1")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "index.sqlite", {"encoder": "x"})


def test_documents_and_chunks_come_back_in_the_order_they_came(store: Store) -> None:
    put(store, "b", "one", "two", title="B")
    put(store, "a", *(f"text {i}" for i in range(12)))
    assert store.documents() == [StoredDocument(1, "b", "B"), StoredDocument(2, "a", "")]
    chunks = list(store.chunks())
    assert chunks[:2] == [StoredChunk(1, 0, 0, 3, "one", MADE), StoredChunk(1, 1, 10, 13, "two", MADE)]
    assert [c.ordinal for c in chunks[2:]] == list(range(12)) and store.counts() == (2, 14)


def test_a_replaced_document_keeps_its_place_and_a_number_is_never_given_twice(store: Store) -> None:
    for name in "abc":
        put(store, name, "one", "two")
    before = store.hashes()
    put(store, "a", "other", title="A")
    assert [(d.number, d.id, d.title) for d in store.documents()] == [(1, "a", "A"), (2, "b", ""), (3, "c", "")]
    assert [c.text for c in store.chunks()] == ["other", "one", "two", "one", "two"]
    assert {i for i, h in store.hashes().items() if before[i] != h} == {"a"}
    with store.writing():
        store.remove(["c", "never there"])
    assert store.counts() == (2, 3)  # the chunks went with their document
    put(store, "d", "x")
    assert store.documents()[-1].number == 4


def test_an_error_undoes_all_of_a_block(store: Store) -> None:
    put(store, "a", "one")
    with pytest.raises(KeyboardInterrupt), store.writing():
        store.remove(["a"])
        store.set("encoder", "y")
        store.put(Document("b", "t"), [], "test:1")
        raise KeyboardInterrupt
    assert store.counts() == (1, 1) and store.setting("encoder") == "x" and store.setting("none") is None
    with store.writing():
        store.set("encoder", "y")
    assert Store(store.path).setting("encoder") == "y"


def test_a_store_that_another_connection_writes_to_is_read_but_not_written(store: Store) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO settings VALUES ('new', '1')")
    store._db.execute("PRAGMA busy_timeout = 10")  # what is tested is not how long it waits
    assert store.setting("new") is None
    with pytest.raises(StoreError, match="another process"), store.writing():
        pass
    other.execute("COMMIT")
    other.close()
    assert store.setting("new") == "1"


def test_the_hash_changes_with_each_part_and_not_with_the_order_of_metadata() -> None:
    same = [Document("a", "t", "T", {"x": 1, "y": 2}), Document("b", "t", "T", {"y": 2, "x": 1})]
    others = [
        Document("a", "t!", "T", {"x": 1, "y": 2}),
        Document("a", "t", "T!", {"x": 1, "y": 2}),
        Document("a", "t", "T", {"x": 1}),
        Document("a", "tT", "", {"x": 1, "y": 2}),
        Document("a", "", "tT", {"x": 1, "y": 2}),
    ]
    assert len({content_hash(d) for d in same}) == 1
    assert len({content_hash(d) for d in same + others}) == 6
    assert all(len(content_hash(d)) == 16 for d in others)


def test_opening_what_is_no_store_names_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"holds no none.sqlite"):
        Store(tmp_path / "none.sqlite")
    with pytest.raises(sqlite3.OperationalError):
        Store.create(Store.create(tmp_path / "i.sqlite", {}).path, {})
