"""Kill a writer at any moment: nothing that was reported as done is lost, and the next run continues.

The completed index equals that of an uninterrupted run.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import CORPUS
from tests.faults.fork_server import ALL, ENCODER, QUESTION, ForkServer, SlowExtractor
from tests.faults.index_state import assert_survived, contents, leftovers, state, write_corpus

from graphwright import Index
from graphwright.extract import EntityType, Schema
from graphwright.store import AddEntity, AddStatement, DeleteEntity, Edit, RenameEntity

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

# Points of a run at which it is killed, as patterns.
CREATING = "before make|before script|before rename (snapshot-0|index)$"
CHANGING = (
    "before (checkpoint|commit)|before (extract|encode|unlink vectors.sqlite)$|within write (heads|words).npy"
    "|before rename (snapshot-[1-9]|CURRENT)|(before|within) delete snapshot-"
)


@dataclass(frozen=True)
class Work:
    """A job, its argument, and the index that it starts from, if any."""

    job: str
    what: Path | str
    base: Path | None = None

    def fresh(self, place: Path) -> Path:
        """Return a new folder with the index as it is before the job."""
        folder = place / "index"
        place.mkdir()
        if self.base is not None:
            shutil.copytree(self.base, folder)
        return folder


def changed_folder(place: Path, server: ForkServer) -> Work:
    """Make a folder that was synchronised and then changed: a file is new, one is deleted, two have other texts."""
    docs = place / "docs"
    docs.mkdir(parents=True)
    for line in CORPUS[:24]:
        row = json.loads(line)
        (docs / f"{row['id']}.md").write_text(f"# {row['title']}\n\n{row['text']}\n", encoding="utf-8")
    base = place / "base" / "index"
    base.parent.mkdir()
    assert server.run("sync", base, docs).code == 0
    paths = sorted(docs.iterdir())
    paths[0].unlink()
    paths[1].write_text(paths[2].read_text(encoding="utf-8"), encoding="utf-8")
    paths[3].write_text("Nobody knows who wrote this.", encoding="utf-8")
    (docs / "new.txt").write_text("Alma Brecht walked from Gmunden to Steyr.", encoding="utf-8")
    return Work("sync", docs, base)


def edited_index(kind: str, place: Path) -> Work:
    """Make an index with edits and a schema, and the argument of a job that changes these."""
    base = place / "index"
    names = "William Brydone Jack Observatory", "Fredericton", "Samos", "Canada"
    changes = [
        (RenameEntity(names[0], "Jack Observatory"), AddEntity("Vienna", "city", "A town.")),
        (RenameEntity(names[2], "Isle of Samos"), AddStatement(names[1], "twin of", names[3]), DeleteEntity(names[0])),
    ]
    before, after = ([Edit(change, f"{at}") for at, change in enumerate(made)] for made in changes)
    schemas = [Schema((EntityType("country", examples=[example]),)) for example in names[2:]]
    with Index.create(base, encoder=ENCODER, settings=ALL, schema=schemas[0]) as index:
        index.add([json.loads(row) for row in CORPUS[:8]])
        index.edit(*before)
    edits = json.dumps([edit.to_dict() for edit in (before[1], *after)])
    return Work(kind, {"edit": edits, "schema": schemas[1].to_toml(), "rebuild": "60"}[kind], base)


def assert_resumed(work: Work, folder: Path, server: ForkServer, expected: dict[str, Any]) -> None:
    """Check that the same command completes, with the contents of an uninterrupted run and no other file."""
    child = server.run(work.job, folder, work.what)
    assert child.code == 0, child.reports
    assert state(folder) == expected
    assert leftovers(folder) == []


def stops(points: list[str], creating: bool) -> list[tuple[str, int]]:
    """Choose where to kill a run: at each kind of point the last time it is passed, with `creating` also the first."""
    phases = re.compile(f"{CREATING}|{CHANGING}" if creating else CHANGING)
    passed = Counter(point for point in points if phases.match(point))
    return [(point, at) for point, times in passed.items() for at in sorted({0 if creating else times - 1, times - 1})]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add", "read", "sync"])
def test_change_killed_at_each_point_loses_nothing(kind: str, tmp_path: Path, server: ForkServer) -> None:
    if kind == "sync":
        work = changed_folder(tmp_path / "source", server)
    else:
        work = Work(kind, write_corpus(tmp_path / "source", CORPUS[:12], 2 if kind == "add" else 1))
    whole = work.fresh(tmp_path / "whole")
    passed = [point for (point,) in server.run(kind, whole, work.what, points=True).reports_of("point")]
    expected = state(whole)
    assert leftovers(whole) == []
    for what in ("rename CURRENT", "rename snapshot-2", "commit index.sqlite", "delete snapshot-1", "encode"):
        assert f"before {what}" in passed
    for at, stop in enumerate(stops(passed, kind == "add")):
        folder = work.fresh(tmp_path / str(at))
        child = server.run(kind, folder, work.what, stop=stop)
        assert child.code == -9, stop
        try:
            assert_survived(folder, child)
            assert_resumed(work, folder, server, expected)
        except Exception as error:
            raise AssertionError(f"killed {stop[0]}, passed {stop[1]} times before") from error
        shutil.rmtree(folder.parent)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["edit", "schema", "rebuild"])
def test_change_of_edits_and_schema_killed_at_each_point_loses_nothing(
    kind: str, tmp_path: Path, server: ForkServer
) -> None:
    work = edited_index(kind, tmp_path / "source")
    whole = work.fresh(tmp_path / "whole")
    passed = [point for (point,) in server.run(kind, whole, work.what, points=True).reports_of("point")]
    assert "before commit index.sqlite" in passed and "before rename CURRENT" in passed
    expected, undone = state(whole), "Vienna" if kind == "edit" else None
    for at, stop in enumerate(stops(passed, False)):
        folder = work.fresh(tmp_path / str(at))
        assert server.run(kind, folder, work.what, stop=stop).code == -9, stop
        with Index.open(folder, encoder=ENCODER) as index:
            stored = {edit.change.words for edit in index.edits()}
            assert undone is None or (undone in index.graph.names) == (f"add {undone}" in stored), stop
            assert index.ask(QUESTION, "bm25").answer is not None
        assert_resumed(work, folder, server, expected)
        shutil.rmtree(folder.parent)


@pytest.mark.slow
@pytest.mark.parametrize("kind, kills, documents", [("add", 6, 200), ("read", 6, 60)])
def test_change_killed_at_random_moment_loses_nothing(
    kind: str, kills: int, documents: int, tmp_path: Path, server: ForkServer
) -> None:
    rng = random.Random(11)
    work = Work(kind, write_corpus(tmp_path / "source", CORPUS[:documents], 2))
    whole = work.fresh(tmp_path / "whole")
    begun = time.perf_counter()
    assert server.run(kind, whole, work.what).code == 0
    seconds = time.perf_counter() - begun
    expected, killed = state(whole), 0
    assert expected["documents"] == documents
    for at in range(kills):
        folder = work.fresh(tmp_path / str(at))
        running = server.start(kind, folder, work.what)
        time.sleep(seconds * (at + rng.random()) / kills)
        running.kill()
        child = running.wait()
        killed += child.code == -9
        assert_survived(folder, child)
        assert_resumed(work, folder, server, expected)
    assert killed > 1


def test_repeatedly_killed_run_completes(tmp_path: Path, server: ForkServer) -> None:
    """Each run continues where the one before was killed."""
    work = Work("read", write_corpus(tmp_path / "source", CORPUS[:150], 1))
    folder, waiting = work.fresh(tmp_path / "a"), []
    for _ in range(9):
        child = server.run("read", folder, work.what, stop=("before begin index.sqlite", 2))
        if child.code == 0:
            break
        with Index.open(folder, encoder=ENCODER) as index:
            waiting.append(sum(index.info()["pending"].values()))
        assert_survived(folder, child)
    assert waiting[-3:] == [86, 22, 22]  # 64 are stored at a time; the last run but one first counts long descriptions
    assert_resumed(work, folder, server, state(folder))
    with Index.open(folder, encoder=ENCODER, extractor=SlowExtractor()) as index:
        assert index.info()["extractors"] == {"slow:1": 150} and not index.info()["pending"]


def test_reader_answers_around_killed_writer(tmp_path: Path, server: ForkServer) -> None:
    work = changed_folder(tmp_path / "source", server)
    folder = work.fresh(tmp_path / "a")
    with Index.open(folder, encoder=ENCODER) as reader:
        before = contents(reader)
        for stop in (("after commit index.sqlite", 0), ("within write heads.npy", 0), ("before rename CURRENT", 0)):
            assert server.run("sync", folder, work.what, stop=stop).code == -9
            # What the change removed or replaced is hidden, and the rest answers.
            shown = {document.id for document in reader.list_documents()}
            assert len(shown) == 21 and shown < set(before["ids"]) and not reader.is_current
            assert reader.ask(QUESTION).answer is not None
        assert server.run("sync", folder, work.what, stop=("after rename CURRENT", 0)).code == -9
        assert reader.is_current and contents(reader)["graph"] != before["graph"]
        assert reader.verify() == []
