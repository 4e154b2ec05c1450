"""Time is linear in hostile documents and graphs: parts are repeated four times as often, and times are compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.data.formats.made import zipped
from tests.faults.linear_time import assert_linear

from graphwright.data.document import split
from graphwright.data.documents import read_documents
from graphwright.data.graph_files.graphml import graphml_elements
from graphwright.errors import DataError

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/><Default '
    f'Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName='
    f'"/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main'
    f'+xml"/></Types>'
)
LINK = (
    f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" Type="{OFFICE}/%s" Target="%s"/>'
    "</Relationships>"
)
WORD_PARTS = {
    "[Content_Types].xml": TYPES,
    "_rels/.rels": LINK % ("officeDocument", "word/document.xml"),
    "word/_rels/document.xml.rels": LINK % ("styles", "styles.xml"),
}
BOX = "<w:p><w:r><w:pict><w:txbxContent>", "</w:txbxContent></w:pict></w:r></w:p>"
TEXT = "<w:r><w:t>a</w:t></w:r>"
CELL = "<t:table><t:table-row><t:table-cell>", "</t:table-cell></t:table-row></t:table>"
CONTAINER = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
MIXED = "From: a\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n"
PAGE_PART = "--b\nContent-Type: text/html\n\n<p>a</p>\n"
PLAIN_PART = "--b\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n%s\n--b--\n"


def word(body: str, styles: str = "") -> bytes:
    document = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    styled = f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>'
    return zipped({**WORD_PARTS, "word/document.xml": document, "word/styles.xml": styled})


def open_text(body: str) -> bytes:
    content = f'<o:d xmlns:o="urn:o" xmlns:t="urn:t"><o:body>{body}</o:body></o:d>'
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def styles(count: int) -> bytes:
    chain = (f'<w:style w:styleId="s{n}"><w:basedOn w:val="s{n + 1}"/></w:style>' for n in range(count))
    return word(f"<w:p>{TEXT}</w:p>", "".join(chain))


def book(count: int) -> bytes:
    item = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    spine = '<itemref idref="a"/>' * count
    package = f"<package><manifest>{item}</manifest><spine>{spine}</spine></package>"
    page = f"<html><!--{'x' * 50 * count}--><p>a</html>"
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER, "a.opf": package}
    return zipped({**parts, "a.xhtml": page})


def headings(count: int) -> bytes:
    return open_text("".join(f'<t:h t:outline-level="{n}">Part {n}</t:h>' for n in range(1, count)) + "<t:p>a</t:p>")


CASES: dict[str, tuple[str, int, Callable[[int], bytes | str]]] = {
    "breaks of pages": ("a.docx", 4_000, lambda n: word(f"<w:p>{f'{TEXT}<w:lastRenderedPageBreak/>' * n}</w:p>")),
    "styles based on styles": ("a.docx", 2_000, styles),
    "tables in tables": ("a.odt", 1_000, lambda n: open_text(f"{CELL[0] * n}<t:p>a</t:p>{CELL[1] * n}")),
    "headings below headings": ("a.odt", 1_000, headings),
    "a page many times": ("a.epub", 1_500, book),
    "recipients": ("a.eml", 3_000, lambda n: f"From: a@b.c\nTo: {'a ' * n}\n\na\n"),
    "encoded recipients": ("a.eml", 1_000, lambda n: f"From: a@b.c\nTo: {'=?utf-8?q?a?= ' * n}\n\na\n"),
    "parameters of a type": ("a.eml", 500, lambda n: f"From: a\nContent-Type: text/plain; {'a=b; ' * n}\n\na\n"),
    "alternatives": ("a.eml", 100, lambda n: MIXED + PAGE_PART * n + PLAIN_PART % ("ICAgICAg" * 50 * n)),
    "lines like headers": ("a.eml", 500, lambda n: "From: a@b.c\n\n" + "Key: value\n" * n),
    "quotations of a mail": ("a.eml", 500, lambda n: "From: a@b.c\n\n" + "x@y.zz wrote:\n> No.\nYes.\n" * n),
    "turns of a chat": ("a.txt", 1_000, lambda n: "[14.05.26, 18:02] Ann: It is.\nso\n" * n),
    "cues of subtitles": ("a.srt", 1_000, lambda n: "1\n00:00:01,000 --> 00:00:02,000\nIt is\n\n" * n),
    "events of a calendar": ("a.ics", 500, lambda n: "BEGIN:VEVENT\nSUMMARY;X=a:b\n c\nEND:VEVENT\n" * n),
    "soft lines of a contact": (
        "a.vcf",
        5_000,
        lambda n: "BEGIN:VCARD\nFN;QUOTED-PRINTABLE:" + "a=\n" * n + "\nEND:VCARD",
    ),
    "parameters of a contact": ("a.vcf", 5_000, lambda n: "BEGIN:VCARD\nFN:a\nTEL" + ';a="b"' * n + "\nEND:VCARD"),
    "clauses": ("a.txt", 300, lambda n: "1. Term\n1.1 One.\n1.2 Two:\n(a) x\n(b) y\n2. Fees\n2.1 Three.\n" * n),
    "numbers without order": ("a.txt", 250, lambda n: f"1. {'a' * 300}\n(a) b\n3. c\n2. d\n" * n),
    "objects in objects": ("a.json", 500, lambda n: '{"a": [' + '{"b": 1, "c": [{"d": 2}]},' * n + '{"b": 1}]}'),
    "blanks in a heading": ("a.adoc", 5_000, lambda n: f"= a{' ' * n}b\n"),
    "numbers in a cell": ("a.adoc", 5_000, lambda n: f"|===\n|{'1' * n} a\n|===\n"),
    "points in a cell": ("a.adoc", 5_000, lambda n: f"|===\n|{'.' * n} a\n|===\n"),
    "a long column name": ("a.csv", 500, lambda n: f"{'x' * 20 * n},y\n" + "1,2\n" * n),
    "many columns": ("a.csv", 500, lambda n: ",".join(f"c{at}" for at in range(n)) + "\n" + "1\n" * n),
}


def read(path: Path) -> None:
    """Read and split a file, which has a text."""
    skipped = list[object]()
    documents = list(read_documents([path], skipped.append))
    assert documents and not skipped
    for document in documents[:10]:
        split(document)


@pytest.mark.parametrize("name", CASES)
def test_format_time_is_linear_in_parts(name: str, tmp_path: Path) -> None:
    file, count, make = CASES[name]
    paths = []
    for number, size in enumerate((count, 4 * count)):
        content = make(size)
        path = tmp_path / str(number) / file
        path.parent.mkdir()
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        paths.append(path)
    assert_linear(*(partial(read, path) for path in paths))


def test_nested_text_boxes_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(word(f"{BOX[0] * 40}<w:p>{TEXT}</w:p>{BOX[1] * 40}"))
    [document] = read_documents([tmp_path], list[object]().append)
    assert document.text == "a"  # 2**40 times where each box reads all that are in it


def test_xml_nodes_are_freed_in_linear_time(tmp_path: Path) -> None:
    paths = {count: tmp_path / f"{count}.graphml" for count in (5_000, 20_000)}
    for count, path in paths.items():
        path.write_text(f"<graphml><graph>{'<x/>' * count}{'<node/>' * count}</graph></graphml>")
        assert sum(1 for _ in graphml_elements(path)) == count
    assert_linear(*(lambda path=path: deque(graphml_elements(path), maxlen=0) for path in paths.values()))


def test_sheet_of_empty_cells_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openpyxl import Workbook

    from graphwright.data.formats import xlsx

    monkeypatch.setattr(xlsx, "_MAX_CELLS", 16_384 * 20)
    workbook = Workbook()
    for number in range(1, 30):
        workbook.active[f"XFD{number}"] = 1
    workbook.save(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="327,680 cells, with empty ones; save the tables as CSV"):
        list(read_documents([tmp_path], list[object]().append))


def test_pages_sharing_content_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.data.formats import pdf

    content = b"BT /F 12 Tf 20 200 Td (Graz lies on the Mur.) Tj ET"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[" + b"3 0 R " * 100 + b"]/Count 100>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F 4 0 R>>>>/Contents 5 0 R>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(content), content),
    )
    body = b"".join(b"%d 0 obj%b endobj\n" % (number, text) for number, text in enumerate(objects, start=1))
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF")
    monkeypatch.setattr(pdf, "MAX_TEXT", 1_000)
    with pytest.raises(DataError, match="its text is longer"):
        list(read_documents([tmp_path], list[object]().append))
