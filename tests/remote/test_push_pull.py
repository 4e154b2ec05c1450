"""Push and pull: only what is missing travels, one of two writers wins, and an interruption or damage harms nothing."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.shared import GRAPHS

pytest.importorskip("obstore", reason='needs the extra "remote"')

from graphwright import Index
from graphwright.errors import StoreError
from graphwright.models.fake import HashEncoder
from graphwright.remote import ConflictError, manifest, pull, pulling, push, pushing
from graphwright.remote.bucket import Bucket
from graphwright.remote.pushing import frozen
from graphwright.store.layout import IndexLayout

DOCUMENTS = [
    {"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria.", "metadata": {"land": "Styria"}},
    {"id": "linz", "title": "Linz", "text": "Linz lies on the Danube. Ida Pfeiffer visited Linz in 1842."},
    {"id": "vienna", "title": "Vienna", "text": "Vienna lies on the Danube. Vienna is the capital of Austria."},
]
NEW = {"id": "pruem", "text": "Lothair founded Pruem Abbey in the Eifel."}


def opened(folder: Path) -> Index:
    return Index.open(folder, encoder=HashEncoder())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Index.create(tmp_path / "index", encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    return tmp_path / "index"


@pytest.fixture
def local(tmp_path: Path) -> str:
    """A URL of a local folder."""
    return f"{tmp_path.as_uri()}/bucket"


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (manifest, pulling):
        monkeypatch.setattr(module, "PIECE", 4096)


def add(folder: Path, *documents: dict[str, Any]) -> None:
    with opened(folder) as index:
        index.add(list(documents))


def listed(folder: Path) -> list[str]:
    with opened(folder) as index:
        assert index.verify() == []
        return [document.id for document in index.list_documents()]


def test_pulled_index_is_complete(folder: Path, url: str, tmp_path: Path) -> None:
    sent = push(folder, url)
    assert sent.pieces and sent.bytes > sent.sent > 10_000
    got = pull(url, tmp_path / "copy")
    assert got.changed and got.fetched == got.bytes == sent.bytes
    assert push(folder, url).sent == push(tmp_path / "copy", url).sent == 0
    assert pull(url, tmp_path / "copy").fetched == pull(url, folder).fetched == 0
    with opened(folder) as index, opened(tmp_path / "copy") as copy:
        assert copy.verify() == []
        for question in ("Who visited Linz?", "On which river does Graz lie?"):
            assert copy.ask(question).to_dict()["answer"] == index.ask(question).to_dict()["answer"]
        assert copy.retrieve("river", filter={"metadata": {"land": "Styria"}}).passages
        copy.add([NEW])
        copy.remove(["linz"])
    push(tmp_path / "copy", url)
    assert pull(url, folder).changed
    assert listed(folder) == listed(tmp_path / "copy") == ["graz", "pruem", "vienna"]
    assert [path.name for path in tmp_path.iterdir() if "pull" in path.name] == []


@pytest.mark.usefixtures("small_pieces")
def test_push_transfers_missing_files_only(folder: Path, local: str, tmp_path: Path) -> None:
    text = "The abbey of Pruem was founded by Bertrada. It lies in the Eifel, and Lothair died there in 855. "
    add(folder, *({"id": f"d{number}", "text": f"{text * 3} {number}"} for number in range(40)))
    first = push(folder, local)
    pull(local, tmp_path / "copy")
    add(folder, NEW)
    second = push(folder, local)
    assert 0 < second.sent < first.sent * 0.75  # 0.68; it nears a half as an index grows
    got = pull(local, tmp_path / "copy")
    assert got.fetched < 1.1 * second.sent  # a piece that another file has too is fetched again
    assert listed(tmp_path / "copy") == listed(folder)


def test_concurrent_pushes_have_one_winner(
    folder: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(folder, url)
    pull(url, tmp_path / "copy")
    add(folder, {"id": "a", "text": "Melk lies on the Danube."})
    add(tmp_path / "copy", {"id": "b", "text": "Krems lies on the Danube."})
    both, publish = threading.Barrier(2, timeout=60), pushing._publish

    def wait(*arguments: Any) -> None:
        both.wait()
        publish(*arguments)

    monkeypatch.setattr(pushing, "_publish", wait)

    def outcome(path: Path) -> str:
        try:
            return push(path, url).push
        except ConflictError as error:
            return str(error)

    folders = [folder, tmp_path / "copy"]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(outcome, folders))
    monkeypatch.undo()
    lost = [text for text in outcomes if "another push" in text]
    assert len(lost) == 1 and "Pull it into a new folder" in lost[0] and "--force" in lost[0]
    loser = folders[outcomes.index(lost[0])]
    winner = folders[1 - folders.index(loser)]
    assert pull(url, tmp_path / "third").changed
    assert listed(tmp_path / "third") == listed(winner)
    with pytest.raises(ConflictError, match="does not contain"):  # later too
        push(loser, url)
    push(loser, url, force=True)
    with pytest.raises(ConflictError, match="does not contain"):
        push(winner, url, full=True)
    pull(url, winner)
    assert listed(winner) == listed(loser)


SLOW = """
import sys, time
from graphwright.remote import pull, push
from graphwright.remote import manifest
from graphwright.remote.bucket import Bucket
from graphwright.remote import pulling
manifest.PIECE = pulling.PIECE = 4096
for name in ("write", "read"):
    def slow(self, path, *rest, call=getattr(Bucket, name)):
        if path.startswith("pieces/"):
            time.sleep(0.1)
        return call(self, path, *rest)
    setattr(Bucket, name, slow)
{"push": push, "pull": pull}[sys.argv[1]](*sys.argv[2:])
"""


def killed(action: str, source: object, target: object, after: Any) -> None:
    """Run a push or pull in a process, and kill it when `after` holds."""
    with subprocess.Popen([sys.executable, "-c", SLOW, action, str(source), str(target)]) as process:
        deadline = time.monotonic() + 60
        while not after():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.usefixtures("small_pieces")
def test_killed_push_or_pull_continues(folder: Path, local: str, tmp_path: Path) -> None:
    add(folder, *({"id": f"d{number}", "text": f"Lothair {number} died in Pruem {number}."} for number in range(20)))
    bucket, copy = tmp_path / "bucket", tmp_path / "copy"
    killed("push", folder, local, lambda: sum(1 for path in bucket.glob("pieces/*/*")) > 20)
    with pytest.raises(StoreError, match="holds no index"):
        pull(local, copy)
    done = sum(1 for _ in bucket.glob("pieces/*/*"))
    whole = push(folder, local)
    assert whole.pieces == sum(1 for _ in bucket.glob("pieces/*/*")) - done
    staging = tmp_path / ".copy-pull"
    killed("pull", local, copy, lambda: sum(path.stat().st_blocks for path in staging.rglob("*.part")) > 200)
    assert not copy.exists()
    got = pull(local, copy)
    assert got.fetched < got.bytes and listed(copy) == listed(folder)
    add(folder, NEW)
    push(folder, local)
    before = listed(copy)
    killed("pull", local, copy, lambda: any(staging.rglob("*.part")))
    assert listed(copy) == before
    pull(local, copy)
    assert listed(copy) == listed(folder) and not staging.exists()


@pytest.mark.parametrize("step", ["_replace_store", "write_record"])
def test_pull_interrupted_before_snapshot_is_completed(
    folder: Path, local: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    push(folder, local)
    pull(local, tmp_path / "copy")
    with opened(folder) as index:
        index.remove(["linz"])
        index.add([NEW])
    push(folder, local)
    module = pulling
    call, calls = getattr(module, step), iter(range(10))

    def stop(*arguments: Any) -> None:
        if step == "_replace_store" or next(calls) == 1:  # the record is written a second time at the end
            if step == "_replace_store":
                call(*arguments)
            raise KeyboardInterrupt
        call(*arguments)

    monkeypatch.setattr(module, step, stop)
    with pytest.raises(KeyboardInterrupt):
        pull(local, tmp_path / "copy")
    monkeypatch.undo()
    assert pull(local, tmp_path / "copy").changed
    assert listed(tmp_path / "copy") == listed(folder) == ["graz", "pruem", "vienna"]


def test_remote_damage_is_found_and_repaired(folder: Path, local: str, tmp_path: Path) -> None:
    push(folder, local)
    pull(local, tmp_path / "copy")
    add(folder, NEW)
    push(folder, local)
    current = json.loads((tmp_path / "bucket" / "CURRENT").read_text())
    names = json.loads((tmp_path / "bucket" / "manifests" / f"{current['push']}.json").read_text())["files"]
    piece = tmp_path / "bucket" / "pieces" / names["snapshot/graph/graph.json"]["pieces"][0]
    piece.write_bytes(b"x" + piece.read_bytes()[1:])
    for copy in (tmp_path / "copy", tmp_path / "new"):
        with pytest.raises(StoreError, match=r"is damaged: its SHA-256.*--full"):
            pull(local, copy)
    assert listed(tmp_path / "copy") == ["graz", "linz", "vienna"] and not (tmp_path / "new").exists()
    piece.unlink()
    with pytest.raises(StoreError, match=r"lacks pieces/.*--full"):
        pull(local, tmp_path / "copy")
    assert push(folder, local).sent == 0
    push(folder, local, full=True)
    assert pull(local, tmp_path / "copy").changed
    assert listed(tmp_path / "copy") == listed(folder)


def test_damaged_local_files_are_not_pushed(folder: Path, local: str, tmp_path: Path) -> None:
    push(folder, local)
    pull(local, tmp_path / "copy")
    add(folder, NEW)
    push(folder, local)
    layout = IndexLayout(tmp_path / "copy")
    page = next((layout.path / layout.current()).glob("*.page"))
    page.write_bytes(b"x" * page.stat().st_size)
    with pytest.raises(StoreError, match=r"is missing or damaged; nothing was pushed"):
        push(tmp_path / "copy", local)
    pull(local, tmp_path / "copy")
    assert listed(tmp_path / "copy") == listed(folder)


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("CURRENT", "a file of mine", "is not of graphwright"),
        ("CURRENT", '{"push": "../../secret", "sha256": "", "layout": 1}', "is not of graphwright"),
        ("notes.txt", "a file of mine", "holds other objects, such as notes.txt"),
    ],
)
def test_other_remote_content_is_left_alone(
    folder: Path, local: str, tmp_path: Path, path: str, content: str, message: str
) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / path).write_text(content)
    with pytest.raises(StoreError, match=message):
        push(folder, local, force=True)
    with pytest.raises(StoreError, match=r"is not of graphwright|holds no index.*notes\.txt"):
        pull(local, tmp_path / "copy")
    assert [p.name for p in (tmp_path / "bucket").iterdir()] == [path] and not (tmp_path / "copy").exists()


def altered(tmp_path: Path, **changes: Any) -> None:
    """Change values of the current manifest."""
    bucket = tmp_path / "bucket"
    push = json.loads((bucket / "CURRENT").read_text())["push"]
    file = bucket / "manifests" / f"{push}.json"
    values = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps(values))
    pointer = {"layout": 1, "push": push, "sha256": manifest.digest(file.read_bytes())}
    (bucket / "CURRENT").write_text(json.dumps(pointer))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layout": 7}, r"has layout 7; this version reads layout 1.*Use the version that pushed it"),
        ({"formats": {"snapshot": 1, "store": 2, "record": 3}}, r"snapshot 1, store 2.*this version reads snapshot"),
        ({"files": {"../secret": {"bytes": 0, "pieces": []}}}, "cannot be used, '../secret'"),
        ({"files": {"snapshot/../../x": {"bytes": 0, "pieces": []}}}, "cannot be used"),
        ({"files": {"index.sqlite": {"bytes": 10**12, "pieces": []}}}, "cannot be used"),
        ({"files": {"index.sqlite": {"bytes": 1, "pieces": ["../../etc/passwd"]}}}, "cannot be used"),
        ({"files": 7}, "damaged manifest"),
        ({"more": 7}, "damaged manifest"),
    ],
)
def test_invalid_manifest_raises(
    folder: Path, local: str, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    push(folder, local)
    altered(tmp_path, **changes)
    with pytest.raises(StoreError, match=message):
        pull(local, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_pull_over_local_changes_raises(folder: Path, local: str, tmp_path: Path) -> None:
    push(folder, local)
    pull(local, tmp_path / "copy")
    with Index.create(tmp_path / "other", encoder=HashEncoder()), pytest.raises(StoreError, match="was not pulled"):
        pull(local, tmp_path / "other")
    with pytest.raises(ConflictError, match="does not contain"):
        push(tmp_path / "other", local)
    add(folder, NEW)
    push(folder, local)
    add(tmp_path / "copy", {"id": "own", "text": "Krems lies on the Danube."})
    with pytest.raises(StoreError, match=r"has changes that were not pushed.*--force"):
        pull(local, tmp_path / "copy")
    assert "own" in listed(tmp_path / "copy")
    pull(local, tmp_path / "copy", force=True)
    assert listed(tmp_path / "copy") == listed(folder)
    Index.create(tmp_path / "wide", encoder=HashEncoder(dimension=8)).close()
    push(tmp_path / "wide", local, force=True)
    with pytest.raises(StoreError, match="of the encoder"):
        pull(local, folder, force=True)
    (folder / "remote.json").write_text("{")
    with pytest.raises(StoreError, match="Delete it"):
        pull(local, folder)
    with pytest.raises(StoreError, match="is not empty"):
        pull(local, tmp_path)


def test_pruned_objects_lack_removed_text(folder: Path, url: str) -> None:
    push(folder, url)
    with opened(folder) as index:
        index.remove(["linz"])
    assert push(folder, url).pruned == 0
    bucket = Bucket.open(url)

    def holding() -> list[str]:
        return [item.path for item in bucket.list() if b"Pfeiffer" in bucket.read(item.path)[0]]

    assert holding()
    assert push(folder, url, prune=True).pruned
    assert holding() == [] and len(list(bucket.list("manifests"))) == 1


def test_interrupted_change_is_not_pushed(folder: Path, local: str) -> None:
    with closing(sqlite3.connect(folder / "index.sqlite")) as db, db:
        db.execute("UPDATE settings SET value = '99' WHERE name = 'revision'")
    with pytest.raises(StoreError, match="were interrupted"):
        push(folder, local)
    with pytest.raises(StoreError, match="is not an index"):
        push(folder / "none", local)


def test_frozen_store_stays_unchanged(folder: Path) -> None:
    store = folder / "index.sqlite"
    with frozen(store):
        before = store.read_bytes()
        with closing(sqlite3.connect(store)) as db:
            with db:
                db.execute("UPDATE settings SET value = '99' WHERE name = 'revision'")
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        assert store.read_bytes() == before
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert db.execute("SELECT value FROM settings WHERE name = 'revision'").fetchone() == ("99",)
    assert store.read_bytes() != before


@pytest.mark.slow
def test_questions_continue_during_pull(folder: Path, local: str, tmp_path: Path) -> None:
    push(folder, local)
    pull(local, tmp_path / "copy")
    ended, failures = threading.Event(), list[BaseException]()

    def ask() -> None:
        with opened(tmp_path / "copy") as index:
            while not ended.is_set():
                try:
                    assert len(index.retrieve("Danube", "bm25").passages) >= 1
                    assert index.documents >= 3
                except BaseException as error:
                    failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    for number in range(3):
        add(folder, {"id": f"n{number}", "text": f"Krems {number} lies on the Danube."})
        push(folder, local)
        pull(local, tmp_path / "copy")
    ended.set()
    thread.join()
    assert failures == []
    assert listed(tmp_path / "copy") == listed(folder)


def test_imported_graph_with_documents_is_pushed(local: str, tmp_path: Path) -> None:
    with Index.from_graph(tmp_path / "graph", GRAPHS["family"], encoder=HashEncoder()):
        pass
    push(tmp_path / "graph", local)
    pull(local, tmp_path / "copy")
    add(tmp_path / "graph", *DOCUMENTS)
    push(tmp_path / "graph", local)
    pull(local, tmp_path / "copy")
    with opened(tmp_path / "graph") as index, opened(tmp_path / "copy") as copy:
        assert copy.verify() == [] and len(copy.graph) == len(index.graph)
        assert (tmp_path / "copy" / "imported").is_dir()
        copy.remove([document["id"] for document in DOCUMENTS])
        assert len(copy.graph) == len(GRAPHS["family"])


def test_imported_graph_that_was_synced_replaces_the_pulled_one(local: str, tmp_path: Path) -> None:
    for name, graph in (("graph", "family"), ("other", "line")):
        with Index.from_graph(tmp_path / name, GRAPHS[graph], encoder=HashEncoder()) as index:
            index.add(DOCUMENTS)
        push(tmp_path / name, local, force=True)
        pull(local, tmp_path / "copy")
        with opened(tmp_path / name) as index, opened(tmp_path / "copy") as copy:
            assert copy.verify() == [] and copy.graph.checksum == index.graph.checksum


def test_concurrent_pulls_into_folder_raise(folder: Path, local: str, tmp_path: Path) -> None:
    push(folder, local)
    with pulling._staging(tmp_path / "copy"), pytest.raises(StoreError, match="being pulled by another process"):
        pull(local, tmp_path / "copy")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_storage_raises(folder: Path, local: str, tmp_path: Path) -> None:
    push(folder, local)
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        pull(local, tmp_path / "locked" / "copy")
