"""Files of images: what a change writes, what damage is found, and what is left of removed texts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.faults.index_state import contents

from graphwright import Document, Index
from graphwright.errors import StoreError
from graphwright.models import HashEncoder
from graphwright.search import dense_arrays
from graphwright.search.image_files import BASE, PATCH

ENCODER = HashEncoder(8)
DOCUMENTS = [
    Document(f"{at:03d}", f"Person{at:03d} Vogel lives in Town{at % 50:02d}. Town{at % 50:02d} lies on the Mur.")
    for at in range(200)
]
MORE = Document("100a", "Quentin Sekret lives in Town07.")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index whose current snapshot is an image without a patch."""
    monkeypatch.setattr(dense_arrays, "LEAST", 0)
    index = Index.create(tmp_path / "index", encoder=ENCODER)
    index.add(DOCUMENTS[:-1])
    index.add(DOCUMENTS[-1:])
    return index


def current(index: Index) -> Path:
    return index.path / (index.path / "CURRENT").read_text()


def test_change_links_base_and_writes_a_small_patch(index: Index) -> None:
    base = (current(index) / BASE).stat()
    index.add([MORE])
    after = current(index)
    assert (after / BASE).stat().st_ino == base.st_ino and not (after / "graph").exists()
    assert 0 < (after / PATCH).stat().st_size < base.st_size / 8
    assert index.ask("Where does Quentin Sekret live?").passages[0].document == "100a"


def test_change_of_many_documents_writes_a_new_base(index: Index) -> None:
    base = (current(index) / BASE).stat().st_ino
    index.add([Document(f"b{at}", f"Rosa{at} Albers met Hugo{at} Timm in Dorf{at}.") for at in range(150)])
    assert (current(index) / BASE).stat().st_ino != base and (current(index) / PATCH).stat().st_size == 0


def test_contents_after_changes_equal_those_of_an_index_built_at_once(index: Index, tmp_path: Path) -> None:
    index.add([MORE, Document("000", "Anna Vogel lives in Town49.")])
    index.remove(["077", "100"])
    kept = [document for document in DOCUMENTS[1:] if document.id not in ("077", "100")]
    with Index.create(tmp_path / "rebuilt", encoder=ENCODER) as rebuilt:
        rebuilt.add([MORE, Document("000", "Anna Vogel lives in Town49."), *kept])
        assert contents(index) == contents(rebuilt)


def test_removed_text_is_in_no_file(index: Index) -> None:
    index.add([MORE])
    index.add([Document(f"b{at}", f"Rosa{at} Albers met Hugo{at} Timm in Dorf{at}.") for at in range(150)])
    assert b"Quentin Sekret" in (current(index) / BASE).read_bytes()
    base = (current(index) / BASE).stat().st_ino
    index.remove([MORE.id])
    assert (current(index) / BASE).stat().st_ino == base
    files = [path for path in index.path.rglob("*") if path.is_file()]
    found = [path.name for path in files if b"sekret" in path.read_bytes().lower()]
    assert not found and index.verify() == []


@pytest.mark.parametrize("name", [BASE, PATCH])
@pytest.mark.parametrize("damage", ["byte", "short", "missing"])
def test_open_damaged_image_raises_store_error(index: Index, name: str, damage: str) -> None:
    index.add([MORE])
    path = current(index) / name
    index.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    if damage != "missing":
        path.write_bytes(data[: len(data) if damage == "byte" else len(data) // 2 + 1])
    with pytest.raises(StoreError, match=rf"{name}.* is missing or damaged"):
        Index.open(index.path, encoder=ENCODER).snapshot  # noqa: B018
    with Index.open(index.path, encoder=ENCODER) as again:
        assert any(problem.repairable for problem in again.verify())
        again.verify(repair=True)
        assert again.verify() == [] and again.documents == 201


def test_writer_killed_before_it_erases_leaves_a_sound_index(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add([MORE])
    with monkeypatch.context() as patch:
        patch.setattr("graphwright.build.publication.erase_replaced", lambda folder: None)
        index.remove(["003"])
    assert index.verify() == [] and b"Person003" in (current(index) / BASE).read_bytes()
    index.add([])
    assert b"Person003" not in (current(index) / BASE).read_bytes() and index.verify() == []


def test_about_of_image_lists_base_and_patch(index: Index) -> None:
    about = json.loads((current(index) / "about.json").read_text())
    assert {BASE, PATCH} <= about["files"].keys() and os.listdir(current(index)).count(BASE) == 1
