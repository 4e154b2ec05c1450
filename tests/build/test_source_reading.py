"""Sources of connectors: what is fetched again, what stays after failures, and what an interrupted sync has kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from graphwright import Index
from graphwright.build import source_reading
from graphwright.data import Fetched, File, ReadOptions, Skipped, SourceFile, connectors
from graphwright.data.formats.format import Format
from graphwright.data.formats.registry import format_of
from graphwright.errors import DataError, OptionError
from graphwright.models.fake import HashEncoder

GRAZ, LINZ, WIEN = (f"{city} lies on a river." for city in ("Graz", "Linz", "Wien"))


@dataclass
class Shelf:
    """A source of files that a test changes: by name the version and the content, or an error to raise."""

    address: str = "shelf:one"
    files: dict[str, tuple[str, bytes | BaseException]] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)
    failure: Exception | None = None

    def put(self, **texts: str) -> Shelf:
        self.files |= {f"{self.address}/{name}.txt": (text, text.encode()) for name, text in texts.items()}
        return self

    def list(self) -> list[SourceFile]:
        if self.failure is not None:
            raise self.failure
        return [SourceFile(name, tag) for name, (tag, _) in self.files.items()]

    def fetch(self, name: str, tag: str) -> Fetched | Skipped | None:
        self.fetched.append(name.rpartition("/")[2])
        content = self.files[name][1]
        if isinstance(content, BaseException):
            raise content
        return Fetched(File(name.rpartition("/")[2], content=content))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        yield index


def ids(index: Index) -> list[str]:
    return [item.id.rpartition("/")[2] for item in index.list_documents()]


def test_sync_source_equals_new_index(index: Index, tmp_path: Path) -> None:
    shelf = Shelf().put(a=GRAZ, b=LINZ, copy=GRAZ)
    index.sync(shelf)
    shelf.put(a="Graz is in Styria.", c=WIEN)
    del shelf.files["shelf:one/b.txt"]
    shelf.fetched.clear()
    changes = index.sync(shelf)
    assert shelf.fetched == ["a.txt", "c.txt"] and not changes.moved
    with Index.create(tmp_path / "new", encoder=HashEncoder()) as new:
        new.sync(shelf)
        assert ids(new) == ids(index) == ["a.txt", "c.txt", "copy.txt"]
        assert new.graph.columns.names == index.graph.columns.names


def test_sync_source_failing_file_keeps_its_documents(index: Index) -> None:
    shelf = Shelf().put(a=GRAZ, b=LINZ)
    shelf.files["shelf:one/rows.csv"] = ("1", b"id,text\n7,Wien.\n8,Bern.\n")
    index.sync(shelf)
    shelf.files["shelf:one/rows.csv"] = ("2", OSError("cut off"))
    changes = index.sync(shelf)
    assert changes.retained == ["shelf:one/rows.csv#7", "shelf:one/rows.csv#8"] and not changes.removed
    assert [item.reason for item in changes.skipped] == ["OSError: cut off"]
    shelf.files["shelf:one/rows.csv"] = ("1", b"id,text\n7,Wien.\n")  # the version of before is fetched all the same
    assert index.sync(shelf).removed == ["shelf:one/rows.csv#8"]


def test_sync_source_rows_of_several_files_keep_apart(index: Index) -> None:
    shelf, options = Shelf(), ReadOptions(id_column="id")
    for name in ("a", "b"):
        shelf.files[f"shelf:one/{name}.jsonl"] = ("1", f'{{"id": "7", "text": "Row of {name}."}}\n'.encode())
    index.sync(shelf, options=options)
    assert ids(index) == ["7", "b.jsonl#7"]
    shelf.files["shelf:one/a.jsonl"] = ("2", b'{"id": "7", "text": "Another."}\n')
    assert index.sync(shelf, options=options).replaced == ["7"] and len(ids(index)) == 2


@pytest.mark.parametrize("failure", [DataError("no list"), KeyError("bug"), None])
def test_sync_source_without_list_changes_nothing(index: Index, failure: Exception | None) -> None:
    shelf = Shelf().put(a=GRAZ)
    index.sync(shelf)
    shelf.failure, shelf.files = failure, {}
    with pytest.raises(DataError, match=r"no list|cannot be listed \(KeyError: 'bug'\)|it has no files"):
        index.sync(shelf)
    assert ids(index) == ["a.txt"]


def test_sync_source_whose_list_breaks_in_the_middle_changes_nothing(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf().put(a=GRAZ, b=LINZ)
    index.sync(shelf)

    def broken(self: Shelf) -> Iterator[SourceFile]:
        yield SourceFile("shelf:one/a.txt", "2")
        raise ConnectionError("cut off")

    monkeypatch.setattr(Shelf, "list", broken)
    with pytest.raises(DataError, match=r"cannot be listed \(ConnectionError: cut off\); nothing was changed"):
        index.sync(shelf)
    assert ids(index) == ["a.txt", "b.txt"] and shelf.fetched == ["a.txt", "b.txt"]


def test_killed_sync_does_not_fetch_again(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reading, "_SAVE_SECONDS", -1.0)
    monkeypatch.setattr("graphwright.build.document_storage._DOCUMENTS", 1)
    shelf = Shelf().put(a=GRAZ, b=LINZ, c=WIEN)
    shelf.files["shelf:one/d.txt"] = ("1", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        index.sync(shelf)
    shelf.fetched.clear()
    shelf.put(d="Bern.")
    index.sync(shelf)
    assert shelf.fetched == ["c.txt", "d.txt"] and len(ids(index)) == 4


def test_sources_of_one_index_keep_apart(index: Index) -> None:
    one, two = Shelf().put(a=GRAZ), Shelf("shelf:two").put(a=LINZ)
    index.sync(one)
    assert not index.sync(two).removed and not index.sync(one).removed
    two.files["shelf:one/a.txt"] = ("1", b"Mine.")
    with pytest.raises(DataError, match=r"has the id of one from another source \(shelf:one\)"):
        index.sync(two)


def test_files_that_cannot_be_read_are_fetched_again_if_a_package_is_missing(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needs(file: File) -> Format:
        if file.name == "b.txt":
            raise ModuleNotFoundError(name="docx")
        return format_of(file)

    shelf = Shelf().put(a=GRAZ, b=LINZ)
    shelf.files["shelf:one/c.bin"] = ("1", bytes(range(256)))
    monkeypatch.setattr("graphwright.data.file_documents.format_of", needs)
    assert len(index.sync(shelf).skipped) == 2 and ids(index) == ["a.txt"]
    monkeypatch.undo()
    shelf.fetched.clear()
    index.sync(shelf)
    assert shelf.fetched == ["b.txt"] and ids(index) == ["a.txt", "b.txt"]


def test_connector_of_other_package_is_found(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [EntryPoint("shelf", f"{__name__}:Shelf", connectors.GROUP)]
    monkeypatch.setattr("graphwright.data.formats.registry.entry_points", lambda group: entries)
    connectors.other_connectors.cache_clear()
    try:
        with pytest.raises(DataError, match="nothing to read in shelf:one"):
            index.sync("shelf:one")
        with pytest.raises(OptionError, match=r"unknown scheme; there are az, file, gs, http, .*, shelf, urls"):
            index.sync("other:one")
        entries[0] = EntryPoint("shelf", "nowhere:Shelf", connectors.GROUP)
        connectors.other_connectors.cache_clear()
        with pytest.raises(DataError, match="the connector 'shelf' of nowhere:Shelf cannot be loaded"):
            index.sync("shelf:one")
    finally:
        connectors.other_connectors.cache_clear()
