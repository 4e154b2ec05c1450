"""Reading files and folders as documents: order, ids, skipped files and errors."""

from __future__ import annotations

import gzip
import os
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.data.formats.made import zipped

from graphwright.data.decoding import MAX_LINE, SAMPLE
from graphwright.data.document import Heading
from graphwright.data.documents import Document, Skipped, read_documents
from graphwright.data.folders import ReadOptions
from graphwright.data.formats.format import MAX_BYTES
from graphwright.errors import DataError, OptionError


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


def test_read_documents_encoded_data_is_skipped(tmp_path: Path) -> None:
    data = b64encode(bytes(range(256)) * 200).decode()
    (tmp_path / "big.bin").write_text(data)
    text = "# Graz\n\n" + "Graz lies on the Mur. " * 1000
    (tmp_path / "page.md").write_text(f"{text}\n\n![map](data:image/png;base64,{data[:20000]})")
    (tmp_path / "code.js").write_text('function a(b){return b?c("d"):e[1]};' * 2000)
    documents, skipped = read(tmp_path)
    assert sorted(document.id for document in documents) == ["code.js", "page.md"]
    assert [(part.path, part.reason) for part in skipped] == [
        (str(tmp_path / "big.bin"), "encoded data, as base64, and no text")
    ]


def test_read_documents_folder_is_read_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.data.formats.picture.can_recognise", lambda: False)
    pytest.importorskip("pypdfium2")
    documents, skipped = read(folder)
    assert [replace(document, records=()) for document in documents] == [
        Document("a.md", "A Title\n\nBody.", "A Title", headings=(Heading(0, 1, "A Title"),)),
        Document("b.txt", "Füße\nzwei", "b"),
        Document("sub/notes", "No suffix.", "notes"),
        Document("sub/old.txt.gz", "Packed.", "old"),
        Document("sub/page.html", "One\n\nTwo", "Page"),
        Document("r1", "row", whole=True),
        Document("sub/deep/rows.jsonl#2", "second", whole=True),
    ]
    assert [record.type for document in documents for record in document.records] == ["document"] * 5
    assert {Path(item.path).name: item.reason.split(";")[0] for item in skipped} == {
        "empty.txt": "empty",
        "image.png": "a picture",
        "paper.pdf": "a damaged PDF (Failed to load document (PDFium: Data format error).)",
        "scripts.html": "no text in it",
    }


def test_read_documents_excluded_folder_is_left_out(folder: Path) -> None:
    assert [document.id for document in read(folder / "b.txt", str(folder / "sub" / "notes"))[0]] == ["b.txt", "notes"]
    left = [document.id for document in read_documents([folder], print, exclude=[folder / "sub"])]
    assert left == ["a.md", "b.txt"]


def test_read_documents_folders_are_sorted(tmp_path: Path) -> None:
    for name in "dbeac":
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.txt").write_text(name)
    assert "".join(document.text for document in read(tmp_path)[0]) == "abcde"


def test_read_documents_files_are_read_when_asked_for(folder: Path) -> None:
    reading = read_documents([folder], print)
    assert next(reading).id == "a.md"
    (folder / "b.txt").write_text("changed meanwhile")
    assert next(reading).text == "changed meanwhile"


def test_read_documents_missing_path_raises_at_once(folder: Path) -> None:
    with pytest.raises(DataError, match=r"no such file or folder: .*nowhere"):
        read_documents([folder, folder / "nowhere"], print)
    with pytest.raises(DataError, match="no path was given"):
        read_documents([], print)


def test_read_documents_without_text_raises_with_reasons(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no files that are not hidden"):
        read(tmp_path)
    (tmp_path / "a.bin").write_bytes(b"\0" * 99)
    (tmp_path / "b.txt").touch()
    with pytest.raises(DataError, match=r"2 files, none .*a\.bin: binary, not text; .*b\.txt: empty"):
        read(tmp_path)


def test_read_documents_repeated_id_is_skipped_or_error(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}\n{"id": "1", "text": "x"}\n')
    documents, skipped = read(rows)
    assert [document.id for document in documents] == ["rows.jsonl#1", "rows.jsonl#2"]
    assert skipped == [Skipped(f"{rows}:3", f"the same as {rows}:1, id 'rows.jsonl#1'")]
    rows.write_text('{"id": 1, "text": "x"}\n{"id": 1, "text": "x", "title": "other"}\n')
    with pytest.raises(
        DataError,
        match=r"different documents have the id 'rows.jsonl#1': .*:1 and .*:2\. Give each row of .* an id of its own",
    ):
        read(rows)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(name)
    with pytest.raises(DataError, match=r"'README\.md': .*one.* and .*two.*Give the folder above both"):
        read(tmp_path / "one", tmp_path / "two")
    assert len(read(tmp_path / "one", tmp_path / "one" / "README.md")[1]) == 1


def test_read_documents_row_ids_of_two_files_stay_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"id,text\n1,{name} one\nx,{name} two\n")
    assert [d.id for d in read(tmp_path)[0]] == ["a.csv#1", "x", "b.csv#1", "b.csv#x"]
    options = ReadOptions(id_column="ID")
    assert [d.id for d in read_documents([tmp_path], print, options=options)] == ["1", "x", "b.csv#1", "b.csv#x"]


