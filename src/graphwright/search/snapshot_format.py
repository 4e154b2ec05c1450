"""Format of a snapshot: a folder that is written once and never changed.

- `about.json`: format, revision, encoder, numbers of texts, a checksum of each file, and its own checksum
- `graph/`: the arrays of the graph, an npy file each, named in `graph.json` (graph/storage.py)
- `words/`: BM25 postings (bm25_postings.py)
- `SPACE.NNNNN.page`: vectors of `passages`, `names` or `triples` in half precision; beside them `SPACE.rows.npy` (the
  row of each id), `SPACE.keys.npy` (a fingerprint of the text of each row), and checksums of blocks and rows
  (vector_pages.py)
- `names.nearest.npy`: the pivots nearest to each name (build/near_pairs.py)

A file of more than 64 MB has a checksum of each 16 KB beside it, in `FILE.blocks.npy`, not in `about.json`.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.errors import StoreError, cause_of, explained
from graphwright.files import flush_all
from graphwright.graph.storage import (
    KNOWN,
    block_file,
    check_limits,
    checksum_of,
    load_array,
    load_graph,
    save_array,
    save_graph,
)
from graphwright.kernels.blocks import Limits, block_sums
from graphwright.models.protocols import Encoder
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.snapshot import Snapshot
from graphwright.search.vector_index import VectorIndex, vectors_checksum
from graphwright.search.vector_pages import Pages, map_pages, write_pages
from graphwright.store.locks import Lease

FORMAT = 11
_BY_BLOCKS = -1  # in place of a file's checksum, if its blocks have checksums
_NEAREST = "names.nearest.npy"
_READ = 2**20  # bytes of a file: larger ones are mapped
_VERIFY_THREADS = 2  # files that are verified at the same time
_REMEDY = "Rebuild it with graphwright verify --repair, or index the documents again."


def write_snapshot(folder: Path, snapshot: Snapshot) -> None:
    """Write a snapshot into a new folder; all of it is on disk when this returns."""
    folder.mkdir(parents=True)
    save_graph(snapshot.graph, folder / "graph")
    snapshot.words.save(folder / "words")
    spaces, pages = dict[str, dict[str, Any]](), dict[str, int]()
    for name in snapshot.about["texts"]:
        spaces[name], written = _write_space(folder, name, getattr(snapshot, name))
        pages |= written
    if snapshot.nearest is not None:
        save_array(snapshot.nearest, folder / _NEAREST)
    about = {
        **snapshot.about,
        "encoder": getattr(snapshot.encoder, "id", ""),
        "format": FORMAT,
        "spaces": spaces,
        "words": snapshot.words.checksum,
    }
    write_about(folder, about, pages)


def write_about(folder: Path, about: Mapping[str, Any], checksums: Mapping[str, int] | None = None) -> None:
    """Write the description of a snapshot with the checksums of its files, of which some may be known."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    new = {name: _written_checksum(path) for name, path in files.items() if name not in (checksums or {})}
    about = {**about, "files": new | dict(checksums or {})}
    about["sum"] = _checksum(about)
    files["about.json"] = folder / "about.json"
    files["about.json"].write_text(json.dumps(about, indent=1), encoding="utf-8")
    flush_all(path for path in files.values() if path.stat().st_nlink == 1)  # others are linked


def _write_space(folder: Path, name: str, space: VectorIndex) -> tuple[dict[str, Any], dict[str, int]]:
    """Write vectors; return the description of the space, and the checksums of its pages."""
    vectors, text_of = space.by_text()
    pages, place = write_pages(folder, name, vectors, space.pages)
    row_of = np.append(place, np.int32(-1))[np.asarray(text_of)]
    keys = np.zeros((pages.rows, 2), np.uint64)
    keys[place] = vectors.keys[vectors.row]
    parts = {"keys": keys, "rows": row_of, "blocks": pages.blocks, "sums": pages.sums}
    for part, array in parts.items():
        save_array(array, folder / f"{name}.{part}.npy")
    checksum = vectors_checksum(pages.sums, row_of, pages.dimension)
    return {"dimension": pages.dimension, "borders": pages.borders, "checksum": checksum}, pages.checksums()


