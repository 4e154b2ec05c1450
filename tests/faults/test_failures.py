"""Failures around an index folder (full disk, lock, damaged file, wrong folder) are reported with a remedy."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import CORPUS
from tests.faults.fork_server import ForkServer
from tests.faults.index_state import assert_survived, leftovers, state, write_corpus

import graphwright
from graphwright import Index
from graphwright.store import Settings

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

METHODS = "vector bm25 hybrid ppr"
NOBODY = 65534


@pytest.fixture(scope="module")
def small(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a dozen documents, to be copied."""
    place = tmp_path_factory.mktemp("small")
    docs = write_corpus(place / "docs", CORPUS[:12], 1)
    assert server.run("add", place / "index", docs).code == 0
    return place / "index"


@pytest.fixture(scope="module")
def hundred(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A hundred documents, and the contents of their index."""
    place = tmp_path_factory.mktemp("hundred")
    docs = write_corpus(place / "docs", CORPUS[:100], 1)
    assert server.run("add", place / "index", docs).code == 0
    return docs, state(place / "index")


@pytest.fixture(scope="module")
def states(small: Path, server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The contents of the small index, and with one more document."""
    place = tmp_path_factory.mktemp("grown")
    grown = Path(shutil.copytree(small, place / "index"))
    assert server.run("add", grown, write_corpus(place / "more", CORPUS[50:51], 1)).code == 0
    return [state(small), state(grown)]


@pytest.fixture
def folder(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "index"))


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """A folder with one more document."""
    return write_corpus(tmp_path / "more", CORPUS[50:51], 1)


def snapshot_of(folder: Path) -> Path:
    return folder / (folder / "CURRENT").read_text()


@pytest.mark.parametrize(
    "stop, largest, message",
    [
        (None, 20_000, r"cannot be written: .*(the file is larger|reading or writing failed)"),
        (None, 310_000, r"index\.sqlite could not be written: .*free space.*(Nothing was changed|stays)"),
        (("after commit index.sqlite", 1), 20_000, r"index\.sqlite cannot be opened now: .*free space"),
        (("after commit index.sqlite", 3), 40_000, r"The cache of vectors .*vectors\.sqlite cannot be used"),
        (("before write heads.npy", 1), 35_000, r"the file is larger.*Queries still use the previous snapshot"),
    ],
    ids=["creating", "storing", "opening", "encoding", "writing the snapshot"],
)
def test_full_disk_is_reported_and_command_resumes(
    stop: tuple[str, int] | None,
    largest: int,
    message: str,
    hundred: tuple[Path, dict[str, Any]],
    server: ForkServer,
    tmp_path: Path,
) -> None:
    docs, expected = hundred
    folder = tmp_path / "index"
    if stop is not None:
        # An earlier run has done the first steps.
        assert server.run("add", folder, docs, stop=stop).code == -9
    child = server.run("add", folder, docs, largest=largest)
    assert child.error[0] == "StoreError" and re.search(message, child.error[1]), child.reports
    assert_survived(folder, child)
    assert server.run("add", folder, docs).code == 0
    assert state(folder) == expected
    assert leftovers(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_read_only_index_answers_and_refuses_documents(small: Path, server: ForkServer) -> None:
    place = Path(shutil.copytree(small.parent, Path(small.parent.parent, "closed")))
    more = write_corpus(place / "more", CORPUS[50:51], 1)
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
        asked = server.run("ask", place / "index", METHODS, user=user)
        verified = server.run("verify", place / "index", user=user)
        added = server.run("add", place / "index", more, user=user)
        created = server.run("add", place / "new", place / "docs", user=user)
    finally:
        for path, mode in before.items():
            path.chmod(mode)
    assert [answered for _, answered in asked.reports_of("answered")] == [True] * 4, asked
    assert verified.code == 0 and not verified.reports
    assert added.error and added.error[0] == "StoreError" and "read-only" in added.error[1], added
    assert created.error[0] == "StoreError" and "can be written" in created.error[1]


def test_second_writer_is_refused_and_readers_answer(server: ForkServer, tmp_path: Path, more: Path) -> None:
    folder, docs = tmp_path / "index", write_corpus(tmp_path / "docs", CORPUS[:12], 2)
    first = server.start("read slowly", folder, docs)
    first.wait_for("done")  # one of two files; the other takes some seconds
    second = server.run("add", folder, more)
    asked = server.run("ask", folder, "ppr")
    assert first.reports_of("done") == [[6]], "the first was to be at work still"
    assert second.error[0] == "BeingWritten" and "another process is indexing into it" in second.error[1]
    assert "Wait for the other to finish" in second.error[1]
    assert asked.reports_of("answered") == [["ppr", True]]
    ended = first.wait()
    assert ended.code == 0 and ended.reports_of("done") == [[6], [12]]
    assert server.run("add", folder, more).reports_of("done") == [[13]]


def test_lock_ends_with_its_process(server: ForkServer, tmp_path: Path, more: Path) -> None:
    folder, docs = tmp_path / "index", write_corpus(tmp_path / "docs", CORPUS[:12], 2)
    writer = server.start("read slowly", folder, docs)
    writer.wait_for("done")
    assert server.run("add", folder, more).error[0] == "BeingWritten"
    writer.kill()
    assert writer.wait().code == -9
    assert server.run("add", folder, more).code == 0


def damage(path: Path, kind: str, rng: random.Random) -> None:
    data = path.read_bytes()
    if kind == "missing":
        path.unlink()
    elif kind == "cut short":
        path.write_bytes(data[: len(data) // 2])
    else:
        # In the data, or in the header of a file.
        at = rng.randrange(len(data)) if kind == "another byte" else rng.randrange(min(len(data), 128))
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])


KINDS = ("missing", "another byte", "another header", "cut short")


def test_damaged_snapshot_file_is_reported_and_repaired(
    folder: Path,
    more: Path,
    states: list[dict[str, Any]],
    server: ForkServer,
    tmp_path: Path,
) -> None:
    """Neither queries nor indexing use a damaged snapshot, and no process crashes; each file in one of four ways."""
    rng = random.Random(5)
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    names = [path.relative_to(copy) for path in sorted(snapshot_of(copy).rglob("*")) if path.is_file()]
    assert len(names) > 40
    for at, name in enumerate(name for name in names if name.name != "readers.lock"):
        kind = KINDS[at % 4]
        damage(folder / name, kind, rng)
        result = server.run("examine", folder, "ppr")
        assert result.code == 0 and result.reports_of("problem"), f"{name} {kind}: {result}"
        assert all(repairable for _, repairable in result.reports_of("problem")), f"{name} {kind}: {result}"
        assert name.name in result.reports[0][1] or name.name == "about.json", f"{name} {kind}: {result}"
        assert result.reports[-1][0] in ("answered", "StoreError"), f"{name} {kind}: {result}"
        if at % 11 == 0:
            repaired = server.run("verify", folder, "repair")
            assert repaired.code == 0 and not repaired.reports and state(folder) == states[0], f"{name} {kind}"
        elif at % 11 == 5:
            assert server.run("add", folder, more).code == 0, f"{name} {kind}"
            assert state(folder) == states[1], f"{name} {kind}"
        else:
            shutil.copy(copy / name, folder / name)
            continue
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)


