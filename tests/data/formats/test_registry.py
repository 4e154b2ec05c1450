"""Choice of a format, and formats of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graphwright.data.document import Skipped
from graphwright.data.documents import read_documents, read_file
from graphwright.data.formats import registry
from graphwright.data.formats.format import Extracted, File, Format, UnreadableError
from graphwright.errors import DataError


def shouted(file: File) -> Iterator[Extracted]:
    yield Extracted(file.data().decode().upper(), "Loud")


SHOUTED = Format("shouted text", (".loud", ".md"), shouted)


@dataclass
class FakeEntryPoint:
    """An entry point of a package that is installed."""

    loaded: object
    name: str = "loud"
    value: str = "package:NAME"

    def load(self) -> object:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeEntryPoint]]:
    entries: list[FakeEntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: entries if group == "graphwright.formats" else [])
    registry.other_formats.cache_clear()
    yield entries
    registry.other_formats.cache_clear()


def test_format_of_other_package_comes_first(tmp_path: Path, plugins: list[FakeEntryPoint]) -> None:
    plugins.append(FakeEntryPoint(SHOUTED))
    for name in ("a.loud", "b.md", "c.txt"):
        (tmp_path / name).write_text("# text")
    assert [d.text for d in read_documents([tmp_path], print)] == ["# TEXT", "# TEXT", "# text"]


def test_formats_each_suffix_has_one_format() -> None:
    suffixes = [suffix for format in registry.formats() for suffix in format.suffixes]
    assert len(suffixes) == len(set(suffixes)) and {".md", ".pdf", ".zip", ".py"} < set(suffixes)


@pytest.mark.parametrize(("loaded", "message"), [(ImportError("gone"), "ImportError: gone"), (len, "name a Format")])
def test_other_formats_failing_package_is_named(
    tmp_path: Path, plugins: list[FakeEntryPoint], loaded: object, message: str
) -> None:
    plugins.append(FakeEntryPoint(loaded))
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(DataError, match=rf"'loud'.*{message}"):
        list(read_documents([tmp_path], print))


def test_read_documents_failing_format_is_named(tmp_path: Path, plugins: list[FakeEntryPoint]) -> None:
    def fail(file: File) -> Any:
        raise ModuleNotFoundError("x", name="somepackage") if file.name == "a.x" else RuntimeError("broken inside")

    plugins.append(FakeEntryPoint(Format("x", (".x",), fail)))
    for name in ("a.x", "b.x", "c.txt"):
        (tmp_path / name).write_text("text")
    skipped: list[Skipped] = []
    assert [d.id for d in read_documents([tmp_path], skipped.append)] == ["c.txt"]
    assert [item.reason for item in skipped] == [
        "it needs the package somepackage: pip install 'graphwright[documents]'",
        "damaged (RuntimeError: broken inside)",
    ]


def test_read_documents_file_above_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.data.formats.format.MAX_BYTES", 2**20)
    (tmp_path / "a.txt").write_text("x" * (2**20 + 1))
    (tmp_path / "b.txt").write_text("Good.")
    skipped: list[Skipped] = []
    assert [d.id for d in read_documents([tmp_path], skipped.append)] == ["b.txt"]
    assert skipped[0].reason == "larger than 1 MB; split it"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.asc", b"-----BEGIN PGP MESSAGE-----\n\nhQEMA6kQ\n-----END PGP MESSAGE-----\n", "PGP"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(range(256)), "7z archive"),
        ("a.rar", b"Rar!\x1a\x07\x01\x00" + bytes(range(256)), "RAR archive"),
        ("a.tar.zst", b"\x28\xb5\x2f\xfd" + bytes(range(256)), "zstd"),
    ],
)
def test_format_of_known_but_unread_kind_is_named(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        registry.format_of(File(name, content=content))


def test_format_of_signed_text_is_text() -> None:
    signed = b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nThe text.\n"
    assert registry.format_of(File("a.txt", content=signed)).name == "text"


@pytest.mark.parametrize(
    "content", ["<html><p>A", "\ufeff\n<!DOCTYPE HTML>\n<p>A", '<?xml version="1.0"?>\n<html><p>A']
)
def test_format_of_page_with_another_suffix_is_html(content: str) -> None:
    for name, kind in (("a.doc", "HTML page"), ("a.docx", "HTML page"), ("a", "HTML page"), ("a.md", "Markdown")):
        assert registry.format_of(File(name, content=content.encode())).name == kind
    assert registry.format_of(File("a.txt", content=b"The tag <html> begins a page.")).name == "text"


def test_file_data_above_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("Text.")
    with (tmp_path / "a.txt").open("ab") as file:
        file.truncate(2**40)  # of zeros, which take no space
    monkeypatch.setattr("graphwright.data.formats.format.open_bytes", None)
    with pytest.raises(UnreadableError, match="larger than 256 MB"):
        File("a.txt", tmp_path / "a.txt").data()


def test_read_file_invalid_seek_counts_as_damage(tmp_path: Path, plugins: list[FakeEntryPoint]) -> None:
    def sought(file: File) -> Iterator[Extracted]:
        with (tmp_path / file.name).open("rb", buffering=0) as source:
            source.seek(-1)
        yield Extracted("")

    plugins.append(FakeEntryPoint(Format("sought", (".sought",), sought)))
    (tmp_path / "a.sought").write_text("Text.")
    skipped: list[Skipped] = []
    assert list(read_file(tmp_path / "a.sought", "a.sought", skipped.append)) == []
    assert skipped[0].reason.startswith("damaged (OSError: [Errno 22]")
