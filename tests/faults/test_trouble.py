"""Whatever befalls an index folder has a name and a way out: a full disk, a lock, a damaged file, a wrong folder."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.faults.contents import assert_survived, litter, state, written
from tests.faults.nursery import Nursery

import graphwright
from graphwright import Index
from graphwright.index import Settings

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

CORPUS = (files("graphwright") / "cli" / "demo_corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
METHODS = "vector bm25 hybrid ppr"
NOBODY = 65534


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as open_one:
        yield open_one


@pytest.fixture(scope="module")
def sound(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a dozen documents, to be copied."""
    place = tmp_path_factory.mktemp("sound")
    docs = written(place / "docs", CORPUS[:12], 1)
    assert nursery.run("add", place / "index", docs).code == 0
    return place / "index"


@pytest.fixture(scope="module")
def hundred(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A hundred documents, and the contents of their index."""
    place = tmp_path_factory.mktemp("hundred")
    docs = written(place / "docs", CORPUS[:100], 1)
    assert nursery.run("add", place / "index", docs).code == 0
    return docs, state(place / "index")


@pytest.fixture(scope="module")
def states(sound: Path, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The contents of the sound index, and with one more document."""
    place = tmp_path_factory.mktemp("grown")
    grown = Path(shutil.copytree(sound, place / "index"))
    assert nursery.run("add", grown, written(place / "more", CORPUS[50:51], 1)).code == 0
    return [state(sound), state(grown)]


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "index"))


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """A folder with one more document."""
    return written(tmp_path / "more", CORPUS[50:51], 1)


def snapshot_of(folder: Path) -> Path:
    return folder / (folder / "CURRENT").read_text()


