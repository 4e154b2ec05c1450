"""References by id between the objects of a document."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from graphwright.data import read_documents
from graphwright.data.document import Document
from graphwright.data.records.references import with_names


def read(path: Path, content: Any) -> list[Document]:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return list(read_documents([path], pytest.fail))


BOARD = {
    "lists": [{"id": "5f10a1", "name": "To do"}, {"id": "5f10a2", "name": "Done"}],
    "members": [{"id": "5f20b1", "initials": "AB", "fullName": "Anna Berg"}, {"id": "5f20b2", "fullName": "Tom Lind"}],
    "cards": [
        {"id": "5f40d1", "idList": "5f10a1", "idMembers": ["5f20b1", "5f20b2"], "name": "Oil the crane"},
        {"id": "5f40d2", "idList": "5f10a2", "idMembers": ["5f20b2", "5f99ff"], "name": "Paint the shed"},
    ],
    "checklists": [{"id": "5f50e1", "idCard": "5f40d1", "name": "Steps"}],
    "actions": [{"by": "5f20b1", "card": {"id": "5f40d1", "name": "Oil the crane"}}],
}


def test_read_documents_board_shows_the_names_behind_ids(tmp_path: Path) -> None:
    (board,) = read(tmp_path / "board.json", BOARD)
    assert board.text.splitlines()[4:] == [
        "cards: id: 5f40d1; idList: 5f10a1; idList.name: To do; idMembers: 5f20b1, 5f20b2; idMembers.fullName: Anna "
        "Berg, Tom Lind; name: Oil the crane.",
        "cards: id: 5f40d2; idList: 5f10a2; idList.name: Done; idMembers: 5f20b2, 5f99ff; idMembers.fullName: Tom Lind;"
        " name: Paint the shed.",
        "checklists: id: 5f50e1; idCard: 5f40d1; idCard.name: Oil the crane; name: Steps.",
        "actions: by: 5f20b1; by.fullName: Anna Berg; card.id: 5f40d1; card: Oil the crane.",
    ]


def test_read_documents_list_of_issues_names_the_others(tmp_path: Path) -> None:
    issues = [
        {"key": "BR-12", "fields": {"summary": "Bearings rust", "status": {"name": "Open"}, "parent": "BR-3"}},
        {"key": "BR-3", "fields": {"summary": "Bridge survey", "status": {"name": "Open"}, "blocks": ["BR-12"]}},
    ]
    first, second = read(tmp_path / "issues.json", issues)
    assert "parent: BR-3; parent.summary: Bridge survey." in first.text
    assert "blocks: BR-12; blocks.summary: Bearings rust." in second.text


def test_read_documents_form_answers_are_named_by_their_questions(tmp_path: Path) -> None:
    form = {
        "questions": [{"qid": "q1", "label": "How did you come?"}, {"qid": "q2", "label": "Age"}],
        "answers": [{"no": 7, "given": {"q1": "by tram", "q2": "34"}}, {"no": 8, "given": {"q1": "on foot"}}],
        "notes": [{"on": "q1", "comment": "Many left it out"}],
    }
    (survey,) = read(tmp_path / "survey.json", form)
    assert survey.text.splitlines()[2:] == [
        "answers: no: 7; given.How did you come?: by tram; given.Age: 34.",
        "answers: no: 8; given.How did you come?: on foot.",
        "notes: on: q1; on.label: How did you come?; comment: Many left it out.",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("works.xml", "<m><maker n='m-a'><name>Jan Holt</name></maker><maker n='m-b'><name>Rosa Vink</name></maker>"
         "<work><by>m-b</by><title>Dusk</title></work></m>"),
        ("works.yaml", "maker: {m-a: {name: Jan Holt}, m-b: {name: Rosa Vink}, m-c: {name: Bo Ek}}\nwork: [{by: m-b}]"),
    ],
)  # fmt: skip
def test_read_documents_xml_and_yaml_are_followed_too(tmp_path: Path, name: str, content: str) -> None:
    (works,) = read(tmp_path / name, content)
    assert "by: m-b; by.name: Rosa Vink" in works.text


def test_with_names_number_refers_under_the_name_of_its_list_only() -> None:
    shop = {
        "customers": [{"id": 1, "name": "Lena"}, {"id": 2, "name": "Piet"}],
        "products": [{"id": 1, "title": "Table", "price": 2}, {"id": 2, "title": "Lamp", "price": 1}],
        "orders": [{"id": 1, "customer_id": 2, "product": {"productId": 1}, "pieces": 2, "shop_id": 2}],
    }
    (order,) = with_names(shop)["orders"]
    assert order == {
        "id": 1, "customer_id": 2, "customer_id.name": "Piet", "product": {"productId": 1, "productId.title": "Table"},
        "pieces": 2, "shop_id": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        {"people": [{"name": "Anna", "city": "Graz"}], "tasks": [{"by": "Anna"}]},  # a word is no id
        {"sizes": [{"code": "M1", "name": "Medium"}], "people": [{"x": "M1"}, {"x": "F1"}, {"x": "D1"}]},
        {"days": [{"day": "2025-01-01", "name": "New Year"}], "visits": [{"on": "2025-01-01"}]},
        {"posts": [{"id": "p-1", "title": "A"}, {"id": "p-1", "title": "B"}], "likes": [{"of": "p-1"}]},
        {"jobs": {"a-b": {"run": "make"}, "c-d": {"run": "test"}, "e-f": {"run": "x", "needs": ["a-b"]}}},
        [], {}, None, 7, [[["a-1"]]], {"a": {"a-1": {}}},
    ],
)  # fmt: skip
def test_with_names_value_without_references_stays(value: Any) -> None:
    assert with_names(value) == value


def test_with_names_deep_and_large_values_are_read_in_linear_time() -> None:
    deep: Any = "a-1"
    for _ in range(900):
        deep = {"k": [deep]}
    assert with_names({"deep": deep, "l": [{"id": "a-1", "name": "A"}]})["deep"] == deep
    many = {
        f"list{n}": [{"id": f"x{n}-{m}", "name": f"N{n}.{m}", "to": f"x9-{m}"} for m in range(60)] for n in range(90)
    }
    begin = time.process_time()
    assert with_names(many)["list3"][5]["to.name"] == "N9.5"
    assert time.process_time() - begin < 5


def test_read_documents_number_of_rows_refers_to_none(tmp_path: Path) -> None:
    rows = [{"id": "g1", "keeper": "Ada Berg", "lanes": 4}, {"id": "g2", "keeper": "Bo Dahl", "lanes": 2}]
    (document,) = read(tmp_path / "gates.json", {"total_rows": 2, "rows": rows})
    assert document.text.splitlines()[:2] == ["total_rows: 2.", "rows: id: g1; keeper: Ada Berg; lanes: 4."]
