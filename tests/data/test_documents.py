"""Reading files and folders as documents: order, ids, skipped files and errors."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from graphwright.data.document import Heading
from graphwright.data.documents import Document, Skipped, read_documents
from graphwright.errors import DataError


def read(*paths: Path | str) -> tuple[list[Document], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(read_documents(paths, skipped.append)), skipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("hidden")
    (tmp_path / ".hidden.txt").write_text("hidden")
    (tmp_path / "b.txt").write_bytes("Füße\r\nzwei".encode("cp1252"))
    (tmp_path / "a.md").write_text("# A *Title*\n\nBody.", encoding="utf-8")
    (tmp_path / "sub" / "page.html").write_text("<title>Page</title><p>One<p>Two", encoding="utf-16")
    (tmp_path / "sub" / "notes").write_text("No suffix.")
    (tmp_path / "sub" / "old.txt.gz").write_bytes(gzip.compress(b"Packed."))
    (tmp_path / "sub" / "deep" / "rows.jsonl").write_text('{"id": "r1", "text": "row"}\n{"text": "second"}\n')
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7\nsome text")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "scripts.html").write_text("<script>x()</script>")
    return tmp_path


def test_a_folder_is_read_in_order_and_unreadable_files_are_reported(folder: Path) -> None:
    pytest.importorskip("pypdfium2")
    documents, skipped = read(folder)
    assert documents == [
        Document("a.md", "A Title\n\nBody.", "A Title", headings=(Heading(0, 1, "A Title"),)),
        Document("b.txt", "Füße\nzwei", "b"),
        Document("sub/notes", "No suffix.", "notes"),
        Document("sub/old.txt.gz", "Packed.", "old"),
        Document("sub/page.html", "One\n\nTwo", "Page"),
        Document("r1", "row", whole=True),
        Document("sub/deep/rows.jsonl#2", "second", whole=True),
    ]
    assert {Path(item.path).name: item.reason.split(";")[0] for item in skipped} == {
        "empty.txt": "empty",
        "image.png": "binary, not text",
        "paper.pdf": "a damaged PDF (Failed to load document (PDFium: Data format error).)",
        "scripts.html": "no text in it",
    }


def test_files_are_named_by_themselves_and_folders_can_be_left_out(folder: Path) -> None:
    assert [document.id for document in read(folder / "b.txt", str(folder / "sub" / "notes"))[0]] == [
        "b.txt",
        "notes",
    ]
    left = [document.id for document in read_documents([folder], print, exclude=[folder / "sub"])]
    assert left == ["a.md", "b.txt"]


def test_folders_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in "dbeac":
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.txt").write_text(name)
    assert "".join(document.text for document in read(tmp_path)[0]) == "abcde"


def test_reading_goes_on_while_documents_are_taken(folder: Path) -> None:
    reading = read_documents([folder], print)
    assert next(reading).id == "a.md"
    (folder / "b.txt").write_text("changed meanwhile")
    assert next(reading).text == "changed meanwhile"


def test_a_missing_path_is_named_at_once(folder: Path) -> None:
    with pytest.raises(DataError, match=r"no such file or folder: .*nowhere"):
        read_documents([folder, folder / "nowhere"], print)
    with pytest.raises(DataError, match="no path was given"):
        read_documents([], print)


def test_nothing_to_read_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no files that are not hidden"):
        read(tmp_path)
    (tmp_path / "a.bin").write_bytes(b"\0" * 99)
    (tmp_path / "b.txt").touch()
    with pytest.raises(DataError, match=r"2 files, none .*a\.bin: binary, not text; .*b\.txt: empty"):
        read(tmp_path)


def test_a_repeated_document_is_passed_over_and_a_different_one_refused(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}\n{"id": "1", "text": "x"}\n')
    documents, skipped = read(rows)
    assert [document.id for document in documents] == ["1", "2"]
    assert skipped == [Skipped(f"{rows}:3", f"the same as {rows}:1, id '1'")]
    rows.write_text('{"id": 1, "text": "x"}\n{"id": 1, "text": "x", "title": "other"}\n')
    with pytest.raises(
        DataError,
        match=r"different documents have the id '1': .*:1 and .*:2\. Give each document its own id; or rename",
    ):
        read(rows)
    (tmp_path / "more").mkdir()
    for name in ("a", "b"):
        (tmp_path / "more" / f"{name}.csv").write_text(f"id,text\n1,{name}\n")
    with pytest.raises(DataError, match=r"ids in .*b\.csv, for example to 'number': the ids of its rows are"):
        read(tmp_path / "more")
    (tmp_path / "more" / "b.csv").write_text("number,text\n1,b\n")
    assert [d.id for d in read(tmp_path / "more")[0]] == ["1", "b.csv#2"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(name)
    with pytest.raises(DataError, match=r"'README\.md': .*one.* and .*two.*Give the folder above both"):
        read(tmp_path / "one", tmp_path / "two")
    assert len(read(tmp_path / "one", tmp_path / "one" / "README.md")[1]) == 1


def test_a_link_to_what_is_read_itself_is_passed_over_and_other_links_to_files_are_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "docs", tmp_path / "elsewhere.txt"
    (folder / ".annex").mkdir(parents=True)
    (folder / "index").mkdir()
    for path in (folder / "one.txt", folder / ".annex" / "two.txt", folder / "index" / "three.txt", outside):
        path.write_text(path.stem)
    (folder / "twin.txt").symlink_to("one.txt")
    (folder / "two.txt").symlink_to(".annex/two.txt")
    (folder / "three.txt").symlink_to("index/three.txt")
    (folder / "four.txt").symlink_to(outside)
    (folder / "five").symlink_to("index")
    documents, skipped = [], []
    documents += read_documents([folder], skipped.append, exclude=[folder / "index"])
    assert [d.id for d in documents] == ["four.txt", "one.txt", "three.txt", "two.txt"]
    assert [(Path(s.path).name, s.reason, s.unread) for s in skipped] == [
        ("five", "a link to a folder; only links to files are followed", False),
        ("twin.txt", "a link to one.txt, which is read itself", False),
    ]


def test_a_link_into_an_index_is_followed_as_the_index_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "ix" / "sub").mkdir(parents=True)
    for name in ("index.sqlite", "CURRENT", "sub/notes.txt"):
        (tmp_path / "ix" / name).write_text("Noted.")
    (tmp_path / "link.txt").symlink_to("ix/sub/notes.txt")
    documents, skipped = read(tmp_path)
    assert [(d.id, d.text) for d in documents] == [("link.txt", "Noted.")]
    assert [s.reason for s in skipped] == ["an index, not documents"]
    (tmp_path / "ix" / "CURRENT").unlink()  # it is a folder like others now
    assert "sub/notes.txt" in " ".join(d.id for d in read(tmp_path)[0])


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is forbidden here")
def test_a_folder_that_may_be_listed_but_not_entered_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "shut" / "deep").mkdir(parents=True)
    (tmp_path / "shut" / "deep" / "one.txt").write_text("One.")
    (tmp_path / "shut" / "two.txt").write_text("Two.")
    (tmp_path / "open.txt").write_text("Open.")
    (tmp_path / "shut").chmod(0o444)
    try:
        documents, skipped = read(tmp_path)
    finally:
        (tmp_path / "shut").chmod(0o755)
    assert [d.id for d in documents] == ["open.txt"]
    assert {Path(s.path).name for s in skipped if s.unread} == {"deep", "two.txt"}


def test_queries_beside_a_corpus_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "passage"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "query"}\n')
    (tmp_path / "qrels.tsv").write_text("1\t1\t1\n")
    documents, skipped = read(tmp_path)
    assert [document.text for document in documents] == ["passage"]
    assert len(skipped) == 2


def test_a_long_line_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "line.txt").write_text("word " * 1_000_000)
    (tmp_path / "row.jsonl").write_text('{"id": "row", "text": "' + "word " * 1_000_000 + '"}')
    documents, _ = read(tmp_path)
    assert [len(document.text) for document in documents] == [5_000_000, 5_000_000]


def test_a_damaged_archive_is_an_error_and_odd_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("text")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    assert [item.reason for item in read(tmp_path)[1]] == ["a link that leads nowhere", "not a regular file"]
    rows = "".join(f'{{"text": "row {number}"}}\n' for number in range(1000))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(rows.encode())[:-100])
    with pytest.raises(DataError, match=r"rows\.jsonl\.gz cannot be read to its end"):
        read(tmp_path)
