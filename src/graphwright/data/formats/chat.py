"""Logs of chats and transcripts of meetings in text: WhatsApp, Telegram, Signal, Discord, IRC, Zoom, Teams, Otter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from graphwright.data.decoding import decode
from graphwright.data.formats.format import Extracted, File, Format
from graphwright.data.records.record import MESSAGE, Field, Record
from graphwright.data.records.turns import Turn, turns_text
from graphwright.data.records.versions import name_parts
from graphwright.text.dates import HALVES, date_text, day_first_of, first_day
from graphwright.text.places import Places

_SPACE = r"[ \u202f\xa0]"
_CLOCK = (
    rf"(?:(?:{'|'.join(HALVES)}) ?)?\d{{1,2}}[:.]\d\d(?:[:.]\d\d(?:[.,]\d{{1,3}})?)?"
    rf"(?:{_SPACE}?(?:[APap]\.?{_SPACE}?[Mm]\b\.?|[صم]\b))?"
)
_THEN = rf"(?:[,،]|T|{_SPACE}[^\W\d_]{{1,3}}\.?)?{_SPACE}?"  # between a date and a time: "at", "um", "à"
_DATE = (
    r"(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}|[^\W\d_]{3,9}\.? \d{1,2},? (?:\d{4},? )?"
    r"|\d{1,2}[- ][^\W\d_]{3,9}\.?[- ]\d{2,4}|\d{4}[年년] ?\d{1,2}[月월] ?\d{1,2}[日일])"
)
_TIME = rf"(?P<time>(?:{_DATE}{_THEN})?{_CLOCK}|\d{{1,3}}:\d\d:\d\d)Z?"
_DAY_TIME = rf"(?P<time>{_DATE}{_THEN}{_CLOCK})"
_NAME = r"(?P<name>[^\W\d_][^:<>\[\]\t\n]{0,59}?)"
_ANY_NAME = (
    r"(?:~\s?)?(?P<name>(?:\+?\d[\d\s()-]{5,20}|[^\s\d:<>\[\]*-])[^:<>\[\]\t\n]{0,59}?)"  # or a number of a telephone
)
_NICK = r"<[@+%~& ]?(?P<name>[^<>\s]{1,40})>"


class _Form(NamedTuple):
    """A form of turns: the first line of one, and a line of the program itself, with a time and without a speaker."""

    turn: re.Pattern[str]
    notice: re.Pattern[str] | None = None
    is_timed: bool = True


def _form(turn: str, notice: str = "", is_timed: bool = True) -> _Form:
    return _Form(re.compile(turn), re.compile(notice) if notice else None, is_timed)


_FORMS = (
    _form(rf"\[{_TIME}\][ ]?{_ANY_NAME}:(?:[ \u200e](?P<text>.*))?$", rf"\[{_TIME}\][ ]?(?P<text>.*)$"),
    _form(rf"\[(?P<name>[^\[\]]{{1,60}})\] \[{_TIME}\] (?P<text>.*)$"),  # KakaoTalk
    _form(rf"\[?{_TIME}\]?\s+{_NICK}[ \t](?P<text>.*)$", rf"\[?{_TIME}\]?\s(?P<text>.*)$"),  # IRC
    _form(rf"{_DAY_TIME}(?: [-–]|,) {_ANY_NAME} ?:(?: (?P<text>.*))?$", rf"{_DAY_TIME}(?: [-–]|,) (?P<text>.*)$"),
    _form(
        rf"{_TIME}\t[@+%~&]?(?P<name>(?!\W*\t)[^\t<>]{{1,40}})\t(?P<text>.*)$", rf"{_TIME}\t(?P<text>.*)$"
    ),  # WeeChat
    _form(rf"{_NAME},? ?\[{_TIME}\]:?(?: (?P<text>.*))?$"),  # Telegram
    _form(rf"{_NAME} ?\({_TIME}\):?(?: (?P<text>.*))?$"),
    _form(rf"{_NAME}(?: [—–-] |[ \t]+){_TIME}:?(?P<text>)$"),  # Zoom, Otter, Discord: the text in the next line
    _form(rf"\[?{_TIME}\]?[ \t]+(?:[-–] )?{_NAME}(?P<text>)$"),
    _form(rf"{_TIME}[ \t]+(?:[^\W\d_]+ {{2,}})?{_NAME}(?: {{2,}}[^:]*)? ?:(?:\s(?P<text>.*))?$"),  # Zoom
    _form(r"(?P<name>[^\W\d_a-z][\w.'’-]+(?: [^\W\d_][\w.'’-]*){0,3}): (?P<text>\S.*)$", is_timed=False),
)
_ACTION = re.compile(rf"\[?{_TIME}\]?\s+\*\s+(?P<name>\S{{1,40}})\s(?P<text>[^@(]*)$")  # of IRC: "* ida nods"
_DAY_MARK = re.compile(r"(?:-{3,}|={3,}|\*{3,})\s")  # of IRC: "--- Day changed Thu May 14 2026"
_TIME_LINE, _DAY_TIME_LINE, _NAME_LINE = (re.compile(f"{pattern}$") for pattern in (_TIME, _DAY_TIME, _NAME))
_LEVELS = frozenset(
    ["trace", "debug", "info", "notice", "warn", "warning", "error", "err", "critical", "fatal", "severe"]
)
_INVISIBLE = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\ufeff"))
_STOPS = tuple(".!?…。！？।؟")
_SAMPLE = 400  # lines
_MIN_TURNS, _MIN_SHARE = 2, 0.2  # turns with a time, and their share of the lines
_MIN_UNTIMED, _MIN_UNTIMED_SHARE = 4, 0.5


def is_chat(head: bytes, suffix: str) -> bool:
    """Return whether the first bytes of a text are turns of a chat."""
    text = decode(head)
    return text is not None and _form_of(_lines(text)) is not None


def read(file: File) -> Iterator[Extracted]:
    """Yield the turns of a chat as text and records; lines before the first turn stay as they are."""
    text = file.text()
    lines = _lines(text)
    form = _form_of(lines)
    if form is None:
        yield Extracted(text)
        return
    turns = [part.turn for part in _parts(lines, form, _day_in_name(file.name))]
    yield turns_text(turns, "" if any(" " in turn.time for turn in turns) else "time")


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a time below a name, as Teams has it, stands behind it."""
    lines = text.translate(_INVISIBLE).split("\n")
    times = {
        at
        for at in range(1, len(lines))
        if _DAY_TIME_LINE.match(lines[at].strip()) and _NAME_LINE.match(lines[at - 1].strip())
    }
    if len(times) < _MIN_TURNS:  # perhaps the title of a transcript, and its date
        return lines
    joined = [f"{line.strip()} {lines[at].strip()}" if at in times else line for at, line in enumerate(lines, 1)]
    return [line for at, line in enumerate(joined) if at not in times]


