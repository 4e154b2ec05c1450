"""Word, PowerPoint and Excel files, written by the libraries that read them."""

from __future__ import annotations

import io
import zipfile
from datetime import date, datetime
from functools import reduce
from typing import Any

import pytest
from tests.data.formats.made import RIVERS, edited, extracted, written, zipped

from graphwright.data.formats.format import Extracted, UnreadableError


def report() -> Any:
    document = pytest.importorskip("docx").Document()
    document.core_properties.author = "Anna"
    document.add_heading("Rivers of Styria", 0)
    document.add_paragraph("An introduction.")
    document.add_heading("The Mur", 1)
    document.add_paragraph("It is long.", style="List Bullet")
    document.add_paragraph("It is wide.", style="List Bullet")
    table = document.add_table(0, 3)
    for values in RIVERS:
        for cell, value in zip(table.add_row().cells, values, strict=True):
            cell.text = value
    document.add_heading("Its source", 2)
    document.add_paragraph("It rises in the Lungau.")
    return document


def test_docx_headings_lists_and_tables_are_read() -> None:
    word = extracted("a.docx", written(report()))
    assert word.text == (
        "Rivers of Styria\n\nAn introduction.\n\nThe Mur\n\n- It is long.\n- It is wide.\n\n"
        "River: Mur; Length: 464 km; Source: Lungau.\nRiver: Enns; Length: 254 km; Source: Radstadt.\n\n"
        "Its source\n\nIt rises in the Lungau."
    )
    assert [(h.level, h.title) for h in word.headings] == [(1, "Rivers of Styria"), (1, "The Mur"), (2, "Its source")]
    assert all(word.text.startswith(title, start) for start, _, title in word.headings)
    assert (word.title, word.metadata, word.places) == ("Rivers of Styria", {"author": "Anna"}, None)


def test_docx_page_breaks_of_layout_are_places() -> None:
    data = edited(written(report()), "<w:t>It rises", "<w:lastRenderedPageBreak/><w:t>It rises", "word/document.xml")
    word = extracted("a.docx", data)
    assert word.places is not None and word.places.of(0, 9) == "page 1"
    start = word.text.index("It rises")
    assert word.places.of(start, start + 5) == "page 2"


def test_docx_notes_follow_their_paragraph() -> None:
    namespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    paragraph = "<w:p><w:r><w:t>Or Murau.</w:t></w:r></w:p>"
    note = f'<w:footnotes {namespace}><w:footnote w:id="2">{paragraph}</w:footnote></w:footnotes>'
    data = edited(written(report()), "<w:t>An int", '<w:footnoteReference w:id="2"/><w:t>An int', "word/document.xml")
    data = edited(data, "<w:t>464 km", '<w:footnoteReference w:id="2"/><w:t>464 km', "word/document.xml")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    relation = f'<Relationship Id="rId99" Type="{kind}" Target="footnotes.xml"/></Relationships>'
    data = edited(data, "</Relationships>", relation, "word/_rels/document.xml.rels")
    content = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    override = f'<Override PartName="/word/footnotes.xml" ContentType="{content}"/></Types>'
    data = edited(data, "</Types>", override, "[Content_Types].xml")
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("word/footnotes.xml", note)
    text = extracted("a.docx", file.getvalue()).text
    assert "¹An introduction.\n\nNote 1: Or Murau.\n\nThe Mur" in text and "Length: 464 km" in text
    assert "\n\nNote 2: Or Murau." in text


def test_docx_with_macros_is_read() -> None:
    plain, macros = "document.main+xml", "macroEnabled"
    data = edited(
        written(report()),
        f"application/vnd.openxmlformats-officedocument.wordprocessingml.{plain}",
        f"application/vnd.ms-word.document.{macros}.main+xml",
        "[Content_Types].xml",
    )
    assert extracted("a.docm", data).text.startswith("Rivers of Styria")


