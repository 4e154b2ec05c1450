"""The manifest of a pushed index, its files in pieces named by their SHA-256, and the record of an index folder.

Objects below the URL of an index:

    CURRENT               name and SHA-256 of the current manifest; the only object that is replaced
    manifests/PUSH.json   the manifest of one push
    pieces/PUSH/SHA256    at most 4 MB of a file, written by the push that needed it first
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from graphwright.errors import StoreError
from graphwright.files import write_text
from graphwright.remote.bucket import Bucket
from graphwright.search.snapshot_format import FORMAT
from graphwright.store.chunk_record import RECORD_VERSION
from graphwright.store.tables import SCHEMA

CURRENT = "CURRENT"
PIECE = 4 * 2**20  # maximum bytes of a piece; a page of vectors is one piece
LAYOUT = 1  # version of the layout of objects
_PUSH = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{16}")
_PIECE = re.compile(rf"{_PUSH.pattern}/[0-9a-f]{{64}}")
_NAME = re.compile(r"index\.sqlite|(snapshot|imported)(/[A-Za-z0-9][A-Za-z0-9_.-]*)+")
Version = Mapping[str, str]


@dataclass(frozen=True)
class ManifestEntry:
    """A file of an index: its size, and its pieces in order, each as PUSH/SHA256."""

    bytes: int
    pieces: tuple[str, ...]

    @property
    def sums(self) -> list[str]:
        """The SHA-256 of each piece."""
        return [piece.rpartition("/")[2] for piece in self.pieces]


@dataclass(frozen=True)
class Manifest:
    """The files of a pushed index by name, with the formats and the encoder needed to read them.

    `push`: the name of the push. `formats`: format versions of snapshot, store and records. `encoder`: encoder of the
    vectors. `finished`: the pushes that became current and still have objects.
    """

    push: str
    revision: int
    encoder: str
    formats: Mapping[str, int]
    files: Mapping[str, ManifestEntry]
    finished: tuple[str, ...] = ()

    @staticmethod
    def own_formats() -> dict[str, int]:
        """Return the formats that this version reads and writes."""
        return {"snapshot": FORMAT, "store": SCHEMA, "record": RECORD_VERSION}

    def pieces(self) -> set[str]:
        """Return the pieces of all files."""
        return {piece for entry in self.files.values() for piece in entry.pieces}

    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(entry.bytes for entry in self.files.values())

    def encoded(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps({"layout": LAYOUT, **asdict(self)}, indent=1).encode()

    @classmethod
    def decoded(cls, content: bytes, url: str) -> Manifest:
        """Parse a manifest. Raises StoreError if it is damaged or of another layout."""
        try:
            values = json.loads(content)
            if (layout := values.pop("layout")) != LAYOUT:
                raise StoreError(
                    f"{url} has layout {layout}; this version reads layout {LAYOUT}. Use the version that pushed it, "
                    f"or push the index again by this version, with --force."
                )
            files = {
                name: ManifestEntry(int(entry["bytes"]), tuple(entry["pieces"]))
                for name, entry in values.pop("files").items()
            }
            manifest = cls(files=files, **{**values, "finished": tuple(values["finished"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{url} has a damaged manifest ({error}). {PUSH_AGAIN}") from error
        for name, entry in files.items():
            if not _is_sound(name, entry):
                raise StoreError(f"{url} has a manifest with a file that cannot be used, {name[:80]!r}. {PUSH_AGAIN}")
        return manifest

    def check_readable(self, url: str) -> None:
        """Raise StoreError if this version cannot read the files."""
        if dict(self.formats) != self.own_formats():
            pushed, readable = (
                ", ".join(f"{name} {number}" for name, number in formats.items())
                for formats in (self.formats, self.own_formats())
            )
            raise StoreError(
                f"{url} holds an index of another format ({pushed}); this version reads {readable}. Use the version "
                f"that pushed it, or index the documents again and push with --force."
            )


PUSH_AGAIN = "Push the index again from a folder that has it, with --full --force."


def _is_sound(name: str, entry: ManifestEntry) -> bool:
    """Return whether a file of a manifest has a usable name and the number of pieces for its size."""
    usable = _NAME.fullmatch(name) and ".." not in PurePosixPath(name).parts
    pieces = all(isinstance(piece, str) and _PIECE.fullmatch(piece) for piece in entry.pieces)
    return bool(usable) and pieces and len(entry.pieces) == -(-entry.bytes // PIECE)


def read_current(bucket: Bucket) -> tuple[Manifest, Version] | None:
    """Return the current manifest and the version of CURRENT, or None. Raises StoreError for any other content."""
    try:
        content, version = bucket.read(CURRENT)
    except KeyError:
        return None
    try:
        pointer = json.loads(content)
        push, checksum, layout = str(pointer["push"]), str(pointer["sha256"]), pointer["layout"]
        if not _PUSH.fullmatch(push) or not isinstance(layout, int):
            raise ValueError(f"it names {push[:40]!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{bucket.url}/{CURRENT} is not of graphwright ({error}). Give an address that an index was pushed to, or "
            f"a new one."
        ) from error
    path = f"manifests/{push}.json"
    try:
        manifest, _ = bucket.read(path)
    except KeyError as error:
        with suppress(KeyError):
            if bucket.read(CURRENT)[0] != content:
                return read_current(bucket)  # replaced and pruned meanwhile
        raise StoreError(f"{bucket.url} lacks {path}. {PUSH_AGAIN}") from error
    if digest(manifest) != checksum:
        raise StoreError(f"{bucket.url}/{path} is damaged: its SHA-256 is not that of CURRENT. {PUSH_AGAIN}")
    return Manifest.decoded(manifest, bucket.url), version


def pointer_to(manifest: Manifest) -> bytes:
    """Return the content of CURRENT that makes a manifest current."""
    return json.dumps({"layout": LAYOUT, "push": manifest.push, "sha256": digest(manifest.encoded())}).encode()


def digest(content: bytes) -> str:
    """Return the SHA-256 of a piece or a manifest."""
    return hashlib.sha256(content).hexdigest()


def piece_at(path: Path, number: int) -> bytes:
    """Return one piece of a file."""
    with path.open("rb") as file:
        file.seek(number * PIECE)
        return file.read(PIECE)


def sums_of(path: Path) -> list[str]:
    """Return the SHA-256 of each piece of a file."""
    with path.open("rb") as file:
        return [digest(piece) for piece in iter(lambda: file.read(PIECE), b"")]


def names_of(files: Iterable[str], folder: str) -> list[str]:
    """Return the files in a folder of a manifest, relative to it."""
    return [name.removeprefix(f"{folder}/") for name in files if name.startswith(f"{folder}/")]


_FILE = "remote.json"


@dataclass(frozen=True)
class Unfinished:
    """An unfinished push or pull: the name of the push, and the revision of the store that is sent or fetched."""

    action: str
    push: str
    revision: int


@dataclass(frozen=True)
class Record:
    """The last push whose content the folder had, and the revision of its store at that time."""

    url: str
    push: str | None
    revision: int
    unfinished: Unfinished | None = None


def read_record(folder: Path) -> Record | None:
    """Return the record of an index folder, None if it was neither pushed nor pulled. Raises StoreError if damaged."""
    path = folder / _FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        unfinished = values.pop("unfinished")
        return Record(**values, unfinished=None if unfinished is None else Unfinished(**unfinished))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}). Delete it: the folder then counts as never pushed or pulled."
        ) from error


def write_record(folder: Path, record: Record) -> None:
    """Write the record of an index folder, atomically."""
    write_text(folder / _FILE, json.dumps(asdict(record), indent=1) + "\n")
