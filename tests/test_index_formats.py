"""A folder of many formats is indexed, and answers cite the page, slide, cell or line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.data.formats.made import rivers_pdf, written, zipped

from graphwright import Index
from graphwright.models.fake import HashEncoder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    for name in ("pypdfium2", "openpyxl", "pptx", "docx"):
        pytest.importorskip(name)
    import docx
    import openpyxl
    import pptx

    folder = tmp_path_factory.mktemp("documents")
    (folder / "rivers.pdf").write_bytes(rivers_pdf())
    workbook = openpyxl.Workbook()
    workbook.active.title = "Lakes"
    for row in (("Lake", "Depth"), ("Grundlsee", "64 m"), ("Toplitzsee", "103 m")):
        workbook.active.append(row)
    (folder / "lakes.xlsx").write_bytes(written(workbook))
    deck = pptx.Presentation()
    for title, text in (("Peaks", "An overview."), ("Dachstein", "The Dachstein glacier is shrinking.")):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text_frame.text = title, text
    (folder / "peaks.pptx").write_bytes(written(deck))
    report = docx.Document()
    report.add_heading("Bridges", 1)
    report.add_paragraph("The Keplerbrücke was built by Franz Huber.")
    (folder / "bridges.docx").write_bytes(written(report))
    (folder / "towns.py").write_text('"""Towns."""\n\n\ndef leoben():\n    return "founded by Ottokar"\n')
    cells = [
        {"cell_type": "markdown", "source": "# Wells"},
        {"cell_type": "code", "source": "depth = 'Mariazell spring'"},
    ]
    (folder / "wells.ipynb").write_text(json.dumps({"cells": cells}))
    made = Index(tmp_path_factory.mktemp("index") / "i", encoder=HashEncoder())
    made.sync(folder)
    return made


@pytest.mark.parametrize(
    ("question", "document", "location"),
    [
        ("Where does the Enns rise near Radstadt?", "rivers.pdf", "page 2"),
        ("What is the depth of the Toplitzsee?", "lakes.xlsx", "Lakes!A3:B3"),
        ("Which glacier is shrinking?", "peaks.pptx", "slide 2"),
        ("Who built the Keplerbrücke?", "bridges.docx", ""),
        ("Who founded leoben, Ottokar?", "towns.py", "line"),
        ("What is the Mariazell spring?", "wells.ipynb", "cell"),
    ],
)
def test_citation_names_its_location(index: Index, question: str, document: str, location: str) -> None:
    answer = index.ask(question, "bm25").answer
    assert answer is not None
    citation = next(citation for citation in answer.citations if citation.document == document)
    assert citation.location.startswith(location) and (bool(citation.location) == bool(location))
    assert ("location" in citation.to_dict()) == bool(location)
    assert index.text(document)[citation.start : citation.end] == citation.text


def test_locations_and_boxes_survive_index(index: Index) -> None:
    places, text = index.places("rivers.pdf"), index.text("rivers.pdf")
    assert places is not None and index.places("bridges.docx") is None
    start = text.index("The Raab is small")
    assert places.of(start, start + 5) == "page 3" and any(box.start <= start < box.end for box in places.boxes)
    titles = [passage.title for passage in index.retrieve("Raab small", "bm25").passages or ()]
    assert "Rivers of Styria › The river Raab" in titles
    assert index.verify() == []


def test_damaged_file_keeps_its_documents(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.mbox").write_text("From anna Fri Mar  1 10:00:00 2024\nSubject: Mur\n\nIt is high.\n")
    (folder / "b.zip").write_bytes(zipped({"a.txt": b"Graz lies on the Mur."}))
    (folder / "c.csv").write_text("id,text\nrow,The Enns.\n")
    index = Index(tmp_path / "index", encoder=HashEncoder())
    assert sorted(index.sync(folder).added) == ["a.mbox#1", "b.zip/a.txt", "row"]
    (folder / "a.mbox").write_bytes(bytes(range(8)) * 9)
    (folder / "b.zip").write_bytes(b"PK\x03\x04")
    (folder / "c.csv").write_text("id,text\nother,The Raab.\n")
    changes = index.sync(folder)
    assert (changes.added, changes.removed, sorted(changes.retained)) == (
        ["other"],
        ["row"],
        ["a.mbox#1", "b.zip/a.txt"],
    )