def test_pptx_slides_tables_and_notes_are_read() -> None:
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "The Mur"
    slide.placeholders[1].text_frame.text = "It is long."
    slide.placeholders[1].text_frame.add_paragraph().text = "464 km"
    slide.placeholders[1].text_frame.paragraphs[1].level = 1
    slide.notes_slide.notes_text_frame.text = "Mention Graz."
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "All rivers"
    table = second.shapes.add_table(3, 3, 0, 3_000_000, 5_000_000, 1_000_000).table
    for row, values in enumerate(RIVERS):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    deck = extracted("a.pptx", written(presentation))
    assert deck.text == (
        "The Mur\n\nIt is long.\n- 464 km\n\nNotes: Mention Graz.\n\nAll rivers\n\n"
        "River: Mur; Length: 464 km; Source: Lungau.\nRiver: Enns; Length: 254 km; Source: Radstadt."
    )
    assert [h.title for h in deck.headings] == ["The Mur", "All rivers"] and deck.title == "The Mur"
    start = deck.text.index("River:")
    assert (
        deck.places is not None and deck.places.of(start, start + 9) == "slide 2" and deck.places.of(0, 3) == "slide 1"
    )


def test_xlsx_row_becomes_sentence_of_cells() -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    sheet = workbook.active
    sheet.title = "Rivers"
    sheet["B2"], sheet["C2"], sheet["D2"] = "River", "Length", "Measured"
    sheet["B3"], sheet["C3"], sheet["D3"] = "Mur", 464.0, date(2024, 5, 1)
    sheet["B4096"], sheet["XFD4096"] = "Enns", True
    workbook.create_sheet("Empty")
    book = extracted("a.xlsx", written(workbook))
    assert book.text == ("Rivers\n\nRiver: Mur; Length: 464; Measured: 2024-05-01.\nRiver: Enns; true.")
    start = book.text.index("River: Mur")
    assert book.places is not None and book.places.of(start, start + 10) == "Rivers!B3:D3"
    assert book.places.of(start, len(book.text) - 8) == "Rivers!B3:D3 to Rivers!B4096:XFD4096"


TEXT_BOX = """<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice
Requires="wps"><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p><w:p><w:r><w:t>A second line.</w:t></w:r></w:p>
</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent>
</mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>It is long.</w:t></w:r>"""


def test_docx_text_box_is_read_once() -> None:
    data = edited(written(report()), "<w:r><w:t>It is long.</w:t></w:r>", TEXT_BOX, "word/document.xml")
    assert "- In a box.\nA second line.\nIt is long.\n- It is wide." in extracted("a.docx", data).text


STRICT = {
    "http://schemas.openxmlformats.org/officeDocument/2006/": "http://purl.oclc.org/ooxml/officeDocument/",
    "http://schemas.openxmlformats.org/wordprocessingml/2006/": "http://purl.oclc.org/ooxml/wordprocessingml/",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/": "http://purl.oclc.org/ooxml/spreadsheetml/",
}


def strict(data: bytes) -> bytes:
    """The package in the strict form of ISO 29500."""
    return reduce(lambda package, form: edited(package, *form), STRICT.items(), data)


def test_office_strict_form_is_read_like_transitional() -> None:
    data = written(report())
    assert extracted("a.docx", strict(data)).text == extracted("a.docx", data).text
    workbook = pytest.importorskip("openpyxl").Workbook()
    for values in RIVERS:
        workbook.active.append(values)
    data = written(workbook)
    assert "River: Mur" in extracted("a.xlsx", data).text
    assert extracted("a.xlsx", strict(data)).text == extracted("a.xlsx", data).text


def test_xlsx_part_without_text_gives_no_warning() -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    workbook.active.append(["River", "Mur"])
    slicer = '<extLst><ext uri="{A8765BA9-456A-4DAB-B4F3-ACF838C121DE}"/></extLst></worksheet>'
    data = edited(written(workbook), "</worksheet>", slicer, "xl/worksheets/sheet1.xml")
    assert "Mur" in extracted("a.xlsx", data).text  # a warning would fail the test


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.zip"])
def test_office_cut_file_is_named(name: str) -> None:
    with pytest.raises(UnreadableError, match="a damaged zip archive"):
        extracted(name, written(report())[:-500])


