"""Uploads are stored under generated names and read under the names that they were sent under."""

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from tests.data.formats.made import zipped as archive

from graphwright.build.document_sources import read_sources
from graphwright.data import read_documents
from graphwright.data.document import Document, Skipped
from graphwright.errors import DataError
from graphwright.serve.jobs.uploads import ArchiveError, Limits, Sent, Upload, UploadFolder, clean_name
from graphwright.store.changes import Changes

HOSTILE = [
    "../../etc/passwd",
    "/etc/passwd",
    "..\\..\\x",
    "C:\\x",
    "a/../../b",
    "a\0b",
    ".",
    "..",
    "",
    "a" * 5000,
    "~/x",
]


def sent(name: str, content: bytes) -> Sent:
    return Sent(name, io.BytesIO(content))


def read(upload: Upload) -> tuple[list[Document], list[Skipped]]:
    skipped: list[Skipped] = []
    sources = upload.documents(skipped.append, lambda: None)
    return list(read_sources(sources, Changes(), upload.folder)), skipped


def test_upload_names_become_ids(tmp_path: Path) -> None:
    folder = UploadFolder(tmp_path / "uploads")
    files = [
        sent("a/Graz.md", b"# Graz\n\nIt lies on the Mur."),
        sent("rows.jsonl", b'{"id": "r1", "text": "One."}\n{"text": "Two."}\n'),
        sent("more.zip", archive({"docs/x.txt": b"Text of x.", "docs/y.html": b"<title>Y</title><p>Text of y.</p>"})),
    ]
    upload = folder.store_files("job", files, Limits())
    documents, skipped = read(upload)
    assert [(d.id, d.title) for d in documents] == [
        ("a/Graz.md", "Graz"),
        ("r1", ""),
        ("rows.jsonl#2", ""),
        ("more.zip/docs/x.txt", "x"),
        ("more.zip/docs/y.html", "Y"),
    ]
    assert not skipped
    assert read(folder.open("job") or pytest.fail("the upload is gone"))[0] == documents


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_upload_name_is_no_path(tmp_path: Path, name: str) -> None:
    folder = UploadFolder(tmp_path / "in" / "uploads")
    packed = archive({name or "x": b"inside"})
    upload = folder.store_files("job", [sent(name, b"text"), sent("a.zip", packed)], Limits())
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != upload.folder]
    assert not outside
    assert all(stored.split(".")[0].isdecimal() for stored, _ in upload.files)
    cleaned = clean_name(name)
    assert not cleaned.startswith("/") and ".." not in cleaned.split("/") and 0 < len(cleaned) <= 500
    assert "\0" not in cleaned and "\\" not in cleaned


def test_unreadable_uploads_are_listed_by_name(tmp_path: Path) -> None:
    files = [
        sent("good.txt", b"Good."),
        sent("bad.txt", bytes(range(256)) * 4),
        sent("nested.zip", archive({"bad.txt": bytes(range(256)) * 4, ".hidden": b"x", "__MACOSX/y": b"y"})),
    ]
    upload = UploadFolder(tmp_path).store_files("job", files, Limits())
    documents, skipped = read(upload)
    assert [document.id for document in documents] == ["good.txt"]
    assert {part.path for part in skipped} == {"bad.txt", "nested.zip/bad.txt"}
    assert str(tmp_path) not in str(skipped)


def test_uploads_of_equal_name_stay_apart(tmp_path: Path) -> None:
    upload = UploadFolder(tmp_path).store_files(
        "job", [sent("a.txt", b"First."), sent("./a.txt", b"Second.")], Limits()
    )
    documents, skipped = read(upload)
    assert [document.text for document in documents] == ["First."]
    assert skipped == [Skipped("a.txt", "another file of this name was sent")]


def test_upload_without_text_raises_with_reasons(tmp_path: Path) -> None:
    upload = UploadFolder(tmp_path).store_files("job", [sent("a.bin", bytes(1000))], Limits())
    with pytest.raises(DataError, match=r"None of the uploaded documents can be read\. a\.bin: "):
        read(upload)


def test_archived_uploads_have_command_line_ids(tmp_path: Path) -> None:
    packed = archive({"vela.txt": b"Vela sails.", "notes/a.md": b"# A\n\nB."})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "archive.zip").write_bytes(packed)
    documents, _ = read(UploadFolder(tmp_path / "up").store_files("job", [sent("archive.zip", packed)], Limits()))
    assert {d.id for d in documents} == {d.id for d in read_documents([tmp_path / "docs"], lambda _: None)}
    assert {d.id for d in documents} == {"archive.zip/vela.txt", "archive.zip/notes/a.md"}


def test_file_packed_twice_is_unpacked_once(tmp_path: Path) -> None:
    twice = gzip.compress(gzip.compress(b"text"))
    upload = UploadFolder(tmp_path).store_files("job", [sent("a.txt.gz.gz", twice), sent("b.txt", b"B.")], Limits())
    documents, skipped = read(upload)
    assert [document.id for document in documents] == ["b.txt"] and [part.path for part in skipped] == ["a.txt.gz.gz"]


def test_failed_upload_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError):
        UploadFolder(tmp_path).store_files("job", [sent("a.txt", b"A."), sent("b.zip", b"no archive")], Limits())
    assert not list(tmp_path.glob("*/*"))
    assert UploadFolder(tmp_path).open("job") is None


def test_uploaded_texts_are_kept_exactly(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [
        {"id": "a/b#c", "title": "😀", "text": "🏔️ Graz\r\n גרץ", "metadata": {"year": 2024}},
        {"id": None, "title": "", "text": "No id."},
        {"id": None, "title": "", "text": "No id."},
    ]
    folder = UploadFolder(tmp_path)
    documents, _ = read(folder.store_documents("job", given))
    assert (documents[0].id, documents[0].text, documents[0].metadata) == ("a/b#c", given[0]["text"], {"year": "2024"})
    assert documents[1].id == documents[2].id and documents[1].id.startswith("text-")


def test_uploads_of_dead_servers_are_deleted(tmp_path: Path) -> None:
    import os

    for runner, id in (("dead", "old"), ("dead", "kept"), ("alive", "new"), ("alive", "stored long ago")):
        upload = UploadFolder(tmp_path, runner).store_documents(id, [{"id": id, "title": "", "text": "Text."}])
        os.utime(upload.folder, (0, 0) if id == "stored long ago" else (4e9, 4e9))
    folder = UploadFolder(tmp_path, "alive")
    folder.delete_others({"kept"}, lambda runner: runner == "alive")
    assert {path.name for path in tmp_path.glob("*/*")} == {"kept", "new", "stored long ago"}
    assert folder.open("kept") is not None and folder.open("old") is None
    folder.delete_others(set(), lambda runner: runner == "alive")
    assert {path.name for path in tmp_path.iterdir()} == {"alive"}