def damaged_files(folder: Path, *, blocks: bool = True) -> list[str]:
    """Return the names of a snapshot's files that have changed since it was written.

    `blocks`: check also those that are verified in blocks when they are read, and read again those that this process
    has read before. A missing file counts as changed; so does about.json, which has the checksums. Raises StoreError
    where the system refuses to open a file.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        files = about["files"]
        if about.pop("sum") != _checksum(about):
            return ["about.json"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if cause_of(error):
            raise StoreError(f"{folder / 'about.json'} cannot be read: {explained(error, _REMEDY)}") from error
        return ["about.json"]
    with ThreadPoolExecutor(_VERIFY_THREADS) as pool:
        damaged = pool.map(lambda name: _is_damaged(folder / name, files[name], blocks), files)
        return [name for name, is_damaged in zip(files, damaged, strict=True) if is_damaged]


def _is_damaged(path: Path, checksum: int, blocks: bool) -> bool:
    try:
        if path.suffix == ".page" and not blocks:
            return not path.exists()
        if checksum != _BY_BLOCKS:
            return _file_checksum(path, again=blocks) != checksum
        if blocks:
            np.asarray(load_array(path))
        return not path.exists()
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {explained(error, _REMEDY)}") from error
    except StoreError as error:
        if refused(error):
            raise
        return True


def refused(error: StoreError) -> bool:
    """Return whether an error is a refused access to a file, which may be intact."""
    return error.__cause__ is not None and cause_of(error.__cause__) != 0


def _file_checksum(path: Path, again: bool = True) -> int:
    """Return the checksum of a file; unless `again`, as this process knows it if the file was not written since."""
    if not again and (known := KNOWN.get(path.stat())) is not None:
        return known
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        content = np.memmap(file, np.uint8, "r") if about.st_size > _READ else np.fromfile(file, np.uint8)
        checksum = checksum_of(block_sums(content), about.st_size)
        KNOWN.put(about, checksum)
        return checksum


def _written_checksum(path: Path) -> int:
    """Return the checksum of a file that was just written, -1 for a file with checksums of its blocks."""
    return _BY_BLOCKS if block_file(path).exists() else _file_checksum(path, again=False)


def _checksum(about: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


def open_snapshot(folder: Path, encoder: Encoder) -> Snapshot:
    """Open a snapshot; its arrays are memory-mapped. `encoder` must be the encoder that it was written with.

    Raises StoreError for a snapshot that is missing, truncated, damaged, or of another format. Files above 64 MB are
    verified in blocks, each before it is first read, which raises StoreError too.
    """
    lease = Lease(folder)
    about = read_about(folder, encoder, FORMAT)
    graph, words, spaces = load_graph(folder / "graph"), WordIndex.load(folder / "words"), {}
    for name, space in about["spaces"].items():
        ids = graph.edges if name == "triples" else graph
        spaces[name] = _open_space(folder, name, space, len(ids), encoder)
    vars(words)["checksum"] = about["words"]
    nearest = np.asarray(load_array(folder / _NEAREST)) if _NEAREST in about["files"] else None
    return Snapshot.of(graph, spaces, words, encoder, about, lease=lease, nearest=nearest)


def read_about(folder: Path, encoder: Encoder, wanted: int | str) -> dict[str, Any]:
    """Return the description of a snapshot of a format, whose files are verified. Raises StoreError."""
    try:
        about: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        version = about.get("format")
    except (OSError, ValueError, AttributeError) as error:
        raise StoreError(f"{folder} is not a readable snapshot: {explained(error, _REMEDY)}") from error
    if version != wanted:
        raise StoreError(f"{folder} has format {version}; this version reads {wanted}. {_REMEDY}")
    if damaged := damaged_files(folder, blocks=False):
        raise StoreError(f"{folder / damaged[0]} is missing or damaged. {_REMEDY}")
    if about.get("encoder") and getattr(encoder, "id", None) not in (None, about["encoder"]):
        raise StoreError(f"{folder} was encoded by {about['encoder']}: open the index again. {_REMEDY}")
    return about


def _open_space(folder: Path, name: str, about: Mapping[str, Any], ids: int, encoder: Encoder) -> VectorIndex:
    """Open the vectors of a space; `ids`: how many it has. Raises StoreError."""
    keys, row_of, blocks, sums = (
        np.asarray(load_array(folder / f"{name}.{part}.npy")) for part in ("keys", "rows", "blocks", "sums")
    )
    pages = Pages(folder, name, about["dimension"], about["borders"], blocks, sums)
    if keys.shape != (pages.rows, 2) or len(row_of) != ids:
        raise StoreError(f"{folder}: vectors of {name} are missing or truncated. {_REMEDY}")
    check_limits(row_of, Limits(-1, pages.rows - 1), folder / f"{name}.rows.npy")
    space = VectorIndex(map_pages(pages), row_of, encoder, keys=keys, pages=pages)
    vars(space)["checksum"] = about["checksum"]  # known since it was written
    return space