def test_format_of_content_decides_before_suffix() -> None:
    assert extracted("report.txt", written(report())).text.startswith("Rivers of Styria")
    assert extracted("wrong.docx", b"Just text.").text == "Just text."
    with pytest.raises(UnreadableError, match="not of the format Word document"):
        extracted("wrong.docx", bytes(range(32)) * 40)
    with pytest.raises(UnreadableError, match="old or encrypted Office document"):
        extracted("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(UnreadableError, match="not of the format Word document"):
        extracted("a.docx", zipped({"word/document.xml": b"<a>Half of a document</a>"}))


def test_docx_entities_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY s SYSTEM "file:///etc/passwd">]>'
    data = edited(written(report()), "<w:document ", f"{bomb}<w:document ", "word/document.xml")
    data = edited(data, "An introduction.", "An &s; introduction.", "word/document.xml")
    with pytest.raises(UnreadableError, match="declares entities"):
        extracted("a.docx", data)


def facts(part: Extracted) -> list[tuple[str, dict[str, str]]]:
    """The type and the fields of each record that is no copy; their places are checked."""
    for record in part.records:
        assert [part.text[field.start : field.end] for field in record.fields] == [f.text for f in record.fields]
    return [(r.type, {field.name: field.text for field in r.fields}) for r in part.records if not r.is_copy]


def test_xlsx_merged_header_formats_and_second_table_are_read() -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    sheet = workbook.active
    sheet.title = "Plants"
    sheet["A1"] = "Report 2026"
    sheet.merge_cells("A1:D1")
    for row in (["Plant", "Output", None, "Since", "Scrap"], [None, "Plan", "Actual"]):
        sheet.append(row)
    sheet.append(["Graz", 1200, 1100.5, date(1998, 5, 4), 0.034])
    sheet.append(["Linz", 800, 900, datetime(2011, 11, 30, 9, 30), 0.5])
    for merged in ("B2:C2", "A2:A3", "D2:D3", "E2:E3"):
        sheet.merge_cells(merged)
    for cell, form in (("B4", "#,##0"), ("C4", '#,##0.00 "t"'), ("D4", "DD.MM.YYYY"), ("E4", "0.0%"), ("E5", "0%")):
        sheet[cell].number_format = form
    sheet["A8"], sheet["B8"], sheet["A9"], sheet["B9"] = "Shift", "Lead", "Early", "Tora"
    hidden = workbook.create_sheet("Prices")
    hidden.sheet_state, hidden["A1"] = "hidden", "secret"
    book = extracted("a.xlsx", written(workbook))
    graz = {"Plant": "Graz", "Output / Plan": "1200", "Output / Actual": "1100.5 t", "Since": "1998-05-04"}
    linz = {"Plant": "Linz", "Output / Plan": "800", "Output / Actual": "900", "Since": "2011-11-30 09:30"}
    assert facts(book) == [
        ("Report 2026", {**graz, "Scrap": "3.4%"}), ("Report 2026", {**linz, "Scrap": "50%"}),
        ("Plants", {"Shift": "Early", "Lead": "Tora"}),
    ]  # fmt: skip
    assert book.places is not None and book.places.of(*book.records[0][2:4]) == "Plants!A4:E4"
    assert book.gaps == "hidden sheets left out: Prices" and "secret" not in book.text


