"""Subtitles in the forms of SubRip and WebVTT."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.data.formats.format import File, UnreadableError
from graphwright.data.formats.subtitles import read

VTT = """WEBVTT - Standup
Kind: captions

NOTE made by hand

STYLE
::cue { color: red }

1
00:00:01.000 --> 00:00:04.000 align:start
<v Ines>The migration of the <i>database</i> is done.</v>

00:04.500 --> 00:09.000
<v.loud Paulo>I wait for the certificate of the gateway,

00:09.100 --> 00:12.000
<v Paulo>so the release moves &amp; waits.
"""
SRT = """1
00:00:01,000 --> 00:00:04,000
Welcome. The dam at Kölnbrein

2
00:00:04,000 --> 00:00:07,500
is two hundred
metres high.

3
01:00:08,000 --> 01:00:10,500
<i>- Is it?</i>
- ANNA: Note: it is.
"""


def document(folder: Path, name: str, content: str) -> Document:
    (folder / name).write_text(content, encoding="utf-8")
    [read] = read_documents([folder], print)
    return read


def test_read_documents_webvtt_voices_are_speakers(tmp_path: Path) -> None:
    part = document(tmp_path, "standup.vtt", VTT)
    assert part.text == (
        "Ines (00:00:01): The migration of the database is done.\n"
        "Paulo (00:00:04): I wait for the certificate of the gateway, so the release moves & waits."
    )
    assert [record.fields[0].text for record in part.records[1:]] == ["Ines", "Paulo"]
    start, end = part.records[2][2:4]
    assert part.places is not None and part.places.of(start, end) == "time 00:00:04"
    assert part.places.cuts(0, len(part.text)) == (start,)


def test_read_documents_subrip_sentences_over_cues_are_joined(tmp_path: Path) -> None:
    part = document(tmp_path, "talk.srt", SRT)
    assert part.text.split("\n") == [
        "Welcome. The dam at Kölnbrein is two hundred metres high.", "Is it?", "ANNA (01:00:08): Note: it is.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.sbv", "0:00:01.000,0:00:04.000\nAna: The dam is\n\n0:00:04.000,0:00:06.000\nold.\n\n"
         "0:01:07.000,0:01:09.000\nBo: Is it?\n\n0:01:10.000,0:01:12.000\nBo: No.\n"),
    ],
)  # fmt: skip
def test_read_documents_subtitles_of_other_programs_have_speakers(tmp_path: Path, name: str, content: str) -> None:
    lines = document(tmp_path, name, content).text.split("\n")
    assert lines == ["Ana (00:00:01): The dam is old.", "Bo (00:01:07): Is it?", "Bo (00:01:10): No."]


@pytest.mark.parametrize("names", [("DR. ROTH", "MRS. O'NEIL-LAI"), ("Roth, Eva", "Ek, Bo"), ("Dr. Eva Roth", "Bo")])
def test_read_documents_names_with_titles_and_commas_are_speakers(tmp_path: Path, names: tuple[str, str]) -> None:
    said = ((names[0], "Yes. It broke."), (names[1], "When: today?"), (names[0], "Now."))
    cues = (f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{name}: {text}\n" for n, (name, text) in enumerate(said, 1))
    records = document(tmp_path, "a.srt", "\n".join(cues)).records
    messages = [{f.name: f.text for f in record.fields} for record in records if record.type == "message"]
    assert [(each.get("speaker"), each["text"]) for each in messages] == [*said]


def test_read_documents_names_before_all_cues_are_speakers_who_speak_once(tmp_path: Path) -> None:
    said = ("Tessa Koh: I order the router.", "Raj Nair: The old one is hot.")
    cues = "\n\n".join(f"01:02:0{n}.000 --> 01:02:0{n}.900\n{text}" for n, text in enumerate(said, 3))
    text = document(tmp_path, "a.vtt", f"WEBVTT\n\n{cues}\n").text
    assert text.split("\n") == ["Tessa Koh (01:02:03): I order the router.", "Raj Nair (01:02:04): The old one is hot."]


def test_read_documents_rolling_captions_are_said_once(tmp_path: Path) -> None:
    cues = "\n\n".join(f"00:0{i}.000 --> 00:0{i}.900\n{text}" for i, text in enumerate(("It is", "It is", "high.")))
    assert document(tmp_path, "a.vtt", f"WEBVTT\n\n{cues}\n").text == "It is high."


def test_subtitles_other_file_raises() -> None:
    with pytest.raises(UnreadableError, match="no line with two times"):
        list(read(File("a.srt", content=b"Hello.\n")))


LINES = ["00:01.000 --> 00:02.000", "1", "", "<v Ines>Yes", "- No.", "WEBVTT", "Anna: one", "--> 3"]


@given(st.lists(st.sampled_from(LINES), max_size=20))
def test_subtitles_records_lie_in_text(lines: list[str]) -> None:
    try:
        [part] = read(File("a.vtt", content="\n".join(lines).encode()))
    except UnreadableError:
        return
    assert all(record.fields[-1].text == part.text[slice(*record.fields[-1][2:])] for record in part.records)
    assert "-->" not in part.text.replace("--> 3", "")
