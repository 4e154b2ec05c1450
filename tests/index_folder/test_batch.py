"""Changes of a batch share one snapshot, which is that of the same changes one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.fork_server import ForkServer

from graphwright import Index
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.models.fake import HashEncoder

TOWNS = {"graz": "Graz lies on the Mur.", "linz": "Linz lies on the Danube.", "ulm": "Ulm lies on the Danube."}


def opened(folder: Path) -> Index:
    return Index.open(folder, encoder=HashEncoder())


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index.create(tmp_path / "towns", encoder=HashEncoder())
    index.add([{"id": "graz", "text": TOWNS["graz"]}])
    return index


def ids(index: Index) -> list[str]:
    return [document.id for document in index.list_documents()]


def snapshots(index: Index) -> list[str]:
    return sorted(path.name for path in index.path.glob("snapshot-*"))


def test_batch_equals_single_changes(index: Index, tmp_path: Path) -> None:
    other = Index.create(tmp_path / "other", encoder=HashEncoder())
    other.add([{"id": "graz", "text": TOWNS["graz"]}])

    def change(index: Index) -> None:
        index.add([{"id": "linz", "text": TOWNS["linz"]}])
        index.add([{"id": "ulm", "text": TOWNS["ulm"]}])
        index.add([{"id": "graz", "text": "Graz is the capital of Styria."}])
        index.remove(["linz"])

    with index.batch():
        change(index)
    change(other)
    assert index.snapshot.graph.columns.checksum == other.snapshot.graph.columns.checksum
    assert index.snapshot.passages == other.snapshot.passages and index.snapshot.words == other.snapshot.words
    assert index.is_current and ids(index) == ["graz", "ulm"] and not index.verify()


def test_batch_is_searchable_at_end(index: Index) -> None:
    reader, before = opened(index.path), snapshots(index)
    with index.batch():
        changes = index.add([{"id": "graz", "text": "Graz is the capital of Styria."}, {"id": "ulm", "text": "Ulm."}])
        assert (changes.added, changes.replaced) == (["ulm"], ["graz"])
        index.remove(["ulm"])
        for seen in (reader, index):
            assert ids(seen) == ["graz"] and "Mur" in seen.graph.passage(0) and not seen.is_current
        assert snapshots(index) == before
    assert len(snapshots(index)) == 2  # the other is read
    assert "Styria" in reader.graph.passage(0) and ids(reader) == ["graz"]


def test_failed_batch_publishes_earlier_changes(index: Index) -> None:
    with pytest.raises(DataError, match="no document 'nowhere'"), index.batch():
        index.add([{"id": "linz", "text": TOWNS["linz"]}])
        index.remove(["nowhere"])
    assert ids(index) == ["graz", "linz"] and index.is_current


def test_second_batch_raises(index: Index) -> None:
    with index.batch():
        with pytest.raises(OptionError, match="in a batch already"), index.batch():
            pass
        with pytest.raises(StoreError, match="cannot be written now"):
            opened(index.path).add([{"id": "linz", "text": TOWNS["linz"]}])
    index.add([{"id": "linz", "text": TOWNS["linz"]}])
    assert ids(index) == ["graz", "linz"]


def test_empty_batch_writes_nothing(index: Index) -> None:
    before = snapshots(index)
    with index.batch():
        index.add([{"id": "graz", "text": TOWNS["graz"]}])
    assert snapshots(index) == before


KILLED = """
import os
from graphwright import Index
from graphwright.models.fake import HashEncoder
index = Index.open(folder, encoder=HashEncoder())
with index.batch():
    index.add([{"id": "linz", "text": "Linz lies on the Danube."}])
    index.remove(["graz"])
    os._exit(9)
"""


@pytest.fixture
def killed_batch(index: Index, fork_server: ForkServer) -> None:
    assert fork_server.run("program", index.path, KILLED).code == 9


@pytest.mark.usefixtures("killed_batch")
def test_killed_batch_is_published_next(index: Index) -> None:
    assert "graz" not in ids(opened(index.path))  # hidden, or published by the opening
    again = opened(index.path)
    again.add([])
    assert ids(again) == ["linz"] and again.is_current and not again.verify()


@pytest.mark.usefixtures("killed_batch")
def test_killed_batch_can_be_repeated(index: Index) -> None:
    again = opened(index.path)
    with again.batch():
        again.add([{"id": "linz", "text": "Linz lies on the Danube."}])
        again.remove(["graz"])
    assert ids(index) == ["linz"] and index.is_current


def test_batch_removes_document_once(index: Index) -> None:
    with pytest.raises(DataError, match="no document 'graz'"), index.batch():
        index.remove(["graz"])
        index.remove(["graz"])
    assert ids(index) == [] and index.is_current
