"""Records of whole documents: dates and versions in names, front matter and texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright.data.documents import read_documents
from graphwright.data.records.versions import name_parts


def record(folder: Path, name: str, content: str) -> dict[str, str]:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")
    [document] = read_documents([folder], print)
    assert document.records[0].type == "document" and document.records[0].end == len(document.text)
    return {field.name: field.text for field in document.records[0].fields}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("travel-policy-2026.md", ("travel policy", "2026", "")),
        ("policy_v2.docx", ("policy", "", "2")),
        ("policy 2.1.pdf", ("policy", "", "2.1")),
        ("Handbuch Rev. 3.pdf", ("Handbuch", "", "3")),
        ("minutes-20240312.txt", ("minutes", "2024-03-12", "")),
        ("01.03.2024 Protokoll.txt", ("Protokoll", "2024-03-01", "")),
        ("hr/2023/leave.md", ("hr/leave", "2023", "")),
        ("2024-03-01.md", ("", "2024-03-01", "")),
        ("policy_2024Q1.md", ("policy", "2024-Q1", "")),
        ("policy_Mar2024.md", ("policy", "2024-03", "")),
        ("Richtlinie März 2024.md", ("Richtlinie", "2024-03", "")),
        ("Richtlinie 03.2024.md", ("Richtlinie", "2024-03", "")),
        ("2024年3月_規程.md", ("規程", "2024-03", "")),
        ("規程_第2版.md", ("規程", "", "2")),
        ("policy-rev-B.md", ("policy", "", "B")),
        ("policy@2.1.0.md", ("policy", "", "2.1.0")),
        ("policy-2024-03-01T0900.md", ("policy", "2024-03-01", "")),
        ("season 2024.md", ("season", "2024", "")),
        ("price list 2024.md", ("price list", "2024", "")),
        ("iso-9001.md", ("iso 9001", "", "")),
        ("rfc9110.txt", ("rfc9110", "", "")),
    ],
)
def test_name_parts_dates_and_versions_are_found(name: str, expected: tuple[str, str, str]) -> None:
    assert tuple(name_parts(name)) == expected


def test_read_documents_front_matter_is_fields_of_document(tmp_path: Path) -> None:
    settings = "title: Travel\ndate: 15.01.2026\nversion: 4\ntags: [hr, costs]\nowner:\n  name: Anna"
    assert record(tmp_path, "travel-2025.md", f"---\n{settings}\n---\n# Travel\n\nText.\n") == {
        "title": "Travel", "tags": "costs", "owner": "Anna", "date": "2026-01-15", "version": "4",
        "version of": "travel",
    }  # fmt: skip


@pytest.mark.parametrize(
    "form", ['+++\ndate = 2026-01-15\nauthor = "Anna"\n+++\n', "---\ndate: 2026-01-15\nauthor: Anna\n---\n"]
)
def test_read_documents_front_matter_of_yaml_and_toml_is_same(tmp_path: Path, form: str) -> None:
    fields = record(tmp_path, "note.md", f"{form}Text.\n")
    assert (fields["date"], fields["author"], fields["version of"]) == ("2026-01-15", "Anna", "note")


def test_read_documents_line_near_top_gives_date_and_version(tmp_path: Path) -> None:
    text = "Leave policy\nVersion 2.1, 1 March 2024\n\nThis policy of 3 May 2020 applies to everybody in the company.\n"
    fields = record(tmp_path, "leave-2024.txt", text)
    assert (fields["date"], fields["version"], fields["version of"]) == ("2024-03-01", "2.1", "leave")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bread.md", "# Bread\n\n| Loaf | Baked | Label |\n|---|---|---|\n| Rye | 2031-02-03 | v7 |\n{}\n"),
        ("bread.html", "<h1>Bread</h1><table><tr><th>Loaf<th>Baked<tr><td>Rye<td>3 Feb 2031</table><p>{}</p>"),
        (
            "bread.yaml",
            "to: {}\nbread:\n  - loaf: Rye\n    baked: 2031-02-03\n  - loaf: Oat\n    baked: 2030-02-09\n",
        ),
    ],
)
def test_read_documents_date_in_row_is_none_of_document(tmp_path: Path, name: str, text: str) -> None:
    assert "date" not in record(tmp_path, name, text.format("Fresh")) and "version" not in record(tmp_path, name, text)
    assert record(tmp_path, name, text.format("As of 5 May 2023"))["date"] == "2023-05-05"


def test_read_documents_date_in_object_that_is_the_file_is_its_date(tmp_path: Path) -> None:
    assert record(tmp_path, "rota.yaml", "team: North\nmade: 2024-05-06\n")["date"] == "2024-05-06"


def test_read_documents_date_in_name_precedes_another_in_text(tmp_path: Path) -> None:
    fields = record(tmp_path, "leave-2024.txt", "Leave policy\nSince 1 March 2019\n\nText.\n")
    assert fields["date"] == "2024"


def test_read_documents_without_date_has_no_family(tmp_path: Path) -> None:
    assert record(tmp_path, "leave.txt", "Leave policy.\n") == {"title": "leave"}
