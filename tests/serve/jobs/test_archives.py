"""Archives are unpacked within limits, whatever their headers say."""

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from graphwright.serve.jobs.archives import ArchiveError, Limits, is_archive, unpacked
from graphwright.serve.problems import TooLargeError

MB = 2**20


def contents(path: Path, name: str, limits: Limits | None = None) -> dict[str, bytes | str]:
    """Unpack an archive; what is left out has its reason as content."""
    result: dict[str, bytes | str] = {}
    for entry in unpacked(path, name, limits or Limits()):
        to = io.BytesIO()
        if entry.write is not None:
            entry.write(to)
        result[entry.name] = entry.reason or to.getvalue()
    return result


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tgz", "a.tar"])
def test_files_of_an_archive_are_read(tmp_path: Path, name: str) -> None:
    files = {"a.md": b"# A", "b/c.txt": "Łódź".encode()}
    path = zipped(tmp_path / name, files) if name == "a.zip" else tarred(tmp_path / name, files, "w:gz")
    assert contents(path, name) == files


def test_a_packed_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(b"text"))
    assert contents(tmp_path / "x", "notes.txt.gz") == {"notes.txt.gz": b"text"}


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_bomb_is_refused(tmp_path: Path, pack: Callable[[Path, dict[str, bytes]], Path]) -> None:
    name = "a.zip" if pack is zipped else "a.tgz"
    path = pack(tmp_path / name, {"zeros.txt": bytes(8 * MB)})
    with pytest.raises(ArchiveError, match="grows more than 200 times"):
        contents(path, name)
    with pytest.raises(TooLargeError, match="larger, unpacked"):
        contents(path, name, Limits(bytes=MB, ratio=10**9))


def test_a_packed_file_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(bytes(8 * MB)))
    with pytest.raises(ArchiveError, match="grows more than"):
        contents(tmp_path / "x", "zeros.txt.gz")


def test_a_size_that_lies_does_not_help(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"zeros.txt": bytes(4 * MB)})
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)  # the size that the directory gives
    path.write_bytes(bytes(data))
    with pytest.raises(ArchiveError):
        contents(path, "a.zip", Limits(ratio=10))


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_files_are_counted(tmp_path: Path, pack: Callable[[Path, dict[str, bytes]], Path]) -> None:
    name = "a.zip" if pack is zipped else "a.tgz"
    path = pack(tmp_path / name, {f"{i}.txt": b"x" for i in range(20)})
    with pytest.raises(TooLargeError, match="more files"):
        contents(path, name, Limits(files=19))
    assert len(contents(path, name, Limits(files=20))) == 20


def test_a_large_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {f"{'x' * 100}{i}": b"" for i in range(200)})
    with pytest.raises(TooLargeError, match="holds more files"):
        contents(path, "a.zip", Limits(files=5))


def test_a_long_header_of_a_tar_archive_is_refused(tmp_path: Path) -> None:
    path = tarred(tmp_path / "a.tar", {"x" * (2 * MB): b""}, "w")
    with pytest.raises(ArchiveError, match="header of more than a megabyte"):
        contents(path, "a.tar")


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, kind in [("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE)]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert set(contents(tmp_path / "a.tar", "a.tar").values()) == {"a link, or no regular file"}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, "/etc/passwd")
    assert contents(tmp_path / "a.zip", "a.zip") == {"link": "a link"}


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.gz"])
def test_a_damaged_archive_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 this is not an archive")
    with pytest.raises(ArchiveError):
        contents(tmp_path / name, name)
    whole = zipped(tmp_path / "b.zip", {"a.txt": bytes(range(256)) * 50}).read_bytes()
    (tmp_path / "b.zip").write_bytes(whole[:60] + b"\xff" * 20 + whole[80:])
    with pytest.raises(ArchiveError):
        contents(tmp_path / "b.zip", "b.zip")


def test_other_kinds_are_named_and_left_out(tmp_path: Path) -> None:
    assert "send zip" in str(contents(tmp_path / "none", "a.7z")["a.7z"])
    assert is_archive("A.ZIP") and is_archive("x.tar.xz") and not is_archive("x.md")
