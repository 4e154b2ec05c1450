"""Exports of MediaWiki: pages as documents, lists, tables and templates of wikitext."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.data.formats.parsing.wikitext import wiki_text
from graphwright.errors import DataError

TABLE = """{| class="wikitable"
|+ Gauges
! Station !! Depth (m)
|-
| Ulm || 2.4
|-
| Melk || 5.1
|}
The gauge at Passau was given up."""


def page(title: str, *texts: str, namespace: str = "0", more: str = "") -> str:
    revisions = "".join(
        f"<revision><timestamp>2024-0{day}-01T09:00:00Z</timestamp><contributor><username>Ada</username></contributor>"
        f'<text xml:space="preserve">{escape(text)}</text></revision>'
        for day, text in enumerate(texts, start=1)
    )
    return f"<page><title>{title}</title><ns>{namespace}</ns>{more}{revisions}</page>"


def exported(folder: Path, *pages: str) -> list[Document]:
    root = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">'
    (folder / "wiki.xml").write_text(f"{root}<siteinfo/>{''.join(pages)}</mediawiki>", encoding="utf-8")
    return list(read_documents([folder], print))


def test_export_page_is_its_newest_revision_with_date_and_author(tmp_path: Path) -> None:
    [document] = exported(tmp_path, page("Pump", "It is old.", "It was '''replaced''' by the [[Weir|new one]]."))
    assert (document.id, document.title) == ("wiki.xml#1", "Pump")
    assert document.text == "It was replaced by the new one."
    assert document.metadata == {"date": "2024-02-01", "author": "Ada"}


def test_export_redirects_templates_and_empty_pages_are_left_out(tmp_path: Path) -> None:
    documents = exported(
        tmp_path,
        page("Pump", "A pump."),
        page("Pumps", "#REDIRECT [[Pump]]", more='<redirect title="Pump"/>'),
        page("Template:Box", "{{{1}}}", namespace="10"),
        page("Void", " "),
    )
    assert [document.title for document in documents] == ["Pump"]


def test_export_links_to_files_are_left_out_by_the_names_that_the_wiki_gives_them(tmp_path: Path) -> None:
    root = '<mediawiki><siteinfo><namespaces><namespace key="6">Datei</namespace></namespaces></siteinfo>'
    (tmp_path / "wiki.xml").write_text(f"{root}{page('Wehr', '[[Datei:a.png|mini|Bild]]Offen.')}</mediawiki>")
    [document] = read_documents([tmp_path], print)
    assert document.text == "Offen."


def test_wiki_text_thousands_of_unclosed_tables_are_text_as_they_are() -> None:
    assert wiki_text("{|\n" * 5000).text.startswith("{|\n{|")


def test_export_without_pages_is_skipped_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="without a page of wikitext"):
        exported(tmp_path)


def test_export_table_is_records_of_its_caption(tmp_path: Path) -> None:
    [document] = exported(tmp_path, page("Gauging", TABLE))
    rows = [record for record in document.records if record.type != "document"]
    assert [(row.type, [field[:2] for field in row.fields]) for row in rows] == [
        ("Gauges", [("Station", "Ulm"), ("Depth (m)", "2.4")]),
        ("Gauges", [("Station", "Melk"), ("Depth (m)", "5.1")]),
    ]
    assert document.text.endswith("Station: Melk; Depth (m): 5.1.\n\nThe gauge at Passau was given up.")


def test_export_table_without_caption_is_named_after_its_page(tmp_path: Path) -> None:
    [document] = exported(tmp_path, page("Gauging", TABLE.replace("|+ Gauges\n", "")))
    assert {record.type for record in document.records} - {"document"} == {"Gauging"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("# one\n#* sub\n# two", "1. one\n  - sub\n2. two"),
        ("a\nb\n\nc", "a b\n\nc"),
        ("H<sub>2</sub>O is < 5 & wet.<ref>A note.</ref>", "H2O is < 5 & wet."),
        ("{{Box\n| area = 5 [[km]]\n}}\nIt is {{convert|5|km}} long{{cn|date=May}}.", "area: 5 km\n\nIt is 5 km long."),
        ("[[File:a.png|thumb|cap]][[Category:Pumps]]See [https://a.example the sheet].", "See the sheet."),
        ("<pre>a\n* b</pre>", "a\n* b"),
    ],
)
def test_wiki_text_markup_becomes_text(source: str, text: str) -> None:
    assert wiki_text(source).text == text
