"""YAML, TOML and XML as text and records."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.data.formats.format import Extracted, File
from graphwright.data.formats.registry import format_of

FILES = {
    "pumps.yaml": (
        "catalogue:\n  year: 2024\npumps:\n  - name: Kettil\n    litres: 45\n  - {name: Ostwerk, litres: 60}\n"
    ),
    "pumps.toml": (
        '[catalogue]\nyear = 2024\n[[pumps]]\nname = "Kettil"\nlitres = 45\n[[pumps]]\nname = "Ostwerk"\nlitres = 60\n'
    ),
    "pumps.json": (
        '{"catalogue": {"year": 2024}, "pumps": [{"name": "Kettil", "litres": 45}, {"name": "Ostwerk", "litres": 60}]}'
    ),
}


def read(folder: Path, name: str, content: str) -> Document:
    (folder / name).write_text(content, encoding="utf-8")
    [document] = read_documents([folder], print)
    return document


def facts(document: Document) -> list[tuple[str, list[tuple[str, str]]]]:
    records = [record for record in document.records if record.type != "document"]
    return [(record.type, [(f.name, f.text) for f in record.fields]) for record in records]


@pytest.mark.parametrize("name", FILES)
def test_read_documents_every_notation_of_an_object_gives_same(tmp_path: Path, name: str) -> None:
    document = read(tmp_path, name, FILES[name])
    assert document.text == "catalogue.year: 2024.\npumps: name: Kettil; litres: 45.\npumps: name: Ostwerk; litres: 60."
    assert facts(document) == [
        ("pumps", [("name", "Kettil"), ("litres", "45")]),
        ("pumps", [("name", "Ostwerk"), ("litres", "60")]),
    ]


def test_read_documents_object_around_list_of_its_name_is_document(tmp_path: Path) -> None:
    document = read(
        tmp_path, "Pumps.yaml", "total: 2\nresult:\n  pumps:\n    - {name: Kettil}\n    - {name: Ostwerk}\n"
    )
    assert [record.type for record in document.records] == ["document", "pumps", "pumps"]
    assert ("total", "2") in [field[:2] for field in document.records[0].fields]
    assert document.records[1].fields[-1][:2] == ("document.total", "2")


def test_read_documents_object_of_ids_gives_record_for_each(tmp_path: Path) -> None:
    source = '{"s1": {"name": "Lynx"}, "s2": {"name": "Heron"}, "s3": {"name": "Newt"}}'
    document = read(tmp_path, "species.json", source)
    assert facts(document)[1] == ("species", [("id", "s2"), ("name", "Heron")])


def test_read_documents_yaml_list_gives_record_for_each(tmp_path: Path) -> None:
    source = "- q: How long is the warranty?\n  a: Thirty months.\n- q: Who repairs pumps?\n  a: Ostwerk.\n"
    document = read(tmp_path, "faq.yml", source)
    assert facts(document)[1] == ("faq", [("q", "Who repairs pumps?"), ("a", "Ostwerk.")])
    assert document.text.startswith("q: How long is the warranty?; a: Thirty months.")


@pytest.mark.parametrize(
    ("name", "content"),
    [("deploy.yaml", "image: {{ .Values.image }}: x\n"), ("a.xml", "<a><b>open"), ("a.toml", "not toml\n")],
)
def test_read_documents_file_that_cannot_be_parsed_stays_text(tmp_path: Path, name: str, content: str) -> None:
    assert read(tmp_path, name, content).text.strip() == content.strip()


def test_read_documents_yaml_tags_and_merged_keys_are_read(tmp_path: Path) -> None:
    document = read(tmp_path, "c.yaml", "a: &x {k: 1}\nb:\n  <<: *x\n  ref: !Ref z\n")
    assert document.text == "a.k: 1.\nb.k: 1.\nb.ref: z."


def test_read_documents_xml_attributes_and_elements_are_fields(tmp_path: Path) -> None:
    source = (
        '<?xml version="1.0"?><c:catalog xmlns:c="urn:c" year="2024"><product sku="K-11"><name>Kettil pump</name>'
        '<price currency="EUR">1 290,00</price><note><![CDATA[Not for <b>salt</b> water.]]></note>'
        "<text>It is <i>very</i> old.</text></product></c:catalog>"
    )
    document = read(tmp_path, "feed.xml", source)
    assert facts(document)[1] == (
        "product",
        [
            ("sku", "K-11"),
            ("name", "Kettil pump"),
            ("price", "1 290,00"),
            ("price.currency", "EUR"),
            ("note", "Not for salt water."),
            ("text", "It is very old."),
            ("catalog.year", "2024"),
        ],
    )
    assert "price: 1 290,00; price.currency: EUR" in document.text


@pytest.mark.parametrize(
    "content",
    [
        '<r><row><field name="city">Graz</field><field name="pop">300</field></row></r>',  # of MySQL
        '<r><row><str name="city">Graz</str><int name="pop">300</int></row></r>',  # of Solr
        '<x:r xmlns:x="u:x"><x:row><x:c n="city">Graz</x:c><x:c n="pop">300</x:c></x:row></x:r>',
    ],
)
def test_read_documents_xml_texts_with_a_name_are_fields_of_that_name(tmp_path: Path, content: str) -> None:
    assert facts(read(tmp_path, "a.xml", content)) == [("row", [("city", "Graz"), ("pop", "300")])]


def test_read_documents_xml_texts_with_a_unit_keep_their_name(tmp_path: Path) -> None:
    [(_, fields)] = facts(read(tmp_path, "a.xml", '<r><p><sku>K</sku><price unit="EUR">12</price></p></r>'))
    assert fields == [("sku", "K"), ("price", "12"), ("price.unit", "EUR")]


def test_read_documents_xml_element_alone_in_the_root_is_as_the_root(tmp_path: Path) -> None:
    source = "<rss><channel><title>News</title><item><title>Berth 12</title></item></channel></rss>"
    assert facts(read(tmp_path, "a.xml", source))[-1] == ("item", [("title", "Berth 12"), ("channel.title", "News")])


def test_read_documents_xml_elements_without_text_are_objects(tmp_path: Path) -> None:
    source = '<suite><case name="adds"/><case name="subs"><failure message="3">trace</failure></case></suite>'
    assert [fields[0] for _, fields in facts(read(tmp_path, "a.xml", source))] == [("name", "adds"), ("name", "subs")]


def test_read_documents_logfmt_lines_are_records(tmp_path: Path) -> None:
    document = read(
        tmp_path, "app.log", 'level=info msg="up \\"now\\"" port=80\nlevel=error msg=full disk=\nplain line\n'
    )
    assert facts(document)[-2:] == [
        ("app", [("level", "error"), ("msg", "full")]), ("app", [("", "plain line")]),
    ]  # fmt: skip
    assert 'msg: up "now"; port: 80.' in document.text


def test_read_documents_ini_sections_are_paths(tmp_path: Path) -> None:
    document = read(tmp_path, "app.ini", "; settings\n[db]\nHost = db1\nport: 5432\n")
    assert facts(document)[-1] == ("app", [("db.Host", "db1"), ("db.port", "5432")])


@pytest.mark.parametrize(
    "content",
    [
        "stop;name;lat\nS1;Aue;50.5\nS2;Zell;50.6\n",
        "stop\tname\tlat\nS1\tAue\t50.5\nS2\tZell\t50.6\n",
        "+---+---+\n| stop | name | lat |\n+---+---+\n| S1 | Aue | 50.5 |\n| S2 | Zell | 50.6 |\n+---+---+\n",
    ],
)
def test_read_documents_text_that_is_a_table_gives_records(tmp_path: Path, content: str) -> None:
    assert facts(read(tmp_path, "stops.txt", content))[-1] == (
        "stops", [("stop", "S2"), ("name", "Zell"), ("lat", "50.6")],
    )  # fmt: skip


@given(st.lists(st.text("ab, ;\t", max_size=12), min_size=3, max_size=6))
def test_read_table_of_text_loses_no_word(lines: list[str]) -> None:
    content = "\n".join(lines).encode()
    [part] = format_of(File("a.txt", content=content)).read(File("a.txt", content=content))
    assert isinstance(part, Extracted)
    assert {*re.findall("[ab]+", content.decode())} <= {*re.findall("[ab]+", part.text)}


def test_read_documents_text_with_commas_stays_text(tmp_path: Path) -> None:
    content = "We met in Graz, Linz, and Wels.\nThere were Ann, Bob, and Cid.\nIt was 2024, late, and dark.\n"
    assert read(tmp_path, "a.txt", content).text == content


def test_read_documents_comments_of_settings_follow_their_values(tmp_path: Path) -> None:
    document = read(tmp_path, "app.ini", "[db]\n; Ann: more made the host swap\nseries = 40 ; was 60\n")
    assert document.text == "db.series: 40.\n\nAnn: more made the host swap\ndb › series = 40 ; was 60"
    assert facts(document) == [("app", [("db.series", "40")])]
