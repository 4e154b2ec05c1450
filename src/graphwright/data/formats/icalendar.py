"""iCalendar (RFC 5545) and vCard (RFC 6350): events, tasks and contacts as text with the names of fields, and records.

Both standards have the same content lines: a name, parameters and a value, folded at some 75 bytes.
"""

from __future__ import annotations

import quopri
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from graphwright.data.formats.format import Extracted, File, Format, TextBuilder
from graphwright.data.records.objects import ObjectWriter
from graphwright.text.dates import date_text

_KINDS = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal", "VCARD": "contact"}
_FIELDS = {  # what people read of a component; the others tell programs which version of it this is
    "SUMMARY": "summary",
    "DTSTART": "start",
    "DTEND": "end",
    "DUE": "due",
    "DURATION": "duration",
    "RRULE": "repeats",
    "RDATE": "also on",
    "EXDATE": "except on",
    "COMPLETED": "completed",
    "LOCATION": "location",
    "ORGANIZER": "organizer",
    "ATTENDEE": "attendees",
    "STATUS": "status",
    "PRIORITY": "priority",
    "DESCRIPTION": "description",
    "COMMENT": "comment",
    "FN": "name",
    "NICKNAME": "nickname",
    "ORG": "organization",
    "TITLE": "title",
    "ROLE": "role",
    "TEL": "telephone",
    "EMAIL": "e-mail",
    "ADR": "address",
    "BDAY": "birthday",
    "ANNIVERSARY": "anniversary",
    "RELATED": "related",
    "CATEGORIES": "categories",
    "URL": "page",
    "NOTE": "note",
}
_TIMES = frozenset({"DTSTART", "DTEND", "DUE", "RDATE", "EXDATE", "COMPLETED", "BDAY", "ANNIVERSARY"})
_PEOPLE = frozenset({"ORGANIZER", "ATTENDEE"})
_PARTS = frozenset({"ORG", "ADR"})  # values of several parts
_USUAL = frozenset({"pref", "voice", "internet"})  # types of addresses that tell none apart
_DAYS = {day[:2].upper(): day for day in ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]}
_LINE = re.compile(r'(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^":;]*(?:"[^"]*"[^":;]*)*)*):(?P<value>.*)', re.S)
_PARAMETER = re.compile(r';([\w-]+)(?:=("[^"]*"|[^;]*))?')
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d):?\d\d(Z)?)?")
_ESCAPED = re.compile(r"\\(.)", re.S)


class _Property(NamedTuple):
    name: str
    parameters: dict[str, str]
    value: str


def read(file: File) -> Iterator[Extracted]:
    """Yield the events, tasks and contacts of a file, a line for each; a file without any as it is.

    The last day of an event of whole days is the day before its end, which the standard does not count.
    """
    text, writer, title = file.text(), ObjectWriter(TextBuilder()), ""
    open_parts: list[tuple[str, list[_Property]]] = []
    for own in _properties(text):
        if own.name == "BEGIN":
            open_parts.append((own.value.strip().upper(), []))
        elif own.name == "END" and open_parts:
            kind, properties = open_parts.pop()
            if kind in _KINDS:
                writer.write(_fields(properties), _KINDS[kind])
                writer.builder.blank()
        elif own.name == "X-WR-CALNAME":
            title = _plain(own.value)
        elif open_parts:
            open_parts[-1][1].append(own)
    yield writer.builder.extracted(title) if writer.builder.records else Extracted(text)


def _properties(text: str) -> Iterator[_Property]:
    """Yield the content lines, unfolded, with values as written but for quoted-printable ones (vCard 2.1)."""
    lines = iter(re.sub(r"\n[ \t]", "", text).split("\n"))
    for line in lines:
        if match := _LINE.fullmatch(line):
            parameters: dict[str, str] = {}
            for name, value in _PARAMETER.findall(match["parameters"]):
                key = name.upper() if value else "TYPE"  # vCard 2.1 writes TEL;HOME for TEL;TYPE=HOME
                parameters[key] = f"{parameters.get(key, '')},{(value or name).strip(chr(34))}".strip(",")
            value = match["value"]
            if "QUOTED-PRINTABLE" in f"{parameters.get('ENCODING')} {parameters.get('TYPE')}".upper():
                soft = [value]
                while soft[-1].endswith("="):  # the value goes on in the next line
                    soft.append(next(lines, ""))
                value = quopri.decodestring("\n".join(soft).encode()).decode(errors="replace")
            yield _Property(match["name"].upper(), parameters, value)


