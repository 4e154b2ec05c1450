"""Interrupted changes: what was removed or replaced is not shown any more, and the same command completes them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.faults.conftest import CORPUS
from tests.faults.fork_server import ALL, ENCODER, ForkServer
from tests.faults.index_state import leftovers, state

from graphwright import Index
from graphwright.errors import DataError, OptionError, StoreError
from graphwright.store import Settings
from graphwright.store.locks import writer_lock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

SECRET = "The Zwettl Manuscript was hidden by Abbot Quirin in a cellar at Zwettl."
NEW = "The Zwettl Manuscript is lost."
ASKED = "Who hid the Zwettl Manuscript?"
COMMITTED = ("after commit index.sqlite", 0)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a few documents, one with a secret, synced from a folder."""
    place = tmp_path_factory.mktemp("base")
    docs = place / "docs"
    docs.mkdir()
    for line in CORPUS[:5]:
        row = json.loads(line)
        (docs / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    (docs / "secret.txt").write_text(SECRET, encoding="utf-8")
    with Index.create(place / "index", encoder=ENCODER, settings=ALL) as index:
        index.sync(docs)
    docs.rename(place / "files")  # so that a copy may take their place
    return place


def change(kind: str, base: Path, place: Path) -> tuple[Path, str, str]:
    """Return a copy of the index, and the job and argument that withdraw the secret."""
    folder = Path(shutil.copytree(base / "index", place / "index"))
    if kind == "remove":
        return folder, "remove", "secret.txt"
    docs = Path(shutil.copytree(base / "files", place / "docs"))
    (docs / "secret.txt").write_text(NEW, encoding="utf-8") if kind == "replace" else (docs / "secret.txt").unlink()
    return folder, "sync", str(docs)


def quoted(index: Index) -> str:
    """Return all that an index shows in answer to the question about the secret."""
    passages = index.retrieve(ASKED, "bm25").passages
    assert passages is not None
    answer = index.ask(ASKED, "hybrid").answer
    return f"{answer} {list(passages)} {list(index.graph.names)} {index.list_documents()}"


@pytest.mark.parametrize("kind", ["remove", "replace", "sync"])
def test_interrupted_withdrawal_is_not_shown(kind: str, base: Path, tmp_path: Path, server: ForkServer) -> None:
    folder, job, what = change(kind, base, tmp_path)
    with Index.open(folder, encoder=ENCODER) as reader:
        assert "Quirin" in quoted(reader)
        child = server.run(job, folder, what, stop=COMMITTED)
        assert child.code == -9
        assert "Quirin" not in quoted(reader) and not reader.is_current  # a reader that was open before
        with pytest.raises(OptionError, match="there is no document"):
            reader.text("secret.txt")
        with writer_lock(folder), Index.open(folder, encoder=ENCODER) as index:  # it cannot be finished now
            assert "Quirin" not in quoted(index) and not index.is_current
            assert index.documents == (6 if kind == "replace" else 5)
    with Index.open(folder, encoder=ENCODER) as index:  # which finishes it
        assert index.is_current and index.verify() == []
        shown = quoted(index)
    assert "Quirin" not in shown and (NEW in shown) == (kind == "replace")
    assert server.run(job, folder, what).code == 0
    assert leftovers(folder) == []


def test_running_change_is_seen_after_publication(base: Path, tmp_path: Path) -> None:
    """Readers do not wait for a writer, and see the index as it was before."""
    folder, _, _ = change("remove", base, tmp_path)
    seen: list[bool] = []

    def look(work: str, done: int, total: int) -> None:
        with Index.open(folder, encoder=ENCODER) as reader:
            seen.append("Quirin" in quoted(reader))

    with Index.open(folder, encoder=ENCODER) as writer:
        writer.add([{"id": "secret.txt", "text": NEW}], look)
        assert "Quirin" not in quoted(writer)
    assert seen and all(seen)


@pytest.mark.parametrize("kind", ["remove", "import"])
def test_command_killed_at_each_point_completes_on_repeat(
    kind: str, base: Path, tmp_path: Path, server: ForkServer
) -> None:
    """An import goes into a folder with settings, which cannot be renamed into place as a whole."""
    triples = tmp_path / "rivers.tsv"
    triples.write_text("Graz\tlies on\tMur\nMur\tflows into\tDrava\n", encoding="utf-8")

    def fresh(place: Path) -> tuple[Path, str, str]:
        if kind == "remove":
            return change("remove", base, place)
        (place / "index").mkdir(parents=True)
        (place / "index" / "settings.toml").write_text("[llm]\n", encoding="utf-8")
        return place / "index", "import", str(triples)

    folder, job, what = fresh(tmp_path / "whole")
    points = [point for (point,) in server.run(job, folder, what, points=True).reports_of("point")]
    expected = state(folder)
    points = [point for point in points if ".nb" not in point]  # kernels that are compiled only once
    stops = [(point, points[:at].count(point)) for at, point in enumerate(points) if point.startswith("before")]
    words = ("rename",) if kind == "import" else ("rename", "commit", "delete", "checkpoint")
    chosen = [stop for stop in stops if any(word in stop[0] for word in words)]
    assert len(chosen) > 3
    for at, stop in enumerate(chosen):
        folder, job, what = fresh(tmp_path / str(at))
        assert server.run(job, folder, what, stop=stop).code == -9, stop
        if kind == "import":
            assert not (folder / "index.sqlite").exists(), stop
            with pytest.raises(StoreError, match="Make one"):
                Index.open(folder, encoder=ENCODER)
            (failed,) = server.run("ask", folder, "bm25").reports
            assert failed[0] == "StoreError" and str(folder) in failed[1], stop
        again = server.run(job, folder, what)
        assert again.code == 0, (stop, again)
        assert state(folder) == expected, stop
        assert [name for name in leftovers(folder) if name != "settings.toml"] == [], stop


def test_interrupted_removal_can_be_repeated(base: Path, tmp_path: Path) -> None:
    folder, _, _ = change("remove", base, tmp_path)
    with Index.open(folder, encoder=ENCODER) as index:
        assert index.remove(["secret.txt"]).removed == ["secret.txt"]
        with pytest.raises(DataError, match="holds no document"):  # this call was seen to succeed
            index.remove(["secret.txt"])
    with Index.open(folder, encoder=ENCODER) as index:  # another process cannot know
        changes = index.remove(["secret.txt"])
        assert changes.removed == ["secret.txt"] and changes.resumed
    with Index.open(folder, encoder=ENCODER) as index:
        with pytest.raises(DataError, match="holds no document 'other'"):
            index.remove(["secret.txt", "other"])
        index.add([{"id": "a", "text": "Ida lives in Graz."}])
    with Index.open(folder, encoder=ENCODER) as index, pytest.raises(DataError, match="holds no document"):
        index.remove(["secret.txt"])
    assert b"secret.txt" not in (folder / "index.sqlite").read_bytes()


def test_command_completes_interrupted_removal(tmp_path: Path, server: ForkServer) -> None:
    folder = tmp_path / "index"
    with Index.create(folder, settings=Settings(embed=("passages",))) as index:
        index.add([{"id": "secret.txt", "text": SECRET}, {"id": "a", "text": "Ida lives in Graz."}])

    def command(*words: str, stop: tuple[str, int] | None = None) -> tuple[int, str]:
        child = server.run("command", folder, json.dumps([*words, "--index", "{index}"]), stop=stop)
        return child.code, " ".join(" ".join(text for (text,) in child.reports_of("output")).split())

    assert command("remove", "secret.txt", stop=COMMITTED)[0] == -9
    with writer_lock(folder):
        code, output = command("ask", ASKED)
        assert code == 0 and "Quirin" not in output and "is being indexed" in output
        code, output = command("verify")
        assert code == 1 and "Run the interrupted command again" in output
        assert "another process is indexing into it" in command("remove", "secret.txt")[1]
    for _ in range(2):
        code, output = command("remove", "secret.txt")
        assert code == 0 and "removed 1 document" in output and "an earlier run" in output
    assert command("verify")[0] == 0
    code, output = command("remove", "b")
    assert code == 1 and "holds no document 'b'" in output
