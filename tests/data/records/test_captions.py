"""Captions of tables, above and below, as each format has them."""

from __future__ import annotations

import pytest
from tests.data.formats.made import extracted, pdf, written, zipped

TABLE = "| River | km |\n|---|---|\n| Mur | 464 |\n"


def types(name: str, content: str | bytes) -> list[str]:
    return [record.type for record in extracted(name, content).records]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# R\n\nTabelle 4.1: Flüsse\n\n{0}\nTabelle 4.2: Bäche\n\n{0}\nAbbildung 2: Foto\n", ["Flüsse", "Bäche"]),
        ("# R\n\n{0}\n*Table 1: Rivers*\n\n{0}\n**Table II.** Brooks of\nStyria\n", ["Rivers", "Brooks of Styria"]),
        ("# R\n\nTable 1\n\n*Long rivers*\n\n{0}\nText.\n\nTable 2\nBrooks\n\n{0}", ["Long rivers", "Brooks"]),
        ("表 3 河川の長さ\n\n{0}\n表4：湖沼の面積\n\n{0}", ["河川の長さ", "湖沼の面積"]),
        ("# R\n\nStep 1: look\n\n{0}\nStep 2: buy\n\nStep 3: go\n", ["R"]),
        ("# R\n\n{0}\n: Rivers {{#tbl-r}}\n\n[Brooks]\n\n{0}", ["Rivers", "Brooks"]),
        ("# R\n\n{0}\nTab. 1: Rivers\n\nText.\n\nFig. 1: Map\n\n{0}\nTab. 2: Brooks\n", ["Rivers", "Brooks"]),
        ("Week 12: Shifts\n\n{0}\nWeek 13: Shifts\n\n{0}", ["Week 12: Shifts", "Week 13: Shifts"]),
        ("# R\n\nTable 3 shows the rivers.\n\n{0}", ["R"]),
        ("# R\n\nVersion 4.2 was released in May. It lists\nthe rivers.\n\n{0}", ["R"]),
        ("# R\n\nOn 5 May Graz had these:\n\n{0}\nIn 2020 Graz had more\n\n{0}", ["R", "R"]),
        ("# R\n\n{0}", ["R"]),
    ],
)
def test_markdown_table_is_named_by_its_caption(text: str, expected: list[str]) -> None:
    assert types("a.md", text.format(TABLE)) == expected


def test_html_captions_of_figures_and_classes_name_tables() -> None:
    row = "<table>{}<tr><th>River</th><th>km</th></tr><tr><td>Mur</td><td>464</td></tr></table>"
    page = (
        f"<h1>R</h1><figure>{row.format('')}<figcaption>Long <b>rivers</b></figcaption></figure><p>Text"
        f"{row.format('<caption>Table 7: Brooks</caption>')}<p class='caption'>Creeks</p>{row.format('')}"
    )
    assert types("a.html", page) == ["Long rivers", "Brooks", "Creeks"]


def test_docx_style_of_captions_names_tables() -> None:
    document = pytest.importorskip("docx").Document()
    for above, below in (("Tabelle 1: Fahrten je Linie", ""), ("", "Busse je Depot")):
        document.add_paragraph("Text.")
        if above:
            document.add_paragraph(above, style="Caption")
        for cell, text in zip(document.add_table(2, 2).rows[0].cells, ("Ort", "Zahl"), strict=True):
            cell.text = text
        for cell, text in zip(document.tables[-1].rows[1].cells, ("Nord", "40"), strict=True):
            cell.text = text
        if below:
            document.add_paragraph(below, style="Caption")
    assert types("a.docx", written(document)) == ["Fahrten je Linie", "Busse je Depot"]


def test_open_document_sequence_marks_a_caption() -> None:
    cell = "<t:table-cell><x:p>{}</x:p></t:table-cell>"
    row = f"<t:table-row>{cell}{cell}</t:table-row>"
    table = f"<t:table>{row.format('River', 'km')}{row.format('Mur', '464')}</t:table>"
    caption = "<x:p>Rivers (<x:sequence>1</x:sequence>)</x:p>"
    content = f'<o xmlns:t="urn:t" xmlns:x="urn:x"><body>{table}{caption}</body></o>'
    data = zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": content.encode()})
    assert types("a.odt", data) == ["Rivers (1)"]


def test_pdf_captions_below_name_tables() -> None:
    document = pdf()
    for name in ("Rivers", "Brooks"):
        document.multi_cell(0, 6, "They are measured each year by the office in Graz.", new_x="LMARGIN", new_y="NEXT")
        document.ln(6)
        for row in ((name, "Source", "km"), ("A", "Lungau", "464"), ("B", "Radstadt", "254"), ("C", "Tauern", "250")):
            for cell in row:
                document.cell(50, 6, cell)
            document.ln(6)
        document.ln(3)
        document.cell(0, 6, f"Table 3: {name} of Styria", new_x="LMARGIN", new_y="NEXT")
        document.ln(6)
    assert types("a.pdf", bytes(document.output())) == ["Rivers of Styria"] * 3 + ["Brooks of Styria"] * 3


def test_asciidoc_title_of_block_names_table() -> None:
    assert types("a.adoc", "= Inn\n\n.Rooms\n|===\n|Room |Beds\n\n|1 |2\n|===\n") == ["Rooms"]
