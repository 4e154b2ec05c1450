"""Archives from the network: unpacked one file at a time, within limits of files, bytes and compression."""

from __future__ import annotations

import errno
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import SEEK_END
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

from graphwright.data.formats.archives import BoundedFile
from graphwright.serve.problems import ServeError, TooLargeError

_MB = 2**20
_BLOCK = 1 << 16
_END, _LOCATOR = b"PK\x05\x06", b"PK\x06\x07"  # of the directory of a zip archive, and of one in the format zip64
_END_SIZE, _LOCATOR_SIZE, _MAX_COMMENT = 22, 20, 65_535
_MAX_ENTRY = 1_000  # bytes of one entry in the directory of a zip archive, on average
_TAR = (".tar", ".tar.gz", ".tgz")
_UNSUPPORTED = (".7z", ".rar", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".bz2", ".xz", ".zst")


class ArchiveError(ServeError):
    """An archive is damaged, or of a kind that cannot be unpacked."""

    status: ClassVar[int] = 422
    kind: ClassVar[str] = "archive"


@dataclass
class Limits:
    """What is left of an upload's limits: `files`, unpacked `bytes`, and `ratio`, of unpacked bytes to packed ones."""

    files: int = 10_000
    bytes: int = 1024 * _MB
    ratio: int = 200

    def take_file(self) -> None:
        """Count a file. Raises TooLargeError for one too many."""
        self.files -= 1
        if self.files < 0:
            raise TooLargeError("The upload holds more files than this server takes. Send it in parts.")

    def take(self, count: int) -> None:
        """Count bytes. Raises TooLargeError for too many."""
        self.bytes -= count
        if self.bytes < 0:
            raise TooLargeError("The upload is larger, unpacked, than this server takes. Send it in parts.")

    def check_ratio(self, unpacked: int, packed: int) -> None:
        """Raise ArchiveError for data that grows too much; the first megabyte is free."""
        if unpacked > _MB and unpacked > self.ratio * max(packed, 1):
            raise ArchiveError(
                f"The archive grows more than {self.ratio} times when it is unpacked, as no documents do. Send the "
                f"files themselves."
            )


class Entry(NamedTuple):
    """A file of an archive: its name there, and a function that writes it; or the reason why it is left out."""

    name: str
    write: Callable[[IO[bytes]], None] | None
    reason: str = ""


def is_archive(name: str) -> bool:
    """Return whether a file is an archive by its name, also one that cannot be unpacked."""
    return name.lower().endswith((".zip", ".gz", *_TAR, *_UNSUPPORTED))


def unpacked(path: Path, name: str, limits: Limits) -> Iterator[Entry]:
    """Yield the files of an archive at a path; `name` is the one that it was sent under and tells its kind.

    Each must be written before the next is taken. A single file packed with gzip keeps the archive's name. Raises
    ArchiveError for an archive that is damaged or grows too much, TooLargeError where a limit is exceeded.
    """
    lower = name.lower()
    if lower.endswith(_UNSUPPORTED):
        yield Entry(name, None, "a kind of archive that is not unpacked; send zip or tar.gz")
        return
    kind = _zip if lower.endswith(".zip") else _tar if lower.endswith(_TAR) else _gzip
    with _as_archive_errors(name):
        for entry in kind(path, name, limits):
            yield entry if entry.write is None else entry._replace(write=_guarded(entry.write, name))


def _guarded(write: Callable[[IO[bytes]], None], name: str) -> Callable[[IO[bytes]], None]:
    def guarded(to: IO[bytes]) -> None:
        with _as_archive_errors(name):
            write(to)

    return guarded


