"""Pull an index from object storage: fetch and verify the missing files, then publish them atomically."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from graphwright.errors import StoreError, explained
from graphwright.files import flush, flush_folders, link
from graphwright.remote.bucket import Bucket, transferred
from graphwright.remote.manifest import (
    PIECE,
    PUSH_AGAIN,
    Manifest,
    ManifestEntry,
    Record,
    Unfinished,
    digest,
    names_of,
    piece_at,
    read_current,
    read_record,
    sums_of,
    write_record,
)
from graphwright.store import IndexLayout, Progress, Store, create_folder, writer_lock
from graphwright.store.locks import hold

_STORE = "index.sqlite"


@dataclass(frozen=True)
class Pulled:
    """Result of a pull: bytes fetched, bytes of the index, and whether the folder changed."""

    push: str
    fetched: int
    bytes: int
    changed: bool


def pull(url: str, folder: str | Path, *, force: bool = False, progress: Progress | None = None) -> Pulled:
    """Pull the latest index of a URL into a new folder, or into one that was pulled or pushed before.

    Only missing files are fetched; all files are verified by SHA-256. The store is then replaced in one transaction and
    the snapshot published, so queries do not wait. An interrupted pull leaves no partial index, and continues where it
    stopped. The pulled index can be changed and pushed again. `force`: replace changes that were not pushed.

    Raises StoreError if nothing was pushed, for another format, a damaged object or unpushed changes of the folder, and
    if the storage cannot be used.
    """
    path, bucket = Path(folder).resolve(), Bucket.open(url)
    manifest = _current(bucket)
    while True:
        try:
            if IndexLayout(path).store.exists():
                return _update(bucket, manifest, IndexLayout(path), force, progress)
            return _create(bucket, manifest, path, progress)
        except KeyError as error:
            before, manifest = manifest, _current(bucket)
            if manifest.push == before.push:  # else the pushed state was pruned during the pull
                raise StoreError(f"{url} lacks {error.args[0]}, which its manifest names. {PUSH_AGAIN}") from error


def _current(bucket: Bucket) -> Manifest:
    """Return the current manifest of a URL. Raises StoreError if there is none, or its format cannot be read."""
    if (current := read_current(bucket)) is None:
        other = next(bucket.list(), None)
        finding = "it is empty" if other is None else f"it has other objects, such as {other.path}"
        raise StoreError(f"{bucket.url} holds no index: {finding}. Push one: graphwright push FOLDER {bucket.url}")
    current[0].check_readable(bucket.url)
    return current[0]


def _create(bucket: Bucket, manifest: Manifest, path: Path, progress: Progress | None) -> Pulled:
    with _staging(path) as staging:
        fetched = _fetch(bucket, manifest, staging, {}, progress)

        def fill(layout: IndexLayout) -> None:
            _copy(staging / _STORE, layout.store)
            _install_imported(layout, staging, manifest)
            layout.publish(manifest.revision, lambda target: _link(staging / "snapshot", target, manifest, "snapshot"))
            write_record(layout.path, Record(bucket.url, manifest.push, manifest.revision))

        create_folder(path, fill)
    return Pulled(manifest.push, fetched, manifest.size(), True)


def _update(bucket: Bucket, manifest: Manifest, layout: IndexLayout, force: bool, progress: Progress | None) -> Pulled:
    """Pull into an index that was pulled or pushed before."""
    with closing(Store(layout.store)) as store:
        record = _check_unchanged(bucket.url, manifest, layout, store, force)
        if record.push == manifest.push and store.revision == record.revision:
            return Pulled(manifest.push, 0, manifest.size(), False)
    with _staging(layout.path) as staging, writer_lock(layout.path), closing(Store(layout.store)) as store:
        record = _check_unchanged(bucket.url, manifest, layout, store, force)
        local = {_STORE: layout.store}
        for part, place in (("snapshot", layout.path / layout.current()), ("imported", layout.imported)):
            local |= {f"{part}/{name}": place / name for name in names_of(manifest.files, part)}
        fetched = _fetch(bucket, manifest, staging, local, progress)
        begun = Unfinished("pull", manifest.push, manifest.revision)
        write_record(layout.path, replace(record, unfinished=begun))
        with ExitStack() as stack:
            for revision in sorted({manifest.revision, *_withdrawing(staging / _STORE)}):
                stack.enter_context(layout.changing(revision))  # readers must not treat it as an interrupted change
            _replace_store(staging / _STORE, layout.store)
            _install_imported(layout, staging, manifest)
            layout.publish(manifest.revision, lambda target: _link(staging / "snapshot", target, manifest, "snapshot"))
        write_record(layout.path, Record(bucket.url, manifest.push, manifest.revision))
        layout.delete_cache(layout.replies)  # they may quote removed documents
        store.checkpoint()
    return Pulled(manifest.push, fetched, manifest.size(), True)


def _check_unchanged(url: str, manifest: Manifest, layout: IndexLayout, store: Store, force: bool) -> Record:
    """Return the record of an index. Raises StoreError for an unrelated index, or one with unpushed changes."""
    record, folder = read_record(layout.path), layout.path
    if record is None or record.url != url:
        source = "was not pulled" if record is None else f"was pulled from {record.url}, or pushed to it"
        raise StoreError(f"{folder} is an index that {source}. Pull {url} into a new folder; nothing was changed.")
    if (encoder := store.setting("encoder")) != manifest.encoder:
        raise StoreError(
            f"{url} holds an index of the encoder {manifest.encoder!r} now, and {folder} one of {encoder!r}. Pull into "
            f"a new folder; nothing was changed."
        )
    unfinished = None if record.unfinished is None else record.unfinished.revision
    if not force and store.revision not in (record.revision, unfinished):
        raise StoreError(
            f"{folder} has changes that were not pushed. Push them (graphwright push {folder} {url}), pull into a new "
            f"folder, or give them up with --force; nothing was changed."
        )
    return record


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """Yield the staging folder, which remains after an error. Raises StoreError if another process pulls into it."""
    staging = path.with_name(f".{path.name}-pull")
    try:
        staging.mkdir(parents=True, exist_ok=True)
        with hold(staging / "pull.lock"):
            yield staging
            shutil.rmtree(staging, ignore_errors=True)
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} is being pulled by another process ({error}). Wait for it to finish.") from error
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {explained(error, 'Check its permissions.')} The next pull continues."
        ) from error


def _fetch(
    bucket: Bucket, manifest: Manifest, staging: Path, local: Mapping[str, Path], progress: Progress | None
) -> int:
    """Put all files of a manifest into the staging folder, verified; return the number of bytes fetched.

    Pieces that the staging folder or the `local` files have are not fetched. Raises KeyError for a missing object,
    StoreError for a damaged one.
    """
    jobs: list[tuple[Path, int, str]] = []
    for name, entry in manifest.files.items():
        jobs += _missing(staging / name, entry, local.get(name))
    fetched = transferred(lambda job: _fetch_piece(bucket, *job), jobs, "fetch", progress)
    for part in dict.fromkeys(_part(staging / name) for name in manifest.files):
        if part.exists():
            flush(part)
            os.replace(part, part.with_name(part.name.removesuffix(".part")))
    flush_folders(staging)
    return fetched


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _missing(path: Path, entry: ManifestEntry, local: Path | None) -> list[tuple[Path, int, str]]:
    """Return the pieces of a file to fetch, as (unfinished file, number, piece); write those at hand into that file."""
    for candidate in (path, local):
        if candidate is not None and candidate.is_file() and sums_of(candidate) == entry.sums:
            if candidate != path:
                path.unlink(missing_ok=True)
                path.parent.mkdir(parents=True, exist_ok=True)
                _copy(candidate, path)
            return []
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    staged_sums = sums_of(part) if part.exists() else []
    local_sums = sums_of(local) if local is not None and local.is_file() else []
    missing = []
    with part.open("r+b" if part.exists() else "w+b") as file:
        file.truncate(entry.bytes)
        for at, (piece, sum) in enumerate(zip(entry.pieces, entry.sums, strict=True)):
            if staged_sums[at : at + 1] == [sum]:
                continue
            if local is not None and local_sums[at : at + 1] == [sum]:
                file.seek(at * PIECE)
                file.write(piece_at(local, at))
            else:
                missing.append((part, at, piece))
    return missing


def _copy(source: Path, target: Path) -> None:
    """Copy the store; link any other file, because it never changes."""
    if source.name == _STORE:
        shutil.copyfile(source, target)
        flush(target)
    else:
        link(source, target)


def _fetch_piece(bucket: Bucket, part: Path, at: int, piece: str) -> int:
    """Fetch a piece into its file, twice if it is damaged. Raises StoreError if it is damaged both times."""
    for _ in range(2):
        content, _version = bucket.read(f"pieces/{piece}")
        if digest(content) == piece.rpartition("/")[2]:
            with part.open("r+b") as file:
                file.seek(at * PIECE)
                file.write(content)
            return len(content)
    raise StoreError(
        f"{bucket.url}/pieces/{piece} is damaged: its SHA-256 is another one. Nothing was published. {PUSH_AGAIN}"
    )


def _link(source: Path, target: Path, manifest: Manifest, part: str) -> None:
    """Create a folder with the fetched files of a part of a manifest."""
    target.mkdir()
    for name in names_of(manifest.files, part):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        link(source / name, target / name)


def _install_imported(layout: IndexLayout, staging: Path, manifest: Manifest) -> None:
    """Add the snapshot of an imported graph to an index that lacks it, or replace that of an earlier sync."""
    if not names_of(manifest.files, "imported"):
        return
    if layout.imported.is_dir():
        about = [(folder / "about.json").read_bytes() for folder in (layout.imported, staging / "imported")]
        if about[0] != about[1]:
            fetched = partial(_link, staging / "imported", manifest=manifest, part="imported")
            with layout.replacing_imported(fetched, lambda: True):
                pass
    else:
        draft = layout.path / ".imported.draft"
        shutil.rmtree(draft, ignore_errors=True)
        _link(staging / "imported", draft, manifest, "imported")
        flush_folders(draft)
        os.replace(draft, layout.imported)


def _withdrawing(store: Path) -> set[int]:
    """Return the revisions of a fetched store in which documents were withdrawn."""
    with closing(sqlite3.connect(f"{store.resolve().as_uri()}?immutable=1", uri=True)) as db:
        rows = db.execute(
            "SELECT DISTINCT j.value FROM settings, json_each(settings.value) j WHERE name = 'withdrawn'"
        ).fetchall()
    return {int(row[0]) for row in rows}


def _replace_store(fetched: Path, store: Path) -> None:
    """Replace the content of a store in one transaction, so that open connections stay usable."""
    with (
        closing(sqlite3.connect(f"{fetched.resolve().as_uri()}?immutable=1", uri=True)) as source,
        closing(sqlite3.connect(store, timeout=10.0)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
