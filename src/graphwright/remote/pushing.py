"""Push an index to object storage: send the missing pieces, then conditionally make the new state current."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from graphwright.errors import StoreError
from graphwright.remote.bucket import Bucket, ConflictError, checked, transferred
from graphwright.remote.manifest import (
    CURRENT,
    Manifest,
    ManifestEntry,
    Record,
    Unfinished,
    Version,
    digest,
    piece_at,
    pointer_to,
    read_current,
    read_record,
    sums_of,
    write_record,
)
from graphwright.search.snapshot_format import damaged_files
from graphwright.store import IndexLayout, Progress, Store, writer_lock
from graphwright.store.locks import Lease

_RESUME_WITHIN = timedelta(hours=12)  # since the start of a killed push
_ABANDON_AFTER = timedelta(days=1)  # age at which objects of an unfinished push are deleted
_LOCK_FILE = "readers.lock"


@dataclass(frozen=True)
class Pushed:
    """Result of a push: bytes and number of pieces sent, bytes of the index, and number of objects deleted."""

    push: str
    sent: int
    pieces: int
    bytes: int
    pruned: int = 0


@dataclass(frozen=True)
class _Local:
    """The state of an index folder to push: its files by name, its revision and its encoder."""

    files: Mapping[str, Path]
    revision: int
    encoder: str


def push(
    folder: str | Path,
    url: str,
    *,
    force: bool = False,
    full: bool = False,
    prune: bool = False,
    progress: Progress | None = None,
) -> Pushed:
    """Push an index folder to a URL, such as s3://bucket/wiki. The folder may be read and changed meanwhile.

    Only missing pieces are sent. Of two pushes at the same time one succeeds. `force`: replace the pushes of others
    since this folder was last pushed or pulled. `full`: send all files again. `prune`: delete the objects of earlier
    pushes. An interrupted push continues where it stopped.

    Raises ConflictError if others have pushed, StoreError for an index that is being written, interrupted or damaged,
    and if the storage cannot be used.
    """
    path = Path(folder)
    checked(url)
    with _frozen_state(path) as local:
        bucket = Bucket.open(url, create=True)
        entries = {name: sums_of(file) for name, file in local.files.items()}
        current = read_current(bucket)
        record = read_record(path)
        if record is not None and record.url != bucket.url:
            record = None
        before = None if current is None else current[0]
        if before is None:
            _check_unused(bucket)
        elif not full and _is_same(before, record, local, entries):
            write_record(path, Record(bucket.url, before.push, local.revision))
            return Pushed(before.push, 0, 0, before.size(), _prune(bucket, before) if prune else 0)
        elif not force:
            _check_descends(bucket.url, before, record)
        name = _name(record, before)
        begun = record or Record(bucket.url, None, local.revision)
        write_record(path, replace(begun, unfinished=Unfinished("push", name, local.revision)))
        result, manifest = _send(bucket, local, entries, name, before, full, progress)
        _publish(bucket, manifest, None if current is None else current[1])
        write_record(path, Record(bucket.url, name, local.revision))
        return replace(result, pruned=_prune(bucket, manifest) if prune else 0)


@contextmanager
def _frozen_state(folder: Path) -> Iterator[_Local]:
    """Yield the state of an index folder, whose files stay unchanged in the block; hold the write lock briefly."""
    layout = IndexLayout(folder)
    with ExitStack() as stack, closing(Store(layout.store)) as store:
        with writer_lock(folder):
            current, revision = layout.current(), store.revision
            if layout.published != revision:
                raise StoreError(
                    f"{folder} has changes that its snapshot lacks: they were interrupted. Run the same command of "
                    f"indexing again, then push."
                )
            lease = Lease(folder / current)
            stack.enter_context(frozen(layout.store))
        stack.callback(lambda lease: None, lease)  # the lease lasts until the block ends
        if damaged := damaged_files(folder / current):
            raise StoreError(
                f"{folder / current / damaged[0]} is missing or damaged; nothing was pushed. Run 'graphwright verify "
                f"--index {folder} --repair', then push."
            )
        files = {"index.sqlite": layout.store}
        for part, place in (("snapshot", folder / current), ("imported", layout.imported)):
            paths = sorted(path for path in place.rglob("*") if path.is_file() and path.name != _LOCK_FILE)
            files |= {f"{part}/{path.relative_to(place).as_posix()}": path for path in paths}
        yield _Local(files, revision, store.setting("encoder") or "")


def _check_unused(bucket: Bucket) -> None:
    """Raise StoreError if a URL without an index has other objects."""
    for item in bucket.list():
        if not item.path.startswith(("pieces/", "manifests/")):
            raise StoreError(
                f"{bucket.url} holds other objects, such as {item.path}, and no index. Give the index an address of "
                f"its own, such as {bucket.url}/wiki."
            )


def _is_same(manifest: Manifest, record: Record | None, local: _Local, sums: Mapping[str, list[str]]) -> bool:
    """Return whether a URL has the state of a folder; the store of a pulled folder may differ in its counters."""
    if record is not None and (record.push, record.revision) == (manifest.push, local.revision):
        return True
    return manifest.revision == local.revision and {n: e.sums for n, e in manifest.files.items()} == dict(sums)


def _check_descends(url: str, before: Manifest, record: Record | None) -> None:
    """Raise ConflictError if a folder was not last pushed to, or pulled from, the current state of a URL."""
    known = set() if record is None else {record.push}
    if record is not None and record.unfinished is not None and record.unfinished.action == "push":
        known.add(record.unfinished.push)  # it had become current when the process was killed
    if before.push not in known:
        raise ConflictError(
            f"{url} was changed by another push ({before.push}) that this folder does not contain. Nothing was "
            f"changed there. {_REMEDY.format(url)}"
        )


_REMEDY = (
    "Pull it into a new folder (graphwright pull {} FOLDER), make your changes there and push that; or replace it by "
    "this folder with --force."
)


def _name(record: Record | None, before: Manifest | None) -> str:
    """Return a name for this push: the name of a recent killed push, whose pieces are reused, or a new name."""
    now = datetime.now(UTC)
    if record is not None and (last := record.unfinished) is not None and last.action == "push":
        begun = datetime.strptime(last.push[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        finished = set() if before is None else {before.push, *before.finished}
        if last.push not in finished and now - begun < _RESUME_WITHIN:
            return last.push
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"


def _send(
    bucket: Bucket,
    local: _Local,
    sums: Mapping[str, list[str]],
    name: str,
    before: Manifest | None,
    full: bool,
    progress: Progress | None,
) -> tuple[Pushed, Manifest]:
    """Send the pieces that the bucket lacks, or all of them, then the manifest."""
    known = {piece.rpartition("/")[2]: piece for piece in (() if before is None or full else before.pieces())}
    sent_before = {item.path.rpartition("/")[2] for item in bucket.list(f"pieces/{name}")}
    place = {s: known.get(s, f"{name}/{s}") for part in sums.values() for s in part}
    missing = {
        s: (n, at) for n, part in sums.items() for at, s in enumerate(part) if s not in known and s not in sent_before
    }

    def send(sum: str) -> int:
        file, at = missing[sum]
        content = piece_at(local.files[file], at)
        if digest(content) != sum:
            raise StoreError(f"{local.files[file]} changed while it was pushed. Nothing was published; push again.")
        bucket.write(f"pieces/{place[sum]}", content)
        return len(content)

    sent = transferred(send, missing, "send", progress)
    manifest = Manifest(
        name,
        local.revision,
        local.encoder,
        Manifest.own_formats(),
        {n: ManifestEntry(local.files[n].stat().st_size, tuple(place[s] for s in part)) for n, part in sums.items()},
        (name,) if before is None else (*before.finished, name),
    )
    bucket.write(f"manifests/{name}.json", manifest.encoded())
    return Pushed(name, sent, len(missing), manifest.size()), manifest


def _publish(bucket: Bucket, manifest: Manifest, version: Version | None) -> None:
    """Make a manifest current. Raises ConflictError if another push has become current since `version` was read."""
    try:
        bucket.replace(CURRENT, pointer_to(manifest), version)
    except ConflictError as error:
        raise ConflictError(
            f"{bucket.url} was changed by another push at the same time, which was first. Nothing was changed there by "
            f"this one. {_REMEDY.format(bucket.url)}"
        ) from error


def _prune(bucket: Bucket, manifest: Manifest) -> int:
    """Delete the objects that a manifest does not use, except of pushes that may still run; return their number."""
    used = {f"pieces/{piece}" for piece in manifest.pieces()} | {f"manifests/{manifest.push}.json"}
    old, finished = datetime.now(UTC) - _ABANDON_AFTER, set(manifest.finished)
    unused = []
    for folder in ("pieces", "manifests"):
        for item in bucket.list(folder):
            push = item.path.split("/")[1].removesuffix(".json")
            if item.path not in used and (push in finished or item.modified < old):
                unused.append(item.path)
    bucket.delete(unused)
    return len(unused)


_CHECKPOINT_TIMEOUT = 10.0  # seconds for which a checkpoint waits for readers


@contextmanager
def frozen(path: Path) -> Iterator[None]:
    """Keep the file of a store unchanged in the block, by a read transaction that begins with an empty log.

    During the transaction, writers append to the write-ahead log, and SQLite copies nothing from it into the file. The
    caller holds the write lock of the index when the block begins. Raises StoreError if the log cannot be emptied.
    """
    with closing(sqlite3.connect(path, isolation_level=None, timeout=2.0, check_same_thread=False)) as db:
        deadline = time.monotonic() + _CHECKPOINT_TIMEOUT
        while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > deadline:
                raise StoreError(f"{path} always has readers, so its log cannot be emptied. Try again later.")
            time.sleep(0.05)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM settings").fetchone()
        yield