def _form_of(lines: Sequence[str]) -> _Form | None:
    """Return the form of most turns in the first lines; None if too few are turns."""
    sample = list(islice((line.strip() for line in lines if line.strip()), _SAMPLE))
    form = max(_FORMS, key=lambda form: sum(form.turn.match(line) is not None for line in sample))
    turns = [part.turn for part in _parts(sample, form, "") if part.turn.speaker]
    return form if _stands(turns, len(sample), form) else None


def _stands(turns: Sequence[Turn], lines: int, form: _Form) -> bool:
    """Return whether turns are those of a chat: enough of the lines, with texts, and not the levels of a program's log.

    Turns without a time need several speakers who speak more than once, in sentences.
    """
    names = Counter(turn.speaker for turn in turns)
    levels = sum(count for name, count in names.items() if re.split(r"[.\s]", name)[-1].casefold() in _LEVELS)
    texts = sum(bool(turn.text) for turn in turns)
    if len(turns) < _MIN_TURNS or 2 * texts < len(turns) or 2 * levels > len(turns):
        return False
    if form.is_timed:
        return len(turns) >= _MIN_SHARE * lines
    sentences = sum(turn.text.endswith(_STOPS) for turn in turns)
    several = len(names) > 1 and len(turns) >= 2 * len(names)
    enough = len(turns) >= max(_MIN_UNTIMED, _MIN_UNTIMED_SHARE * lines)
    return several and enough and 2 * sentences >= len(turns)


class _Lines(NamedTuple):
    """A turn, the numbers of its first line and of the line after it, and the match of the first."""

    turn: Turn
    first: int
    end: int
    match: re.Match[str] | None


def _day_in_name(name: str) -> str:
    """Return the day that the name of a file has, "" for none."""
    day = name_parts(name).date
    return day if len(day) == len("2024-05-01") else ""


