"""Objects of JSON as text and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.records import objects
from graphwright.data.records.objects import object_file

ORDER = {
    "id": 7,
    "customer": {"name": "Anna", "address": {"city": "Graz"}},
    "lines": [{"sku": "A", "pieces": 2}, {"sku": "B", "pieces": 1, "marks": ["red", "old"]}],
    "note": None,
}


def read(folder: Path, name: str, content: object) -> list[Document]:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return list(read_documents([folder], print))


def facts(document: Document, kind: str) -> list[list[tuple[str, str]]]:
    return [[(f.name, f.text) for f in record.fields] for record in document.records if record.type == kind]


def test_read_documents_object_without_text_is_document_with_all_its_values(tmp_path: Path) -> None:
    [document] = read(tmp_path, "order.json", ORDER)
    assert document.text == (
        "id: 7.\ncustomer: Anna.\ncustomer.address.city: Graz.\n"
        "lines: sku: A; pieces: 2.\nlines: sku: B; pieces: 1; marks: red, old."
    )
    assert facts(document, "order") == [[("id", "7"), ("customer", "Anna"), ("customer.address.city", "Graz")]]
    assert facts(document, "lines") == [
        [("sku", "A"), ("pieces", "2"), ("order.id", "7"), ("order.customer", "Anna")],
        [
            ("sku", "B"),
            ("pieces", "1"),
            ("marks", "red"),
            ("marks", "old"),
            ("order.id", "7"),
            ("order.customer", "Anna"),
        ],
    ]


def test_read_documents_lines_with_nested_texts_say_them(tmp_path: Path) -> None:
    rows = [{"id": "8", "title": "Crane", "body": {"en": "It lifts 60 tonnes."}}, {"id": 9, "text": "x", "by": ORDER}]
    first, second = read(tmp_path, "items.jsonl", "\n".join(map(json.dumps, rows)))
    assert first.text == "id: 8; title: Crane; body.en: It lifts 60 tonnes."
    assert facts(first, "items") == [[("id", "8"), ("title", "Crane"), ("body.en", "It lifts 60 tonnes.")]]
    assert second.text.startswith("x\n\nby.id: 7; by.customer: Anna;")
    assert facts(second, "items")[0][:2] == [("id", "9"), ("by.id", "7")]
    assert facts(second, "lines")[0][-1] == ("items.id", "9")


def test_read_documents_rows_with_only_a_text_have_no_record(tmp_path: Path) -> None:
    [document] = read(tmp_path, "c.jsonl", '{"id": "a", "title": "T", "text": "x"}\n')
    assert document.records == ()


@pytest.mark.parametrize(
    "content",
    [
        [["pump", "litres"], ["Kettil", 45], ["Ostwerk", 60]],
        {"columns": ["pump", "litres"], "index": [0, 1], "data": [["Kettil", 45], ["Ostwerk", 60]]},
        {"meta": [{"name": "pump"}, {"name": "litres"}], "data": [["Kettil", 45], ["Ostwerk", 60]]},
        {"pump": {"0": "Kettil", "1": "Ostwerk"}, "litres": {"0": 45, "1": 60}},
        {"pump": ["Kettil", "Ostwerk"], "litres": [45, 60]},
        '{\n "pump": "Kettil",\n "litres": 45\n}\n{\n "pump": "Ostwerk",\n "litres": 60\n}\n',
    ],
)
def test_read_documents_table_of_json_has_a_record_for_each_row(tmp_path: Path, content: object) -> None:
    documents = read(tmp_path, "pumps.json", content)
    rows = [row for document in documents for row in facts(document, "pumps")]
    assert rows == [[("pump", "Kettil"), ("litres", "45")], [("pump", "Ostwerk"), ("litres", "60")]]


@pytest.mark.parametrize(
    "value",
    [
        {"names": ["Kettil", "Ostwerk"], "marks": ["old", "red"]},
        {"ring": [[15.4, 47.1], [14.3, 48.3]]},
        [["Kettil", "Ostwerk"], ["old", "red"]],
        {"0": {"a": 1}, "x": 2},
    ],
)
def test_with_rows_other_value_stays(value: object) -> None:
    assert objects.with_rows(value) == value


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ({"id": "7", "type": "towns", "attributes": {"name": "Graz", "area": 127}}, {"name": "Graz", "area": "127"}),
        (
            {"type": "Feature", "geometry": {"type": "Point"}, "properties": {"name": "Graz", "type": "town"}},
            {"name": "Graz", "properties.type": "town"},
        ),
        ({"_id": "a1", "_source": {"town": "Graz", "mayor": {"name": "Ada"}}}, {"town": "Graz", "mayor": "Ada"}),
        (
            {"town": "Graz", "mayor": {"name": "Ada", "born": 1970}},
            {"town": "Graz", "mayor": "Ada", "mayor.born": "1970"},
        ),
        ({"id": 1, "min": {"x": 1}, "max": {"x": 2}}, {"min.x": "1", "max.x": "2"}),
        ({"gate": "G1", "keeper": {"born": 1970, "post": "A"}}, {"keeper.born": "1970", "keeper.post": "A"}),
        ({"id": 1, "fields": {"keeper": {"stringValue": "Ada"}, "doors": {"integerValue": "4"}}}, {"doors": "4"}),
        ({"sys": {"id": "a"}, "fields": {"title": {"en-US": "Gate"}, "doors": {"N": "4"}}}, {"title": "Gate"}),
        ({"min": {"x": 1}, "max": {"x": 2, "y": 3}}, {"min.x": "1", "max.x": "2", "max.y": "3"}),
        ({"sku": "A1", "maker": {"first_name": "Ada", "last_name": "Berg"}, "price": 3}, {"maker.first_name": "Ada"}),
    ],
)
def test_object_file_member_that_says_all_is_the_object(row: dict[str, object], kept: dict[str, str]) -> None:
    part = object_file({"rows": [row, {"id": 9}]}, "data")
    assert part is not None and kept.items() <= {field.name: field.text for field in part.records[0].fields}.items()


def test_read_documents_lines_in_envelopes_have_titles_and_metadata(tmp_path: Path) -> None:
    hits = [{"_id": "h1", "_source": {"title": "Crane", "tonnes": 60}}, {"_id": "h2", "_source": {"text": "Old."}}]
    first, second = read(tmp_path, "hits.jsonl", "\n".join(map(json.dumps, hits)))
    assert (first.title, first.metadata["tonnes"], second.id, second.text) == ("Crane", "60", "h2", "Old.")


def test_object_file_mapping_of_two_numbered_keys_is_a_list() -> None:
    part = object_file({"cranes": {"c-1": {"name": "A", "t": 6}, "c-2": {"name": "B", "t": 9}}}, "port")
    assert part is not None and [record.type for record in part.records] == ["cranes", "cranes"]
    part = object_file({"box": {"min": {"x": 1, "y": 2}, "max": {"x": 3, "y": 4}}}, "port")
    assert part is not None and [field.name for field in part.records[0].fields][:2] == ["box.min.x", "box.min.y"]


def test_object_file_two_objects_alike_are_named_by_their_keys_unless_in_a_row() -> None:
    services = {"web": {"replicas": 4, "owner": "Tuva"}, "mail": {"replicas": 2, "owner": "Geir"}}
    extracted = object_file({"services": services}, "deploy")
    assert extracted is not None and [record.type for record in extracted.records] == ["services", "services"]
    assert (
        extracted.text == "services: id: web; replicas: 4; owner: Tuva.\nservices: id: mail; replicas: 2; owner: Geir."
    )
    rows = object_file([{"home": services["web"], "away": services["mail"]}] * 2, "matches")
    assert rows is not None and rows.text.startswith("home.replicas: 4; home.owner: Tuva; away.replicas: 2;")


def test_object_file_mapping_of_ids_gives_a_record_for_each() -> None:
    part = object_file({"users": {f"u{i}": {"name": f"N{i}", "age": i} for i in range(3)}}, "team")
    assert part is not None and part.text.splitlines()[0] == "users: id: u0; name: N0; age: 0."
    assert [record.type for record in part.records] == ["users"] * 3


def test_read_documents_object_of_too_many_values_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "_MAX_VALUES", 3)
    (tmp_path / "a.json").write_text(json.dumps(ORDER))
    (tmp_path / "b.jsonl").write_text(json.dumps(ORDER) + '\n{"text": "x"}\n')
    skipped: list[Skipped] = []
    assert [document.text for document in read_documents([tmp_path], skipped.append)] == ["x"]
    assert [part.reason for part in skipped] == ["more than 3 values; split it"] * 2


@pytest.mark.parametrize("depth", [45, 300])
def test_object_file_deep_nesting_is_kept(depth: int) -> None:
    value: object = "deepest"
    for _ in range(depth):
        value = {"a": value}
    part = object_file(value, "d")
    assert part is not None and "deepest" in part.text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab. ", max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), values, max_size=4))
def test_object_file_spans_say_the_fields(value: dict[str, object]) -> None:
    part = object_file(value, "thing")
    assert part is not None
    starts = [record.start for record in part.records]
    assert starts == sorted(starts)
    for record in part.records:
        assert record.end <= len(part.text)
        assert all(part.text[f.start : f.end] == f.text for f in record.fields)