@pytest.mark.parametrize(
    "stop, largest, message",
    [
        (None, 20_000, r"cannot be written \(.*\)\. Free some space"),
        (None, 200_000, r"index\.sqlite could not be written .*nothing was changed\. Is the disk full"),
        (("after commit index.sqlite", 1), 20_000, r"index\.sqlite cannot be opened now .*Is the disk full"),
        (("after commit index.sqlite", 1), 40_000, r"The cache of vectors .*vectors\.sqlite cannot be used"),
        (("before write heads.npy", 1), 40_000, r"queries still use the previous snapshot\. Free some space"),
    ],
    ids=["creating", "storing", "opening", "encoding", "writing the snapshot"],
)
def test_a_full_disk_is_named_and_with_space_the_same_command_goes_on(
    stop: tuple[str, int] | None,
    largest: int,
    message: str,
    hundred: tuple[Path, dict[str, Any]],
    nursery: Nursery,
    tmp_path: Path,
) -> None:
    docs, expected = hundred
    folder = tmp_path / "index"
    if stop is not None:
        # Where it gets so far only if what comes before has been done.
        assert nursery.run("add", folder, docs, stop=stop).code == -9
    child = nursery.run("add", folder, docs, largest=largest)
    assert child.error[0] == "StoreError" and re.search(message, child.error[1]), child.reports
    assert_survived(folder, child)
    assert nursery.run("add", folder, docs).code == 0
    assert state(folder) == expected
    assert litter(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_an_index_that_may_not_be_written_is_asked_verified_and_refused(sound: Path, nursery: Nursery) -> None:
    place = Path(shutil.copytree(sound.parent, Path(sound.parent.parent, "closed")))
    more = written(place / "more", CORPUS[50:51], 1)
    everything = [place, *place.rglob("*")]
    parents = [parent for parent in place.parents if parent.stat().st_uid == os.getuid() and parent != Path("/")]
    before = {path: path.stat().st_mode for path in [*everything, *parents]}
    user = NOBODY if os.getuid() == 0 else None
    code = Path(graphwright.__file__)
    if user is not None and not all(parent.stat().st_mode & 0o001 for parent in code.parents):
        pytest.skip(f"{code.parent} lies where only root can read, and the test gives up being root")
    try:
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        for parent in parents:
            parent.chmod(before[parent] | 0o055)
        asked = nursery.run("ask", place / "index", METHODS, user=user)
        found = nursery.run("verify", place / "index", user=user)
        added = nursery.run("add", place / "index", more, user=user)
        made = nursery.run("add", place / "new", place / "docs", user=user)
    finally:
        for path, mode in before.items():
            path.chmod(mode)
    assert [said for _, said in asked.said("answered")] == [True] * 4
    assert found.code == 0 and not found.reports
    assert added.error and added.error[0] == "StoreError" and "read-only" in added.error[1], added
    assert made.error[0] == "StoreError" and "Choose a folder that can be written" in made.error[1]


def test_a_second_writer_is_told_at_once_the_first_ends_and_readers_are_answered(
    nursery: Nursery, tmp_path: Path, more: Path
) -> None:
    folder, docs = tmp_path / "index", written(tmp_path / "docs", CORPUS[:24], 2)
    first = nursery.start("read slowly", folder, docs)
    first.until("done")  # one of two files; the other takes some seconds
    second = nursery.run("add", folder, more)
    asked = nursery.run("ask", folder, "ppr")
    assert first.said("done") == [[12]], "the first was to be at work still"
    assert second.error[0] == "StoreError" and "another process is indexing into it" in second.error[1]
    assert "Wait for the other to finish" in second.error[1]
    assert asked.said("answered") == [["ppr", True]]
    ended = first.wait()
    assert ended.code == 0 and ended.said("done") == [[12], [24]]
    assert nursery.run("add", folder, more).said("done") == [[25]]


def test_the_lock_falls_with_the_writer(nursery: Nursery, tmp_path: Path, more: Path) -> None:
    folder, docs = tmp_path / "index", written(tmp_path / "docs", CORPUS[:24], 2)
    writer = nursery.start("read slowly", folder, docs)
    writer.until("done")
    assert nursery.run("add", folder, more).error[0] == "StoreError"
    writer.kill()
    assert writer.wait().code == -9
    assert nursery.run("add", folder, more).code == 0


def harmed(path: Path, harm: str, rng: random.Random) -> None:
    data = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "cut short":
        path.write_bytes(data[: len(data) // 2])
    else:
        # In what a file holds, or in the header that says what that is.
        at = rng.randrange(len(data)) if harm == "another byte" else rng.randrange(min(len(data), 128))
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])


@pytest.mark.parametrize("harm", ["missing", "cut short", "another byte", "another header"])
def test_each_damaged_file_of_a_snapshot_is_named_and_mended(
    harm: str, folder: Path, more: Path, states: list[dict[str, Any]], nursery: Nursery, tmp_path: Path
) -> None:
    """Neither asking nor indexing goes on with a damaged snapshot, and no process crashes over it."""
    rng = random.Random(5)
    kept = Path(shutil.copytree(folder, tmp_path / "kept"))
    names = [path.relative_to(kept) for path in sorted(snapshot_of(kept).rglob("*")) if path.is_file()]
    assert len(names) > 40
    for at, name in enumerate(name for name in names if name.name != "readers.lock"):
        harmed(folder / name, harm, rng)
        named = nursery.run("examine", folder, "ppr")
        assert named.code == 0 and named.said("problem"), f"{name} {harm}: {named}"
        assert all(mendable for _, mendable in named.said("problem")), f"{name} {harm}: {named}"
        assert name.name in named.reports[0][1] or name.name == "about.json", f"{name} {harm}: {named}"
        assert named.reports[-1][0] in ("answered", "StoreError"), f"{name} {harm}: {named}"
        if at % 8 == 0:
            repaired = nursery.run("verify", folder, "repair")
            assert repaired.code == 0 and not repaired.reports and state(folder) == states[0], f"{name} {harm}"
        elif at % 8 == 4:
            assert nursery.run("add", folder, more).code == 0, f"{name} {harm}"
            assert state(folder) == states[1], f"{name} {harm}"
        else:
            shutil.copy(kept / name, folder / name)
            continue
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)