def _parts(lines: Sequence[str], form: _Form, day: str) -> Iterator[_Lines]:
    """Yield the turns; a line that begins none continues the last. `day`: the date of times without one."""
    found = [form.turn.match(line.strip()) for line in lines]
    dates = {name for name in {match["name"] for match in found if match} if date_text(name)}
    matches = [(line, m if m and m["name"] not in dates else None) for line, m in zip(lines, found, strict=True)]
    first = day_first_of(match["time"] for _, match in matches if match and form.is_timed)
    names = {match["name"] for _, match in matches if match}  # what else has a "*" before it, the program says
    last, texts, clock, is_first = _Lines(Turn("", "", ""), 0, 0, None), list[str](), "", True

    def ended(end: int) -> _Lines:
        return last._replace(turn=last.turn._replace(text=" ".join(filter(None, texts))), end=end)

    for number, (line, said) in enumerate(matches):
        act = None if said else _ACTION.match(line.strip())
        match = act if act and act["name"] in names else said
        notice = form.notice.match(line.strip()) if form.notice and not match else None
        if start := match or notice:
            yield ended(number)
            time = _time(start["time"], first, day) if form.is_timed else clock
            name = " ".join(match["name"].split()).strip("~ ,-–—") if match else ""
            turn, texts = Turn(name, time, "", is_notice=not name), [(start["text"] or "").strip()]
            last = _Lines(turn, number, number, start)
        elif date := _day_of(line, is_first):
            day = date
        elif not form.is_timed and (alone := _TIME_LINE.match(line.strip())):
            clock = _time(alone["time"], first, day)
        elif last.match is None:
            yield _Lines(Turn("", "", line.strip()), number, number + 1, None)
        else:
            texts.append(line.strip())
        is_first = not line.strip()
    yield ended(len(lines))


def message_records(text: str, name: str, others: Sequence[Record] = ()) -> tuple[Record, ...]:
    """Return the turns of a document of another format, such as Word or PDF, that is a chat or transcript as records.

    Someone speaks more than once. `name`: of the file, which may have a date. `others`: records that are no turns.

    >>> text = "Interview\\n\\n[09:12] Ida: It is high.\\n\\n[09:13] Bo: Yes.\\n\\n[09:15] Ida: Good."
    >>> [[field[:2] for field in record.fields] for record in message_records(text, "2024-05-01.docx")][1]
    [('speaker', 'Bo'), ('time', '2024-05-01 09:13'), ('text', 'Yes.')]
    """
    text = _without(text, others)
    lines = text.split("\n")
    form = _form_of(lines)
    parts = _parts(lines, form, _day_in_name(name)) if form else ()
    turns = [part for part in parts if part.turn.speaker and part.turn.text]
    if len({part.turn.speaker for part in turns}) in (0, len(turns)):
        return ()
    starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    return tuple(_record(part, text, starts[part.first], starts[part.end] - 1) for part in turns)


def _without(text: str, records: Sequence[Record]) -> str:
    """Return a text of the same length with blanks in the place of records."""
    parts, at = list[str](), 0
    for record in sorted(records, key=lambda record: record.start):
        if record.end > at:
            start = max(record.start, at)
            parts += text[at:start], " " * (record.end - start)
            at = record.end
    return "".join((*parts, text[at:]))


def _record(part: _Lines, text: str, start: int, end: int) -> Record:
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    assert part.match is not None
    spans = [
        tuple(start + at for at in part.match.span(name))
        for name in ("name", "time")
        if name in part.match.re.groupindex
    ]
    (name, name_end), (time, time_end) = spans if len(spans) > 1 else (*spans, (start, start))
    content = start + part.match.start("text") if part.match["text"] else min(end, start + part.match.end() + 1)
    fields = Field("speaker", part.turn.speaker, name, name_end), Field("time", part.turn.time, time, time_end)
    said = Field("text", part.turn.text, content, end)
    return Record(MESSAGE, tuple(field for field in (*fields, said) if field.text), start, end)


def times_of(messages: Sequence[Record]) -> Places | None:
    """Return the times of messages as places of their text, None if they have none."""
    times = [(record.start, field.text) for record in messages for field in record.fields if field.name == "time"]
    kind = "" if any(" " in time for _, time in times) else "time"
    return Places(kind, tuple(start for start, _ in times), tuple(time for _, time in times)) if times else None


def _day_of(line: str, is_first: bool) -> str:
    """Return the day that a line of the program names, "" for another line; `is_first`: no line stands above it."""
    if _DAY_MARK.match(line):
        return date_text(re.sub(r"\d{1,2}:\d\d(?::\d\d)? ", "", line))[:10]
    day = first_day(line) if is_first else None
    others = re.findall(r"\w+|[.!?]$", f"{line[: day.start()]} {line[day.end() :]}") if day else []
    return date_text(day[0]) if day and len(others) < 2 else ""  # a day of the week


def _time(written: str, days_first: bool | None, day: str) -> str:
    """Return a date and time, or a time of a recording as it is written."""
    if date := date_text(written, days_first):
        return date
    if any(map(str.isalpha, written)):  # before or after noon
        clock = date_text(f"2000-01-01 {written}").removeprefix("2000-01-01 ")
    else:
        clock = " ".join(written.replace(".", ":").split())
    return f"{day} {clock}".strip()


FORMATS = (Format("chat", (), read, by_content=is_chat),)