def test_damaged_vector_is_not_reused(folder: Path, more: Path, server: ForkServer, tmp_path: Path) -> None:
    grown = Path(shutil.copytree(folder, tmp_path / "grown"))
    vectors = snapshot_of(folder) / "passages.000000000.page"
    data = bytearray(vectors.read_bytes())
    data[2] ^= 1
    vectors.write_bytes(data)
    assert server.run("add", folder, more).code == server.run("add", grown, more).code == 0
    assert state(folder) == state(grown)


@pytest.mark.parametrize("pointer", [b"", b"snapshot-99", b"../../etc", b"\xff\xfe\x00", None])
def test_wrong_current_pointer_is_reported_and_repaired(
    pointer: bytes | None, folder: Path, server: ForkServer
) -> None:
    expected = state(folder)
    if pointer is None:
        (folder / "CURRENT").unlink()
    else:
        (folder / "CURRENT").write_bytes(pointer)
    ((method, message),) = server.run("ask", folder, "ppr").reports_of("StoreError")
    assert method == "ppr" and str(folder) in message and "--repair" in message
    ((problem, repairable),) = server.run("verify", folder).reports_of("problem")
    assert repairable and "--repair" in problem
    assert not server.run("verify", folder, "repair").reports
    assert state(folder) == expected and leftovers(folder) == []


def changed_schema(store: Path) -> None:
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def changed_record_version(store: Path) -> None:
    with sqlite3.connect(store) as db:
        db.execute("UPDATE settings SET value = '77' WHERE name = 'record version'")
    db.close()


def overwrite_bytes(store: Path) -> None:
    """Change a byte of each page but the first ones: the database opens, and its rows are damaged."""
    data = bytearray(store.read_bytes())
    for at in range(3 * 16384, len(data), 5000):
        data[at] ^= 0xFF
    store.write_bytes(data)


