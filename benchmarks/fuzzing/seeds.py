"""Valid inputs of fuzzing, parts that inputs are made of, and the packing of office documents."""

from __future__ import annotations

import io
import zipfile
from functools import partial


def zipped(members: dict[str, bytes], main_part: str, data: bytes) -> bytes:
    """Return a zip archive whose main part is the data."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**members, main_part: data}.items():
            archive.writestr(name, content)
    return file.getvalue()


SEPARATOR = b"\n%%\n"
"""Separates the files of one input."""


def same(data: bytes) -> bytes:
    """Return the data."""
    return data


ODT = partial(zipped, {"mimetype": b"application/vnd.oasis.opendocument.text"}, "content.xml")
CONTAINER = b'<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
PAGE = b"<html><body><h1>Graz</h1><p>Graz lies on the Mur.</p></body></html>"
EPUB_TYPE = b"application/epub+zip"
EPUB = partial(zipped, {"mimetype": EPUB_TYPE, "META-INF/container.xml": CONTAINER, "a.xhtml": PAGE}, "a.opf")
TYPES = b"""<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override
PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELATIONS = b"""<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>
</Relationships>"""
DOCX = partial(zipped, {"[Content_Types].xml": TYPES, "_rels/.rels": RELATIONS}, "word/document.xml")
ODT_SEED = b"""<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:h>Graz</text:h>
<text:p>Graz lies on the <text:s text:c="3"/>Mur.</text:p></office:text></office:body></office:document-content>"""
OPF_SEED = b"""<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"
media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>"""
DOCX_SEED = b"""<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>
<w:t>Graz lies on the Mur.</w:t></w:r></w:p></w:body></w:document>"""
PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F 4 0 R>>>>/Contents 5 0 R>>endobj
4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
5 0 obj<</Length 52>>stream
BT /F 12 Tf 20 200 Td (Graz lies on the Mur.) Tj ET
endstream endobj
trailer<</Root 1 0 R>>
%%EOF"""
LABELS = b"""{"labels": 2, "graph": ""}
{"id": "q", "question": "Where?", "entities": [0], "answers": [1], "paths": 1, "candidates": 1,
"kept": [{"from": 0, "path": "Graz -> [lies on]", "ways": [1], "pool": "q", "support": 1.0, "near": 0.5}]}
""".replace(b",\n", b",")
GRAPHML_SEED = b"""<graphml><key id="d0" attr.name="name"/><graph><node id="a"><data key="d0">Graz</data></node>
<edge source="a" target="b"/></graph></graphml>"""
ROWS = b'{"id": "a", "title": "Graz", "text": "Graz lies on the Mur.", "links": ["b"], "metadata": {"year": 2024}}\n'
ASKED = b'{"id": "q", "question": "Where?", "answers": ["Mur"], "gold": ["a"], "entities": ["Graz"]}\n'
WHOLE = b'{"choices": [{"message": {"content": "Graz."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}'
DELTA = b'data: {"choices": [{"delta": {"content": "Graz"}, "finish_reason": null}]}\n\n'
MARKS = tuple(b"<div>,</p>,<!--,&#0;,&amp;,[a](b),```,# ,---\n,| ,* ,<script>,\x00,\xff,\r\n,\xe2\x80\xae".split(b","))
JSON = (
    *(b"null", b"1e999", b"-1", b"9" * 5000, b"[" * 5000, b"[" * 800 + b"]" * 800, b"[" * 960 + b"]" * 960, b"[[[["),
    *(b'"\\ud800"', b"{}", b"[]", b"true", b"\xef\xbb\xbf", b"\n", b","),
)
CELLS = (
    *(b"\t", b",", b'"', b"\r", b"\n", b"\\", b"#", b"|", b";", b"\x00", b"\xff", b"<http://a/b>", b'"x"@en .', b"_:b"),
)
TOML = (
    *(b"[llm]\n", b"model = 5\n", b"a = " + b"[" * 5000, b"[[", b"='''", b"\xff", b"methods = [1]\n", b"nan"),
    *(b"1979-05-27", b"data = '.'\n"),
)
SIGNS = (
    *(b" >> ", b"-" * 5000, b"(" * 5000, b" | ", b" % ", b"(", b")", b"Keep()", b"KHop(2)", b"__import__('os')", b"'"),
    *(b"=", b"lambda: 0", b"-1"),
)
WORDS = tuple(
    b"index,ask,retrieve,import,sync,remove,methods,info,verify,documents,show,export,reextract,--index,--into,index,new,"
    b"a.txt,kb.tsv,--json,--method,ppr,bm25,lego-1,--top-k,3,0,-1,\xc2\xb2,--entity,Graz,--document,graz,--folder,--where,"
    b"a=b,--explain,--characters,0-5,9-3,--to,-,out.json,--format,graphml,--question,Where?,--force,--offline,--estimate,"
    b"--chunk-tokens,--overlap,--embed,names,--columns,1,--delimiter,--no-header,--max-malformed,--help,\x1b[31m,".split(
        b","
    )
)
COMMANDS = tuple(
    text.replace(b" ", b"\0")
    for text in (
        b"ask Where? --index index --json",
        b"retrieve Mur --index index --method bm25 --top-k 2",
        b"info --index index --json",
        b"index a.txt --into index",
        b"import kb.tsv --into new --columns 1,2,3",
        b"export --index index --to - --format json --question Mur",
        b"show graz --index index --characters 0-5",
        b"documents --index index gra",
        b"remove graz --index index",
        b"verify --index index --json",
        b"methods --index index --json",
        b"reextract --index index --offline",
        b"sync . --into new",
    )
)
