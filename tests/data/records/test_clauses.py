"""Numbered clauses in texts of several formats."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document, split
from graphwright.data.documents import read_documents
from graphwright.data.records.clauses import clause_records, clauses

CONTRACT = """SERVICE AGREEMENT

1. Definitions

1.1 "Service" means the hosting.

1.2 "Fee" means the sum in Schedule 2.

2. Term

2.1 The agreement begins on 1 May 2024 and lasts 12 months.

2.2 Either party may end it:

(a) with 30 days notice; or

(b) at once, if

(i) the other is bankrupt, or

(ii) fails to pay.

(c) never on Sundays.

3. Fees

3.9 One.

3.10 Two.

3.11 Three.
"""
NUMBERS = [
    "1",
    "1.1",
    "1.2",
    "2",
    "2.1",
    "2.2",
    "2.2(a)",
    "2.2(b)",
    "2.2(b)(i)",
    "2.2(b)(ii)",
    "2.2(c)",
    "3",
    "3.9",
    "3.10",
    "3.11",
]


def read(folder: Path, name: str, content: str) -> Document:
    (folder / name).write_text(content, encoding="utf-8")
    [document] = read_documents([folder / name], print)
    return document


def numbers(document: Document) -> list[str]:
    return [record.fields[0].text for record in document.records if record.type == "clause"]


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_read_documents_clauses_of_every_format_are_records(tmp_path: Path, name: str) -> None:
    paragraphs = "".join(f"<p>{line}</p>" for line in CONTRACT.split("\n\n"))
    document = read(tmp_path, name, paragraphs if name.endswith("html") else CONTRACT)
    assert numbers(document) == NUMBERS
    record = next(record for record in document.records if record.fields[0].text == "2.2(b)")
    assert document.text[record.start : record.end].endswith("(ii) fails to pay.")
    assert [heading.title for heading in document.headings][:3] == ["1 Definitions", "1.1", "1.2"]
    chunks = split(document, budget=30, overlap=0)
    assert next(chunk.heading for chunk in chunks if "bankrupt" in chunk.text).endswith("2 Term › 2.2")


def test_read_documents_word_document_clauses_are_records(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    for line in CONTRACT.split("\n\n"):
        document.add_paragraph(line.strip())
    document.save(str(tmp_path / "a.docx"))
    [read] = read_documents([tmp_path], print)
    assert numbers(read) == NUMBERS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "§ 1 Zweck\n(1) Es regelt Pumpen.\n(2) Es gilt.\n\n§ 2 Frist\nBald.\n\n§ 12 Ende\n(1) So.\n(3) Nun.\n",
            ["§ 1", "§ 1(1)", "§ 1(2)", "§ 2", "§ 12", "§ 12(1)", "§ 12(3)"],
        ),
        ("Art. 5 Fees\nOne.\n\nArt. 5a Late\nTwo.\n\nArt. 6 End\nThree.\n", ["Art. 5", "Art. 5a", "Art. 6"]),
        ("Artículo 1\nUno.\n\nArtículo 2\nDos.\n\nArtículo 3\nTres.\n", ["Artículo 1", "Artículo 2", "Artículo 3"]),
        ("第1条 目的\n本規則は。\n第2条 定義\n一。\n第3条 その他\n二。\n", ["第1条", "第2条", "第3条"]),
        ("4.9 Term\nOne.\n4.10 Notice\nTwo.\n4.11 Costs\nThree.\n", ["4.9", "4.10", "4.11"]),
        ("4.2(a) One.\n4.2(b) Two.\n4.3 Three.\n", ["4.2(a)", "4.2(b)", "4.3"]),
        ("1.1 One.\n1.2 A share of\n3.5 percent is due.\n1.3 Three.\n", ["1.1", "1.2", "1.3"]),
        ("1. Intro .... 3\n2. Data .... 5\n2.1 Rows .... 6\n\n1. Intro\n\nLong text.\n\n2. Data\n\nMore text.\n\n"
         "2.1 Rows\n\nWe count.\n", ["1", "2", "2.1"]),
        ("Article 1er – Objet\nUn.\n\nArticle 2 – Prix\nDeux.\n2.1 Net.\n\nArticle 3 - Fin\nTrois.\n",
         ["Article 1", "Article 2", "2.1", "Article 3"]),
        ("Section 1. Scope\nOne.\n\nSection 2. Fees\n2(a) Two.\n2(b) Due.\n\nSection 3. End\nThree.\n",
         ["Section 1", "Section 2", "2(a)", "2(b)", "Section 3"]),
        ("Art. 1 - Oggetto\nUno.\n\nArt. 2 - Prezzo\n1. Netto.\n2. Mensile.\n\nArt. 3 - Fine\nTre.\n",
         ["Art. 1", "Art. 2", "Art. 2(1)", "Art. 2(2)", "Art. 3"]),
        ("I. Terms\n\nOne.\n\nII. Fees\n\nTwo.\n\nIII. End\n\nThree.\n", ["I", "II", "III"]),
        ("Title IX Sport\nOne.\n\nTitle X Music\nTwo.\n\nTitle XI End\nThree.\n", ["Title IX", "Title X", "Title XI"]),
        ("第九条 目的\n一。\n\n第十条 料金\n二。\n\n第十一条 期間\n三。\n", ["第九条", "第十条", "第十一条"]),
        ("Clause 4A Rent\nA.\n\nClause 4B Cost\nB.\n\nClause 5 End\nC.\n", ["Clause 4A", "Clause 4B", "Clause 5"]),
        ("1.1 Общее\nа) один;\nб) два;\n1.2 Цена\n1.3 Срок\n", ["1.1", "1.1(а)", "1.1(б)", "1.2", "1.3"]),
        ("Minutes\n\n1. Accounts\nIda reports.\n\n2. Quay\nIt is closed.\n\n3. Fair\nIt is moved.\n", ["1", "2", "3"]),
        ("1. Take milk\nand sugar.\n\n2. Stir it\nwell.\n\n3. Wait\nfor a day.\n", []),
        ("I. Oak\nII. Elm\nIII. Ash\n", []),
        ("Figure 1. Rivers of the north\nFigure 2. Lakes\nFigure 3. Seas\n", []),
        ("Steps:\n1. Open the box.\n2. Take the pump.\n3. Close it.\n", []),
        ("In 2024 we sold.\n2024 was good.\n2025 was better.\n2026 was best.\n", []),
    ],
)  # fmt: skip
def test_clause_records_numbers_are_as_cited(text: str, expected: list[str]) -> None:
    records, _ = clause_records(text, ())
    assert [record.fields[0].text for record in records] == expected


def test_clause_records_headings_with_a_number_are_clauses(tmp_path: Path) -> None:
    text = "# Rules\n\n## 1 Scope\n\nAll.\n\n### 1.1 Who\n\nStaff.\n\n### 1.2 What\n\nTools.\n\n## 2 Fees\n\n900.\n"
    (tmp_path / "a.md").write_text(text)
    [document] = read_documents([tmp_path], print)
    fields = [{f.name: f.text for f in record.fields} for record in document.records if record.type == "clause"]
    assert [(f["number"], f["text"]) for f in fields] == [
        ("1", "All."), ("1.1", "Staff."), ("1.2", "Tools."), ("2", "900."),
    ]  # fmt: skip


def test_clause_records_below_headings_go_one_level_down(tmp_path: Path) -> None:
    document = read(tmp_path, "a.md", "# Deal\n\n## 1. Term\n\n1.1 One.\n\n1.2 Two.\n\n## 2. Fees\n\n2.1 Three.\n")
    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "Deal"), (2, "1. Term"), (3, "1.1"), (3, "1.2"), (2, "2. Fees"), (3, "2.1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Rules\n\n1.1 Dogs are guests.\n1.2 Cats, too.\n20. Fines\n20.1 It is 5 francs.\n",
            ["1.1", "1.2", "20", "20.1"],
        ),
        (
            "Loan\n\n3.1 Pay monthly.\n3.2 See\nArticle 9 of the Code.\n3.3 Late.\n\nArt. 15 Default\n(1) It is due.\n",
            ["3.1", "3.2", "3.3", "Art. 15", "Art. 15(1)"],
        ),
        ("Pier\n\n7.1 Open.\n7.2 Free.\n7.3 The fee is due on\n19. Mai 2024.\n", ["7.1", "7.2", "7.3"]),
    ],
)
def test_clauses_number_jumps_or_word_changes_begins_a_clause(text: str, expected: list[str]) -> None:
    assert [clause.number for clause in clauses(text)] == expected


def test_clauses_heading_of_another_kind_has_its_own_parts(tmp_path: Path) -> None:
    text = "# Club\n\n## 1. Boats\n\n1.1. Lock.\n\n1.2. Dry.\n\n## Section 8 Fees\n\n1. Six euros.\n2. In May.\n"
    assert numbers(read(tmp_path, "club.md", text)) == ["1", "1.1", "1.2", "Section 8", "Section 8(1)", "Section 8(2)"]


LINES = ["1. One", "1.1 Two.", "1.2", "(a) three", "(b) four", "§ 3 Five", "2.10(b) Six", "text", "", "2. x", "(1) y"]


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_clause_records_lie_in_text_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    records, headings = clause_records(text, ())
    starts = [clause.start for clause in clauses(text)]
    assert starts == sorted(set(starts)) and [h.start for h in headings] == sorted({h.start for h in headings})
    for record in records:
        assert 0 <= record.start < record.end <= len(text)
        for field in record.fields[1:]:
            assert text[field.start : field.end].split() == field.text.split()