def test_xlsx_hidden_rows_and_columns_are_left_out_and_named() -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    sheet = workbook.active
    sheet.title = "Fleet"
    for row in (["Bus", "Driver", "Seats"], ["B1", "Ida", 40], ["B2", "Bo", 50], ["B3", "Cy", 60], ["All", None, 150]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = sheet.row_dimensions[3].hidden = True
    book = extracted("a.xlsx", written(workbook))
    assert [(r.is_copy, *(f.text for f in r.fields)) for r in book.records] == [
        (False, "B1", "40"), (False, "B3", "60"), (True, "All", "150"),
    ]  # fmt: skip
    assert book.gaps == "hidden rows of Fleet left out: 3; hidden columns of Fleet left out: B"
    assert book.places is not None and book.places.of(*book.records[1][2:4]) == "Fleet!A4:C4"


def test_xlsx_rows_out_of_view_by_a_filter_or_a_group_are_read() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.worksheet.filters import AutoFilter
    from openpyxl.worksheet.table import Table

    workbook = openpyxl.Workbook()
    sheets = [workbook.active, workbook.create_sheet(), workbook.create_sheet()]
    for sheet in sheets:
        for row in (["Bus", "Seats"], ["B1", 40], ["B2", 50]):
            sheet.append(row)
        sheet.row_dimensions[3].hidden = True
    sheets[0].auto_filter.ref = "A1:B3"
    sheets[0].auto_filter.add_filter_column(0, ["B1"])
    table = Table(displayName="buses", ref="A1:B3", autoFilter=AutoFilter(ref="A1:B3"))
    table.autoFilter.add_filter_column(0, ["B1"])
    sheets[1].add_table(table)
    sheets[2].row_dimensions.group(3, 3, hidden=True)
    book = extracted("a.xlsx", written(workbook))
    assert len(book.records) == 6 and book.gaps == ""


def test_xlsx_tables_beside_each_other_and_totals_are_read() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    for row in (["Item", "Cost", None, "Person", "Team"], ["Desk", 120, None, "Anna", "Red"]):
        workbook.active.append(row)
    for row in (["Lamp", 35, None, "Ben", "Blue"], ["All", "=SUM(B2:B3)"]):
        workbook.active.append(row)
    form = workbook.create_sheet("Invoice")
    form.append(["Customer:", "Halden"])
    form.append(["Date:", date(2024, 3, 1)])
    book = extracted("a.xlsx", written(workbook))
    assert facts(book) == [
        ("Sheet", {"Item": "Desk", "Cost": "120"}), ("Sheet", {"Item": "Lamp", "Cost": "35"}),
        ("Sheet 2", {"Person": "Anna", "Team": "Red"}), ("Sheet 2", {"Person": "Ben", "Team": "Blue"}),
        ("Invoice", {"Customer": "Halden", "Date": "2024-03-01"}),
    ]  # fmt: skip
    assert book.gaps == "formulas without a value: 1; open and save it in Excel"
    assert book.places is not None and book.places.of(len(book.text) - 2, len(book.text)) == "Invoice!A1:B2"


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (["Anlagen", "Tier|Alter||Pfleger|Tag", "Elch|4||Ute|Mo", "Bär|11||Jan|Di"], ["Anlagen", "Zoo"]),
        (["Tiere||||Dienst", "Tier|Alter||Pfleger|Tag", "Elch|4||Ute|Mo", "Bär|11||Jan|Di"], ["Tiere", "Dienst"]),
        (
            ["Futter", "Sorte|Ort", "Heu|Scheune", "", "Dienst", "Pfleger|Stunden", "Ute|30", "Jan|20"],
            ["Futter", "Dienst"],
        ),
        (
            ["Futter", "", "Sorte|kg", "Heu|9", "Obst|4", "", "* ohne Winter", "", "", "Name|Tag", "Ute|Mo"],
            ["Futter", "Zoo"],
        ),
        (["Futter", "Sorte|kg", "Heu|9", "Obst|4"], ["Zoo"]),  # the only table of the sheet has its name
    ],
)
def test_xlsx_title_above_one_of_several_tables_names_it(rows: list[str], names: list[str]) -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    workbook.active.title = "Zoo"
    for row in rows:
        workbook.active.append([cell or None for cell in row.split("|")])
    assert list(dict.fromkeys(kind for kind, _ in facts(extracted("a.xlsx", written(workbook))))) == names


def test_xlsx_copies_of_a_table_with_a_header_of_two_lines_are_read() -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    head = [["Plant", "2023", None, "2024", None], [None, "Plan", "Actual", "Plan", "Actual"]]
    north, south = [["North"], *head, ["Graz", 1, 2, 3, 4]], [["South"], *head, ["Wien", 5, 6, 7, 8]]
    for row in [*north, ["Linz", 9, 8, 7, 6], *south, ["Enns", 1, 1, 1, 2]]:
        workbook.active.append(row)
    book = extracted("a.xlsx", written(workbook))
    assert [kind for kind, _ in facts(book)] == ["North", "North", "South", "South"]
    assert "South\n\nPlant: Wien; 2023 / Plan: 5; 2023 / Actual: 6; 2024 / Plan: 7; 2024 / Actual: 8." in book.text


