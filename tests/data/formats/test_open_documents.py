"""EPUB books, OpenDocument texts and notebooks, made by hand as their standards say."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from tests.data.formats.made import extracted, zipped

from graphwright.data.formats.format import UnreadableError
from graphwright.data.formats.parsing.xml import parsed_xml, refuse_entities_in

CONTAINER = b'<container><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>'
PACKAGE = b"""<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Rivers</dc:title>
<dc:creator>Anna</dc:creator></metadata><manifest><item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="t/one%20.xhtml" media-type="application/xhtml+xml"/><item id="c" href="x.css" media-type="text/css"/>
<item id="d" href="lost.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/><itemref idref="d"/></spine></package>"""


def test_epub_pages_are_read_in_order_of_spine() -> None:
    pages = {
        "OEBPS/two.xhtml": b"<body><h1>The Enns</h1><p>It is short.</p></body>",
        "OEBPS/t/one .xhtml": b"<body><nav>Menu</nav><h1>The Mur</h1><p>It is long.</p></body>",
    }
    files = {"mimetype": b"application/epub+zip", "META-INF/container.xml": CONTAINER, "OEBPS/b.opf": PACKAGE}
    book = extracted("a.epub", zipped({**files, **pages}))
    assert book.text == "The Mur\n\nIt is long.\n\nThe Enns\n\nIt is short."
    assert [(h.level, h.title) for h in book.headings] == [(1, "The Mur"), (1, "The Enns")]
    assert (book.title, book.metadata) == ("Rivers", {"author": "Anna"}) and book.gaps.startswith(
        "1 files of its spine"
    )
    start = book.text.index("It is short")
    assert book.places is not None and book.places.of(start, start + 2) == "part 2"


def test_epub_without_package_raises() -> None:
    with pytest.raises(UnreadableError, match="no package document"):
        extracted("a.epub", zipped({"mimetype": b"application/epub+zip", "a": b""}))


CONTENT = """<o:document-content xmlns:o="urn:o" xmlns:text="urn:t" xmlns:table="urn:b"><o:body><o:text>
<text:tracked-changes><text:p>Old.</text:p></text:tracked-changes><text:h text:outline-level="1">The Mur</text:h>
<text:p>It is<text:s/><text:span>very</text:span> long.<text:note><text:note-citation>1</text:note-citation>
<text:note-body><text:p>464 km.</text:p></text:note-body></text:note></text:p><text:list>
<text:list-item><text:p>Graz</text:p></text:list-item>
<text:list-item><text:p>Leoben</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell>
<text:p>River</text:p></table:table-cell><table:table-cell><text:p>km</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>Mur</text:p></table:table-cell><table:table-cell><text:p>464<text:note>
<text:note-citation>2</text:note-citation><text:note-body><text:p>By air.</text:p></text:note-body></text:note></text:p>
</table:table-cell></table:table-row></table:table><text:h text:outline-level="2">Source</text:h></o:text></o:body>
</o:document-content>"""


def test_odt_headings_lists_tables_and_notes_are_read() -> None:
    files = {"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": CONTENT.encode()}
    odt = extracted("a.odt", zipped(files))
    assert odt.text == (
        "The Mur\n\nIt is very long.¹\n\nNote 1: 464 km.\n\n- Graz\n- Leoben\n\nRiver: Mur; km: 464.\n\n"
        "Note 2: By air.\n\nSource"
    )
    assert [(h.level, h.title) for h in odt.headings] == [(1, "The Mur"), (2, "Source")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", ["", f"<!-- <a> {'x' * 70_000} -->", f"<?x <a> {'x' * 70_000}?>"])
def test_refuse_entities_behind_comments_raises(before: str, encoding: str) -> None:
    text = f"{before}<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"
    file = io.BytesIO(zipped({"a.xml": text.encode(encoding)}))
    with zipfile.ZipFile(file) as archive, pytest.raises(UnreadableError, match="declares entities"):
        refuse_entities_in(archive)


def test_parsed_xml_entities_are_refused() -> None:
    with pytest.raises(UnreadableError, match="declares entities"):
        parsed_xml(b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>')


CELLS = [
    {"cell_type": "markdown", "source": ["# Rivers\n", "See [here](b.md)."]},
    {
        "cell_type": "code",
        "source": "lengths['Mur']",
        "outputs": [
            {"output_type": "stream", "text": ["\x1b[31mprinted\x1b[0m\n"]},
            {"output_type": "execute_result", "data": {"text/plain": "464", "image/png": "iVBOR"}},
            {"output_type": "error", "ename": "KeyError", "evalue": "'Enns'"},
            {"output_type": "display_data", "data": {"text/html": "<table><tr><td>1</td></tr></table>"}},
        ],
    },
    {"cell_type": "code", "source": "", "outputs": []},
    {"cell_type": "markdown", "source": "## The Mur\nIt is long."},
]


def test_notebook_cells_are_places() -> None:
    notebook = extracted("a.ipynb", json.dumps({"nbformat": 4, "cells": CELLS}).encode())
    assert notebook.text == (
        "Rivers\n\nSee here.\n\nlengths['Mur']\n\nprinted\n\n464\n\nKeyError: 'Enns'\n\n1\n\nThe Mur\n\nIt is long."
    )
    assert [(h.level, h.title) for h in notebook.headings] == [(1, "Rivers"), (2, "The Mur")]
    assert notebook.title == "Rivers" and notebook.links == ["b.md"] and notebook.places is not None
    assert [notebook.places.of(at, at + 1) for at in (0, notebook.text.index("464"), notebook.text.index("It"))] == [
        "cell 1", "cell 2", "cell 4",
    ]  # fmt: skip


@pytest.mark.parametrize("source", [b"{", b"[]", b'{"cells": 3}', b'"x"'])
def test_notebook_other_json_raises(source: bytes) -> None:
    with pytest.raises(UnreadableError, match="not a notebook"):
        extracted("a.ipynb", source)


def test_odt_encrypted_raises() -> None:
    manifest = b'<m xmlns:m="urn:m"><m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry></m>'
    files = {"mimetype": b"application/vnd.oasis.opendocument.text", "META-INF/manifest.xml": manifest}
    with pytest.raises(UnreadableError, match="encrypted"):
        extracted("a.odt", zipped({**files, "content.xml": bytes(range(256))}))


def test_epub_encrypted_pages_raise() -> None:
    files = {"mimetype": b"application/epub+zip", "META-INF/container.xml": CONTAINER, "OEBPS/b.opf": PACKAGE}
    files |= {"OEBPS/two.xhtml": b"<p>Two.</p>", "OEBPS/t/one .xhtml": b"<p>One.</p>"}
    declared = (
        '<encryption><EncryptedData><CipherData><CipherReference URI="%s"/></CipherData></EncryptedData></encryption>'
    )
    sealed = {"META-INF/encryption.xml": (declared % "OEBPS/t/one%20.xhtml").encode()}
    with pytest.raises(UnreadableError, match="encrypted"):
        extracted("a.epub", zipped({**files, **sealed}))
    fonts = {"META-INF/encryption.xml": (declared % "OEBPS/font.otf").encode()}
    assert extracted("a.epub", zipped({**files, **fonts})).text == "One.\n\nTwo."