@contextmanager
def _as_archive_errors(name: str) -> Iterator[None]:
    """Raise ArchiveError in place of the errors with which Python's modules meet a damaged archive."""
    try:
        yield
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # of the disk, such as that it is full
            raise
        raise ArchiveError(f"{name} cannot be unpacked ({error}). Make the archive again.") from error
    except (EOFError, ValueError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        raise ArchiveError(f"{name} cannot be unpacked ({error}). Make the archive again.") from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or compressed in a way that Python lacks
        raise ArchiveError(f"{name} cannot be unpacked ({error}). Send it without a password, as zip.") from error


def _gzip(path: Path, name: str, limits: Limits) -> Iterator[Entry]:
    limits.take_file()
    with gzip.open(path) as source:
        yield Entry(name, lambda to: _copy(source, to, limits, lambda: path.stat().st_size))


def _zip(path: Path, name: str, limits: Limits) -> Iterator[Entry]:
    _check_directory(path, limits)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            limits.take_file()
            if info.is_dir():
                continue
            if reason := _unreadable(info):
                yield Entry(info.filename, None, reason)
                continue
            with archive.open(info) as source:
                yield Entry(info.filename, _writer(source, limits, info.compress_size))


def _unreadable(info: zipfile.ZipInfo) -> str:
    """Return why an entry of a zip archive is left out; an empty text where it is not."""
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a link"
    if info.flag_bits & 1:
        return "encrypted"
    # The other methods cannot be unpacked in small steps.
    return "" if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else "compressed in an unusual way"


def _check_directory(path: Path, limits: Limits) -> None:
    """Raise TooLargeError for a zip archive with a directory that would not fit in memory: it is read at once."""
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(size - _MAX_COMMENT - _END_SIZE - _LOCATOR_SIZE, 0))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise ArchiveError("The file is no zip archive. Give it the suffix of what it is.")
    directory = int.from_bytes(tail[at + 12 : at + 16], "little")
    if _LOCATOR in tail[max(at - _LOCATOR_SIZE, 0) : at] or directory > (limits.files + 1) * _MAX_ENTRY:
        raise TooLargeError("The archive holds more files, or larger ones, than this server takes. Send it in parts.")


def _tar(path: Path, name: str, limits: Limits) -> Iterator[Entry]:
    packed = path.stat().st_size
    with path.open("rb") as file, _open_tar(_Bounded(_maybe_gzip(file), limits, packed)) as archive:
        for member in archive:
            limits.take_file()
            if member.isdir():
                continue
            content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
            if content is None:
                yield Entry(member.name, None, "a link, or no regular file")
            else:
                yield Entry(member.name, _writer(content, limits, packed))


def _open_tar(source: _Bounded) -> tarfile.TarFile:
    return tarfile.open(fileobj=source, mode="r:")


def _maybe_gzip(file: IO[bytes]) -> IO[bytes]:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[return-value]


class _Bounded(BoundedFile):
    """A file of an archive that may not grow too much, besides the limits of its reads."""

    def __init__(self, source: IO[bytes], limits: Limits, packed: int) -> None:
        super().__init__(source, limits.bytes + (limits.files + 1) * 10 * tarfile.BLOCKSIZE)  # with the headers
        self._limits, self._packed = limits, packed

    def check(self, position: int) -> None:
        super().check(position)
        self._limits.check_ratio(self.tell(), self._packed)

    def refused(self, *, header: bool) -> Exception:
        if header:
            return ArchiveError("The archive has a header of more than a megabyte. Make it again, with shorter names.")
        return TooLargeError("The upload is larger, unpacked, than this server takes. Send it in parts.")


def _writer(source: IO[bytes], limits: Limits, packed: int) -> Callable[[IO[bytes]], None]:
    return lambda to: _copy(source, to, limits, lambda: packed)


def _copy(source: Any, to: IO[bytes], limits: Limits, packed: Callable[[], int]) -> None:
    """Copy an entry in small blocks, counting what really comes out, whatever headers say."""
    count, size = 0, packed()
    while block := source.read(_BLOCK):
        count += len(block)
        limits.take(len(block))
        limits.check_ratio(count, size)
        to.write(block)
