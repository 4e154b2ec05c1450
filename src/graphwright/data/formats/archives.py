"""Archives: the files in zip and tar archives."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import RawIOBase
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from graphwright.data.decoding import open_bytes
from graphwright.data.document import Skipped
from graphwright.data.formats.format import MAX_BYTES, File, Format, Part, UnreadableError
from graphwright.text.characters import file_name

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
MAX_MEMBERS = 100_000
MAX_UNPACKED = 1 << 30  # maximum bytes of all files of an archive, unpacked
_MAX_TYPE = 100  # bytes
_MAX_HEADER = 2**20  # bytes; tarfile reads a header at once, whatever length it claims
_UTF_8_FLAG = 0x800  # flag of a member of a zip archive
_END, _LOCATOR = b"PK\x05\x06", b"PK\x06\x07"  # of the directory of a zip archive, and of one in the format zip64
_END_SIZE, _LOCATOR_SIZE, _MAX_COMMENT = 22, 20, 65_535
_MAX_ENTRY = 1_000  # bytes of one entry in the directory of a zip archive, on average
_TAR_SUFFIXES = (".tar", ".tgz", ".tbz2", ".txz")
_TOO_MUCH = f"more than {MAX_MEMBERS:,} files or {MAX_UNPACKED >> 20:,} MB unpacked"
_TOO_LARGE = f"larger than {MAX_BYTES >> 20} MB unpacked"
_PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7z": lzma.open,
    b"]\x00\x00": lzma.open,
}


@contextmanager
def checked_zip(file: File) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive. Raises UnreadableError if it is damaged, encrypted, or unpacks to too many bytes."""
    with file.open() as source:
        try:
            archive = zipfile.ZipFile(source)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise UnreadableError(f"a damaged zip archive ({error}); fetch or pack it again") from error
        with archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_UNPACKED:
                raise UnreadableError(f"{_TOO_MUCH}; unpack what is needed of it")
            if any(member.flag_bits & 1 for member in members):
                raise UnreadableError("encrypted; save it without a password")
            yield archive


def declared_type(archive: zipfile.ZipFile) -> bytes:
    """Return the media type that an archive declares in its member `mimetype`, as books and OpenDocument files do."""
    if "mimetype" not in archive.namelist() or archive.getinfo("mimetype").file_size >= _MAX_TYPE:
        return b""
    return archive.read("mimetype").strip()


def read_zip(file: File) -> Iterator[Part]:
    """Yield the files of a zip archive, by name."""
    with checked_zip(file) as archive:
        users = {info.filename: info for info in archive.infolist() if info.filename.endswith("users.json")}
        for member in sorted(archive.infolist(), key=lambda member: member.filename):
            name = _name(_zip_name(member))
            if member.is_dir() or not name:
                continue
            if member.file_size > MAX_BYTES:
                yield Skipped(f"/{name}", _TOO_LARGE)
                continue
            try:
                content = archive.read(member)
                above = users.get(str(PurePosixPath(member.filename).parent.parent / "users.json"))
                names = archive.read(above) if above and above.file_size <= MAX_BYTES else b""
            except Exception as error:  # of zipfile or of a decompressor: zlib.error, lzma.LZMAError
                yield Skipped(f"/{name}", f"damaged in the archive ({error})")
                continue
            yield File(f"/{name}", content=content, users=names)


def read_tar(file: File) -> Iterator[Part]:
    """Yield the files of a tar archive, packed or not, in its order; links and devices are left out."""
    unpacked = count = 0
    with _open_tar(file) as archive:
        while (member := archive.next()) is not None:
            unpacked, count = unpacked + member.size, count + 1
            if unpacked > MAX_UNPACKED or count > MAX_MEMBERS:
                raise UnreadableError(_TOO_MUCH)
            name = _name(member.name)
            if not member.isfile() or not name:
                continue
            content = None if member.size > MAX_BYTES else archive.extractfile(member)
            if content is None:
                yield Skipped(f"/{name}", _TOO_LARGE)
            else:
                yield File(f"/{name}", content=b"".join(_blocks(content)))


