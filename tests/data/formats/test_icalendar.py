"""Calendars and contacts as text and records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.formats.format import Extracted, File
from graphwright.data.formats.icalendar import read
from graphwright.data.formats.registry import format_of

CALENDAR = r"""BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Club//EN
X-WR-CALNAME:Rowing
BEGIN:VEVENT
UID:1@club
DTSTAMP:20250101T000000Z
DTSTART;TZID="Europe/London":20250605T183000
DTEND;TZID="Europe/London":20250605T203000
RRULE:FREQ=WEEKLY;WKST=MO;BYDAY=TU,2TH;UNTIL=20250930T000000Z
SUMMARY:Evening row
LOCATION:Boathouse\, upper steps
ORGANIZER;CN="Quayle, Hester":mailto:chair@club.example
ATTENDEE;CN=Ole:mailto:ole@club.example
ATTENDEE:mailto:mia@club.example
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20250913
DTEND;VALUE=DATE:20250915
SUMMARY:Regatta with a name that is so long that the program
  folds its line
END:VEVENT
BEGIN:VTODO
SUMMARY:Grease the rollers
DUE:20250401T120000Z
END:VTODO
END:VCALENDAR
"""
CONTACTS = """BEGIN:VCARD
VERSION:3.0
N:Pillai;Arun;;;
FN:Arun Pillai
item1.TEL;TYPE=CELL,VOICE,pref:07700 900417
TEL;TYPE=WORK:01524 555 019
ADR;TYPE=HOME:;;4 Mill Lane;Caton;;LA2 9QJ;
ORG:Club;Boats
PHOTO;ENCODING=b;TYPE=JPEG:aGVsbG8=
NOTE;LANGUAGE=en:Ring after six
END:VCARD
BEGIN:VCARD
VERSION:2.1
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen M=C3=
=BCller
TEL;HOME:0261 5550
BDAY:19870304
END:VCARD
"""


def extracted(name: str, content: str) -> Extracted:
    file = File(name, content=content.encode())
    assert format_of(file).read is read
    [part] = read(file)
    return part


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_read_calendar_has_a_line_and_a_record_for_each_event_and_task(ends: str) -> None:
    part = extracted("club.ics", CALENDAR.replace("\n", ends))
    assert part.title == "Rowing"
    assert part.text.split("\n\n") == [
        "summary: Evening row; start: 2025-06-05 18:30; end: 2025-06-05 20:30; "
        "repeats: weekly, by day Tuesday 2 Thursday, until 2025-09-30; location: Boathouse, upper steps; "
        "organizer: Quayle, Hester; attendees: Ole, mia@club.example.",
        "summary: Regatta with a name that is so long that the program folds its line; start: 2025-09-13; "
        "end: 2025-09-14.",
        "summary: Grease the rollers; due: 2025-04-01 12:00 UTC.",
    ]
    assert [record.type for record in part.records] == ["event", "event", "task"]
    for field in (field for record in part.records for field in record.fields):
        assert part.text[field.start : field.end] == field.text


def test_read_contacts_tells_several_numbers_apart_by_their_types() -> None:
    part = extracted("people.vcf", CONTACTS)
    assert part.text.split("\n\n") == [
        "name: Arun Pillai; organization: Club, Boats; telephone.cell: 07700 900417; telephone.work: 01524 555 019; "
        "address: 4 Mill Lane, Caton, LA2 9QJ; note: Ring after six.",
        "name: Jürgen Müller; telephone: 0261 5550; birthday: 1987-03-04.",
    ]
    assert [record.type for record in part.records] == ["contact", "contact"]


def test_read_calendar_is_recognised_by_its_content_and_a_damaged_one_is_read_as_it_is() -> None:
    assert extracted("invitation.txt", CALENDAR).records
    for content in ("BEGIN:VCALENDAR\nEND:VCALENDAR", "END:VEVENT\nSUMMARY:a", "BEGIN:VEVENT\nSUMMARY:a", "Not one."):
        assert extracted("a.ics", content) == Extracted(content)


@given(st.text(alphabet='BEGIN:VCARD\n;="\\, TEL0DTSTRUNTIL=Z'))
def test_read_calendar_any_lines_are_read(lines: str) -> None:
    content = f"BEGIN:VEVENT\n{lines}\nEND:VEVENT"
    [part] = read(File("a.ics", content=content.encode()))
    assert all(0 <= f.start <= f.end <= len(part.text) for record in part.records for f in record.fields)
