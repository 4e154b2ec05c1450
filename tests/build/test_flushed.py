"""What a snapshot is made of is on disk before it becomes the current one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from graphwright import Document, Index
from graphwright.models import HashEncoder


def test_files_are_flushed_before_publication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed, replace = set[int](), os.replace
    seen: list[set[str]] = []

    def watched(source: Any, target: Any) -> None:
        if Path(target).name == "CURRENT":
            current = tmp_path / "index" / Path(source).read_text()
            files = {path for path in current.rglob("*") if path.name != "readers.lock"}
            seen.append({path.name for path in files if path.stat().st_ino not in flushed})
        replace(source, target)

    with Index.create(tmp_path / "index", encoder=HashEncoder(8)) as index:
        monkeypatch.setattr(os, "fsync", lambda file: flushed.add(os.fstat(file).st_ino))
        monkeypatch.setattr(os, "replace", watched)
        index.add([Document("a", "Graz lies on the Mur."), Document("b", "Linz lies on the Danube.")])
        index.add([Document("c", "The Mur flows into the Drava.")])
    assert seen == [set(), set()]