def measured(path: Path, max_files: int, max_bytes: int) -> tuple[int, int]:
    """Return the number of files in an archive and their bytes, unpacked; for any other file 1 and its size.

    The suffix decides. Contents are not kept, and counting ends where a maximum is exceeded. Raises
    UnreadableError for a damaged or encrypted archive, and for an archive beyond the limits of the readers.
    """
    suffix = path.suffix.lower()
    if suffix == ".zip":
        _check_directory(path, max_files)
        with checked_zip(File(path.name, path)) as archive:
            sizes = [member.file_size for member in archive.infolist() if not member.is_dir()]
    elif suffix in _TAR_SUFFIXES:
        with _open_tar(File(path.name, path)) as members:
            sizes = list(islice((member.size for member in members if not member.isdir()), max_files + 1))
    else:
        with open_bytes(path) as file:
            sizes = [min(sum(map(len, islice(_blocks(file), max_bytes // _MAX_HEADER + 1))), max_bytes + 1)]
    return len(sizes), sum(sizes)


@contextmanager
def _open_tar(file: File) -> Iterator[tarfile.TarFile]:
    """Open a tar archive, packed or not. Raises UnreadableError if it is damaged, here or while it is read."""
    head = file.head(3)
    opener = next((opener for magic, opener in _PACKED.items() if head.startswith(magic)), None)
    try:
        with file.open() as packed, packed if opener is None else opener(packed) as source:
            bounded: Any = _BoundedFile(source, MAX_UNPACKED + MAX_MEMBERS * 4 * tarfile.BLOCKSIZE)
            with tarfile.open(fileobj=bounded, mode="r:") as archive:
                yield archive
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError, ValueError, zlib.error) as error:
        raise UnreadableError(f"a damaged tar archive ({error}); fetch or pack it again") from error


def _check_directory(path: Path, max_files: int) -> None:
    """Raise UnreadableError for a zip archive whose directory would not fit in memory, because it is read whole."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _MAX_COMMENT - _END_SIZE - _LOCATOR_SIZE, 0))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise UnreadableError("not a zip archive; give it the suffix of its format")
    directory = int.from_bytes(tail[at + 12 : at + 16], "little")
    if _LOCATOR in tail[max(at - _LOCATOR_SIZE, 0) : at] or directory > (max_files + 1) * _MAX_ENTRY:
        raise UnreadableError(f"more than {max_files:,} files, or larger ones; send it in parts")


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_MAX_HEADER), b"")


class _BoundedFile(RawIOBase):
    """An unpacked archive that refuses to read a megabyte at once, or further than `end`, by an UnreadableError."""

    def __init__(self, source: Any, end: int) -> None:
        self._source, self._end = source, end

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER:
            raise _refused("a header of more than a megabyte")
        self._check(self._source.tell() + size)
        content: bytes = self._source.read(size)
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._check(offset)
        return int(self._source.seek(offset, whence))

    def tell(self) -> int:
        return int(self._source.tell())

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def _check(self, position: int) -> None:
        if position > self._end:
            raise _refused(f"more than {MAX_UNPACKED >> 20:,} MB unpacked")


def _refused(reason: str) -> UnreadableError:
    return UnreadableError(f"a tar archive with {reason}; unpack what is needed of it")


def _zip_name(member: zipfile.ZipInfo) -> str:
    """Return the name of a member, read as UTF-8 even without the flag, which many programs omit."""
    if member.flag_bits & _UTF_8_FLAG:
        return member.filename
    try:
        return member.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.filename


def _name(name: str) -> str:
    """Return the name of a member; "" for hidden files, as in folders."""
    name = file_name(posixpath.normpath("/" + name.replace("\\", "/"))).strip("/")
    return "" if any(part.startswith((".", "__MACOSX")) for part in name.split("/")) else name


ZIP = Format("zip archive", (".zip",), read_zip, binary=True)
_OF_TAR = (*_TAR_SUFFIXES, ".bz2", ".xz")
TAR = Format(
    "tar archive", _OF_TAR, read_tar, binary=True,
    by_content=lambda head, suffix: head[257:262] == b"ustar" or (head.startswith((*_PACKED,)) and suffix in _OF_TAR),
)  # fmt: skip
FORMATS = (ZIP, TAR)
