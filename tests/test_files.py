"""Atomic file writes, and line files that survive a killed writer."""

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import DataError
from graphwright.files import flush_all, growing, remove_drafts, whole, whole_lines, write_text

needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_failed_write_keeps_file_without_draft(tmp_path: Path) -> None:
    path = tmp_path / "said.txt"
    write_text(path, "before")
    with pytest.raises(ZeroDivisionError), whole(path) as draft:
        draft.write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert path.read_text(encoding="utf-8") == "before" and names(tmp_path) == {"said.txt"}
    with (
        pytest.raises(DataError, match=r"said.txt cannot be written: the disk is full .*Free some space"),
        whole(path) as draft,
    ):
        raise OSError(28, "No space left on device")
    assert path.read_text(encoding="utf-8") == "before" and names(tmp_path) == {"said.txt"}


def test_atomic_write_follows_link(tmp_path: Path) -> None:
    write_text(tmp_path / "held.txt", "before")
    (tmp_path / "link.txt").symlink_to(tmp_path / "held.txt")
    write_text(tmp_path / "link.txt", "after \ud800")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "held.txt").read_text(encoding="utf-8") == "after \\ud800"


def test_impossible_path_raises(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        write_text(tmp_path / "file" / "said.txt", "text")
    with pytest.raises(DataError, match="cannot be written"), growing(tmp_path / "file" / "rows.jsonl"):
        pass


@needs_dev_full
def test_full_disk_for_lines_raises_with_remedy(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").symlink_to("/dev/full")
    with (
        pytest.raises(DataError, match=r"rows.jsonl cannot be written: the disk is full.*No space left.*to resume"),
        growing(tmp_path / "rows.jsonl") as add,
    ):
        add({"at": 1})


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden here")
def test_forbidden_file_raises(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").touch(mode=0o444)
    with pytest.raises(DataError, match="Change its permissions"), growing(tmp_path / "rows.jsonl"):
        pass


rows = st.lists(st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=3), max_size=6)


@given(rows, rows, st.integers(0, 200_000))
def test_lines_before_killed_write_are_kept(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[dict[str, object]],
    second: list[dict[str, object]],
    torn: int,
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with growing(path) as add:
        for row in first:
            add(row)
    with path.open("ab") as file:
        file.write(b"{" * torn)
    assert list(map(json.loads, whole_lines(path))) == first
    with growing(path) as add:
        for row in second:
            add(row)
    assert list(map(json.loads, whole_lines(path))) == [*first, *second]
    assert path.read_bytes().count(b"\n") == len(first) + len(second)


def test_leftover_drafts_are_removed(tmp_path: Path) -> None:
    with whole(tmp_path / "said.txt") as left:
        left.touch()
        assert names(tmp_path) == {left.name}
    assert names(tmp_path) == {"said.txt"}
    left.touch()
    (tmp_path / ".hidden").touch()
    write_text(tmp_path / "said.txt", "text")
    remove_drafts(tmp_path)
    assert names(tmp_path) == {".hidden", "said.txt"}


def test_missing_lines_file_is_empty(tmp_path: Path) -> None:
    assert whole_lines(tmp_path / "rows.jsonl") == []


def test_flush_covers_all_files_and_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / str(number) for number in range(40)]
    for path in paths:
        path.write_text("x")
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.fstat(file).st_ino))
    flush_all(paths)
    assert sorted(flushed) == sorted(path.stat().st_ino for path in paths)
    with pytest.raises(FileNotFoundError):
        flush_all([*paths, tmp_path / "gone"])