STORE_DAMAGE: dict[str, tuple[Any, str]] = {
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


@pytest.mark.parametrize("kind", STORE_DAMAGE)
def test_damaged_store_is_reported_with_remedy(kind: str, folder: Path, server: ForkServer) -> None:
    do, message = STORE_DAMAGE[kind]
    do(folder / "index.sqlite")
    for job in ("ask", "verify"):
        name, text, ours = server.run(job, folder, "ppr").error
        assert name == "StoreError" and ours and str(folder) in text and re.search(message, text), text


def test_damaged_store_rows_are_reported_without_writing(folder: Path, more: Path, server: ForkServer) -> None:
    overwrite_bytes(folder / "index.sqlite")
    assert server.run("ask", folder, METHODS).code == 0  # what is asked is the snapshot
    ((problem, repairable),) = server.run("verify", folder).reports_of("problem")
    assert "index.sqlite: " in problem and "Restore index.sqlite from a copy" in problem and not repairable
    assert server.run("verify", folder, "repair").reports_of("problem") == [[problem, repairable]]
    added = server.run("add", folder, more)
    assert added.error[0] == "StoreError" and "index.sqlite" in added.error[1], added
    assert server.run("ask", folder, METHODS).code == 0


def test_damaged_vector_cache_is_reported(folder: Path, more: Path, server: ForkServer, tmp_path: Path) -> None:
    grown = Path(shutil.copytree(folder, tmp_path / "grown"))
    assert server.run("add", grown, more).code == 0
    (folder / "vectors.sqlite").write_bytes(b"not a database " * 999)
    added = server.run("add", folder, more)
    assert added.error[0] == "StoreError" and "vectors.sqlite cannot be used" in added.error[1]
    assert "delete the file" in added.error[1]
    assert_survived(folder, added)
    (folder / "vectors.sqlite").unlink()
    assert server.run("add", folder, more).code == 0
    assert state(folder) == state(grown) and leftovers(folder) == []


@pytest.mark.parametrize("kind", ["nothing", "empty", "documents", "file"])
def test_folder_without_index_is_reported(kind: str, tmp_path: Path, server: ForkServer) -> None:
    place = tmp_path / "it"
    if kind == "file":
        place.write_text("a file")
    elif kind != "nothing":
        place.mkdir()
    if kind == "documents":
        (place / "a.txt").write_text("mine")
    result = server.run("ask", place, "ppr")
    assert result.error[0] == "StoreError" and str(place) in result.error[1] and "Make one" in result.error[1]
    if kind in ("documents", "file"):
        refused = server.run("add", place, tmp_path)
        assert refused.error[0] == "StoreError"
        problem = "is a file" if kind == "file" else "is not empty"
        assert refused.error[1] == f"{place} {problem}. A new index needs a new or empty folder."
        assert place.read_text() == "a file" if kind == "file" else (place / "a.txt").read_text() == "mine"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small index of the embedded encoder, as the command line makes them."""
    folder = tmp_path_factory.mktemp("embedded") / "index"
    index = Index.create(folder, settings=Settings())
    index.add([json.loads(line) for line in CORPUS[:3]])
    index.close()
    return folder


def break_pointer(folder: Path) -> None:
    (folder / "CURRENT").write_text("nonsense")


def break_heads(folder: Path) -> None:
    (snapshot_of(folder) / "graph" / "heads.npy").write_bytes(b"nonsense")


def break_store(folder: Path) -> None:
    (folder / "index.sqlite").write_bytes(b"nonsense " * 9999)


@pytest.mark.parametrize(
    "do, arguments, message",
    [
        (break_pointer, ["ask", "Who?", "--index", "{index}"], "verify --index .* --repair"),
        (break_heads, ["ask", "Who?", "--index", "{index}"], r"heads\.npy.*again"),
        (break_heads, ["verify", "--index", "{index}"], r"heads\.npy.*--repair"),
        (break_store, ["ask", "Who?", "--index", "{index}"], "cannot be read as an index.*Restore it from a copy"),
        (break_store, ["verify", "--index", "{index}", "--repair"], "Restore it from a copy"),
        (break_store, ["info", "--index", "{index}"], "Restore it from a copy"),
        (shutil.rmtree, ["ask", "Who?", "--index", "{index}"], "is not an index folder. Make one: graphwright index"),
    ],
)
def test_command_prints_one_error_message(
    do: Any, arguments: list[str], message: str, embedded: Path, tmp_path: Path, server: ForkServer
) -> None:
    folder = Path(shutil.copytree(embedded, tmp_path / "index"))
    do(folder)
    child = server.run("command", folder, json.dumps(arguments))
    ((output,),) = child.reports_of("output")
    assert child.code == 1 and "Traceback" not in output
    assert re.search(message, " ".join(output.split())), output


def test_command_reports_lock_and_repairs_snapshot(embedded: Path, tmp_path: Path, server: ForkServer) -> None:
    folder = Path(shutil.copytree(embedded, tmp_path / "index"))
    break_heads(folder)
    (tmp_path / "a.txt").write_text("Anton lives in Gmunden.")
    command = json.dumps(["index", str(tmp_path / "a.txt"), "--into", "{index}"])
    with sqlite3.connect(folder / "writer.lock", isolation_level=None) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        locked = server.run("command", folder, command)
    lock.close()
    assert locked.code == 1 and "another process is indexing into it" in locked.reports[0][1]
    repaired = server.run("command", folder, json.dumps(["verify", "--index", "{index}", "--repair"]))
    assert repaired.code == 0, repaired
    assert server.run("command", folder, command).code == 0
    assert server.run("command", folder, json.dumps(["ask", "Who lives in Gmunden?", "--index", "{index}"])).code == 0