def _fields(properties: Iterable[_Property]) -> dict[str, list[str]]:
    """Return the fields of a component; of several of one name the type follows the name: "telephone.work"."""
    shown = sorted((own for own in properties if own.name in _FIELDS), key=lambda own: list(_FIELDS).index(own.name))
    counts = Counter(own.name for own in shown)
    fields: dict[str, list[str]] = {}
    for own in shown:
        types = own.parameters.get("TYPE", "").lower().split(",") if counts[own.name] > 1 else ()
        kind = " ".join(filter(None, (part for part in types if part not in _USUAL)))
        key = f"{_FIELDS[own.name]}.{kind}" if kind and own.name not in _PEOPLE else _FIELDS[own.name]
        fields.setdefault(key, []).extend(filter(None, _values(own)))
    if fields.get("start") == fields.get("end"):
        fields.pop("end", None)
    return fields


def _values(own: _Property) -> list[str]:
    """Return the values of a property as people read them.

    >>> _values(_Property("DTEND", {"VALUE": "DATE"}, "20250915")), _values(_Property("DTSTART", {}, "20250605T183000"))
    (['2025-09-14'], ['2025-06-05 18:30'])
    >>> _values(_Property("RRULE", {}, "FREQ=WEEKLY;BYDAY=TU,TH;UNTIL=20250930T000000Z"))
    ['weekly, by day Tuesday Thursday, until 2025-09-30']
    """
    if own.name in _TIMES:
        return [_time(value, own.name == "DTEND") for value in own.value.split(",")]
    if own.name == "RRULE":
        rule = dict(part.partition("=")[::2] for part in own.value.split(";"))
        shown = {name: " ".join(map(_rule_value, value.split(","))) for name, value in rule.items() if name != "WKST"}
        names = {name: re.sub("^by", "by ", name.lower()) if name != "FREQ" else "" for name in shown}
        return [", ".join(f"{names[name]} {value}".strip() for name, value in shown.items())]
    if own.name in _PEOPLE:
        return [own.parameters.get("CN") or re.sub("(?i)^mailto:", "", own.value)]
    if own.name in _PARTS:
        return [", ".join(filter(None, (_plain(part).strip() for part in re.split(r"(?<!\\);", own.value))))]
    return [_plain(own.value).strip()]


def _time(value: str, is_end: bool = False) -> str:
    """Return a day or a time of the standards in ISO; any other value as it is."""
    match = _TIME.fullmatch(value.strip())
    if match is None:
        return date_text(value) or value.strip()
    year, month, day, hour, minute, utc = match.groups()
    if hour:
        return f"{year}-{month}-{day} {hour}:{minute}{' UTC' if utc else ''}"
    try:
        last = date(int(year), int(month), int(day)) - timedelta(days=is_end)
    except (ValueError, OverflowError):  # no such day
        return value
    return last.isoformat()


def _rule_value(value: str) -> str:
    day = _DAYS.get(value[-2:])
    if day:
        return f"{value[:-2]} {day}".strip()
    return _time(value).partition(" ")[0] if _TIME.fullmatch(value) else value.lower()


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _begins(head: bytes, component: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \r\n").upper().startswith(b"BEGIN:" + component)


FORMATS = (
    Format("calendar", (".ics", ".ical", ".ifb"), read, by_content=lambda head, _: _begins(head, b"VCALENDAR")),
    Format("contacts", (".vcf", ".vcard"), read, by_content=lambda head, _: _begins(head, b"VCARD")),
)
