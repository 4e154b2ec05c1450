"""Logs of chats and transcripts, as programs export them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.formats.made import pdf, written

from graphwright.data.document import Document
from graphwright.data.documents import read_documents

LOGS = {
    "whatsapp_ios.txt": (
        "[14.05.26, 18:02:11] Dana: Is the gate open?\n\u200e[14.05.26, 18:03:05] Femi Ade: No.\nIt opens at noon.\n"
    ),
    "whatsapp_android.txt": (
        "5/14/26, 6:02\u202fPM - Messages and calls are end-to-end encrypted.\n"
        "5/14/26, 6:02\u202fPM - Dana: Is the gate open?\n5/14/26, 6:03\u202fPM - ~ Femi Ade: No.\nIt opens at noon.\n"
    ),
    "signal.txt": "[2026-05-14, 18:02] Dana: Is the gate open?\n[2026-05-14, 18:03] Femi Ade: No.\nIt opens at noon.\n",
    "telegram.txt": "Dana, [14.05.26 18:02]\nIs the gate open?\n\nFemi Ade, [14.05.26 18:03]\nNo.\nIt opens at noon.\n",
    "discord.txt": (
        "Dana — 05/14/2026 6:02 PM\nIs the gate open?\nFemi Ade — 05/14/2026 6:03 PM\nNo.\nIt opens at noon.\n"
    ),
    "teams.txt": "Dana\n14/05/2026 18:02\nIs the gate open?\n\nFemi Ade\n14/05/2026 18:03\nNo.\nIt opens at noon.\n",
    "discord_old.txt": (
        "[14-May-26 06:02 PM] Dana\nIs the gate open?\n\n[14-May-26 06:03 PM] Femi Ade\nNo.\nIt opens at noon.\n"
    ),
    "kakao.txt": (
        "2026년 5월 14일 오후 6:02, Dana : Is the gate open?\n"
        "2026년 5월 14일 오후 6:03, Femi Ade : No.\nIt opens at noon.\n"
    ),
    "whatsapp_french.txt": (
        "14/05/2026 à 18:02 - Dana: Is the gate open?\n14/05/2026 à 18:03 - Femi Ade: No.\nIt opens at noon.\n"
    ),
    "whatsapp_spanish.txt": (
        "14/5/26, 6:02 p.\xa0m. - Dana: Is the gate open?\n14/5/26, 6:03 p.\xa0m. - Femi Ade: No.\nIt opens at noon.\n"
    ),
    "whatsapp_chinese.txt": (
        "2026/5/14 晚上6:02 - Dana: Is the gate open?\n2026/5/14 晚上6:03 - Femi Ade: No.\nIt opens at noon.\n"
    ),
    "whatsapp_arabic.txt": (
        "١٤\u200f/٥\u200f/٢٠٢٦، ٦:٠٢ م - Dana: Is the gate open?\n"
        "١٤\u200f/٥\u200f/٢٠٢٦، ٦:٠٣ م - Femi Ade: No.\nIt opens at noon.\n"
    ),
    "kakao_desktop.txt": (
        "--------------- 2026년 5월 14일 목요일 ---------------\n[Dana] [오후 6:02] Is the gate open?\n"
        "[Femi Ade] [오후 6:03] No.\nIt opens at noon.\n"
    ),
    "line.txt": "2026/05/14(Thu)\n18:02\tDana\tIs the gate open?\n18:03\tFemi Ade\tNo.\nIt opens at noon.\n",
}
TRANSCRIPTS = {
    "zoom.txt": "Dana  0:03\nIs the gate open?\n\nFemi Ade  12:03\nNo.\nIt opens at noon.\n",
    "brackets.txt": "Meeting of the dam\n\n[0:03] Dana: Is the gate open?\n[12:03] Femi Ade: No. It opens at noon.\n",
    "zoom_chat.txt": (
        "0:03\t From  Dana : Is the gate open?\n12:03\t From  Femi Ade  to  Dana : No. It opens at noon.\n"
    ),
    "teams_meeting.txt": (
        "Gate-20260514_100000-Recording\nMay 14, 2026, 10:00AM\n28m 12s\n\n"
        "Dana   0:03\nIs the gate open?\n\nFemi Ade   12:03\nNo.\nIt opens at noon.\n"
    ),
    "otter.txt": "Dana (0:03): Is the gate open?\nFemi Ade (12:03): No. It opens at noon.\n",
}
IRC = """--- Log opened Thu May 14 09:29:00 2026
09:29 -!- dana [~dana@example.org] has joined #dam
09:30 <@dana> is the gate open?
09:31 < femi> no
--- Day changed Fri May 15 2026
08:00 <@dana> now it is
"""


def read(folder: Path, name: str, content: str | bytes) -> Document:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    [document] = read_documents([folder / name], print)
    return document


def turns(document: Document) -> list[tuple[str, ...]]:
    records = [{f.name: f.text for f in record.fields} for record in document.records if record.type == "message"]
    return [(f["speaker"], f.get("time", ""), f["text"]) for f in records if "speaker" in f]


@pytest.mark.parametrize("name", LOGS)
def test_read_documents_chat_turns_say_speaker_and_time(tmp_path: Path, name: str) -> None:
    document = read(tmp_path, name, LOGS[name])
    assert document.text.endswith("Dana (18:02): Is the gate open?\nFemi Ade (18:03): No. It opens at noon.")
    assert [heading.title for heading in document.headings] == ["2026-05-14"]
    (first, time, text), (second, later, answer) = turns(document)
    assert (first, text, second, answer) == ("Dana", "Is the gate open?", "Femi Ade", "No. It opens at noon.")
    assert time.startswith("2026-05-14 18:02") and later.startswith("2026-05-14 18:03")
    assert document.places is not None and document.places.of(*document.records[-1][2:4]) == later
    said = [document.text[f.start : f.end] for f in document.records[-1].fields]
    assert said == ["Femi Ade", "18:03", "No. It opens at noon."]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_read_documents_transcript_times_are_places(tmp_path: Path, name: str) -> None:
    document = read(tmp_path, name, TRANSCRIPTS[name])
    assert turns(document) == [("Dana", "0:03", "Is the gate open?"), ("Femi Ade", "12:03", "No. It opens at noon.")]
    assert document.places is not None and document.places.of(*document.records[-1][2:4]) == "time 12:03"
    assert ("Meeting of the dam" in document.text) == (name == "brackets.txt")
    assert ("Gate-20260514_100000-Recording" in document.text) == (name == "teams_meeting.txt")


def test_read_documents_times_between_turns_are_those_of_what_follows(tmp_path: Path) -> None:
    lines = ["00:00:00", "Dana: Is it open?", "Bo: No.", "", "00:05:00", "Dana: When?", "Bo: At noon."]
    document = read(tmp_path, "meet.txt", "\n".join(lines))
    assert [turn[1] for turn in turns(document)] == ["00:00:00", "00:00:00", "00:05:00", "00:05:00"]
    assert document.text.count("00:05:00") == 2


def test_read_documents_irc_log_has_days_and_notices(tmp_path: Path) -> None:
    document = read(tmp_path, "dam.log", IRC)
    assert turns(document) == [
        ("dana", "2026-05-14 09:30", "is the gate open?"),
        ("femi", "2026-05-14 09:31", "no"),
        ("dana", "2026-05-15 08:00", "now it is"),
    ]
    assert "dana [~dana@example.org] has joined #dam" in document.text
    assert [record.type for record in document.records].count("message") == 3


ACTIONS = {
    "irssi": "10:01 < pia> hello\n10:02 <@tor> hi\n10:03  * pia pours tea\n10:04 -!- pia has quit [Ping timeout]\n",
    "weechat": (
        "10:00:30\t-->\tpia (~pia@example.org) has joined #loom\n10:01:00\tpia\thello\n10:02:00\t@tor\thi\n"
        "10:03:00\t *\tpia pours tea\n10:04:00\t--\tMode #loom [+o tor]\n"
    ),
    "mirc": (
        "[10:01:00] <pia> hello\n[10:02:00] <tor> hi\n[10:03:00] * pia pours tea\n"
        "[10:04:00] * tor (~tor@example.org) has left #loom\n[10:05:00] * Topic is looms\n"
    ),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_read_documents_irc_actions_are_turns_and_notices_are_not(tmp_path: Path, name: str) -> None:
    document = read(tmp_path, f"{name}.log", ACTIONS[name])
    messages = [record for record in document.records if record.type == "message"]
    assert [(turn[0], turn[2]) for turn in turns(document)] == [("pia", "hello"), ("tor", "hi"), ("pia", "pours tea")]
    assert len(messages) == 3


def test_read_documents_dialogue_without_times_has_speakers(tmp_path: Path) -> None:
    lines = ["Dana: Is the gate open?", "Femi: No, at noon.", "Dana: Who opens it?", "Femi: I do."]
    document = read(tmp_path, "talk.txt", "\n".join(lines))
    assert document.text.split("\n") == lines and document.places is None
    assert [record.fields[0].text for record in document.records[1:]] == ["Dana", "Femi"] * 2


def test_read_documents_long_turn_repeats_its_speaker(tmp_path: Path) -> None:
    document = read(tmp_path, "t.txt", f"[0:03] Dana: {'The gate is open. ' * 80}\n[9:03] Femi: Good.\n")
    lines = document.text.split("\n")
    assert len(lines) > 2 and all(line.startswith("Dana (0:03): The gate") for line in lines[:-1])
    assert [record.type for record in document.records] == ["document", "message", "message"]


@pytest.mark.parametrize(
    "content",
    [
        "[2024-05-01 09:30:15] production.ERROR: no gate\n[2024-05-01 09:30:16] production.INFO: gate\n",
        "Name: Kettil\nPrice: 12\nStock: 3\n\nName: Ostwerk\nPrice: 14\nStock: 2\n",
        "Graz 10:30\nLinz 12:10\nWien 14:15\n",
        "The dam was built in 1957. It is high.\nNote: it is closed.\nAt 10:30 the gate opens.\n",
        "Opening hours: daily.\nAddress: Graz.\nEntry: free.\nParking: behind the house.\n",
    ],
)
def test_read_documents_other_text_stays_as_it_is(tmp_path: Path, content: str) -> None:
    document = read(tmp_path, "a.txt", content)
    assert document.text.strip() == content.strip() and [record.type for record in document.records] == ["document"]


def test_read_documents_chat_number_of_a_telephone_is_a_speaker(tmp_path: Path) -> None:
    text = "3/14/26, 9:05 PM - Ann: Who?\n3/14/26, 9:06 PM - +47 912 34 567: <Media omitted>\n"
    assert turns(read(tmp_path, "a.txt", text))[1] == ("+47 912 34 567", "2026-03-14 21:06", "<Media omitted>")


LINES = {
    "teams": (
        "Weekly call",
        "Ida Holm   0:03\nThe crane is booked.",
        "Bo Lund   0:12\nWho drives it?",
        "Ida Holm   0:15\nI do.",
    ),
    "interview": ("A visit", "Host: When did it open?", "Holm: In 1931.", "Host: Who built it?", "Holm: We did."),
    "whatsapp": ("[01.05.24, 09:12] Ida: Is it here?", "[01.05.24, 09:13] Bo: No.", "[02.05.24, 10:00] Ida: And now?"),
}


@pytest.mark.parametrize("name", LINES)
def test_read_documents_chat_in_word_and_pdf_has_messages(tmp_path: Path, name: str) -> None:
    document, pages = pytest.importorskip("docx").Document(), pdf()
    for line in LINES[name]:
        document.add_paragraph(line)
        pages.multi_cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
        pages.ln(3)
    word = read(tmp_path, f"{name}.docx", written(document))
    assert turns(word) == turns(read(tmp_path, f"{name}.pdf", bytes(pages.output())))
    assert len({turn[0] for turn in turns(word)}) == 2 and (word.places is not None) == (name != "interview")
    for record in word.records[1:]:
        said = {field.name: word.text[field.start : field.end] for field in record.fields}
        assert said["speaker"] == record.fields[0].text and said["text"] == record.fields[-1].text


def test_read_documents_word_document_with_an_agenda_has_no_messages(tmp_path: Path) -> None:
    document = pytest.importorskip("docx").Document()
    for line in ("09:00 Welcome: the mayor", "09:30 Lecture: rivers", "Note: it is cold.", "Break", "10:00 End: all"):
        document.add_paragraph(line)
    assert turns(read(tmp_path, "a.docx", written(document))) == []


def test_read_documents_rows_of_tables_are_no_messages(tmp_path: Path) -> None:
    rows = "".join(f"| {pump} | It is {pump}. |\n" for pump in ("P1", "P2", "P3"))
    tables = "".join(f"| {name} | Text |\n|---|---|\n{rows}\n" for name in ("Pump", "Valve"))
    text = read(tmp_path, "a.md", f"{tables}Host: Is it on?\n\nIda: It is.\n\nHost: Good.\n\nIda: Yes.\n")
    assert [turn[0] for turn in turns(text)] == ["Host", "Ida", "Host", "Ida"]
    assert turns(read(tmp_path, "b.md", tables)) == []