def test_a_vector_that_decayed_is_not_taken_over(folder: Path, more: Path, nursery: Nursery, tmp_path: Path) -> None:
    grown = Path(shutil.copytree(folder, tmp_path / "grown"))
    vectors = snapshot_of(folder) / "passages.npy"
    data = bytearray(vectors.read_bytes())
    data[-2] ^= 1
    vectors.write_bytes(data)
    assert nursery.run("add", folder, more).code == nursery.run("add", grown, more).code == 0
    assert state(folder) == state(grown)


@pytest.mark.parametrize("pointer", [b"", b"snapshot-99", b"../../etc", b"\xff\xfe\x00", None])
def test_a_pointer_to_nothing_is_named_and_mended(pointer: bytes | None, folder: Path, nursery: Nursery) -> None:
    expected = state(folder)
    if pointer is None:
        (folder / "CURRENT").unlink()
    else:
        (folder / "CURRENT").write_bytes(pointer)
    ((method, message),) = nursery.run("ask", folder, "ppr").said("StoreError")
    assert method == "ppr" and str(folder) in message and "--repair" in message
    ((problem, mendable),) = nursery.run("verify", folder).said("problem")
    assert mendable and "--repair" in problem
    assert not nursery.run("verify", folder, "repair").reports
    assert state(folder) == expected and litter(folder) == []


def changed_schema(store: Path) -> None:
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def changed_record_version(store: Path) -> None:
    with sqlite3.connect(store) as db:
        db.execute("UPDATE settings SET value = '77' WHERE name = 'record version'")
    db.close()


def scattered(store: Path) -> None:
    """Write over a byte of each page but the first ones, so that it opens and is full of holes."""
    data = bytearray(store.read_bytes())
    for at in range(3 * 16384, len(data), 5000):
        data[at] ^= 0xFF
    store.write_bytes(data)


STORE_HARMS: dict[str, tuple[Any, str]] = {
    "another schema": (changed_schema, r"has schema 99.*reads schema \d.*Use the version that wrote it, or index"),
    "another record version": (changed_record_version, r"record version 77.*Use the version that wrote it, or index"),
    "half of it": (
        lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
        "malformed.*Restore it from a copy",
    ),
    "a page of it": (lambda p: p.write_bytes(p.read_bytes()[:16384]), "malformed.*Restore it from a copy"),
    "no database": (lambda p: p.write_bytes(b"not a database " * 999), "not a database.*Restore it from a copy"),
    "missing": (lambda p: p.unlink(), r"holds no index\.sqlite\. Make one"),
    "empty": (lambda p: p.write_bytes(b""), "has schema 0.*index the documents again"),
}


@pytest.mark.parametrize("harm", STORE_HARMS)
def test_a_store_that_is_none_is_named_with_a_way_out(harm: str, folder: Path, nursery: Nursery) -> None:
    do, message = STORE_HARMS[harm]
    do(folder / "index.sqlite")
    for job in ("ask", "verify"):
        kind, said, ours = nursery.run(job, folder, "ppr").error
        assert kind == "StoreError" and ours and str(folder) in said and re.search(message, said), said


def test_a_store_with_holes_is_found_out_and_never_made_worse(folder: Path, more: Path, nursery: Nursery) -> None:
    scattered(folder / "index.sqlite")
    assert nursery.run("ask", folder, METHODS).code == 0  # what is asked is the snapshot
    ((problem, mendable),) = nursery.run("verify", folder).said("problem")
    assert "index.sqlite: " in problem and "Restore index.sqlite from a copy" in problem and not mendable
    assert nursery.run("verify", folder, "repair").said("problem") == [[problem, mendable]]
    added = nursery.run("add", folder, more)
    assert added.error[0] == "StoreError" and "index.sqlite" in added.error[1], added
    assert nursery.run("ask", folder, METHODS).code == 0


def test_a_damaged_vector_cache_is_named_and_may_be_deleted(
    folder: Path, more: Path, nursery: Nursery, tmp_path: Path
) -> None:
    grown = Path(shutil.copytree(folder, tmp_path / "grown"))
    assert nursery.run("add", grown, more).code == 0
    (folder / "vectors.sqlite").write_bytes(b"not a database " * 999)
    added = nursery.run("add", folder, more)
    assert added.error[0] == "StoreError" and "vectors.sqlite cannot be used" in added.error[1]
    assert "delete the file" in added.error[1]
    assert_survived(folder, added)
    (folder / "vectors.sqlite").unlink()
    assert nursery.run("add", folder, more).code == 0
    assert state(folder) == state(grown) and litter(folder) == []


