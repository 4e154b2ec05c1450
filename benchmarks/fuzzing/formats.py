"""Targets of fuzzing: Office files, mailboxes and archives."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from fuzzing.seeds import JSON, MARKS
from fuzzing.target import Target, kind, write
from graphwright.data.document import Skipped
from graphwright.data.documents import read_documents

__all__ = ["documents", "targets"]

MESSAGE = b"""From: a@b.c
To: "Mur" <d@e.f>
Date: Fri, 3 May 2024 10:00:00 +0200
Subject: =?utf-8?q?Gr=C3=A4z?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x1x"

--x1x
Content-Type: multipart/alternative; boundary=y

--y
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Graz lies on the M=FCr.
--y
Content-Type: text/html

<p>Graz lies <a href="http://a/">on</a> the Mur.</p>
--y--
--x1x
Content-Type: application/octet-stream
Content-Disposition: attachment; filename="a.csv"
Content-Transfer-Encoding: base64

aWQsdGV4dAphLEdyYXoK
--x1x--
"""
MAILBOX = b"From a@b.c Fri May  3 10:00:00 2024\n" + MESSAGE + b"\nFrom d@e.f Sat May  4 10:00:00 2024\n" + MESSAGE
MAIL = (
    *(b"\nFrom a@b.c Fri May  3 10:00:00 2024\n", b"\n\n", b"--x1x\n", b"--y--\n", b"\n ", b"=?utf-8?b?/w==?="),
    *(b"Content-Type: message/rfc822\n", b"Content-Transfer-Encoding: uuencode\n", b"filename*0*=utf-8''%ff; ", b'"'),
    *(b"charset=utf-7", b"charset=idna", b"boundary=", b"@", b",", b"(" * 3000, b"<" * 3000, b">From ", b"=\n"),
)
XML = (
    *(b"<", b"&a;", b"<a>" * 5000, b"<!DOCTYPE a>", b'=""', b'="9999999999"', b'="-1"', b'r="ZZZ99999999"', b"1e999"),
    *(b't="s"', b't="d"', b't="e"', b't="b"', b"<v>99999999</v>", b"</a:p>", b"<a:p><a:r><a:t>x</a:t></a:r></a:p>"),
)
FILES = json.dumps([["a.txt", "Graz."], ["b/c.csv", "id,text\na,Graz.\n"], ["d.zip", "PK"], ["../e.md", "# Mur"]])


def documents(name: str, pack: Callable[[bytes], bytes], data: bytes) -> str:
    """Read a file of documents."""
    skipped: list[Skipped] = []
    read = list(read_documents([write(name, pack(data))], skipped.append))
    for document in read:
        document.text.encode()
        json.dumps([document.id, document.title, dict(document.metadata)]).encode()
        assert (document.id and document.text.strip()) or document.title
    return f"{min(len(read), 3)} {sorted({kind(item.reason) for item in skipped})[:3]}"


@cache
def presentation() -> bytes:
    """Return a presentation with a title, a text, a table and notes."""
    from pptx import Presentation

    made: Any = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Graz"
    table = slide.shapes.add_table(2, 2, 0, 0, 10, 10).table
    for at, text in enumerate(("River", "Length", "Mur", "464")):
        table.cell(at // 2, at % 2).text = text
    slide.shapes.add_group_shape().shapes.add_textbox(0, 0, 5, 5).text_frame.text = "Graz lies on the Mur."
    slide.notes_slide.notes_text_frame.text = "It was founded in 1128."
    return _saved(made)


@cache
def workbook() -> bytes:
    """Return a workbook with a header, numbers, a date, a formula and a merged cell."""
    from datetime import datetime

    from openpyxl import Workbook

    made: Any = Workbook()
    for row in (["River", "Length", "Seen"], ["Mur", 464, datetime(2024, 5, 3)], ["Drava", 0.5, "=1/0"]):
        made.active.append(row)
    made.active.merge_cells("A4:B4")
    return _saved(made)


def _saved(made: Any) -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def _member(whole: Callable[[], bytes], name: str) -> bytes:
    """Return a member of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(whole())) as archive:
        return archive.read(name)


def _with_member(whole: Callable[[], bytes], name: str, data: bytes) -> bytes:
    """Return a zip archive in which one member is other data."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole())) as archive, zipfile.ZipFile(file, "w") as to:
        for member in archive.namelist():
            to.writestr(member, data if member == name else archive.read(member))
    return file.getvalue()


def _files(data: bytes) -> list[tuple[str, bytes]]:
    """Return the names and contents that JSON lists, as UTF-8 holds them; none of other data."""
    try:
        rows = [[str(part).encode("utf-8", "replace") for part in row] for row in json.loads(data)]
        return [(name.decode(), text) for name, text in rows]
    except (ValueError, TypeError, RecursionError):
        return []


def tarred(data: bytes) -> bytes:
    """Return a tar archive of the files that JSON lists."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, text in _files(data):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return file.getvalue()


def zipped(data: bytes) -> bytes:
    """Return a zip archive of the files that JSON lists."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in dict(_files(data)).items():
            archive.writestr(zipfile.ZipInfo(name or "x"), text)
    return file.getvalue()


def targets() -> Iterable[Target]:
    """Yield the targets."""
    for suffix, whole, names in (
        ("pptx", presentation, ("ppt/slides/slide1.xml", "ppt/presentation.xml", "ppt/notesSlides/notesSlide1.xml")),
        ("xlsx", workbook, ("xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml")),
    ):
        for name in names:
            pack, seeds = partial(_with_member, whole, name), partial(lambda *of: (_member(*of),), whole, name)
            title = suffix if name == names[0] else f"{suffix}-{name.rsplit('/')[-1].removesuffix('.xml').rstrip('1')}"
            yield Target(title, partial(documents, f"file.{suffix}", pack), seeds, XML)
    for suffix, seed in (("eml", MESSAGE), ("mbox", MAILBOX)):
        yield Target(f"mail-{suffix}", partial(documents, f"mail.{suffix}", bytes), (seed,), (*MAIL, *MARKS))
    headers = (b"ustar", b"\0" * 512, b"7777777777", b"\x80\0\0\0", b"x", b"L", b"g", b"S", b"2", b"30 path=a\n")
    yield Target("tar", partial(documents, "a.tar", bytes), lambda: (tarred(FILES.encode()),), headers)
    for name, made in (("tar", tarred), ("zip", zipped)):
        yield Target(f"{name}-files", partial(documents, f"a.{name}", made), (FILES.encode(),), JSON)
