"""The store: records are returned in order, and transactions are all or nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphwright import Document
from graphwright.build.document_sources import storable
from graphwright.data.document import Chunk, Heading, split
from graphwright.errors import StoreError
from graphwright.extract.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.store.chunk_record import ChunkRecord, content_hash
from graphwright.store.store import ExtractedChunk, Store, StoredChunk
from graphwright.text.places import Places

MADE = Extraction(
    (Mention("Graz", 0, 4), Mention("Łódź")),
    (Relation("Graz", "r", "Łódź", 'A "text".'), Relation("Łódź", "s", "Graz", 'A "text".')),
)


def put(store: Store, name: str, *texts: str, title: str = "", folder: str = "", pending: str | None = None) -> None:
    chunks = [
        ExtractedChunk(Chunk(name, i, 10 * i, 10 * i + len(t), t), MADE, "test:1", pending) for i, t in enumerate(texts)
    ]
    with store.writing():
        store.put(Document(name, " ".join(texts), title=title), chunks, folder)


def texts(store: Store) -> list[str]:
    return [chunk.text for chunk in store.chunks()]


def extractions(store: Store) -> list[Extraction]:
    """The extraction of every chunk, in order."""
    with closing(sqlite3.connect(store.path)) as db:
        rows = db.execute(
            "SELECT c.content FROM chunks c JOIN documents d ON d.number = c.document ORDER BY d.id, c.ordinal"
        ).fetchall()
    return [ChunkRecord.of_content(content)[1].extraction() for (content,) in rows]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "index.sqlite", {"encoder": "x"})


def test_labels_of_chunks_are_kept(store: Store) -> None:
    text = "Old Maps\n\nThey are lost. Nobody saw them.\n\nNew Maps\n\nThey show the Mur."
    headings = tuple(Heading(text.index(title), 1, title) for title in ("Old Maps", "New Maps"))
    document = storable(Document("a", text, headings=headings))
    chunks = split(document, budget=9, overlap=0)
    with store.writing():
        store.put(document, [ExtractedChunk(chunk, MADE, "test:1") for chunk in chunks])
    assert [chunk.excerpt for chunk in store.chunks()] == [Excerpt.of("", chunk) for chunk in chunks]
    assert [chunk.text[slice(*span)] for chunk in chunks for span in chunk.labels] == ["Old Maps", "New Maps"]
    (stored,) = store.texts(["a"])
    assert split(stored.document) == split(document)


def test_documents_and_chunks_are_ordered_by_id(store: Store) -> None:
    put(store, "b", "one", "two", title="B")
    put(store, "a", *(f"text {i}" for i in range(12)))
    put(store, "c")
    columns = store.columns()
    assert list(zip(columns.ids, columns.document_titles, strict=True)) == [("a", ""), ("b", "B"), ("c", "")]
    assert columns.document.tolist() == [0] * 12 + [1, 1] and columns.ordinal.tolist() == [*range(12), 0, 1]
    assert (
        list(columns.text)[-2:] == ["one", "two"]
        and columns.names[-1] == "b#1"
        and columns.texts_with_titles[-1] == "B\ntwo"
    )
    assert (columns.start.tolist()[-1], columns.end.tolist()[-1]) == (10, 13)
    assert store.chunks()[-1] == StoredChunk(1, 1, "b", "B", "two", "", (), "test:1", None)
    assert extractions(store)[-1] == MADE
    assert [chunk.document for chunk in store.chunks(ids=["b"])] == ["b", "b"]
    assert list(store.columns(["b", "none"]).names) == ["b#0", "b#1"] and len(store.columns([])) == 0
    assert store.counts() == (3, 14)


def test_replaced_document_leaves_nothing_and_numbers_stay_unique(store: Store) -> None:
    for name in "abc":
        put(store, name, "one", "two")
    before = store.hashes("abc")
    put(store, "a", "other", title="A")
    assert [chunk.number for chunk in store.chunks()] == [1, 2, 2, 3, 3]
    assert texts(store) == ["other", "one", "two", "one", "two"]
    assert {i for i, h in store.hashes("abcd").items() if before[i] != h} == {"a"}
    with store.writing():
        store.remove(["c", "never there"])
    assert store.counts() == (2, 3)  # the chunks went with their document
    put(store, "d", "x")
    assert store.chunks()[-1].number > 3


def test_removed_text_is_in_no_file(store: Store) -> None:
    put(store, "a", "the word is xyzzy")
    put(store, "b", "another")
    with store.writing():
        store.remove(["a"])
    store.checkpoint()
    store.close()
    assert not [file for file in store.path.parent.iterdir() if b"xyzzy" in file.read_bytes()]


def test_better_extractor_reads_chunk_again(store: Store) -> None:
    put(store, "a", "one", "two", pending="not read yet")
    assert store.pending() == {"not read yet": 2} and store.extractors() == {"test:1": 2}
    first, second = store.chunks(pending=True)
    better = Extraction((Mention("Mur", 0, 3, "river", "A river."),), ())
    with store.writing():
        store.set_extraction(first, better, "better:1")
        store.set_pending(second, "no reply")
    assert store.pending() == {"no reply": 1} and store.extractors() == {"better:1": 1, "test:1": 1}
    assert extractions(store) == [better, MADE]


def test_document_knows_its_folder(store: Store) -> None:
    put(store, "a", "one", folder="/docs")
    put(store, "b", "one")
    put(store, "a", "two")  # added by hand: it still belongs to the folder
    assert store.documents_of("/docs") == {"a"} == store.folders_of("abc").keys() and store.folders() == {"/docs": 1}
    with store.writing():
        store.set_folder(["b"], "/docs")
    assert store.folders() == {"/docs": 2} and store.metadata() == {"a": {}, "b": {}}


def test_error_rolls_back_whole_block(store: Store) -> None:
    put(store, "a", "one")
    with pytest.raises(KeyboardInterrupt), store.writing():
        store.remove(["a"])
        store.set("encoder", "y")
        store.put(Document("b", "t"), [])
        raise KeyboardInterrupt
    assert store.counts() == (1, 1) and store.setting("encoder") == "x" and store.setting("none") is None
    with store.writing():
        store.set("encoder", "y")
    assert Store(store.path).setting("encoder") == "y"


@pytest.mark.parametrize(
    ("is_kept", "result"), [(False, "Nothing was changed"), (True, "What was stored before stays")]
)
def test_full_disk_error_says_whether_a_part_was_stored(is_kept: bool, result: str, store: Store) -> None:
    with pytest.raises(StoreError, match=f"could not be written: .*{result}"), store.writing():
        if is_kept:
            store.keep()
        raise sqlite3.OperationalError("database or disk is full")
    with pytest.raises(StoreError, match="Nothing was changed"), store.writing():
        raise sqlite3.OperationalError("database or disk is full")


def test_store_written_elsewhere_is_read_only(store: Store) -> None:
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


def test_document_hash_changes_with_content_not_order() -> None:
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


def test_opening_other_file_names_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"holds no none.sqlite"):
        Store(tmp_path / "none.sqlite")
    with pytest.raises(sqlite3.OperationalError):
        Store.create(Store.create(tmp_path / "i.sqlite", {}).path, {})


def test_damaged_chunk_is_found_in_sound_file(store: Store) -> None:
    put(store, "a", "one", "two")
    assert store.problems() == []
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute("UPDATE chunks SET content = CAST(substr(content, 2) AS BLOB) WHERE ordinal = 1")
    assert store.problems() == ["chunk 1 of document number 1 is damaged"]


def test_headings_and_places_round_trip(store: Store) -> None:
    places = Places("page", (0, 4))
    chunks = [ExtractedChunk(Chunk("a", i, 4 * i, 4 * i + 3, "one", h), MADE, "x") for i, h in enumerate(["", "Use"])]
    with store.writing():
        store.put(Document("a", "one one", "A", places=places), chunks)
        store.put(Document("b", "t"), [])
    columns = store.columns()
    assert [columns.places.raw(at) for at in (0, 1)] == [places.encoded(), b""] and list(columns.headings) == [
        "",
        "Use",
    ]
    assert list(columns.titles[0]) == ["A", "", "A › Use"] and columns.titles[1].tolist() == [0, 2]
    assert list(columns.texts_with_titles) == ["A\none", "A › Use\none"] and store.chunks()[1].heading == "Use"
    assert ["use" in text for text in columns.words(np.arange(len(columns)))] == [False, True]
