"""Archives: the files in zip and tar archives."""

from __future__ import annotations

import posixpath
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from graphwright.data.decoding import clean
from graphwright.data.formats.format import MAX_BYTES, File, Part, Unread, UnreadableError

__all__ = ["MAX_MEMBERS", "MAX_UNPACKED", "checked_zip", "read_tar", "read_zip"]

MAX_MEMBERS = 100_000
MAX_UNPACKED = 1 << 30
"""Maximum bytes of all files of an archive, unpacked."""
_TOO_LARGE = f"larger than {MAX_BYTES >> 20} MB unpacked"


@contextmanager
def checked_zip(file: File) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive. Raises UnreadableError if it is damaged, encrypted, or unpacks to too many bytes."""
    with file.open() as source:
        try:
            archive = zipfile.ZipFile(source)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise UnreadableError(f"a damaged zip archive ({error}); fetch or pack it again") from error
        with archive:
            _check(archive.infolist())
            yield archive


def _check(members: Sequence[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_UNPACKED:
        raise UnreadableError(
            f"more than {MAX_MEMBERS:,} files or {MAX_UNPACKED >> 20:,} MB unpacked; unpack what is needed of it"
        )
    if any(member.flag_bits & 1 for member in members):
        raise UnreadableError("encrypted; save it without a password")


def read_zip(file: File) -> Iterator[Part]:
    """Yield the files of a zip archive, by name."""
    with checked_zip(file) as archive:
        for member in sorted(archive.infolist(), key=lambda member: member.filename):
            name = _name(member.filename)
            if member.is_dir() or not name:
                continue
            if member.file_size > MAX_BYTES:
                yield Unread(f"/{name}", _TOO_LARGE)
                continue
            try:
                content = archive.read(member)
            except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError) as error:
                yield Unread(f"/{name}", f"damaged in the archive ({error})")
                continue
            except Exception as error:  # of a decompressor: zlib.error, lzma.LZMAError
                yield Unread(f"/{name}", f"damaged in the archive ({error})")
                continue
            yield File(f"/{name}", content=content)


def read_tar(file: File) -> Iterator[Part]:
    """Yield the files of a tar archive, packed or not, in its order; links and devices are left out."""
    unpacked = count = 0
    try:
        with file.open() as source, tarfile.open(fileobj=source, mode="r:*") as archive:
            while (member := archive.next()) is not None:
                unpacked, count = unpacked + member.size, count + 1
                if unpacked > MAX_UNPACKED or count > MAX_MEMBERS:
                    raise UnreadableError(f"more than {MAX_MEMBERS:,} files or {MAX_UNPACKED >> 20:,} MB unpacked")
                name = _name(member.name)
                if not member.isfile() or not name:
                    continue
                content = None if member.size > MAX_BYTES else archive.extractfile(member)
                yield Unread(f"/{name}", _TOO_LARGE) if content is None else File(f"/{name}", content=content.read())
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise UnreadableError(f"a damaged tar archive ({error}); fetch or pack it again") from error


def _name(name: str) -> str:
    """Return the name of a member; "" for hidden files, as in folders."""
    name = clean(posixpath.normpath("/" + name.replace("\\", "/"))).strip("/")
    return "" if any(part.startswith((".", "__MACOSX")) for part in name.split("/")) else name
