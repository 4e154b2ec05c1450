"""Watching of a folder: changes are told together, when no other follows; hidden files and the index do not count."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from threading import Event

import pytest

from graphwright.data import watching
from graphwright.errors import DataError

pytest.importorskip("watchfiles")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_QUIET", 200)
    monkeypatch.setattr(watching, "_TICK", 100)


def test_watched_folder_tells_changes_once(tmp_path: Path) -> None:
    stop, index = Event(), tmp_path / "index"
    index.mkdir()
    (tmp_path / ".git").mkdir()
    told = watching.watched(tmp_path, index, stop)
    assert next(told) and not next(told)
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("a")
    assert any(told) and not any(islice(told, 5))
    for quiet in (index / "CURRENT", tmp_path / ".hidden", tmp_path / ".git" / "HEAD"):
        quiet.write_text("a")
    assert not any(islice(told, 5))
    (tmp_path / ".gitignore").write_text("a")
    assert any(told)
    stop.set()
    assert list(told) == []


def test_folder_that_goes_away_raises(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    told = watching.watched(folder, tmp_path / "index")
    assert next(told)
    folder.rename(tmp_path / "away")
    with pytest.raises(DataError, match="is gone"):
        list(told)
    with pytest.raises(DataError, match="cannot be watched"):
        next(watching.watched(folder, tmp_path))