def chosen(folder: Path, **options: Any) -> tuple[list[str], dict[str, str]]:
    """Return the ids of the documents that are read, and the reasons for files that are left out."""
    skipped: list[Skipped] = []
    read = [document.id for document in read_documents([folder], skipped.append, options=ReadOptions(**options))]
    return read, {Path(item.path).relative_to(folder).as_posix(): item.reason for item in skipped}


def fill(folder: Path, *names: str, **rules: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"The text of {name}.", encoding="utf-8")
    for place, lines in rules.items():
        (folder / place.replace("_", "") / ".gitignore").write_text(lines, encoding="utf-8")


def test_read_documents_gitignore_leaves_files_out(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt", "a.log", "keep.log", "sub/b.txt", "sub/b.log", "out/c.txt", "sub/out.txt", "sub/d.tmp")
    fill(tmp_path, _="*.log\n!keep.log\n/out/\n# a remark\n", sub="!b.log\n*.tmp\n")
    read, left = chosen(tmp_path)
    assert read == ["a.txt", "keep.log", "sub/b.log", "sub/b.txt", "sub/out.txt"]
    assert left == {
        "a.log": f"left out by {tmp_path / '.gitignore'}",
        "out": f"left out by {tmp_path / '.gitignore'}",
        "sub/d.tmp": f"left out by {tmp_path / 'sub/.gitignore'}",
    }
    assert len(chosen(tmp_path, ignore=False)[0]) == 8


def test_read_documents_gitignore_of_repository_holds(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    fill(tmp_path, "docs/a.txt", "docs/a.log", "docs/old/b.txt", "data/c.txt", "data/c.log")
    (tmp_path / ".gitignore").write_text("*.log\n/docs/old/\n/data/\n")
    assert chosen(tmp_path)[0] == ["docs/a.txt"]
    assert chosen(tmp_path / "docs")[0] == ["a.txt"]
    assert chosen(tmp_path / "data")[0] == ["c.log", "c.txt"]  # it was named, so it is meant


def test_read_documents_build_folders_and_scripts_are_left_out(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt", "build/b.txt", "py/build/c.txt", "py/setup.py", "x/node_modules/d.txt", "env/pyvenv.cfg")
    fill(tmp_path, "env/e.txt", "site/index.html", "site/_static/search.js", "site/theme.css", "site/lib.min.js")
    fill(tmp_path, "app/package.json", "app/index.html", "app/src/main.js", "tools/run.js")
    read, left = chosen(tmp_path)
    assert read == [
        "a.txt",
        "app/index.html",
        "app/src/main.js",
        "build/b.txt",
        "py/setup.py",
        "site/index.html",
        "tools/run.js",
    ]
    assert {name: reason for name, reason in left.items() if name != "app/package.json"} == {
        **dict.fromkeys(("py/build", "x/node_modules", "env"), "a build folder"),
        **dict.fromkeys(("site/theme.css", "site/lib.min.js"), "a style sheet or a packed script"),
        "site/_static/search.js": "a script of the pages beside it",
    }
    assert "site/theme.css" in chosen(tmp_path, ignore=False)[0]


def test_read_documents_include_and_exclude_choose_files(tmp_path: Path) -> None:
    fill(tmp_path, "a.md", "b.txt", "sub/c.md", "sub/drafts/d.md", "drafts.md")
    assert chosen(tmp_path, include=("*.md",))[0] == ["a.md", "drafts.md", "sub/c.md", "sub/drafts/d.md"]
    assert chosen(tmp_path, include=("sub/",), exclude=("drafts/",))[0] == ["sub/c.md"]
    assert chosen(tmp_path, exclude=("*.md", "!a.md"))[0] == ["a.md", "b.txt"]
    with pytest.raises(DataError, match=r"nothing to read in .*: no file matches \*\.rst"):
        chosen(tmp_path, include=("*.rst",))
    with pytest.raises(OptionError, match=r"include is '\*.md'; give a tuple"):
        chosen(tmp_path, include="*.md")
    (tmp_path / ".gitignore").write_text("*\n")
    with pytest.raises(DataError, match=r"all files are left out\. .*left out by .*\.gitignore"):
        chosen(tmp_path)
    assert [document.id for document in read(tmp_path / "a.md")[0]] == ["a.md"]  # a file that is named is read


def test_read_documents_link_to_read_file_is_skipped(tmp_path: Path) -> None:
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


def test_read_documents_link_into_index_is_followed(tmp_path: Path) -> None:
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
def test_read_documents_forbidden_folder_is_named(tmp_path: Path) -> None:
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


def test_read_documents_queries_beside_corpus_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "passage"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "query"}\n')
    (tmp_path / "qrels.tsv").write_text("1\t1\t1\n")
    documents, skipped = read(tmp_path)
    assert [document.text for document in documents] == ["passage"]
    assert len(skipped) == 2


def test_read_documents_long_line_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "line.txt").write_text("word " * 1_000_000)
    (tmp_path / "row.jsonl").write_text('{"id": "row", "text": "' + "word " * 1_000_000 + '"}')
    documents, _ = read(tmp_path)
    assert [len(document.text) for document in documents] == [5_000_000, 5_000_000]


def test_read_documents_damaged_gzip_and_special_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("text")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    assert [item.reason for item in read(tmp_path)[1]] == ["a broken link", "not a regular file"]
    rows = "".join(f'{{"text": "row {number}"}}\n' for number in range(1000))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(rows.encode())[:-100])
    documents, skipped = read(tmp_path)
    assert documents[0].id == "good.txt" and skipped[-1].reason.startswith("cannot be read to its end")
    assert skipped[-1].unread


