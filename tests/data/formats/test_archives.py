"""Archives: their files have ids of their own, and bombs are stopped."""

from __future__ import annotations

import bz2
import io
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from tests.data.formats.made import tarred, zipped

from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.formats import archives
from graphwright.errors import DataError


def read(folder: Path, **files: bytes) -> tuple[list[Document], list[Skipped]]:
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    skipped: list[Skipped] = []
    return list(read_documents([folder], skipped.append)), skipped


FILES = {
    "b/page.html": b"<p>One <a href=../a.txt>link</a></p>",
    "a.txt": b"Some text.",
    ".hidden": b"no",
    "rows.csv": b"id,text\n7,Seven\n",
    "broken.pdf": b"%PDF-1.4\n\x00\x01\x02",
    "../up.txt": b"Not above.",
}


@pytest.mark.parametrize("name", ["x_zip", "x_tar", "x_tgz"])
def test_archive_files_become_documents(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pypdfium2")
    pack = zipped if name == "x_zip" else (lambda files: tarred(files, "w:gz" if name == "x_tgz" else "w"))
    archive = name.replace("_", ".")
    documents, skipped = read(tmp_path, **{name: pack(FILES)}, y_txt=b"Beside.")
    texts = {document.id: document.text for document in documents}
    assert texts == {
        f"{archive}/a.txt": "Some text.",
        f"{archive}/b/page.html": "One link",
        f"{archive}/up.txt": "Not above.",
        f"{archive}/rows.csv#7": "Seven",
        "y.txt": "Beside.",
    }
    assert next(d for d in documents if d.id.endswith("html")).links == (f"{archive}/a.txt",)
    assert [(Path(s.path).name, s.unread) for s in skipped] == [("broken.pdf", True)]


def test_archive_nesting_has_limit(tmp_path: Path) -> None:
    content = b"Deep."
    for _ in range(3):
        content = zipped({"a.txt": content} if content == b"Deep." else {"in.zip": content})
    documents, skipped = read(
        tmp_path, x_zip=content, y_zip=zipped({"in.zip": zipped({"in.zip": zipped({"in.zip": content})})})
    )
    assert [document.id for document in documents] == ["x.zip/in.zip/in.zip/a.txt"]
    assert len(skipped) == 1 and "more than 4 archives" in skipped[0].reason


def test_archive_bomb_is_named_and_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10_000)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    many = zipped({f"{number}.txt": b"x" for number in range(9)})
    documents, skipped = read(
        tmp_path,
        a_zip=zipped({"a": bytes(20_000)}),
        b_tgz=tarred({"a": bytes(20_000)}, "w:gz"),
        c_zip=many,
        d_txt=b"Good.",
    )
    assert [document.id for document in documents] == ["d.txt"]
    assert ["more than" in item.reason for item in skipped] == [True] * 3


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE])
def test_tar_long_header_takes_no_memory(tmp_path: Path, kind: bytes) -> None:
    """A few kilobytes of bzip2 may unpack to any number of gigabytes, which tarfile reads at once for a long header."""
    header = tarfile.TarInfo("long")
    header.type, header.size = kind, 8 << 30
    block = header.tobuf(tarfile.GNU_FORMAT)
    packed = bz2.compress(block + bytes(1 << 20)) + bz2.compress(bytes(4 << 20)) * 10
    (tmp_path / "a.tbz2").write_bytes(packed)
    tracemalloc.start()
    with pytest.raises(
        DataError, match="more than 1,024 MB|more than .* files" if kind == tarfile.REGTYPE else "header of"
    ):
        list(read_documents([tmp_path], print))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 << 20


def test_archive_encrypted_damaged_or_repeated_file_is_named(tmp_path: Path) -> None:
    numbers = " ".join(str(number**3) for number in range(200)).encode()
    good = bytearray(zipped({"a.txt": numbers, "b.txt": b"Good."}))
    good[200:240] = bytes(40)  # in the packed text of the first
    locked = bytearray(zipped({"a.txt": b"x"}))
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.warns(UserWarning, match="Duplicate"):
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as archive:
            archive.writestr("a.txt", "One.")
            archive.writestr("a.txt", "Two.")
    documents, skipped = read(
        tmp_path, a_zip=bytes(good), b_zip=bytes(locked), c_zip=result.getvalue(), d_tar=tarred({"a": b"x" * 999})[:700]
    )
    assert [document.id for document in documents] == ["a.zip/b.txt", "c.zip/a.txt"]
    assert [item.reason.split(" (")[0].split(";")[0] for item in skipped] == [
        "damaged in the archive", "encrypted", "another file of the same name", "a damaged tar archive",
    ]  # fmt: skip


def test_tar_packed_text_is_named(tmp_path: Path) -> None:
    documents, skipped = read(tmp_path, a_bz2=bz2.compress(b"Text."), b_txt=b"Good.")
    assert len(documents) == 1 and "tar archive" in skipped[0].reason


def test_archive_names_in_other_encodings_stay_apart(tmp_path: Path) -> None:
    says_utf_8 = zipped({"Gr\u00fc\u00dfe.txt": b"Text."})
    old = says_utf_8.replace(b"\x00\x08", b"\x00\x00")
    assert old != says_utf_8
    with io.BytesIO() as result:
        with tarfile.open(fileobj=result, mode="w", format=tarfile.GNU_FORMAT, encoding="latin-1") as archive:
            for name in ("caf\u00e9", "caf\u00e8"):
                archive.addfile(tarfile.TarInfo(name))
        names = result.getvalue()
    documents, skipped = read(tmp_path, a_zip=old, b_tar=names)
    assert [document.id for document in documents] == ["a.zip/Gr\u00fc\u00dfe.txt"]
    assert [Path(item.path).name for item in skipped] == ["caf%E9", "caf%E8"]