def test_xlsx_default_name_of_sheet_gives_way_to_title() -> None:
    workbook = pytest.importorskip("openpyxl").Workbook()
    workbook.active.title = "Tabelle1"
    for row in (["Rivers of Styria"], ["River", "km"], ["Mur", 464], ["Enns", 254]):
        workbook.active.append(row)
    assert [kind for kind, _ in facts(extracted("a.xlsx", written(workbook)))] == ["Rivers of Styria"] * 2


def test_docx_merged_cells_and_caption_are_read() -> None:
    document = pytest.importorskip("docx").Document()
    document.add_heading("Cities", 1)
    document.add_paragraph("Table 2: Inhabitants of cities")
    table = document.add_table(4, 3)
    rows = (("Country", "City", "Inhabitants"), ("Austria", "Graz", "300000"), ("", "Linz", "210000"))
    for number, row in enumerate((*rows, ("Italy", "Rome", "2800000"))):
        for cell, text in zip(table.rows[number].cells, row, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    kinds, records = zip(*facts(extracted("a.docx", written(document))), strict=True)
    assert set(kinds) == {"Inhabitants of cities"}
    assert [(r["Country"], r["City"]) for r in records] == [("Austria", "Graz"), ("Austria", "Linz"), ("Italy", "Rome")]


def test_pptx_merged_header_is_read() -> None:
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = slide.shapes.add_table(4, 3, 0, 0, 5_000_000, 1_000_000).table
    for number, row in enumerate(
        (("Region", "Q1", ""), ("", "Sales", "Units"), ("North", "10", "1"), ("South", "9", "4"))
    ):
        for column, text in enumerate(row):
            table.cell(number, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    assert facts(extracted("deck.pptx", written(presentation)))[0] == (
        "", {"Region": "North", "Q1 / Sales": "10", "Q1 / Units": "1"},
    )  # fmt: skip


HEADER = ["Tier", "Alter"]


@pytest.mark.parametrize(
    ("slides", "names"),
    [
        ([("Zoo", [HEADER, ["Elch", "4"], ["Bär", "9"]]), ("Zoo (Forts.)", [HEADER, ["Wolf", "5"]])], ["Zoo", "Zoo"]),
        (
            [("Zoo 1/2", [HEADER, ["Elch", "4"], ["Bär", "9"]]), ("Zoo 2/2", [["Wolf", "5"], ["Fuchs", "2"]])],
            ["Zoo 1/2"] * 2,
        ),
        (
            [("Zoo", [["Tier", "Pfleger"], ["Elch", "Ute"]]), ("", [["Tier", "Pfleger"], ["Bär", "Jan"]])],
            ["Zoo", "Zoo"],
        ),
        ([("Nord", [HEADER, ["Elch", "4"]]), ("Süd", [HEADER, ["Bär", "9"]])], ["Nord", "Süd"]),
        ([("Zoo 2023", [HEADER, ["Elch", "4"]]), ("Zoo 2024", [HEADER, ["Elch", "5"]])], ["Zoo 2023", "Zoo 2024"]),
        ([("Zoo", [HEADER, ["Elch", "4"]]), ("Team", [["Name", "Tage"], ["Ute", "9"], ["Jan", "3"]])], ["Zoo", "Team"]),
    ],
)
def test_pptx_table_that_goes_on_on_the_next_slide_is_one(slides: list[Any], names: list[str]) -> None:
    deck = pytest.importorskip("pptx").Presentation()
    for title, rows in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = title
        table = slide.shapes.add_table(len(rows), 2, 0, 3_000_000, 5_000_000, 1_000_000).table
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                table.cell(number, column).text = text
    read = extracted("a.pptx", written(deck))
    records = [record for record in read.records if record.type != "document"]
    assert read.places is not None
    places = {read.places.of(record.start, record.end): record.type for record in records}
    assert places == {"slide 1": names[0], "slide 2": names[1]}
    assert all(not field.name.startswith("column") for record in records for field in record.fields)
