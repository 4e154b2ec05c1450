"""An index whose writer is killed, at any moment: nothing that was reported done is lost, and the next run goes on.

In the end an index that was interrupted is the one that never was.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.faults.contents import assert_survived, contents, litter, state, written
from tests.faults.nursery import ENCODER, QUESTION, Careful, Nursery

from graphwright import Index

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

CORPUS = (files("graphwright") / "cli" / "demo_corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
# What a run passes through, each of which is killed before and, where it has parts, amid them.
CREATING = "before make|before script|before rename (snapshot-0|index)$"
CHANGING = (
    "before (checkpoint|commit)|before (extract|encode|unlink vectors.sqlite)$|amid write (heads|words).npy"
    "|before rename (snapshot-[1-9]|CURRENT)|(before|amid) delete snapshot-"
)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as open_one:
        yield open_one


@dataclass(frozen=True)
class Work:
    """Something that is done to an index: the job, what it is given, and the index that it finds, if any."""

    job: str
    what: Path
    base: Path | None = None

    def fresh(self, place: Path) -> Path:
        """Return the folder of the index as it is before the work is done."""
        folder = place / "index"
        place.mkdir()
        if self.base is not None:
            shutil.copytree(self.base, folder)
        return folder


def changed_folder(place: Path, nursery: Nursery) -> Work:
    """A folder that an index was in step with, then grew by a file, lost one, and has another text in two."""
    docs = place / "docs"
    docs.mkdir(parents=True)
    for line in CORPUS[:24]:
        row = json.loads(line)
        (docs / f"{row['id']}.md").write_text(f"# {row['title']}\n\n{row['text']}\n", encoding="utf-8")
    base = place / "base" / "index"
    base.parent.mkdir()
    assert nursery.run("sync", base, docs).code == 0
    named = sorted(docs.iterdir())
    named[0].unlink()
    named[1].write_text(named[2].read_text(encoding="utf-8"), encoding="utf-8")
    named[3].write_text("Nobody knows who wrote this.", encoding="utf-8")
    (docs / "new.txt").write_text("Alma Brecht walked from Gmunden to Steyr.", encoding="utf-8")
    return Work("sync", docs, base)


def assert_completed(work: Work, folder: Path, nursery: Nursery, expected: dict[str, Any]) -> None:
    """The same command, run to its end, leaves the index of an uninterrupted run and nothing else."""
    ended = nursery.run(work.job, folder, work.what)
    assert ended.code == 0, ended.reports
    assert state(folder) == expected
    assert litter(folder) == []


def stops(points: list[str], creating: bool) -> list[tuple[str, int]]:
    """Return where to stop, of all points that a run passes: the last time in each phase, with `creating` the first."""
    phases = re.compile(f"{CREATING}|{CHANGING}" if creating else CHANGING)
    passed = Counter(point for point in points if phases.match(point))
    return [(point, at) for point, times in passed.items() for at in sorted({0 if creating else times - 1, times - 1})]


@pytest.mark.parametrize("kind", ["add", "read", "sync"])
def test_killed_at_each_point_where_something_changes(kind: str, tmp_path: Path, nursery: Nursery) -> None:
    if kind == "sync":
        work = changed_folder(tmp_path / "given", nursery)
    else:
        work = Work(kind, written(tmp_path / "given", CORPUS[:12], 2 if kind == "add" else 1))
    whole = work.fresh(tmp_path / "whole")
    passed = [point for (point,) in nursery.run(kind, whole, work.what, points=True).said("point")]
    expected = state(whole)
    assert litter(whole) == []
    for what in ("rename CURRENT", "rename snapshot-2", "commit index.sqlite", "delete snapshot-1", "encode"):
        assert f"before {what}" in passed
    for at, stop in enumerate(stops(passed, kind == "add")):
        folder = work.fresh(tmp_path / str(at))
        child = nursery.run(kind, folder, work.what, stop=stop)
        assert child.code == -9, stop
        try:
            assert_survived(folder, child)
            assert_completed(work, folder, nursery, expected)
        except Exception as error:
            raise AssertionError(f"killed {stop[0]}, passed {stop[1]} times before") from error
        shutil.rmtree(folder.parent)


@pytest.mark.parametrize("kind, kills, documents", [("add", 6, 200), ("read", 6, 60)])
def test_killed_at_a_random_moment(kind: str, kills: int, documents: int, tmp_path: Path, nursery: Nursery) -> None:
    rng = random.Random(11)
    work = Work(kind, written(tmp_path / "given", CORPUS[:documents], 2))
    whole = work.fresh(tmp_path / "whole")
    begun = time.perf_counter()
    assert nursery.run(kind, whole, work.what).code == 0
    seconds = time.perf_counter() - begun
    expected, killed = state(whole), 0
    assert expected["documents"] == documents
    for at in range(kills):
        folder = work.fresh(tmp_path / str(at))
        running = nursery.start(kind, folder, work.what)
        time.sleep(seconds * (at + rng.random()) / kills)
        running.kill()
        child = running.wait()
        killed += child.code == -9
        assert_survived(folder, child)
        assert_completed(work, folder, nursery, expected)
    assert killed > kills / 2


def test_killed_again_and_again_it_still_comes_to_its_end(tmp_path: Path, nursery: Nursery) -> None:
    """Each run gets a little further: what one has done, the next does not do again."""
    work = Work("read", written(tmp_path / "given", CORPUS[:150], 1))
    folder, waiting = work.fresh(tmp_path / "a"), []
    for _ in range(9):
        child = nursery.run("read", folder, work.what, stop=("before begin index.sqlite", 2))
        if child.code == 0:
            break
        with Index.open(folder, encoder=ENCODER) as index:
            waiting.append(sum(index.info()["pending"].values()))
        assert_survived(folder, child)
    assert waiting == [86, 22]  # 64 are kept at a time
    assert_completed(work, folder, nursery, state(folder))
    with Index.open(folder, encoder=ENCODER, extractor=Careful()) as index:
        assert index.info()["extractors"] == {"careful:1": 150} and not index.info()["pending"]


def test_a_reader_answers_before_and_after_a_writer_is_killed(tmp_path: Path, nursery: Nursery) -> None:
    work = changed_folder(tmp_path / "given", nursery)
    folder = work.fresh(tmp_path / "a")
    with Index.open(folder, encoder=ENCODER) as reader:
        before = contents(reader)
        for stop in (("after commit index.sqlite", 0), ("amid write heads.npy", 0), ("before rename CURRENT", 0)):
            assert nursery.run("sync", folder, work.what, stop=stop).code == -9
            assert contents(reader)["graph"] == before["graph"] and not reader.is_current
            assert reader.ask(QUESTION).answer is not None
        assert nursery.run("sync", folder, work.what, stop=("after rename CURRENT", 0)).code == -9
        assert reader.is_current and contents(reader)["graph"] != before["graph"]
        assert reader.verify() == []
