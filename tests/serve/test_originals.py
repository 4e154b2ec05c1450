"""Originals survive a killed process: no half file is given, and what it left is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright import Index
from graphwright.data import Document
from graphwright.models.fake import HashEncoder
from graphwright.serve.originals import Originals, Source
from graphwright.serve.settings import ServeSettings
from graphwright.store.chunk_record import content_hash

DOCUMENT = Document("a.txt", "Graz lies on the Mur.")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    with Index.create(tmp_path / "index", encoder=HashEncoder()) as index:
        index.add([DOCUMENT])
    return tmp_path / "index"


def sent(tmp_path: Path) -> Source:
    path = tmp_path / "000000.txt"
    path.write_text(DOCUMENT.text)
    return DOCUMENT.id, content_hash(DOCUMENT), path, "a.txt"


def test_originals_opened_again_give_what_was_kept(index: Path, tmp_path: Path) -> None:
    originals = Originals(ServeSettings(data=tmp_path / "data"))
    originals.keep(index, [sent(tmp_path)])
    originals.close()
    originals = Originals(ServeSettings(data=tmp_path / "data"))
    originals.sweep()
    found = originals.of(index, "a.txt")
    assert found is not None and found.path.read_text() == DOCUMENT.text
    originals.close()


def test_originals_sweep_deletes_drafts_and_files_of_no_document(index: Path, tmp_path: Path) -> None:
    originals = Originals(ServeSettings(data=tmp_path / "data"))
    folder = tmp_path / "data" / "originals"
    (folder / f".{'0' * 64}.txt.1.draft").write_text("half a")
    (folder / f"{'0' * 64}.txt").write_text("of a job that was killed")
    originals.keep(index, [sent(tmp_path)])
    originals.sweep()
    assert len(list(folder.iterdir())) == 1
    originals.close()


def test_originals_sweep_spares_an_index_on_a_disk_that_is_missing(index: Path, tmp_path: Path) -> None:
    originals = Originals(ServeSettings(data=tmp_path / "data"))
    originals.keep(index, [sent(tmp_path)])
    with Index.open(index, encoder=HashEncoder()) as opened:
        opened.remove(["a.txt"])
    (index / "index.sqlite").rename(index / "aside")  # as a mount point without its disk
    originals.sweep()
    assert len(list((tmp_path / "data" / "originals").iterdir())) == 1
    (index / "aside").rename(index / "index.sqlite")
    originals.sweep()
    assert not list((tmp_path / "data" / "originals").iterdir())
    originals.close()


def test_originals_keep_of_a_file_that_is_gone_is_logged(
    index: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    originals = Originals(ServeSettings(data=tmp_path / "data"))
    source = sent(tmp_path)
    source[2].unlink()
    originals.keep(index, [source])
    assert "not kept" in caplog.text and originals.of(index, "a.txt") is None
    originals.close()