def test_read_documents_bad_files_of_rows_are_named(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("text")
    (tmp_path / "bad.csv").write_text("text,id\ngood,1\n" + "a,b,c\n" * 20)
    for name, head in (("huge.csv", b"id,text\n"), ("huge.jsonl", b"")):
        with (tmp_path / name).open("wb") as file:
            file.write(head)
            file.truncate(1 << 30)  # of zeros, which take no space
    with (tmp_path / "huge.json").open("wb") as file:
        file.write(b"[" + b" " * SAMPLE)
        file.truncate(MAX_BYTES + 1)  # spaces, then zeros
    with (tmp_path / "line.jsonl").open("wb") as file:
        file.write(b'{"text": "' + b"a" * SAMPLE)
        file.truncate(MAX_LINE + 1)
    documents, skipped = read(tmp_path)
    assert [document.id for document in documents if document.file] == ["good.txt"]
    assert {Path(item.path).name: item.reason[:24] for item in skipped if item.unread and ":" not in item.path} == {
        "bad.csv": "20 of 21 rows cannot be ",
        "huge.csv": "binary, not rows of text",
        "huge.jsonl": "binary, not rows of text",
        "huge.json": "larger than 256 MB; save",
        "line.jsonl": "a line of more than 64 M",
    }


def test_read_documents_names_that_are_not_utf8_stay_apart(tmp_path: Path) -> None:
    names = {b"caf\xe9.txt": "caf%E9.txt", b"caf\xe8.txt": "caf%E8.txt", b"two\nlines.txt": "two%0Alines.txt"}
    for name in names:
        (tmp_path / os.fsdecode(name)).write_text(f"The text of {name!r}.")
    documents, skipped = read(tmp_path)
    assert not skipped and {d.id: d.text for d in documents} == {i: f"The text of {n!r}." for n, i in names.items()}


def test_read_documents_archive_named_as_table_is_read(tmp_path: Path) -> None:
    files = {"inner.txt": b"Graz lies on the Mur."}
    (tmp_path / "rows.csv").write_bytes(zipped(files))
    (tmp_path / "outer.zip").write_bytes(zipped({"rows.jsonl": zipped(files)}))
    (tmp_path / "old.csv").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    documents, skipped = read(tmp_path)
    assert [d.id for d in documents] == ["outer.zip/rows.jsonl/inner.txt", "rows.csv/inner.txt"]
    assert [item.reason.partition(";")[0] for item in skipped] == [
        "an old or encrypted Office document or Outlook message"
    ]


@pytest.mark.parametrize("name", ["a.ipynb", "a.eml", "a.docx", "a.mbox", "a.txt"])
def test_read_documents_empty_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    (tmp_path / "b.txt").write_text("text")
    assert [(Path(item.path).name, item.reason) for item in read(tmp_path)[1]] == [(name, "empty")]


def test_read_documents_common_file_name_is_titled_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "zlib").mkdir()
    (tmp_path / "zlib" / "README").write_text("It packs.")
    (tmp_path / "zlib" / "notes.md").write_text("# Changelog\n\nIt packs better.")
    (tmp_path / "zlib" / "guide.txt").write_text("How to pack.")
    (tmp_path / "README").write_text("All.")
    (tmp_path / "png.zip").write_bytes(zipped({"png-1.6/NEWS": b"It draws."}))
    titles = {document.id: document.title for document in read(tmp_path)[0]}
    assert titles == {
        "README": "README",
        "png.zip/png-1.6/NEWS": "png-1.6 › NEWS",
        "zlib/README": "zlib › README",
        "zlib/guide.txt": "guide",
        "zlib/notes.md": "zlib › Changelog",
    }