@pytest.mark.parametrize("kind", ["nothing", "empty", "documents", "file"])
def test_what_is_no_index_is_named(kind: str, tmp_path: Path, nursery: Nursery) -> None:
    place = tmp_path / "it"
    if kind == "file":
        place.write_text("a file")
    elif kind != "nothing":
        place.mkdir()
    if kind == "documents":
        (place / "a.txt").write_text("mine")
    named = nursery.run("ask", place, "ppr")
    assert named.error[0] == "StoreError" and str(place) in named.error[1] and "Make one" in named.error[1]
    if kind in ("documents", "file"):
        refused = nursery.run("add", place, tmp_path)
        assert refused.error[0] == "StoreError"
        held = "is a file" if kind == "file" else "is not empty"
        assert refused.error[1] == f"{place} {held}. A new index needs a new or empty folder."
        assert place.read_text() == "a file" if kind == "file" else (place / "a.txt").read_text() == "mine"


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small index of the embedded encoder, as the command line makes them."""
    folder = tmp_path_factory.mktemp("usual") / "index"
    index = Index.create(folder, settings=Settings())
    index.add([json.loads(line) for line in CORPUS[:3]])
    index.close()
    return folder


def no_pointer(folder: Path) -> None:
    (folder / "CURRENT").write_text("nonsense")


def no_heads(folder: Path) -> None:
    (snapshot_of(folder) / "graph" / "heads.npy").write_bytes(b"nonsense")


def no_store(folder: Path) -> None:
    (folder / "index.sqlite").write_bytes(b"nonsense " * 9999)


@pytest.mark.parametrize(
    "do, arguments, message",
    [
        (no_pointer, ["ask", "Who?", "--index", "{index}"], "verify --index .* --repair"),
        (no_heads, ["ask", "Who?", "--index", "{index}"], r"heads\.npy.*again"),
        (no_heads, ["verify", "--index", "{index}"], r"heads\.npy.*--repair"),
        (no_store, ["ask", "Who?", "--index", "{index}"], "cannot be read as an index.*Restore it from a copy"),
        (no_store, ["verify", "--index", "{index}", "--repair"], "Restore it from a copy"),
        (no_store, ["info", "--index", "{index}"], "Restore it from a copy"),
        (shutil.rmtree, ["ask", "Who?", "--index", "{index}"], "is not an index folder. Make one: graphwright index"),
    ],
)
def test_the_command_line_says_it_in_one_message(
    do: Any, arguments: list[str], message: str, usual: Path, tmp_path: Path, nursery: Nursery
) -> None:
    folder = Path(shutil.copytree(usual, tmp_path / "index"))
    do(folder)
    child = nursery.run("command", folder, json.dumps(arguments))
    ((said,),) = child.said("said")
    assert child.code == 1 and "Traceback" not in said
    assert re.search(message, " ".join(said.split())), said


def test_the_command_line_names_a_lock_and_mends_a_snapshot(usual: Path, tmp_path: Path, nursery: Nursery) -> None:
    folder = Path(shutil.copytree(usual, tmp_path / "index"))
    no_heads(folder)
    (tmp_path / "a.txt").write_text("Anton lives in Gmunden.")
    command = json.dumps(["index", str(tmp_path / "a.txt"), "--into", "{index}"])
    with sqlite3.connect(folder / "writer.lock", isolation_level=None) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        locked = nursery.run("command", folder, command)
    lock.close()
    assert locked.code == 1 and "another process is indexing into it" in locked.reports[0][1]
    mended = nursery.run("command", folder, json.dumps(["verify", "--index", "{index}", "--repair"]))
    assert mended.code == 0, mended
    assert nursery.run("command", folder, command).code == 0
    assert nursery.run("command", folder, json.dumps(["ask", "Who lives in Gmunden?", "--index", "{index}"])).code == 0
