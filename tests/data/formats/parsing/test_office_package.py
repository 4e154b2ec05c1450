"""Numbers that Word counts before paragraphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphwright.data.documents import read_documents
from graphwright.data.formats.parsing.office_package import cell_value

LEVELS = (("decimal", "%1."), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"), ("bullet", "•"))
CONTRACT = ((0, "Term"), (1, "It begins in May."), (1, "Either party may end it:"), (2, "at once, or"), (2, "in time."),
            (0, "Fees"), (1, "They are due."), (3, "In euros"))  # fmt: skip


def test_read_documents_numbers_counted_by_word_are_text(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = docx.Document()
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text) in enumerate(LEVELS)
    )
    numbering = document.part.numbering_part.element
    numbering.insert(0, parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="77">{levels}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="99"><w:abstractNumId w:val="77"/></w:num>'))
    for level, text in CONTRACT:
        place = document.add_paragraph(text)._p.get_or_add_pPr().get_or_add_numPr()
        place.get_or_add_ilvl().val = level
        place.get_or_add_numId().val = 99
    document.save(str(tmp_path / "a.docx"))
    [read] = read_documents([tmp_path], print)
    assert read.text.split("\n") == [
        "1. Term", "1.1 It begins in May.", "1.2 Either party may end it:", "(a) at once, or", "(b) in time.",
        "2. Fees", "2.1 They are due.", "      - In euros",
    ]  # fmt: skip
    numbers = [record.fields[0].text for record in read.records if record.type == "clause"]
    assert numbers == ["1", "1.1", "1.2", "1.2(a)", "1.2(b)", "2", "2.1"]


def test_cell_value_format_of_zeros_keeps_leading_zeros() -> None:
    assert [cell_value(*cell) for cell in ((7, "000"), (7, '"B-"0000'), (1234, "00"), (7.5, "00"))] == [
        "007", "B-0007", "1234", "7.5"
    ]  # fmt: skip
    assert [cell_value(*cell) for cell in ((7, "0"), (7.5, "0.00"), (7, "#,##0"))] == ["7", "7.5", "7"]
