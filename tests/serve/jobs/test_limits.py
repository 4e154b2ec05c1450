"""Archives are counted within the limits of an upload, whatever their headers say."""

import bz2
import gzip
import io
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.data.formats import made

from graphwright.serve.jobs.uploads import ArchiveError, Limits
from graphwright.serve.problems import TooLargeError

MB = 2**20
Pack = Callable[[Path, dict[str, bytes]], Path]


def zipped(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "a.zip"
    path.write_bytes(made.zipped(files))
    return path


def tarred(folder: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    path = folder / "a.tgz"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "a.txt.gz"
    path.write_bytes(gzip.compress(b"".join(files.values())))
    return path


@pytest.mark.parametrize(("pack", "files"), [(zipped, 2), (tarred, 2), (packed, 1)])
def test_take_counts_files_and_unpacked_bytes(tmp_path: Path, pack: Pack, files: int) -> None:
    limits = Limits(files=10, bytes=1_000)
    limits.take(pack(tmp_path, {"a.md": b"12345", "b/c.txt": b"67890"}), "a")
    assert (limits.files, limits.bytes) == (10 - files, 990)


@pytest.mark.parametrize("pack", [zipped, tarred, packed])
def test_take_bomb_raises_error(tmp_path: Path, pack: Pack) -> None:
    path = pack(tmp_path, {"zeros.txt": bytes(8 * MB)})
    with pytest.raises(TooLargeError, match="larger, unpacked"):
        Limits(bytes=MB).take(path, "a")


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_take_too_many_files_raises_error(tmp_path: Path, pack: Pack) -> None:
    path = pack(tmp_path, {f"{i}.txt": b"x" for i in range(20)})
    Limits(files=20).take(path, "a")
    with pytest.raises(TooLargeError, match="more files"):
        Limits(files=19).take(path, "a")


def test_take_zip_with_large_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path, {f"{'x' * 100}{i}": b"" for i in range(200)})
    with pytest.raises(ArchiveError, match="more than 5 files"):
        Limits(files=5).take(path, "a")


def test_take_tar_with_long_header_raises_error(tmp_path: Path) -> None:
    path = tarred(tmp_path, {"x" * (2 * MB): b""})
    with pytest.raises(ArchiveError, match="header of more than a megabyte"):
        Limits().take(path, "a")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz", "a.tbz2", "a.txt.gz"])
@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04 no archive", gzip.compress(b"x" * 999, mtime=0)[:-9], bz2.compress(b"x")[:-3]],
    ids=["zip", "gzip", "bzip2"],
)
def test_take_damaged_archive_raises_archive_error(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ArchiveError, match="cannot be unpacked"):
        Limits().take(tmp_path / name, name)


def test_zip_whose_size_lies_yields_no_more_than_it_says(tmp_path: Path) -> None:
    from graphwright.data.document import Skipped
    from graphwright.data.documents import read_file

    path = zipped(tmp_path, {"zeros.txt": b"text " * MB})
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)  # the size that the directory gives
    path.write_bytes(bytes(data))
    skipped: list[Skipped] = []
    assert not list(read_file(path, "a.zip", skipped.append))
    assert "damaged" in skipped[0].reason
