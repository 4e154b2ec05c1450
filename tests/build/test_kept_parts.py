"""Documents that take long to read are kept while others are read, so that a killed run does not begin anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwright import Document, Index
from graphwright.build import document_storage
from graphwright.errors import DataError
from graphwright.models.fake import HashEncoder

TEXTS = {f"town{i}": f"Town{i} lies on River{i}." for i in range(6)}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr(document_storage, "_COMMIT_AFTER", 0.0)
    monkeypatch.setattr(document_storage, "_DOCUMENTS", 2)
    return Index.create(tmp_path / "towns", encoder=HashEncoder())


def documents(error: BaseException | None = None, before: int = 5) -> Iterator[Document]:
    for at, (name, text) in enumerate(TEXTS.items()):
        if error is not None and at == before:
            raise error
        yield Document(name, text)


def test_interrupted_run_continues(index: Index) -> None:
    with pytest.raises(KeyboardInterrupt):
        index.add(documents(KeyboardInterrupt()))
    assert index.documents == 4 and not index.is_current and index.list_documents() == []
    again = index.add(documents())
    assert again.unchanged == ["town0", "town1", "town2", "town3"] and again.added == ["town4", "town5"]
    assert again.resumed and index.is_current and len(index.list_documents()) == 6


def test_error_keeps_none_of_documents(index: Index) -> None:
    index.add([Document("graz", "Graz lies on the Mur.")])
    with pytest.raises(DataError, match="broken"):
        index.add(documents(DataError("broken")))
    assert index.documents == 1 and index.is_current and not index.verify()


def test_documents_are_replaced_after_reading_all(index: Index) -> None:
    index.add([Document("town0", "Town0 was elsewhere.")])
    with pytest.raises(KeyboardInterrupt):
        index.add(documents(KeyboardInterrupt()))
    assert index.documents == 1 and "elsewhere" in index.text("town0")


def test_interrupted_sync_keeps_folder_documents(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    interrupted = pytest.MonkeyPatch()
    put = document_storage.DocumentStorage._put
    calls = iter([True, False])

    def once(self: document_storage.DocumentStorage, *given: object) -> None:
        if not next(calls):
            raise KeyboardInterrupt
        put(self, *given)  # type: ignore[arg-type]

    with interrupted.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(document_storage.DocumentStorage, "_put", once)
        index.sync(folder)
    assert index.documents == 2
    (folder / "town0.txt").unlink()
    changes = index.sync(folder)
    assert (changes.removed, len(changes.added), len(changes.unchanged)) == (["town0.txt"], 4, 1)
    assert index.is_current and not index.verify()
